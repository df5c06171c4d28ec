// What users ask of the pool: dispatch, notify, stop, dead letters, shutdown.

#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr Errc kAccepted{};

}  // namespace

void Machine::on(const v1::Dispatch& record) {
  if (record.ticket() == 0) return refuse_record();
  if (MUTANT(queue_trims_oldest) && queued_ >= config_.max_queued_jobs) trim_oldest();
  const std::uint64_t hash = hash_bytes(record.key());
  SlotId slot = table_.find(record.key(), hash);
  const Errc verdict = judge(record, slot);
  if (MUTANT(key_exists_unchecked) && verdict == Errc::key_exists) return accept(record.ticket(), record.say(), slot);
  if (verdict != kAccepted) return refuse(record.ticket(), record.say(), verdict);

  const bool added = slot == kNone;
  if (added) {
    slot = table_.add(record.key(), hash);
    table_.slots[slot].saved = snapshots_;  // it is younger than any snapshot under way
    table_.slots[slot].kind = record.kind() == v1::TASK ? JobKind::task : JobKind::resident;
    table_.slots[slot].since_ms = log_time_ms_;
    table_.placed[slot].target = choose(slot);
    state_bytes_ += record.key().size();
  } else {
    touch(slot);
  }
  const JobId id = table_.jobs.add();
  KeptJob& job = table_.jobs[id];
  job.payload = record.payload();
  job.ticket = record.ticket();
  job.say = record.say();
  job.slot = slot;
  job.max_attempts = std::min<std::uint32_t>(record.max_attempts(), UINT16_MAX);
  state_bytes_ += job.payload.size();
  ++queued_;
  note(hash);
  accept(record.ticket(), record.say(), slot);

  const auto delay_ms = shutting_down_ ? 0 : static_cast<std::int64_t>(record.delay_ms());
  if (table_.slots[slot].kind == JobKind::resident) {
    table_.push_back(slot, id);
    if (delay_ms > 0) {
      set_state(slot, JobState::waiting);
      set_timer(slot, TimerKind::retry, log_time_ms_ + delay_ms);
    } else {
      next_job(slot);
    }
  } else if (delay_ms > 0) {
    job.stamp = ++stamps_;
    job.due_ms = log_time_ms_ + delay_ms;
    table_.push_delayed(slot, id);
    timers_.insert({job.due_ms, job.stamp, TimerKind::delay, id});
  } else {
    table_.push_back(slot, id);
    if (table_.slots[slot].state == JobState::idle || MUTANT(tasks_overlap)) next_job(slot);
  }
  if (added && table_.placed[slot].target == kNone && config_.assignment == Assignment::chosen) {
    effects_->choice_due(at(), table_.slots[slot].key);
  }
}

// A deliberate bug, for the simulator.
void Machine::trim_oldest() {
  for (SlotId slot = 0; slot < table_.slots.end(); ++slot) {
    if (!table_.slots[slot].live || table_.slots[slot].state != JobState::queued || !table_.head(slot).fresh) continue;
    touch(slot);
    return finish_head(slot);
  }
}

Errc Machine::judge(const v1::Dispatch& record, SlotId slot) const {
  if (record.key().empty() || record.key().size() > kKeyBytesMax) return Errc::invalid;
  if (record.payload().size() > kPayloadBytesMax || record.delay_ms() > kDelayMsMax) return Errc::invalid;
  if (record.kind() != v1::RESIDENT && record.kind() != v1::TASK) return Errc::invalid;
  if (shutting_down_) return Errc::shutting_down;
  if (slot != kNone) {
    // A resident job has its key for itself.
    const bool shares = record.kind() == v1::TASK && table_.slots[slot].kind == JobKind::task;
    if (!shares) return Errc::key_exists;
  }
  const std::uint32_t bound = config_.max_queued_jobs + (MUTANT(queue_bound_off_by_one) ? 1 : 0);
  if (queued_ >= bound) return Errc::pool_full;
  return kAccepted;
}

