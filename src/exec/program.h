#pragma once

// One program that runs for a tenure: its pipes, its messages and the dialogue.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/dialogue.h"
#include "exec/job_folder.h"
#include "exec/pipes.h"
#include "node/keys/emitter.h"
#include "node/keys/host.h"

namespace tenure::exec {

// Belongs to the host's thread.
class Program {
 public:
  Program(std::uint64_t number, const HeldJob& job, Protocol protocol, JobFolder folder, int slot);

  // The machine bounds these bytes: it sends no more than kMessagesBytesMax of unhandled messages.
  // The file that it reads as its standard input; none if it reads a pipe. A task reads its payload from a file: if its
  // worker died in the middle of writing it into a pipe, the task would take a part of it for the whole.
  std::string input_file() const;
  void notify(std::uint64_t message, BytesView text);
  void ask_stop(Nanos left);
  // False if the program has left too many answers unread.
  bool tell_emitted(BytesView source, const Result<std::uint64_t>& outcome);
  // Writes as much as the pipe takes. Returns the last message that was written completely or dropped.
  std::optional<std::uint64_t> write();
  // Reads what is available, up to a limit. True if there may be more.
  bool read(Pipes::Stream stream, std::deque<Said>& said);

  const std::uint64_t number;
  const HeldJob job;  // without payload and checkpoint
  const int slot;
  Dialogue dialogue;
  JobFolder folder;
  Pipes pipes;
  Cause cause = Cause::itself;
  bool starting = true;                // the guard has not answered yet
  bool started = false;                // reported as started
  std::shared_ptr<Emitter> emitter{};  // once it has emitted something
  std::optional<Instant> patience;     // after the farewell: when to stop it

 private:
  struct Pending {
    std::uint64_t end;  // see Pipes::sent()
    std::uint64_t message;
  };
  std::deque<Pending> pending_;
  std::deque<std::uint64_t> answers_;  // to emits: where each ends, see Pipes::sent()
};

}  // namespace tenure::exec
