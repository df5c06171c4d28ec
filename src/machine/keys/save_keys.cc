#include <deque>

#include "machine/keys/keys_snapshot.h"
#include "machine/load.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

void save_queue(const std::deque<QueueItem>& queue, v1::QueueState& into) {
  for (const QueueItem& item : queue) {
    into.add_slots(item.slot);
    into.add_stamps(item.stamp);
  }
}

void save_fitness(const WorkerFitness& fitness, const WorkerQueues& queues, v1::FitnessState& into) {
  into.set_window(fitness.window);
  into.set_proven(fitness.proven);
  into.set_unfit(fitness.unfit);
  for (const std::uint64_t key : fitness.failed) into.add_failed(key);
  into.set_error(fitness.error);
  into.set_pause_ms(fitness.pause_ms);
  into.set_probe_at_ms(fitness.probe_at_ms);
  into.set_stamp(fitness.stamp);
  into.set_due_ms(fitness.due_ms);
  into.set_probe(to_stored(fitness.probe));
  into.set_look_from(fitness.look_from);
  save_queue(queues.tentative, *into.mutable_tentative());
}

void save_workers(const KeysState& keys, v1::KeysState& into) {
  for (const WorkerIx ix : keys.workers.by_age) {
    const PoolWorker& worker = keys.workers[ix];
    const WorkerQueues& queues = keys.queues[ix];
    v1::WorkerState& state = *into.add_workers();
    state.set_index(ix);
    state.set_id(worker.id);
    state.set_session(worker.session);
    state.set_age(worker.age);
    state.set_joined_ms(worker.joined_ms);
    state.set_seed(worker.place.seed);
    state.set_weight(worker.place.weight);
    state.set_window(worker.window);
    state.set_draining(worker.draining);
    state.set_leaving(worker.leaving);
    for (const Bytes& key : worker.serves) state.add_serves(key);
    worker.takes.save(*state.mutable_takes());
    save_queue(queues.residents, *state.mutable_residents());
    save_queue(queues.tasks, *state.mutable_tasks());
    for (const auto& [target, waiting] : queues.moves) {
      v1::MovesState& moves = *state.add_moves();
      moves.set_target(to_stored(target));
      save_queue(waiting, *moves.mutable_keys());
    }
    state.set_starting(worker.starting);
    state.set_tasks_held(worker.tasks_held);
    state.set_moving(worker.moving);
    state.set_keys_held(worker.keys_held);
    state.set_isolates(worker.isolates);
    state.set_helps(worker.helps);
    state.set_arriving(worker.arriving);
    state.set_successor(to_stored(worker.successor));
    save_fitness(worker.fitness, queues, *state.mutable_fitness());
    state.set_ordinal(to_stored(worker.ordinal));
    state.set_settle_stamp(worker.settle_stamp);
    state.set_settle_due_ms(worker.settle_due_ms);
  }
  into.set_worker_ages(keys.workers.ages);
  for (const KeptPlace& place : keys.workers.kept_places) {
    v1::PlaceState& state = *into.add_kept_places();
    state.set_worker(place.worker);
    state.set_seed(place.seed);
  }
}

// A key may have many jobs. They are encoded with one reused message and string.
void encode_job(const KeysState& keys, JobId id, v1::Item& scratch, Bytes& into) {
  const KeptJob& job = keys.table.jobs[id];
  v1::JobState& state = *scratch.mutable_job();
  state.Clear();
  state.set_job(to_stored(id));
  state.set_stamp(job.stamp);
  state.set_due_ms(job.due_ms);
  state.set_next(to_stored(job.next));
  state.set_slot(to_stored(job.slot));
  state.set_type(job.type);
  if (job.extra) {
    for (const std::uint64_t ticket : job.extra->stop_tickets) state.add_stop_tickets(ticket);
    for (const std::uint64_t ticket : job.extra->stop_says) state.add_stop_says(ticket);
    state.set_dropped(job.extra->dropped);
    for (const std::uint64_t age : job.extra->failed_on) state.add_failed_on(age);
  }
  save_job_content(job, state);
  scratch.SerializeToString(&into);
}

}  // namespace

