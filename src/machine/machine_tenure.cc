// What holders say of the keys they hold, and what the end of a holder leaves behind.

#include <algorithm>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

// The slot of a tenure that is still going on. A record of any other tenure (a holder that was fenced, or that
// woke up long after its session ended) finds nothing and changes nothing.
SlotId Machine::held_slot(BytesView key, std::uint64_t epoch) const {
  const SlotId slot = table_.find(key);
  if (slot == kNone) return kNone;
  if (table_.slots[slot].epoch != epoch && !MUTANT(stale_epoch_accepted)) return kNone;
  if (table_.placed[slot].holder == kNone && !MUTANT(accept_ended_session)) return kNone;
  if (table_.slots[slot].head == kNone) return kNone;
  return slot;
}

void Machine::on(const v1::Started& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return refuse_record();
  Slot& entry = table_.slots[slot];
  const WorkerIx holder = table_.placed[slot].holder;
  if (holder == kNone) return refuse_record();
  if (entry.kind == JobKind::task) {
    if (entry.state != JobState::running) return refuse_record();
    touch(slot);
    entry.started_ms = engine_ms_;
    effects_->started(at(), tenure_ref(slot));
    return tell(table_.head(slot).ticket, false,
                {table_.head(slot).ticket, TicketState::started, Errc{}, entry.epoch, workers_[holder].id, {}});
  }
  if (entry.state != JobState::starting) return refuse_record();

  touch(slot);
  PoolWorker& worker = workers_[holder];
  --worker.starting;
  mark(holder);
  set_state(slot, JobState::running);
  entry.started_ms = engine_ms_;
  if (entry.solo) set_timer(slot, TimerKind::solo, log_time_ms_ + solo_ms(table_.head(slot)));
  KeptJob& job = table_.head(slot);
  effects_->started(at(), tenure_ref(slot));
  tell(job.ticket, false, {job.ticket, TicketState::started, Errc{}, entry.epoch, worker.id, {}});

  if (entry.stop_wanted || shutting_down_) {
    set_state(slot, JobState::stopping);
    return ask_stop(slot, shutting_down_ ? StopReason::shutdown : StopReason::stop);
  }
  if (job.extra) {
    for (const Message& message : job.extra->messages) {
      effects_->message(at(), tenure_ref(slot), message.number, message.text);
    }
  }
  if (table_.placed[slot].target != holder) worker.moves.push_back({slot, entry.stamp});
}

void Machine::on(const v1::Released& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.blob().size() > kBlobBytesMax) return refuse_record();
  touch(slot);
  KeptJob& job = table_.head(slot);
  if (record.has_blob()) {
    JobExtra& extra = job.extras();
    state_bytes_ += record.blob().size() - extra.checkpoint.size();
    extra.has_checkpoint = true;
    extra.checkpoint = record.blob();
  }
  if (is_stopping(slot)) {
    end_tenure(slot, TenureEnd::stopped);
    tell(job.ticket, job.say, {job.ticket, TicketState::stopped, Errc{}, table_.slots[slot].epoch, {}, {}});
    settle_stop(job);
    return finish_head(slot);
  }
  end_tenure(slot, TenureEnd::handoff);
  set_state(slot, JobState::queued);
  enqueue(slot);
}

void Machine::on(const v1::Done& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.result().size() > kResultBytesMax) return refuse_record();
  touch(slot);
  KeptJob& job = table_.head(slot);
  const TenureRef tenure = tenure_ref(slot);
  // The key's next job has lain there since it was dispatched: it is fetched from memory while others are told.
  if (job.next != kNone) table_.jobs.prefetch(job.next);
  // Not said again: the record itself names the ticket.
  tell(job.ticket, false, {job.ticket, TicketState::done, Errc{}, tenure.epoch, tenure.worker, record.result()});
  if (job.next != kNone) table_.prefetch_payload(job.next);
  if (job.say) {
    if (const auto due = answers_.find(job.ticket); due != answers_.end()) {
      answer_order_.erase(due->second.order);
      answers_.erase(due);
    }
  }
  end_tenure(slot, TenureEnd::done);
  settle_stop(job);
  finish_head(slot);
}

void Machine::on(const v1::Failed& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return refuse_record();
  touch(slot);
  const BytesView error = BytesView(record.error()).substr(0, kErrorBytesMax);
  const bool stopping = is_stopping(slot);
  end_tenure(slot, TenureEnd::failed);
  if (stopping) {
    KeptJob& job = table_.head(slot);
    tell_failed(job, record.epoch(), error);
    settle_stop(job);
    return finish_head(slot);
  }
  const auto delay_ms = static_cast<std::int64_t>(std::min(record.delay_ms(), kDelayMsMax));
  fail_job(slot, record.next(), error, delay_ms);
}

