#include "machine/keys/slots.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "machine/answers/answers.h"
#include "machine/limits.h"

namespace tenure {

void Slots::set_state(SlotId slot, JobState state) {
  Slot& entry = state_.table.slots[slot];
  if (entry.due_ms != 0) drop_timer(slot);
  const bool moved = entry.state == JobState::moving;
  const bool moves = state == JobState::moving;
  if (moved != moves) count_arriving(slot, moves ? +1 : -1);
  entry.state = state;
  entry.stamp = context_.next_stamp();
  entry.since_ms = context_.log_time_ms();
}

// The timers are ordered by time and stamp: the kind does not matter here.
void Slots::drop_timer(SlotId slot) {
  Slot& entry = state_.table.slots[slot];
  context_.timers().erase({entry.due_ms, entry.stamp, TimerKind::retry, slot});
  entry.due_ms = 0;
}

void Slots::set_target(SlotId slot, WorkerIx target) {
  const bool moving = state_.table.slots[slot].state == JobState::moving;
  if (moving) count_arriving(slot, -1);
  if (state_.table.placed[slot].target != target) state_.table.slots[slot].lent = false;
  state_.table.placed[slot].target = target;
  if (moving) count_arriving(slot, +1);
}

void Slots::count_arriving(SlotId slot, int change) {
  const WorkerIx target = state_.table.placed[slot].target;
  if (target == kNone) return;
  state_.workers[target].arriving += static_cast<std::uint32_t>(change);
}

void Slots::set_timer(SlotId slot, TimerKind kind, std::int64_t due_ms) {
  Slot& entry = state_.table.slots[slot];
  ASSERT(entry.due_ms == 0);
  entry.due_ms = std::max<std::int64_t>(due_ms, 1);
  context_.timers().insert({entry.due_ms, entry.stamp, kind, slot});
}

void Slots::ask_stop(SlotId slot, StopReason reason) {
  context_.effects().stop_asked(context_.at(), tenure(slot), reason);
}

void Slots::release_job(JobId id) {
  KeptJob& job = state_.table.jobs[id];
  set_progress(job, Progress::begun);
  if (state_.types.remove(job.type)) state_.takers.forget(job.type);
  if (job.extra) tell_unhandled(job);
  state_.bytes -= job.payload.size();
  if (job.extra) state_.bytes -= job.extra->checkpoint.size() + job.extra->message_bytes + job.extra->error.size();
  state_.table.jobs.remove(id);
}

void Slots::set_progress(KeptJob& job, Progress progress) {
  const auto is_queued = [](Progress of) { return of == Progress::queued || of == Progress::granted ? 1U : 0U; };
  const auto is_delayed = [](Progress of) { return of == Progress::delayed ? 1U : 0U; };
  state_.queued += is_queued(progress) - is_queued(job.progress);
  state_.delayed += is_delayed(progress) - is_delayed(job.progress);
  job.progress = progress;
}

TenureRef Slots::tenure(SlotId slot) const {
  const WorkerIx holder = state_.table.placed[slot].holder;
  const Slot& entry = state_.table.slots[slot];
  if (holder == kNone) return {0, {}, entry.key, entry.epoch};
  return {state_.workers[holder].session, state_.workers[holder].id, entry.key, entry.epoch};
}

bool Slots::is_stopping(SlotId slot) const { return state_.table.slots[slot].state == JobState::stopping; }

void Slots::tell_accepted(std::uint64_t ticket, bool in_log, SlotId slot) {
  const WorkerIx holder = state_.table.placed[slot].holder;
  context_.answers().settle({.ticket = ticket,
                             .state = TicketState::accepted,
                             .code = Errc{},
                             .epoch = state_.table.slots[slot].epoch,
                             .worker = holder == kNone ? BytesView() : BytesView(state_.workers[holder].id),
                             .text = {}},
                            in_log);
}

// Needs no answer in the log: the holder's own record names the ticket.
void Slots::tell_started(SlotId slot) {
  context_.answers().settle({.ticket = state_.table.head(slot).ticket,
                             .state = TicketState::started,
                             .code = Errc{},
                             .epoch = state_.table.slots[slot].epoch,
                             .worker = state_.workers[state_.table.placed[slot].holder].id,
                             .text = {}},
                            false);
}

void Slots::tell_stopped(const KeptJob& job, std::uint64_t epoch) {
  context_.answers().settle({job.ticket, TicketState::stopped, Errc{}, epoch, {}, {}}, job.answer_in_log);
}

void Slots::tell_failed(const KeptJob& job, std::uint64_t epoch, BytesView error) {
  context_.answers().settle({job.ticket, TicketState::failed, Errc::job_failed, epoch, {}, error}, job.answer_in_log);
}

void Slots::tell_all_stoppers(JobExtra& extra) {
  const std::uint32_t dropped = std::exchange(extra.dropped, 0);
  for (const std::uint64_t ticket : std::exchange(extra.stop_tickets, {})) tell_stopper(ticket, false, dropped);
  for (const std::uint64_t ticket : std::exchange(extra.stop_says, {})) tell_stopper(ticket, true, dropped);
}

void Slots::tell_stopper(std::uint64_t ticket, bool in_log, std::uint32_t dropped) {
  const Bytes text = dropped == 0 ? Bytes() : std::to_string(dropped);
  context_.answers().settle({ticket, TicketState::stopped, Errc{}, 0, {}, text}, in_log);
}

void Slots::tell_unhandled(KeptJob& job) {
  for (const Message& message : job.extra->messages) {
    context_.answers().settle({message.ticket,
                               TicketState::failed,
                               Errc::job_failed,
                               0,
                               {},
                               "the job ended before its handler had handled the message"},
                              message.answer_in_log);
  }
}

void Slots::begin_snapshot(std::function<void(SlotId)> save) {
  ASSERT(!save_);
  ++snapshot_;
  save_ = std::move(save);
}

void Slots::save_now(SlotId slot) {
  Slot& entry = state_.table.slots[slot];
  if (!entry.live || entry.saved == snapshot_) return;
  entry.saved = snapshot_;
  save_(slot);
}

}  // namespace tenure
