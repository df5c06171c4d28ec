#pragma once

// A program that stays: it is given one task after the other, as lines of the json protocol. This is the worker's side
// of one of them: its pipes, the task it is at, and what its answers and its end mean.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "exec/descriptor.h"
#include "exec/dialogue.h"
#include "exec/json_lines.h"
#include "exec/lines.h"
#include "node/host.h"

namespace tenure::exec {

// Belongs to the host's thread.
class WarmProgram {
 public:
  enum Stream : std::uint8_t { input = 0, output = 1, errors = 2 };

  WarmProgram(std::uint64_t number, std::uint64_t session, int slot);

  // Makes the pipes; the program's own ends, in order, are the caller's to hand over and close.
  Result<std::vector<Descriptor>> open_pipes();

  void give(const HeldJob& job);
  const std::optional<HeldJob>& job() const { return job_; }  // without its payload
  HeldJob take_job();
  void ask_stop(Nanos left) { unwritten_ += json_stop(std::max<std::int64_t>(to_ms(left), 0)); }

  // Writes what the pipe takes.
  void write();
  bool wants_to_write() const { return input_ && written_ < unwritten_.size(); }
  // What has come, up to a bound: whether there may be more.
  bool read(Stream stream);
  int descriptor(Stream stream) const;

  // The task's verdict, if the program has given one. A sound answer leaves it fit for the next task.
  std::optional<Verdict> answer();
  // What it said besides; for the log.
  std::deque<Bytes> said() { return std::exchange(said_, {}); }
  // Its last task's verdict, if it ended without an answer; `status` is as from waitpid.
  Verdict verdict_at_end(int status) const;

  const std::uint64_t number;
  const std::uint64_t session;
  const int slot;
  bool starting = true;  // the guard has not said whether it runs
  bool ending = false;   // is given nothing more
  Cause cause = Cause::itself;
  bool broken = false;         // it said what it should not: to be ended
  bool silent = false;         // it has closed its output: likewise
  bool seen_running = false;   // its task, at a look
  bool started_told = false;   // of its task
  bool input_watched = false;  // by the poller
  std::deque<Bytes> checkpoints;

 private:
  void hear(BytesView line, bool whole);
  void break_off(Bytes error);

  Descriptor input_;
  Descriptor output_;
  Descriptor errors_;
  Bytes unwritten_;
  std::size_t written_ = 0;  // of unwritten_
  Lines lines_;
  Lines error_lines_;
  Bytes error_tail_;  // of this task
  std::optional<HeldJob> job_;
  std::optional<Verdict> answer_;
  std::deque<Bytes> said_;
};

}  // namespace tenure::exec
