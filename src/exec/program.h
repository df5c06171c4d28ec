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
#include "node/keys/host.h"

namespace tenure::exec {

// Belongs to the host's thread.
class Program {
 public:
  Program(std::uint64_t number, const HeldJob& job, Protocol protocol, JobFolder folder, int slot);

  // What waits to be written is bounded by the machine: it sends no more than kMessagesBytesMax that are unhandled.
  void notify(std::uint64_t message, BytesView text);
  void ask_stop(Nanos left);
  // Writes what the pipe takes, and returns the messages that have left: the program has them, or wants none.
  std::optional<std::uint64_t> write();
  // Reads what is there, up to a bound: whether there may be more.
  bool read(Pipes::Stream stream, std::deque<Said>& said);

  const std::uint64_t number;
  const HeldJob job;  // without payload and checkpoint
  const int slot;
  Dialogue dialogue;
  JobFolder folder;
  Pipes pipes;
  Cause cause = Cause::itself;
  bool starting = true;             // the guard has not said whether it runs
  bool started = false;             // has been reported
  std::optional<Instant> patience;  // after the farewell: when it is to be stopped

 private:
  struct Pending {
    std::uint64_t end;  // as Pipes counts
    std::uint64_t message;
  };
  std::deque<Pending> pending_;
};

}  // namespace tenure::exec
