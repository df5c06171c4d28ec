#include "machine/keys/tenures.h"

#include <algorithm>

#include "base/mutant.h"
#include "machine/answers/answers.h"
#include "machine/limits.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {
namespace {

Bytes timeout_text(std::int64_t ttl_ms) {
  const bool whole = ttl_ms % 1000 == 0;
  return "start timed out after " + std::to_string(whole ? ttl_ms / 1000 : ttl_ms) + (whole ? " s" : " ms");
}

}  // namespace

// The slot of a current tenure. A record of any other tenure (from a holder that was fenced, or that woke up long after
// its session ended) finds nothing and changes nothing.
SlotId Tenures::held_slot(BytesView key, std::uint64_t epoch) const {
  const SlotId slot = state_.table.find(key);
  if (slot == kNone) return kNone;
  if (state_.table.slots[slot].epoch != epoch && !MUTANT(stale_epoch_accepted)) return kNone;
  if (state_.table.placed[slot].holder == kNone && !MUTANT(accept_ended_session)) return kNone;
  if (state_.table.slots[slot].head == kNone) return kNone;
  return slot;
}

void Tenures::on(const v1::Started& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return context_.refuse_record();
  Slot& entry = state_.table.slots[slot];
  const WorkerIx holder = state_.table.placed[slot].holder;
  if (holder == kNone) return context_.refuse_record();
  const bool task = entry.kind == JobKind::task;
  if (entry.state != (task ? JobState::running : JobState::starting)) return context_.refuse_record();
  slots_.touch(slot);
  entry.started_ms = std::max<std::int64_t>(context_.engine_ms(), 1);
  slots_.set_progress(state_.table.head(slot), Progress::begun);
  if (task) {
    context_.effects().started(context_.at(), slots_.tenure(slot));
    return slots_.tell_started(slot);
  }

  --state_.workers[holder].starting;
  queues_.mark(holder);
  slots_.set_state(slot, JobState::running);
  KeptJob& job = state_.table.head(slot);
  context_.effects().started(context_.at(), slots_.tenure(slot));
  slots_.tell_started(slot);
  starts_.began(slot, holder, record.tentative());

  if (context_.shutting_down()) {
    slots_.set_state(slot, JobState::stopping);
    return slots_.ask_stop(slot, StopReason::shutdown);
  }
  if (job.extra) {
    for (const Message& message : job.extra->messages) {
      context_.effects().message(context_.at(), slots_.tenure(slot), message.number, message.text);
    }
  }
  if (state_.table.placed[slot].target != holder) queues_.enqueue_move(slot);
}

void Tenures::on(const v1::Released& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.blob().size() > kBlobBytesMax) return context_.refuse_record();
  slots_.touch(slot);
  KeptJob& job = state_.table.head(slot);
  if (record.has_blob()) set_checkpoint(slot, record.blob());
  job.lonely_deaths = 0;
  if (slots_.is_stopping(slot)) {
    end_tenure(slot, TenureEnd::stopped);
    slots_.tell_stopped(job, state_.table.slots[slot].epoch);
    slots_.tell_stoppers(job);
    return line_.finish_head(slot);
  }
  if (starts_.timed_out(slot) && !MUTANT(start_timeout_uncounted)) {
    const Bytes error = timeout_text(context_.config().pending_job_ttl_ms);
    const WorkerIx holder = state_.table.placed[slot].holder;
    end_tenure(slot, TenureEnd::failed, error);
    return starts_.failed(slot, holder, v1::Failed::RETRY, error);
  }
  end_tenure(slot, TenureEnd::handoff);
  slots_.set_state(slot, JobState::queued);
  queues_.enqueue(slot);
}

