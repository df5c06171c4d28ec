#pragma once

// One program that runs for a tenure: the worker's ends of its pipes, what is to be written to it, and the dialogue.

#include <sys/types.h>

#include <cstdint>
#include <deque>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "exec/descriptor.h"
#include "exec/dialogue.h"
#include "exec/job_folder.h"
#include "node/host.h"

namespace tenure::exec {

// Belongs to the host's thread.
class Program {
 public:
  enum Stream : std::uint8_t { input = 0, output = 1, errors = 2 };

  Program(std::uint64_t number, const HeldJob& job, Protocol protocol, JobFolder folder, int slot);

  // Makes the pipes; the program's own ends, in order, are the caller's to hand over and close.
  Result<std::vector<Descriptor>> open_pipes();

  // What waits to be written is bounded by the machine: it sends no more than kMessagesBytesMax that are unhandled.
  void notify(std::uint64_t message, BytesView text);
  void ask_stop(Nanos left);
  // Writes what the pipe takes, and returns the messages that have left: the program has them, or wants none.
  std::optional<std::uint64_t> write();
  // The program has said how its job went: it sees the end of its input.
  void end_input() { close_when_written_ = true; }
  bool wants_to_write() const { return input_ && (written_ < unwritten_.size() || close_when_written_); }

  // Reads what is there, up to a bound. False once the stream has ended, and is closed.
  bool read(Stream stream, std::deque<Said>& said);

  int descriptor(Stream stream) const;

  const std::uint64_t number;
  const HeldJob job;  // without payload and checkpoint
  const int slot;
  Dialogue dialogue;
  JobFolder folder;
  Cause cause = Cause::itself;
  bool starting = true;             // the guard has not said whether it runs
  bool started = false;             // has been reported
  bool input_watched = false;       // by the poller
  std::optional<Instant> patience;  // after the farewell: when it is to be stopped

 private:
  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  Bytes unwritten_;
  std::size_t written_ = 0;  // of unwritten_
  std::uint64_t gone_ = 0;   // bytes that left before unwritten_ began
  bool close_when_written_ = false;
  struct Pending {
    std::uint64_t end;  // in bytes since the beginning
    std::uint64_t message;
  };
  std::deque<Pending> pending_;
};

}  // namespace tenure::exec
