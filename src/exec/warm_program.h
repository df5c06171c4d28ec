#pragma once

// A program that stays: it is given one task after the other, as lines of the json protocol. This is the worker's side
// of one of them: its pipes, the task it is at, and what its answers and its end mean.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

#include "base/lines.h"
#include "exec/dialogue.h"
#include "exec/json_lines.h"
#include "exec/pipes.h"
#include "guard/wear.h"
#include "node/keys/host.h"

namespace tenure::exec {

// Belongs to the host's thread.
class WarmProgram {
 public:
  WarmProgram(std::uint64_t number, std::uint64_t session, int slot, const guard::WearLimits& limits);

  void runs(pid_t its_process, Instant now);
  void give(const HeldJob& job, Instant now);
  const std::optional<HeldJob>& job() const { return job_; }  // without its payload
  HeldJob take_job(Instant now);
  void ask_stop(Nanos left) { pipes.send(json_stop(std::max<std::int64_t>(to_ms(left), 0))); }

  // What has come, up to a bound: whether there may be more.
  bool read(Pipes::Stream stream);

  // The task's verdict, if the program has given one. A sound answer leaves it fit for the next task.
  std::optional<Verdict> answer();
  // What it said besides; for the log.
  std::deque<Bytes> said() { return std::exchange(said_, {}); }
  // Its last task's verdict, if it ended without an answer; `status` is as from waitpid.
  Verdict verdict_at_end(int status) const;

  const std::uint64_t number;
  const std::uint64_t session;
  const int slot;
  const guard::WearLimits limits;
  guard::Worn worn;
  pid_t process = -1;  // once it runs
  Pipes pipes;
  bool starting = true;  // the guard has not said whether it runs
  bool ending = false;   // is given nothing more
  Cause cause = Cause::itself;
  std::string killed_for;     // why this host has killed it
  bool broken = false;        // it said what it should not: to be ended
  bool silent = false;        // it has closed its output: likewise
  bool seen_running = false;  // its task, at a look
  bool started_told = false;  // of its task
  std::deque<Bytes> checkpoints;

 private:
  void hear(BytesView line, bool whole);
  void break_off(Bytes error);

  Lines lines_;
  Lines error_lines_;
  Bytes error_tail_;  // of this task
  std::optional<HeldJob> job_;
  std::optional<Verdict> answer_;
  std::deque<Bytes> said_;
};

}  // namespace tenure::exec