void Tenures::on(const v1::Done& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.result().size() > kResultBytesMax) return context_.refuse_record();
  slots_.touch(slot);
  KeptJob& job = state_.table.head(slot);
  const TenureRef tenure = slots_.tenure(slot);
  // The key's next job has been in memory since its dispatch. Prefetch it while listeners are called.
  if (job.next != kNone) state_.table.jobs.prefetch(job.next);
  // The log needs no answer: the record itself names the ticket.
  context_.answers().settle({job.ticket, TicketState::done, Errc{}, tenure.epoch, tenure.worker, record.result()},
                            false);
  if (job.next != kNone) state_.table.prefetch_payload(job.next);
  if (job.answer_in_log) context_.answers().forget(job.ticket);
  end_tenure(slot, TenureEnd::done);
  slots_.tell_stoppers(job);
  line_.finish_head(slot);
}

void Tenures::on(const v1::Failed& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return context_.refuse_record();
  slots_.touch(slot);
  const BytesView error = BytesView(record.error()).substr(0, kErrorBytesMax);
  const bool stopping = slots_.is_stopping(slot);
  const bool starting = starts_.was_starting(slot);
  const WorkerIx holder = state_.table.placed[slot].holder;
  if (holder != kNone) context_.effects().tenure_failed(context_.at(), slots_.tenure(slot), error);
  end_tenure(slot, TenureEnd::failed, error);
  if (stopping) {
    KeptJob& job = state_.table.head(slot);
    slots_.tell_failed(job, record.epoch(), error);
    slots_.tell_stoppers(job);
    return line_.finish_head(slot);
  }
  const auto delay_ms = static_cast<std::int64_t>(std::min(record.delay_ms(), kDelayMsMax));
  const int next = Starts::at_least_kept(state_.table.head(slot), record.next());
  if (starting && holder != kNone) {
    if (next != v1::Failed::REQUEUE) return starts_.failed(slot, holder, next, error);
    starts_.put_off(slot, holder);
  }
  fail_job(slot, next, error, delay_ms);
}

void Tenures::fail_job(SlotId slot, int next, BytesView error, std::int64_t delay_ms) {
  KeptJob& job = state_.table.head(slot);
  slots_.set_progress(job, Progress::begun);
  job.lonely_deaths = 0;
  if (next == v1::Failed::DROP) {
    slots_.tell_failed(job, state_.table.slots[slot].epoch, error);
    return line_.finish_head(slot);
  }
  if (next == v1::Failed::BURY) return dead_.bury(slot, false, error);
  starts_.keep_error(slot, error);
  // A task that puts itself off again and again must not keep a pool that is to end.
  const bool ending = context_.shutting_down() && !MUTANT(shutdown_waits_forever);
  if (next != v1::Failed::REQUEUE || ending) return starts_.count_attempt(slot, error);
  slots_.set_state(slot, JobState::waiting);
  slots_.set_timer(slot, TimerKind::retry, context_.log_time_ms() + std::max<std::int64_t>(delay_ms, 0));
}

SlotId Tenures::on(const v1::Checkpoint& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone || record.data().size() > kBlobBytesMax) {
    context_.refuse_record();
    return kNone;
  }
  slots_.touch(slot);
  set_checkpoint(slot, record.data());
  return slot;
}

void Tenures::set_checkpoint(SlotId slot, const Bytes& data) {
  JobExtra& extra = state_.table.head(slot).extras();
  state_.bytes += data.size() - extra.checkpoint.size();
  extra.has_checkpoint = true;
  extra.checkpoint = data;
}

void Tenures::on(const v1::Notified& record) {
  const SlotId slot = held_slot(record.key(), record.epoch());
  if (slot == kNone) return context_.refuse_record();
  slots_.touch(slot);
  KeptJob& job = state_.table.head(slot);
  while (job.extra && !job.extra->messages.empty() && job.extra->messages.front().number <= record.number()) {
    const Message& message = job.extra->messages.front();
    // Those before the one that is named were handled well.
    const bool failed = record.failed() && message.number == record.number() && !MUTANT(message_refusal_swallowed);
    tell_handled(slot, message, failed, BytesView(record.error()).substr(0, kErrorBytesMax));
    state_.bytes -= message.text.size();
    job.extra->message_bytes -= message.text.size();
    job.extra->messages.pop_front();
  }
}