void Machine::fail_job(SlotId slot, int next, BytesView error, std::int64_t delay_ms) {
  KeptJob& job = table_.head(slot);
  if (next == v1::Failed::DROP) {
    tell_failed(job, table_.slots[slot].epoch, error);
    return finish_head(slot);
  }
  if (next == v1::Failed::BURY) return bury(slot, false, error);
  if (next != v1::Failed::REQUEUE) {
    ++job.attempts;
    const std::uint32_t limit = job.max_attempts != 0 ? job.max_attempts : config_.max_attempts;
    if (job.attempts >= limit) return bury(slot, false, error);
    if (MUTANT(retry_lost)) return finish_head(slot);
    delay_ms = backoff_ms(table_.slots[slot], job);
  }
  set_state(slot, JobState::waiting);
  set_timer(slot, TimerKind::retry, log_time_ms_ + std::max<std::int64_t>(delay_ms, 0));
}

// Doubles with every attempt, up to the cap; the jitter, up to a half, comes from the epoch, so that all nodes agree.
std::int64_t Machine::backoff_ms(const Slot& slot, const KeptJob& job) const {
  std::int64_t span = config_.backoff_base_ms;
  for (int i = 1; i < job.attempts && span < config_.backoff_cap_ms; ++i) span *= 2;
  span = std::min(span, config_.backoff_cap_ms);
  const auto half = static_cast<std::uint64_t>(span / 2);
  std::uint64_t jitter = half == 0 ? 0 : hash_mix(slot.epoch, slot.stamp) % (half + 1);
  if (MUTANT(local_time_in_machine)) jitter = stats_.entries % (half + 1);
  return static_cast<std::int64_t>(span - static_cast<std::int64_t>(half) + static_cast<std::int64_t>(jitter));
}

// Out of attempts, or too dangerous. A resident job keeps its key, so that nobody starts the same one again by
// accident; a task makes room for the next.
void Machine::bury(SlotId slot, bool quarantined, BytesView error) {
  const JobId id = table_.slots[slot].head;
  KeptJob& job = table_.jobs[id];
  // Named by its last tenure, or by what the next one of its shard would have: epochs do not come again when the log
  // loses its tail, so that somebody who saw a letter in what was lost does not retry or drop another one.
  std::uint64_t letter = table_.slots[slot].epoch;
  while (dead_.contains(letter)) letter += config_.shard.count;
  tell_failed(job, table_.slots[slot].epoch, error);
  effects_->buried(at(), table_.slots[slot].key, letter, quarantined);
  settle_stop(job);
  if (quarantined && !past_.empty() && past_.back().epoch == table_.slots[slot].epoch) past_.back().quarantined = true;
  dead_[letter] = {table_.slots[slot].key,
                   table_.slots[slot].kind,
                   quarantined,
                   id,
                   table_.slots[slot].epoch,
                   log_time_ms_,
                   Bytes(error)};
  if (table_.slots[slot].kind == JobKind::resident) {
    set_state(slot, quarantined ? JobState::quarantined : JobState::dead);
    if (shutting_down_) {
      dead_.erase(letter);
      finish_head(slot);
    }
    return;
  }
  table_.pop_front(slot);
  table_.jobs[id].slot = kNone;
  ++dead_tasks_;
  if (dead_tasks_ > kDeadTasksMax) drop_oldest_dead_task();
  next_job(slot);
}

void Machine::drop_oldest_dead_task() {
  const auto oldest =
      std::find_if(dead_.begin(), dead_.end(), [](const auto& entry) { return entry.second.kind == JobKind::task; });
  release_job(oldest->second.job);
  dead_.erase(oldest);
  --dead_tasks_;
  ++stats_.dead_dropped;
}

void Machine::on(const v1::Checkpoint& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.data().size() > kBlobBytesMax) return refuse_record();
  touch(slot);
  JobExtra& extra = table_.head(slot).extras();
  state_bytes_ += record.data().size() - extra.checkpoint.size();
  extra.has_checkpoint = true;
  extra.checkpoint = record.data();
}

void Machine::on(const v1::Notified& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return refuse_record();
  touch(slot);
  KeptJob& job = table_.head(slot);
  while (job.extra && !job.extra->messages.empty() && job.extra->messages.front().number <= record.number()) {
    state_bytes_ -= job.extra->messages.front().text.size();
    job.extra->message_bytes -= job.extra->messages.front().text.size();
    job.extra->messages.pop_front();
  }
}

// The key has no holder any more. What becomes of the job is the caller's to say.
void Machine::end_tenure(SlotId slot, TenureEnd why) {
  const WorkerIx ix = table_.placed[slot].holder;
  if (ix == kNone) return;
  Slot& entry = table_.slots[slot];
  PoolWorker& worker = workers_[ix];
  effects_->ended(at(), tenure_ref(slot), why);
  note(entry.epoch);
  if (entry.kind == JobKind::task) {
    --worker.tasks_held;
    entry.past = Past::forgotten;
  } else {
    // Of very many that end at once, those that come last would push the others out.
    const bool all_end =
        why == TenureEnd::left || why == TenureEnd::fenced || why == TenureEnd::crashed || why == TenureEnd::expired;
    entry.past = all_end && worker.keys_held > kPastTenuresMax ? Past::forgotten : Past::kept;
    if (entry.past == Past::kept) {
      remember({entry.key, worker.id, entry.epoch, entry.started_ms, engine_ms_, why, false});
    }
    if (entry.state == JobState::starting) --worker.starting;
  }
  if (entry.state == JobState::moving) --worker.moving;
  end_solo(slot);
  --worker.keys_held;
  table_.placed[slot].holder = kNone;
  mark(ix);
}

