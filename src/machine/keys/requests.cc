#include "machine/keys/requests.h"

#include <algorithm>
#include <set>

#include "base/mutant.h"
#include "machine/answers/answers.h"
#include "machine/limits.h"
#include "machine/own_names.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {
namespace {

constexpr Errc kAccepted{};
constexpr BytesView kTakenByResident = "the key has a resident: a task cannot share it";
constexpr BytesView kTakenByPartition = "keys that begin with partition/ belong to the pool's partitions";
constexpr BytesView kTooManyTypes = "the jobs of the pool have too many different types";

}  // namespace

void Requests::on(const v1::Dispatch& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  if (MUTANT(queue_trims_oldest) && state_.queued >= context_.config().max_queued_jobs) trim_oldest();
  const std::uint64_t hash = hash_bytes(record.key());
  SlotId slot = state_.table.find(record.key(), hash);
  const bool delayed = record.delay_ms() > 0 && !context_.shutting_down();
  const Errc verdict = judge(record, slot, delayed);
  if (MUTANT(key_exists_unchecked) && verdict == Errc::key_exists) {
    return slots_.tell_accepted(record.ticket(), record.answer_in_log(), slot);
  }
  if (verdict != kAccepted) {
    const bool reserved = verdict == Errc::invalid && is_partitions(record.key());
    const Bytes why = verdict == Errc::pool_full ? bound_reached(delayed) : Bytes(reserved ? kTakenByPartition : "");
    return context_.answers().refuse(record.ticket(), record.answer_in_log(), verdict, why);
  }
  accept(record, slot, hash, delayed);
}

void Requests::accept(const v1::Dispatch& record, SlotId slot, std::uint64_t hash, bool delayed) {
  const bool added = slot == kNone;
  if (added) {
    slot = placement_.add_key(record.key(), hash, record.kind() == v1::TASK ? JobKind::task : JobKind::resident);
  } else {
    slots_.touch(slot);
  }
  const JobId id = add_job(record, slot, delayed ? Progress::delayed : Progress::queued);
  context_.note(hash);
  slots_.tell_accepted(record.ticket(), record.answer_in_log(), slot);

  const auto delay_ms = static_cast<std::int64_t>(record.delay_ms());
  if (state_.table.slots[slot].kind == JobKind::resident) {
    state_.table.push_back(slot, id);
    if (delayed) {
      placement_.head_changed(slot);
      slots_.set_state(slot, JobState::waiting);
      slots_.set_timer(slot, TimerKind::retry, context_.log_time_ms() + delay_ms);
    } else {
      line_.next_job(slot);
    }
  } else if (delayed) {
    line_.add_delayed(slot, id, delay_ms);
  } else {
    state_.table.push_back(slot, id);
    if (state_.table.slots[slot].state == JobState::idle || MUTANT(tasks_overlap)) line_.next_job(slot);
  }
  if (added) placement_.ask_for_choice(slot);
}

// In a pool that has partitions, only the pool itself uses their keys.
bool Requests::is_partitions(BytesView key) const {
  return context_.config().ring.partitions != 0 && key.starts_with(kPartitionKeys);
}

SlotId Requests::add_own(const v1::Dispatch& record) {
  const std::uint64_t hash = hash_bytes(record.key());
  accept(record, kNone, hash, false);
  return state_.table.find(record.key(), hash);
}

// Of either kind.
bool Requests::is_sound(const v1::Dispatch& record) {
  return !record.key().empty() && record.key().size() <= kKeyBytesMax && record.payload().size() <= kPayloadBytesMax &&
         record.delay_ms() <= kDelayMsMax;
}

bool Requests::is_task(const v1::Dispatch& record) {
  return record.ticket() != 0 && record.kind() == v1::TASK && is_sound(record) &&
         record.type().size() <= kTypeBytesMax && !is_own_type(record.type());
}

Requests::Room Requests::room_for(const std::vector<const v1::Dispatch*>& tasks) const {
  std::uint32_t queued = 0;
  std::uint32_t delayed = 0;
  std::set<BytesView> types;
  for (const v1::Dispatch* task : tasks) {
    if (!state_.types.knows(task->type())) types.insert(task->type());
    const SlotId slot = state_.table.find(task->key());
    if (slot != kNone && state_.table.slots[slot].kind == JobKind::resident) continue;
    ++(task->delay_ms() > 0 ? delayed : queued);
  }
  const PoolConfig& config = context_.config();
  // These would never have room.
  if (queued > config.max_queued_jobs) return {Errc::invalid, "more tasks than max_queued_jobs in one emit"};
  if (delayed > config.max_delayed_jobs) return {Errc::invalid, "more tasks than max_delayed_jobs in one emit"};
  const bool fits = queued <= config.max_queued_jobs - std::min(state_.queued, config.max_queued_jobs);
  if (!fits) return {Errc::pool_full, queue_is_full()};
  const bool waits = delayed <= config.max_delayed_jobs - std::min(state_.delayed, config.max_delayed_jobs);
  if (!waits) return {Errc::pool_full, too_many_delayed()};
  if (types.size() > state_.types.room()) return {Errc::pool_full, Bytes(kTooManyTypes)};
  return {};
}