void Tenures::tell_handled(SlotId slot, const Message& message, bool failed, BytesView error) {
  const TenureRef tenure = slots_.tenure(slot);
  context_.answers().settle({.ticket = message.ticket,
                             .state = failed ? TicketState::failed : TicketState::done,
                             .code = failed ? Errc::job_failed : Errc{},
                             .epoch = tenure.epoch,
                             .worker = tenure.worker,
                             .text = failed ? error : BytesView()},
                            message.answer_in_log);
}

// The key has no holder any more. The caller decides what happens to the job.
void Tenures::end_tenure(SlotId slot, TenureEnd why, BytesView error) {
  const WorkerIx ix = state_.table.placed[slot].holder;
  if (ix == kNone) return;
  Slot& entry = state_.table.slots[slot];
  PoolWorker& worker = state_.workers[ix];
  context_.effects().ended(context_.at(), slots_.tenure(slot), why);
  context_.note(entry.epoch);
  if (entry.kind == JobKind::task) {
    --worker.tasks_held;
    entry.past = Past::forgotten;
  } else {
    // If very many tenures end at once, the last ones would push the others out.
    const bool all_end =
        why == TenureEnd::left || why == TenureEnd::fenced || why == TenureEnd::crashed || why == TenureEnd::expired;
    entry.past = all_end && worker.keys_held > kPastTenuresMax ? Past::forgotten : Past::kept;
    if (entry.past == Past::kept) {
      remember({.key = entry.key,
                .worker = worker.id,
                .epoch = entry.epoch,
                .started_ms = entry.started_ms,
                .ended_ms = context_.engine_ms(),
                .why = why,
                .quarantined = false,
                .error = Bytes(error.substr(0, kPastErrorBytesMax))});
    }
    if (entry.state == JobState::starting) --worker.starting;
  }
  if (entry.state == JobState::moving) {
    --worker.moving;
    if (state_.table.placed[slot].target != kNone) queues_.mark(state_.table.placed[slot].target);
  } else if (entry.state == JobState::running && entry.kind == JobKind::resident) {
    starts_.ran_for(slot);
  }
  --worker.keys_held;
  state_.table.placed[slot].holder = kNone;
  queues_.mark(ix);
}

void Tenures::remember(PastTenure tenure) {
  state_.bytes += tenure.bytes();
  state_.past.push_back(std::move(tenure));
  if (state_.past.size() <= kPastTenuresMax) return;
  state_.bytes -= state_.past.front().bytes();
  state_.past.pop_front();
}

void Tenures::orphan(SlotId slot, TenureEnd why, const Death* death) {
  slots_.touch(slot);
  const bool stopping = slots_.is_stopping(slot);
  const std::optional<Bytes> quarantine = death == nullptr ? std::nullopt : blame_.judge(slot, *death);
  end_tenure(slot, why);
  KeptJob& job = state_.table.head(slot);
  if (stopping) {
    slots_.tell_stopped(job, state_.table.slots[slot].epoch);
    slots_.tell_stoppers(job);
    return line_.finish_head(slot);
  }
  if (quarantine) return dead_.bury(slot, true, *quarantine);
  if (MUTANT(orphan_lost) && state_.table.slots[slot].state == JobState::running) return line_.finish_head(slot);
  slots_.set_state(slot, JobState::queued);
  queues_.enqueue(slot);
}

// It counts as an attempt once the holder has given the key back: a start that is under way is never joined by another.
void Tenures::time_out_start(SlotId slot) {
  const WorkerIx holder = state_.table.placed[slot].holder;
  --state_.workers[holder].starting;
  queues_.mark(holder);
  ++state_.workers[holder].moving;
  slots_.set_state(slot, JobState::moving);
  slots_.ask_stop(slot, StopReason::start_timeout);
}

}  // namespace tenure
