// Replaces programs that have served long enough, and kills those that exceed their limits.

#include <algorithm>

#include "exec/warm_host.h"
#include "guard/process_tree.h"

namespace tenure::exec {
namespace {

using namespace std::chrono_literals;

// From SIGTERM to SIGKILL, for a worn-out program without a task.
constexpr Nanos kWornOutPatience = 2s;
constexpr Nanos kCareSeldom = 1h;

}  // namespace

// Checks all programs, and returns when to check again. A task that is given meanwhile is due after a whole job_time,
// and so not earlier.
void WarmHost::care(Instant now) {
  next_care_ = now + kCareSeldom;
  const bool weigh = limits_.weighs() && now >= next_weighing_;
  if (weigh) next_weighing_ = now + guard::kWeighEvery;
  if (limits_.weighs()) next_care_ = std::min(next_care_, next_weighing_);
  for (const auto& [number, program] : programs_) {
    if (program->starting || program->ending) continue;
    if (weigh) program->worn.memory_bytes = guard::tree_memory(program->process);
    const guard::Judgement judgement = guard::judge(program->limits, program->worn, now, "task");
    next_care_ = std::min(next_care_, now + std::min(judgement.left, kCareSeldom));
    if (judgement.what == guard::Judgement::What::fit) continue;
    if (judgement.what != guard::Judgement::What::worn_out) {
      kill_one(*program, judgement.why);
    } else if (!program->job()) {
      retire(*program);
    }
  }
}

// True if the free program may get another task. Otherwise it is retired.
bool WarmHost::stays(WarmProgram& program, Instant now) {
  if (guard::judge(program.limits, program.worn, now, "task").what == guard::Judgement::What::fit) return true;
  retire(program);
  return false;
}

void WarmHost::retire(WarmProgram& program) {
  program.ending = true;
  std::erase(free_, &program);
  program.ask_stop(kWornOutPatience);
  write_on(program);
  guard_.stop_program(program.number, BootClock().now() + kWornOutPatience);
}

// If it has a task, the task fails with the reason once the whole program is gone.
void WarmHost::kill_one(WarmProgram& program, const std::string& why) {
  program.killed_for = why;
  program.ending = true;
  std::erase(free_, &program);
  guard_.end_program(program.number);
}

}  // namespace tenure::exec