void save_job_content(const KeptJob& job, v1::JobState& state) {
  state.set_payload(job.payload);
  state.set_ticket(job.ticket);
  state.set_max_attempts(job.max_attempts);
  state.set_attempts(job.attempts);
  state.set_crashes(job.crashes);
  state.set_lonely_deaths(job.lonely_deaths);
  state.set_answer_in_log(job.answer_in_log);
  state.set_progress(static_cast<std::uint32_t>(job.progress));
  state.set_ran(job.ran);
  state.set_steady(job.steady);
  if (job.extra) {
    state.set_has_checkpoint(job.extra->has_checkpoint);
    state.set_checkpoint(job.extra->checkpoint);
    state.set_last_message(job.extra->last_message);
    for (const Message& message : job.extra->messages) {
      state.add_message_numbers(message.number);
      state.add_messages(message.text);
      state.add_message_tickets(message.ticket);
      state.add_message_says(message.answer_in_log);
    }
    state.set_error(job.extra->error);
  }
}

void save_keys(const KeysState& keys, v1::KeysState& into) {
  into.set_queued(keys.queued);
  into.set_choice_round(keys.choice_round);
  into.set_delayed(keys.delayed);
  save_workers(keys, into);
  into.set_slots_end(keys.table.slots.end());
  for (const SlotId id : keys.table.slots.free_list()) into.add_slots_free(id);
  into.set_jobs_end(keys.table.jobs.end());
  for (const JobId id : keys.table.jobs.free_list()) into.add_jobs_free(id);
  for (const auto& [name, number] : keys.types.numbers()) {
    v1::TypeState& state = *into.add_types();
    state.set_number(number);
    state.set_name(name);
  }
  for (const auto& [key, workers] : keys.servers) {
    v1::ServedState& state = *into.add_served();
    state.set_key(key);
    for (const WorkerIx ix : workers) state.add_workers(ix);
  }
  for (const auto& [id, letter] : keys.dead) {
    v1::DeadState& state = *into.add_dead();
    state.set_id(id);
    state.set_key(letter.key);
    state.set_kind(static_cast<std::uint32_t>(letter.kind));
    state.set_quarantined(letter.quarantined);
    state.set_job(to_stored(letter.job));
    state.set_epoch(letter.epoch);
    state.set_since_ms(letter.since_ms);
    state.set_error(letter.error);
  }
  for (const PastTenure& tenure : keys.past) {
    v1::PastState& state = *into.add_past();
    state.set_key(tenure.key);
    state.set_worker(tenure.worker);
    state.set_epoch(tenure.epoch);
    state.set_started_ms(tenure.started_ms);
    state.set_ended_ms(tenure.ended_ms);
    state.set_why(static_cast<std::uint32_t>(tenure.why));
    state.set_quarantined(tenure.quarantined);
    state.set_error(tenure.error);
  }
}

void each_item(const KeysState& keys, SlotId id, const TakeItem& take) {
  const Slot& slot = keys.table.slots[id];
  const Placed& placed = keys.table.placed[id];
  v1::Item item;
  v1::KeyState& key = *item.mutable_key();
  key.set_slot(id);
  key.set_key(slot.key);
  key.set_epoch(slot.epoch);
  key.set_stamp(slot.stamp);
  key.set_since_ms(slot.since_ms);
  key.set_due_ms(slot.due_ms);
  key.set_head(to_stored(slot.head));
  key.set_tail(to_stored(slot.tail));
  key.set_delayed(to_stored(slot.delayed));
  key.set_state(static_cast<std::uint32_t>(slot.state));
  key.set_kind(static_cast<std::uint32_t>(slot.kind));
  key.set_started_ms(slot.started_ms);
  key.set_past(static_cast<std::uint32_t>(slot.past));
  key.set_diverted(slot.diverted);
  key.set_lent(slot.lent);
  key.set_target(to_stored(placed.target));
  key.set_holder(to_stored(placed.holder));
  Bytes encoded = item.SerializeAsString();
  take(encoded);
  for (const JobId first : {slot.head, slot.delayed}) {
    keys.table.visit_list(first, [&](JobId job) {
      encode_job(keys, job, item, encoded);
      take(encoded);
    });
  }
}

void each_dead_item(const KeysState& keys, const TakeItem& take) {
  v1::Item item;
  Bytes encoded;
  for (const auto& [id, letter] : keys.dead) {
    if (letter.kind != JobKind::task) continue;
    encode_job(keys, letter.job, item, encoded);
    take(encoded);
  }
}

}  // namespace tenure