void Machine::on(const v1::Notify& record) {
  if (record.ticket() == 0) return refuse_record();
  const SlotId slot = table_.find(record.key());
  if (slot == kNone || table_.slots[slot].kind != JobKind::resident || is_stopping(slot)) {
    return refuse(record.ticket(), record.say(), Errc::no_such_key);
  }
  if (record.message().size() > kMessageBytesMax) return refuse(record.ticket(), record.say(), Errc::invalid);
  touch(slot);
  JobExtra& extra = table_.head(slot).extras();
  if (extra.messages.size() >= kMessagesMax || extra.message_bytes + record.message().size() > kMessagesBytesMax) {
    return refuse(record.ticket(), record.say(), Errc::busy);
  }
  extra.message_bytes += record.message().size();
  // Like epochs, numbers do not come again when the log loses its tail: a holder that does not know of the loss yet,
  // and says that it has handled a message of the lost part, must not be taken to mean another one.
  const std::uint64_t number = std::max(extra.last_message + 1, engine_us());
  extra.last_message = number;
  state_bytes_ += record.message().size();
  extra.messages.push_back({number, record.message()});
  accept(record.ticket(), record.say(), slot);
  // A holder that is starting gets it once it runs, the next holder if this one is on its way out.
  if (table_.slots[slot].state == JobState::running) {
    effects_->message(at(), tenure_ref(slot), number, extra.messages.back().text);
  } else if (MUTANT(notify_dropped_on_move) && table_.slots[slot].state == JobState::moving) {
    extra.messages.pop_back();
  }
}

void Machine::on(const v1::Stop& record) {
  if (record.ticket() == 0) return refuse_record();
  const SlotId slot = table_.find(record.key());
  if (slot == kNone) return refuse(record.ticket(), record.say(), Errc::no_such_key);
  if (is_stopping(slot)) {
    const JobExtra* extra = table_.head(slot).extra.get();
    if (extra != nullptr && extra->stop_tickets.size() + extra->stop_says.size() >= kStopsMax) {
      return refuse(record.ticket(), record.say(), Errc::busy);
    }
  }
  touch(slot);
  accept(record.ticket(), record.say(), slot);
  stop_job(slot, record.ticket(), record.say());
}

// The holder was asked to stop it for good, or will be once it has started.
bool Machine::is_stopping(SlotId slot) const {
  return table_.slots[slot].state == JobState::stopping || table_.slots[slot].stop_wanted;
}

// Ends everything under the key: what runs is asked to stop, what waits is dropped.
void Machine::stop_job(SlotId slot, std::uint64_t ticket, bool say) {
  drop_waiting_tasks(slot);
  const auto tell_stopped = [&] { tell(ticket, say, {ticket, TicketState::stopped, Errc{}, 0, {}, {}}); };
  if (table_.slots[slot].head == kNone) {
    tell_stopped();
    next_job(slot);
    return;
  }
  KeptJob& job = table_.head(slot);
  (say ? job.extras().stop_says : job.extras().stop_tickets).push_back(ticket);
  switch (table_.slots[slot].state) {
    case JobState::starting: table_.slots[slot].stop_wanted = true; return;
    case JobState::running:
      set_state(slot, JobState::stopping);
      ask_stop(slot, StopReason::stop);
      return;
    case JobState::moving:  // it is being stopped already, and will not be started again
      --workers_[table_.placed[slot].holder].moving;
      mark(table_.placed[slot].holder);
      set_state(slot, JobState::stopping);
      return;
    case JobState::stopping: return;
    case JobState::dead:
    case JobState::quarantined: {
      const auto letter = std::find_if(dead_.begin(), dead_.end(),
                                       [&](const auto& entry) { return entry.second.job == table_.slots[slot].head; });
      dead_.erase(letter);
      [[fallthrough]];
    }
    case JobState::idle:
    case JobState::queued:
    case JobState::waiting: break;
  }
  tell(job.ticket, job.say, {job.ticket, TicketState::stopped, Errc{}, 0, {}, {}});
  settle_stop(job);
  finish_head(slot);
}

// The tasks behind the head, and the delayed ones.
void Machine::drop_waiting_tasks(SlotId slot) {
  Slot& entry = table_.slots[slot];
  if (entry.kind != JobKind::task) return;
  const auto drop_list = [&](JobId first) {
    for (JobId id = first; id != kNone;) {
      KeptJob& job = table_.jobs[id];
      const JobId next = job.next;
      tell(job.ticket, job.say, {job.ticket, TicketState::stopped, Errc{}, 0, {}, {}});
      release_job(id);
      id = next;
    }
  };
  if (entry.head != kNone) {
    drop_list(table_.jobs[entry.head].next);
    table_.jobs[entry.head].next = kNone;
    entry.tail = entry.head;
  }
  for (JobId id = entry.delayed; id != kNone; id = table_.jobs[id].next) {
    timers_.erase({table_.jobs[id].due_ms, table_.jobs[id].stamp, TimerKind::delay, id});
  }
  drop_list(entry.delayed);
  entry.delayed = kNone;
}

