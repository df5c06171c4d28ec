#include "machine/keys/job_line.h"

#include <algorithm>
#include <vector>

#include "base/assert.h"
#include "machine/limits.h"

namespace tenure {

void JobLine::add_delayed(SlotId slot, JobId id, std::int64_t delay_ms) {
  KeptJob& job = state_.table.jobs[id];
  job.stamp = context_.next_stamp();
  job.due_ms = context_.log_time_ms() + delay_ms;
  state_.table.push_delayed(slot, id);
  context_.timers().insert({job.due_ms, job.stamp, TimerKind::delay, id});
}

void JobLine::delay_over(const MachineTimer& timer) {
  KeptJob& job = state_.table.jobs[timer.id];
  ASSERT(job.stamp == timer.stamp);
  const SlotId slot = job.slot;
  slots_.touch(slot);
  state_.table.take_delayed(slot, timer.id);
  slots_.set_progress(job, Progress::queued);
  state_.table.push_back(slot, timer.id);
  if (state_.table.slots[slot].state == JobState::idle) next_job(slot);
}

void JobLine::end_delays(SlotId slot) {
  std::vector<MachineTimer> timers;
  for (JobId id = state_.table.slots[slot].delayed; id != kNone; id = state_.table.jobs[id].next) {
    timers.push_back({state_.table.jobs[id].due_ms, state_.table.jobs[id].stamp, TimerKind::delay, id});
  }
  state_.table.slots[slot].delayed = kNone;
  std::sort(timers.begin(), timers.end());
  for (const MachineTimer& timer : timers) {
    context_.timers().erase(timer);
    slots_.set_progress(state_.table.jobs[timer.id], Progress::queued);
    state_.table.push_back(slot, timer.id);
  }
}

std::uint32_t JobLine::drop_waiting(SlotId slot) {
  Slot& entry = state_.table.slots[slot];
  if (entry.kind != JobKind::task) return 0;
  std::uint32_t dropped = 0;
  if (entry.head != kNone) {
    dropped += drop_list(state_.table.jobs[entry.head].next);
    state_.table.jobs[entry.head].next = kNone;
    entry.tail = entry.head;
  }
  for (JobId id = entry.delayed; id != kNone; id = state_.table.jobs[id].next) {
    context_.timers().erase({state_.table.jobs[id].due_ms, state_.table.jobs[id].stamp, TimerKind::delay, id});
  }
  dropped += drop_list(entry.delayed);
  entry.delayed = kNone;
  return dropped;
}

std::uint32_t JobLine::drop_list(JobId first) {
  std::uint32_t dropped = 0;
  for (JobId id = first; id != kNone;) {
    const JobId next = state_.table.jobs[id].next;
    slots_.tell_stopped(state_.table.jobs[id], 0);
    slots_.release_job(id);
    ++dropped;
    id = next;
  }
  return dropped;
}

void JobLine::finish_head(SlotId slot) {
  const JobId id = state_.table.pop_front(slot);
  slots_.release_job(id);
  next_job(slot);
}

void JobLine::next_job(SlotId slot) {
  Slot& entry = state_.table.slots[slot];
  if (entry.head != kNone) {
    placement_.head_changed(slot);
    slots_.set_state(slot, JobState::queued);
    return queues_.enqueue(slot);
  }
  slots_.set_state(slot, JobState::idle);
  if (entry.delayed != kNone) return placement_.head_changed(slot);
  state_.bytes -= entry.key.size();
  placement_.forget_key(slot);
  state_.table.remove(slot);
}

}  // namespace tenure