bool Requests::take_in(const v1::Dispatch& record, BytesView error) {
  const std::uint64_t hash = hash_bytes(record.key());
  const SlotId slot = state_.table.find(record.key(), hash);
  const bool resident = slot != kNone && state_.table.slots[slot].kind == JobKind::resident;
  if (resident || !error.empty() || is_partitions(record.key())) {
    bury(record, !error.empty() ? error : resident ? BytesView(kTakenByResident) : BytesView(kTakenByPartition));
    return false;
  }
  accept(record, slot, hash, record.delay_ms() > 0);
  return true;
}

// It was never held. The dispatcher, if there were one, would hear that it was accepted and has failed.
void Requests::bury(const v1::Dispatch& record, BytesView error) {
  const JobId id = add_job(record, kNone, Progress::begun);
  context_.note(record.ticket());
  context_.answers().settle({record.ticket(), TicketState::accepted, Errc{}, 0, {}, {}}, record.answer_in_log());
  dead_.bury_unheld(id, record.key(), error);
}

Errc Requests::judge(const v1::Dispatch& record, SlotId slot, bool delayed) const {
  if (!is_sound(record)) return Errc::invalid;
  if (record.kind() != v1::RESIDENT && record.kind() != v1::TASK) return Errc::invalid;
  if (context_.shutting_down()) return Errc::shutting_down;
  if (is_partitions(record.key())) return Errc::invalid;
  if (slot != kNone) {
    // A resident job is the only job of its key.
    const bool shares = record.kind() == v1::TASK && state_.table.slots[slot].kind == JobKind::task;
    if (!shares) return Errc::key_exists;
  }
  const PoolConfig& config = context_.config();
  const std::uint32_t off_by = MUTANT(queue_bound_off_by_one) ? 1 : 0;
  const bool full = delayed ? state_.delayed >= config.max_delayed_jobs && !MUTANT(delayed_not_counted)
                            : state_.queued >= config.max_queued_jobs + off_by;
  if (full) return Errc::pool_full;
  if (!context_.rule(Rule::takes) || record.type().empty()) return kAccepted;
  if (record.type().size() > kTypeBytesMax) return Errc::invalid;
  if (record.kind() == v1::TASK && is_own_type(record.type())) return Errc::invalid;
  return state_.types.has_room_for(record.type()) ? kAccepted : Errc::pool_full;
}

// Version 1 knows no types. A pool that nobody has created yet keeps them for the node that will.
BytesView Requests::type_of(const v1::Dispatch& record) const {
  if (context_.rule(Rule::takes)) return record.type();
  const bool kept = context_.may_come(Rule::takes) && record.type().size() <= kTypeBytesMax &&
                    state_.types.has_room_for(record.type());
  return kept ? BytesView(record.type()) : BytesView();
}

Bytes Requests::bound_reached(bool delayed) const {
  const PoolConfig& config = context_.config();
  if (delayed && state_.delayed >= config.max_delayed_jobs) {
    return too_many_delayed();
  }
  if (!delayed && state_.queued >= config.max_queued_jobs) {
    return queue_is_full();
  }
  return Bytes(kTooManyTypes);
}

Bytes Requests::queue_is_full() const {
  return "max_queued_jobs: " + std::to_string(context_.config().max_queued_jobs) +
         " jobs wait for a handler to begin them";
}

Bytes Requests::too_many_delayed() const {
  return "max_delayed_jobs: " + std::to_string(context_.config().max_delayed_jobs) + " jobs wait for their delay";
}

JobId Requests::add_job(const v1::Dispatch& record, SlotId slot, Progress progress) {
  const JobId id = state_.table.jobs.add();
  KeptJob& job = state_.table.jobs[id];
  job.payload = record.payload();
  job.ticket = record.ticket();
  job.answer_in_log = record.answer_in_log();
  job.slot = slot;
  if (!record.type().empty()) job.type = state_.types.add(type_of(record));
  job.max_attempts = static_cast<std::uint16_t>(std::min<std::uint32_t>(record.max_attempts(), UINT16_MAX));
  state_.bytes += job.payload.size();
  job.progress = Progress::begun;  // counted by none yet
  slots_.set_progress(job, progress);
  return id;
}

// A deliberate bug, for the simulator.
void Requests::trim_oldest() {
  const KeyTable& table = state_.table;
  for (SlotId slot = 0; slot < table.slots.end(); ++slot) {
    const Slot& entry = table.slots[slot];
    if (!entry.live || entry.state != JobState::queued || table.jobs[entry.head].progress != Progress::queued) continue;
    slots_.touch(slot);
    return line_.finish_head(slot);
  }
}

