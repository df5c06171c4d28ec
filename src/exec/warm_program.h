#pragma once

// A warm program: it gets one task after the other, as lines of the json protocol. This is the worker's side of one of
// them: its pipes, its current task, and the meaning of its answers and its end.

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

  // Reads what is available, up to a limit. True if there may be more.
  bool read(Pipes::Stream stream);

  // The task's verdict, if the program has answered. After a valid answer it can take the next task.
  std::optional<Verdict> answer();
  // Its other output, for the log.
  std::deque<Bytes> said() { return std::exchange(said_, {}); }
  // Its last task's verdict, if it ended without an answer. `status` is as from waitpid.
  Verdict verdict_at_end(int status) const;

  const std::uint64_t number;
  const std::uint64_t session;
  const int slot;
  const guard::WearLimits limits;
  guard::Worn worn;
  pid_t process = -1;  // once it runs
  Pipes pipes;
  bool starting = true;  // the guard has not answered yet
  bool ending = false;   // gets no more tasks
  Cause cause = Cause::itself;
  std::string killed_for;     // why this host has killed it
  bool broken = false;        // it broke the protocol, so it must end
  bool silent = false;        // it has closed its output, so it must end
  bool seen_running = false;  // its task, at the last look
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