void Machine::remember(PastTenure tenure) {
  const auto weight = [](const PastTenure& past) { return past.key.size() + past.worker.size() + 40; };
  state_bytes_ += weight(tenure);
  past_.push_back(std::move(tenure));
  if (past_.size() <= kPastTenuresMax) return;
  state_bytes_ -= weight(past_.front());
  past_.pop_front();
}

// The holder is gone without a word about this key.
void Machine::orphan(SlotId slot, TenureEnd why, std::uint32_t on_trial) {
  touch(slot);
  const bool stopping = is_stopping(slot);
  const bool blamed = why == TenureEnd::crashed || why == TenureEnd::expired;
  const bool quarantine = blamed && blame(slot, on_trial);
  end_tenure(slot, why);
  if (stopping) {
    KeptJob& job = table_.head(slot);
    tell(job.ticket, job.say, {job.ticket, TicketState::stopped, Errc{}, table_.slots[slot].epoch, {}, {}});
    settle_stop(job);
    return finish_head(slot);
  }
  if (quarantine) {
    return bury(slot, true, "quarantined: its holder died " + std::to_string(table_.head(slot).crashes) + " times");
  }
  if (MUTANT(orphan_lost) && table_.slots[slot].state == JobState::running) return finish_head(slot);
  set_state(slot, JobState::queued);
  enqueue(slot);
}

// Counts a death of the holder against the job, if the job may have caused it; true once there were too many. Where a
// job was on its last chance the death is that job's, and no other's; where several were, they are tried again, fewer
// at a time.
bool Machine::blame(SlotId slot, std::uint32_t on_trial) {
  const Slot& entry = table_.slots[slot];
  KeptJob& job = table_.head(slot);
  if (on_trial != 0 && !entry.solo) return false;
  if (on_trial > 1) {
    job.extras().together_max = std::max(on_trial / kTrialCut, 1U);
    return false;
  }
  if (entry.settled || is_settled(slot)) {
    acquit(job);
    job.fuse_ms = 0;
    return false;
  }
  if (job.crashes < UINT16_MAX) ++job.crashes;
  const std::int64_t age_ms = entry.state == JobState::starting ? 0 : log_time_ms_ - entry.since_ms;
  job.fuse_ms = std::max(job.fuse_ms, static_cast<std::uint16_t>(std::min(age_ms, kYouthMs)));
  return config_.quarantine_after != 0 && job.crashes >= config_.quarantine_after;
}

void Machine::acquit(KeptJob& job) {
  job.crashes = 0;
  if (job.extra) job.extra->together_max = 0;
}

// If the job is what kills its holders, it does so at about the age it had when they died: it must be alone for longer
// than that, or it passes, and is never found. The age is kept when it passes, until it has run for long.
std::int64_t Machine::solo_ms(const KeptJob& job) {
  static_assert(kYouthMs <= UINT16_MAX);
  return std::clamp<std::int64_t>(2 * std::int64_t{job.fuse_ms}, kSoloMs, kYouthMs);
}

// A resident job that has run for long has shown that it does not kill its holder.
bool Machine::is_settled(SlotId slot) const {
  const Slot& entry = table_.slots[slot];
  return entry.kind == JobKind::resident && entry.state == JobState::running &&
         log_time_ms_ - entry.since_ms >= kYouthMs;
}

void Machine::settle_stop(KeptJob& job) {
  if (!job.extra) return;
  for (const std::uint64_t ticket : std::exchange(job.extra->stop_tickets, {})) {
    tell(ticket, false, {ticket, TicketState::stopped, Errc{}, 0, {}, {}});
  }
  for (const std::uint64_t ticket : std::exchange(job.extra->stop_says, {})) {
    tell(ticket, true, {ticket, TicketState::stopped, Errc{}, 0, {}, {}});
  }
}

// The head job is over and forgotten; the key goes on with the next, or is gone.
void Machine::finish_head(SlotId slot) {
  const JobId id = table_.pop_front(slot);
  release_job(id);
  next_job(slot);
}

void Machine::next_job(SlotId slot) {
  Slot& entry = table_.slots[slot];
  entry.stop_wanted = false;
  if (entry.head != kNone) {
    set_state(slot, JobState::queued);
    return enqueue(slot);
  }
  set_state(slot, JobState::idle);
  if (entry.delayed != kNone) return;
  state_bytes_ -= entry.key.size();
  table_.remove(slot);
  check_shutdown();
}

}  // namespace tenure