void Requests::on(const v1::Notify& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  const auto refuse = [&](Errc why) { context_.answers().refuse(record.ticket(), record.answer_in_log(), why); };
  const SlotId slot = state_.table.find(record.key());
  if (slot == kNone || state_.table.slots[slot].kind != JobKind::resident || slots_.is_stopping(slot)) {
    return refuse(Errc::no_such_key);
  }
  if (record.message().size() > kMessageBytesMax) return refuse(Errc::invalid);
  slots_.touch(slot);
  JobExtra& extra = state_.table.head(slot).extras();
  if (extra.messages.size() >= kMessagesMax || extra.message_bytes + record.message().size() > kMessagesBytesMax) {
    return refuse(Errc::busy);
  }
  extra.message_bytes += record.message().size();
  // Like epochs, message numbers are not repeated when the log loses its tail. A holder that does not know of the loss,
  // and reports a message of the lost part as handled, must not name another one.
  const std::uint64_t number = std::max(extra.last_message + 1, context_.engine_us());
  extra.last_message = number;
  state_.bytes += record.message().size();
  extra.messages.push_back({number, record.message(), record.ticket(), record.answer_in_log()});
  slots_.tell_accepted(record.ticket(), record.answer_in_log(), slot);
  // A starting holder gets it once the job runs. If the holder is about to release the key, the next holder gets it.
  if (state_.table.slots[slot].state == JobState::running) {
    context_.effects().message(context_.at(), slots_.tenure(slot), number, extra.messages.back().text);
  } else if (MUTANT(notify_dropped_on_move) && state_.table.slots[slot].state == JobState::moving) {
    extra.messages.pop_back();
  }
}

void Requests::on(const v1::Stop& record) {
  if (record.ticket() == 0) return context_.refuse_record();
  const auto refuse = [&](Errc why) { context_.answers().refuse(record.ticket(), record.answer_in_log(), why); };
  const SlotId slot = state_.table.find(record.key());
  if (slot == kNone) return refuse(Errc::no_such_key);
  if (state_.table.slots[slot].partition != kNoPartition) {
    return context_.answers().refuse(record.ticket(), record.answer_in_log(), Errc::invalid,
                                     "a partition cannot be stopped; drain its worker, or resize the partitions");
  }
  if (slots_.is_stopping(slot)) {
    const JobExtra* extra = state_.table.head(slot).extra.get();
    if (extra != nullptr && extra->stop_tickets.size() + extra->stop_says.size() >= kStopsMax) {
      return refuse(Errc::busy);
    }
  }
  slots_.touch(slot);
  slots_.tell_accepted(record.ticket(), record.answer_in_log(), slot);
  stop_job(slot, record.ticket(), record.answer_in_log());
}

// Ends everything under the key: a running job is asked to stop, waiting jobs are dropped.
void Requests::stop_job(SlotId slot, std::uint64_t ticket, bool in_log) {
  const std::uint32_t dropped = line_.drop_waiting(slot);
  if (state_.table.slots[slot].head == kNone) {
    slots_.tell_stopper(ticket, in_log, dropped);
    return line_.next_job(slot);
  }
  KeptJob& job = state_.table.head(slot);
  job.extras().dropped += dropped;
  (in_log ? job.extras().stop_says : job.extras().stop_tickets).push_back(ticket);
  end_head(slot);
}

void Requests::end_key(SlotId slot) {
  slots_.touch(slot);
  end_head(slot);
}

void Requests::end_head(SlotId slot) {
  KeptJob& job = state_.table.head(slot);
  const WorkerIx holder = state_.table.placed[slot].holder;
  switch (state_.table.slots[slot].state) {
    case JobState::starting: return queues_.stop_start(slot, StopReason::stop);
    case JobState::running:
      slots_.set_state(slot, JobState::stopping);
      slots_.ask_stop(slot, StopReason::stop);
      return;
    case JobState::moving:  // it is already stopping, and will not be started again
      --state_.workers[holder].moving;
      queues_.mark(holder);
      if (state_.table.placed[slot].target != kNone) queues_.mark(state_.table.placed[slot].target);
      slots_.set_state(slot, JobState::stopping);
      return;
    case JobState::stopping: return;
    case JobState::dead:
    case JobState::quarantined: dead_.erase_letter_of(slot); break;
    case JobState::idle:
    case JobState::queued:
    case JobState::waiting:
      if (state_.table.slots[slot].kind == JobKind::task) ++job.extras().dropped;
      break;
  }
  slots_.tell_stopped(job, 0);
  slots_.tell_stoppers(job);
  line_.finish_head(slot);
}

}  // namespace tenure