void Machine::on(const v1::RetryDead& record) {
  if (record.ticket() == 0) return refuse_record();
  const auto found = dead_.find(record.id());
  if (found == dead_.end()) return refuse(record.ticket(), record.say(), Errc::no_such_key);
  if (shutting_down_) return refuse(record.ticket(), record.say(), Errc::shutting_down);
  const DeadLetter letter = found->second;
  const std::uint64_t hash = hash_bytes(letter.key);
  SlotId slot = table_.find(letter.key, hash);
  if (letter.kind == JobKind::task && slot != kNone && table_.slots[slot].kind == JobKind::resident) {
    return refuse(record.ticket(), record.say(), Errc::key_exists);
  }
  dead_.erase(found);
  KeptJob& job = table_.jobs[letter.job];
  if (letter.kind == JobKind::resident) {
    touch(slot);
  } else {
    --dead_tasks_;
    if (slot == kNone) {
      slot = table_.add(letter.key, hash);
      table_.slots[slot].saved = snapshots_;
      table_.slots[slot].kind = JobKind::task;
      table_.slots[slot].since_ms = log_time_ms_;
      table_.placed[slot].target = choose(slot);
      state_bytes_ += letter.key.size();
      if (table_.placed[slot].target == kNone && config_.assignment == Assignment::chosen) {
        effects_->choice_due(at(), table_.slots[slot].key);
      }
    } else {
      touch(slot);
    }
    job.slot = slot;
    table_.push_back(slot, letter.job);
  }
  job.attempts = 0;
  acquit(job);
  job.fuse_ms = 0;
  accept(record.ticket(), record.say(), slot);
  const JobState state = table_.slots[slot].state;
  if (state == JobState::idle || state == JobState::dead || state == JobState::quarantined) next_job(slot);
}

void Machine::on(const v1::DropDead& record) {
  if (record.ticket() == 0) return refuse_record();
  const auto found = dead_.find(record.id());
  if (found == dead_.end()) return refuse(record.ticket(), record.say(), Errc::no_such_key);
  tell(record.ticket(), record.say(), {record.ticket(), TicketState::accepted, Errc{}, 0, {}, {}});
  if (found->second.kind == JobKind::resident) {
    const SlotId slot = table_.find(found->second.key);
    touch(slot);
    dead_.erase(found);
    finish_head(slot);
  } else {
    --dead_tasks_;
    release_job(found->second.job);
    dead_.erase(found);
  }
}

// No job is accepted from here on. Tasks are still run, without further delay; resident jobs are stopped once they
// have started. Members leave when nothing is left, and the last one's leaving ends the pool.
void Machine::on_shutdown() {
  if (shutting_down_) return refuse_record();
  shutting_down_ = true;
  note(position_);
  effects_->shutdown_began(at());
  for (SlotId slot = 0; slot < table_.slots.end(); ++slot) {
    if (!table_.slots[slot].live) continue;
    touch(slot);
    undelay_all(slot);
    switch (table_.slots[slot].state) {
      case JobState::idle:
        if (table_.slots[slot].head != kNone) next_job(slot);
        break;
      case JobState::waiting:
        set_state(slot, JobState::queued);
        enqueue(slot);
        break;
      case JobState::running:
        if (table_.slots[slot].kind == JobKind::resident) {
          set_state(slot, JobState::stopping);
          ask_stop(slot, StopReason::shutdown);
        }
        break;
      case JobState::moving:
        if (table_.slots[slot].kind == JobKind::resident) {
          --workers_[table_.placed[slot].holder].moving;
          set_state(slot, JobState::stopping);
        }
        break;
      case JobState::starting: table_.slots[slot].stop_wanted = true; break;
      case JobState::dead:
      case JobState::quarantined: finish_head(slot); break;
      case JobState::queued:
      case JobState::stopping: break;
    }
  }
  for (auto& [id, letter] : dead_) {
    if (letter.kind == JobKind::task) release_job(letter.job);
  }
  dead_.clear();
  dead_tasks_ = 0;
  check_shutdown();
}

// The delayed tasks of a key join its list now, in the order in which they would have.
void Machine::undelay_all(SlotId slot) {
  std::vector<MachineTimer> timers;
  for (JobId id = table_.slots[slot].delayed; id != kNone; id = table_.jobs[id].next) {
    timers.push_back({table_.jobs[id].due_ms, table_.jobs[id].stamp, TimerKind::delay, id});
  }
  table_.slots[slot].delayed = kNone;
  std::sort(timers.begin(), timers.end());
  for (const MachineTimer& timer : timers) {
    timers_.erase(timer);
    table_.push_back(slot, timer.id);
  }
}

void Machine::check_shutdown() {
  if (!drained() || gone_) return;
  if (!std::exchange(told_drained_, true)) effects_->shutdown_drained(at());
  if (sessions_.all.empty()) {
    gone_ = true;
    note(position_);
    effects_->pool_gone(at());
  }
}

}  // namespace tenure
