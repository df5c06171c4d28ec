// The state as bytes, a bounded piece at a time.

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "base/mutant.h"
#include "machine/encode.h"
#include "machine/machine.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

constexpr std::size_t kChunkBytes = 1U << 20;
constexpr SlotId kSlotsPerChunkMax = 4096;

// Numbers are stored one higher, so that zero is none.
constexpr std::uint32_t up(std::uint32_t id) { return id + 1; }

void save_queue(const std::deque<QueueItem>& queue, v1::QueueState& into) {
  for (const QueueItem& item : queue) {
    into.add_slots(item.slot);
    into.add_stamps(item.stamp);
  }
}

}  // namespace

// To be called before a slot, its place or its jobs change.
void Machine::touch(SlotId slot) {
  if (snapshot_ != nullptr && table_.slots[slot].saved != snapshots_) snapshot_->save(slot);
}

void Machine::release_job(JobId id) {
  KeptJob& job = table_.jobs[id];
  if (job.fresh) --queued_;
  state_bytes_ -= job.payload.size();
  if (job.extra) state_bytes_ -= job.extra->checkpoint.size() + job.extra->message_bytes;
  table_.jobs.remove(id);
}

std::unique_ptr<SnapshotSource> Machine::begin_snapshot() {
  ASSERT(snapshot_ == nullptr && effects_ == nullptr);
  ++snapshots_;
  auto source = std::unique_ptr<SnapshotSource>(new SnapshotSource(*this, snapshots_));
  snapshot_ = source.get();
  return source;
}

SnapshotSource::SnapshotSource(Machine& machine, std::uint32_t id)
    : machine_(machine), id_(id), position_(machine.position_), end_(machine.table_.slots.end()) {
  const Bytes rest = machine.save_rest();
  sum_ += hash_bytes(rest);
  for (std::size_t at = 0; at < rest.size(); at += kChunkBytes) {
    v1::SnapshotChunk part;
    part.set_rest(rest.substr(at, kChunkBytes));
    add_part(part);
    cut();
  }
  machine.each_dead_item([this](const Bytes& item) { add(item); });
}

SnapshotSource::~SnapshotSource() { machine_.snapshot_ = nullptr; }

std::optional<Bytes> SnapshotSource::next() {
  for (SlotId seen = 0; ready_.empty() && at_ < end_ && seen < kSlotsPerChunkMax; ++seen, ++at_) {
    const Slot& slot = machine_.table_.slots[at_];
    if (slot.live && slot.saved != id_) save(at_);
  }
  if (ready_.empty() && at_ == end_ && !done_) {
    v1::SnapshotChunk part;
    part.mutable_tail()->set_items(items_);
    part.mutable_tail()->set_sum(sum_);
    add_part(part);
    done_ = true;
    cut();
  } else if (ready_.empty() && !done_) {
    cut();
  }
  if (ready_.empty()) return std::nullopt;
  Bytes chunk = std::move(ready_.front());
  ready_.pop_front();
  return chunk;
}

void SnapshotSource::save(SlotId slot) {
  machine_.table_.slots[slot].saved = id_;
  machine_.each_slot_item(slot, [this](const Bytes& item) { add(item); });
}

// As an element of SnapshotChunk.items.
void SnapshotSource::add(const Bytes& item) {
  ++items_;
  sum_ += hash_bytes(item);
  append_element(v1::SnapshotChunk::kItemsFieldNumber, item, chunk_);
  if (chunk_.size() >= kChunkBytes) cut();
}

void SnapshotSource::add_part(const v1::SnapshotChunk& part) { part.AppendToString(&chunk_); }

void SnapshotSource::cut() { ready_.push_back(std::exchange(chunk_, {})); }

std::uint64_t Machine::state_digest() const {
  std::uint64_t sum = hash_bytes(save_rest());
  const auto take = [&sum](const Bytes& item) { sum += hash_bytes(item); };
  each_dead_item(take);
  for (SlotId slot = 0; slot < table_.slots.end(); ++slot) {
    if (table_.slots[slot].live) each_slot_item(slot, take);
  }
  return sum;
}

void Machine::each_slot_item(SlotId id, const std::function<void(const Bytes&)>& take) const {
  const Slot& slot = table_.slots[id];
  const Placed& placed = table_.placed[id];
  v1::Item item;
  v1::KeyState& key = *item.mutable_key();
  key.set_slot(id);
  key.set_key(slot.key);
  key.set_epoch(slot.epoch);
  key.set_stamp(slot.stamp);
  key.set_since_ms(slot.since_ms);
  key.set_due_ms(slot.due_ms);
  key.set_head(up(slot.head));
  key.set_tail(up(slot.tail));
  key.set_delayed(up(slot.delayed));
  key.set_state(static_cast<std::uint32_t>(slot.state));
  key.set_kind(static_cast<std::uint32_t>(slot.kind));
  key.set_stop_wanted(slot.stop_wanted);
  key.set_solo(slot.solo);
  key.set_settled(slot.settled);
  key.set_started_ms(slot.started_ms);
  key.set_past(static_cast<std::uint32_t>(slot.past));
  key.set_target(up(placed.target));
  key.set_holder(up(placed.holder));
  Bytes encoded = item.SerializeAsString();
  take(encoded);
  for (const JobId first : {slot.head, slot.delayed}) {
    table_.visit_list(first, [&](JobId job) {
      encode_job(job, item, encoded);
      take(encoded);
    });
  }
}

// Dead tasks belong to no slot.
void Machine::each_dead_item(const std::function<void(const Bytes&)>& take) const {
  v1::Item item;
  Bytes encoded;
  for (const auto& [id, letter] : dead_) {
    if (letter.kind != JobKind::task) continue;
    encode_job(letter.job, item, encoded);
    take(encoded);
  }
}

// A key may have many jobs: they are encoded from one message into one string, whose memory is used again.
void Machine::encode_job(JobId id, v1::Item& scratch, Bytes& into) const {
  const KeptJob& job = table_.jobs[id];
  v1::JobState& state = *scratch.mutable_job();
  state.Clear();
  state.set_job(up(id));
  state.set_payload(job.payload);
  state.set_ticket(job.ticket);
  state.set_stamp(job.stamp);
  state.set_due_ms(job.due_ms);
  state.set_next(up(job.next));
  state.set_slot(up(job.slot));
  state.set_max_attempts(job.max_attempts);
  state.set_attempts(job.attempts);
  state.set_crashes(job.crashes);
  state.set_fuse_ms(job.fuse_ms);
  state.set_say(job.say);
  state.set_fresh(job.fresh);
  if (job.extra) {
    state.set_has_checkpoint(job.extra->has_checkpoint);
    state.set_checkpoint(job.extra->checkpoint);
    state.set_last_message(job.extra->last_message);
    for (const Message& message : job.extra->messages) {
      state.add_message_numbers(message.number);
      state.add_messages(message.text);
    }
    for (const std::uint64_t ticket : job.extra->stop_tickets) state.add_stop_tickets(ticket);
    for (const std::uint64_t ticket : job.extra->stop_says) state.add_stop_says(ticket);
    state.set_together_max(job.extra->together_max);
  }
  scratch.SerializeToString(&into);
}

Bytes Machine::save_rest() const {
  v1::Rest rest;
  rest.set_position(position_);
  rest.set_digest(digest_);
  rest.set_version(version_);
  rest.set_engine_ms(engine_ms_);
  rest.set_log_time_ms(log_time_ms_);
  rest.set_epoch(epoch_);
  rest.set_stamps(stamps_);
  rest.set_queued(queued_);
  rest.set_configured(configured_);
  rest.set_shutting_down(shutting_down_);
  rest.set_gone(gone_);
  v1::Configure& config = *rest.mutable_config();
  config.set_max_queued_jobs(config_.max_queued_jobs);
  config.set_max_attempts(config_.max_attempts);
  config.set_pending_job_ttl_ms(static_cast<std::uint64_t>(config_.pending_job_ttl_ms));
  config.set_worker_shutdown_ttl_ms(static_cast<std::uint64_t>(config_.worker_shutdown_ttl_ms));
  config.set_assignment(static_cast<v1::Configure::Assignment>(config_.assignment));
  config.set_quarantine_after_plus_one(config_.quarantine_after + 1);
  config.set_backoff_base_ms(static_cast<std::uint64_t>(config_.backoff_base_ms));
  config.set_backoff_cap_ms(static_cast<std::uint64_t>(config_.backoff_cap_ms));
  config.set_shard(config_.shard.index);
  config.set_shards(config_.shard.count);
  for (const auto& [id, session] : sessions_.all) {
    v1::SessionState& state = *rest.add_sessions();
    state.set_id(id);
    state.set_node(session.node);
    state.set_host(session.host);
    state.set_pid(session.pid);
    state.set_lease_ms(session.lease_ms);
    state.set_speaks(session.speaks);
    state.set_age(session.age);
    state.set_last_beat(session.last_beat);
    state.set_beat_number(session.beat_number);
    state.set_joined_ms(session.joined_ms);
  }
  for (const WorkerIx ix : workers_.by_age) {
    const PoolWorker& worker = workers_[ix];
    v1::WorkerState& state = *rest.add_workers();
    state.set_index(ix);
    state.set_id(worker.id);
    state.set_session(worker.session);
    state.set_age(worker.age);
    state.set_joined_ms(worker.joined_ms);
    state.set_seed(worker.place.seed);
    state.set_weight(worker.place.weight);
    state.set_window(worker.window);
    state.set_draining(worker.draining);
    for (const Bytes& key : worker.serves) state.add_serves(key);
    save_queue(worker.residents, *state.mutable_residents());
    save_queue(worker.tasks, *state.mutable_tasks());
    save_queue(worker.last_chances, *state.mutable_last_chances());
    save_queue(worker.moves, *state.mutable_moves());
    state.set_starting(worker.starting);
    state.set_tasks_held(worker.tasks_held);
    state.set_moving(worker.moving);
    state.set_keys_held(worker.keys_held);
    state.set_on_trial(worker.on_trial);
  }
  rest.set_session_ages(sessions_.ages);
  rest.set_worker_ages(workers_.ages);
  for (const KeptPlace& place : workers_.kept_places) {
    v1::PlaceState& state = *rest.add_kept_places();
    state.set_worker(place.worker);
    state.set_seed(place.seed);
  }
  rest.set_slots_end(table_.slots.end());
  for (const SlotId id : table_.slots.free_list()) rest.add_slots_free(id);
  rest.set_jobs_end(table_.jobs.end());
  for (const JobId id : table_.jobs.free_list()) rest.add_jobs_free(id);
  if (!MUTANT(snapshot_forgets_timers)) {
    for (const MachineTimer& timer : timers_) {
      v1::TimerState& state = *rest.add_timers();
      state.set_due_ms(timer.due_ms);
      state.set_stamp(timer.stamp);
      state.set_kind(static_cast<std::uint32_t>(timer.kind));
      state.set_id(timer.id);
    }
  }
  for (const auto& [id, sender] : senders_.all()) {
    v1::SenderState& state = *rest.add_senders();
    state.set_id(id);
    state.set_last(sender.last);
    state.set_seen(sender.seen);
    state.set_used_ms(sender.used_ms);
    state.set_order(sender.order);
  }
  rest.set_sender_orders(senders_.orders());
  for (const auto& [key, workers] : served_) {
    v1::ServedState& state = *rest.add_served();
    state.set_key(key);
    for (const WorkerIx ix : workers) state.add_workers(ix);
  }
  for (const auto& [id, letter] : dead_) {
    v1::DeadState& state = *rest.add_dead();
    state.set_id(id);
    state.set_key(letter.key);
    state.set_kind(static_cast<std::uint32_t>(letter.kind));
    state.set_quarantined(letter.quarantined);
    state.set_job(up(letter.job));
    state.set_epoch(letter.epoch);
    state.set_since_ms(letter.since_ms);
    state.set_error(letter.error);
  }
  for (const PastTenure& tenure : past_) {
    v1::PastState& state = *rest.add_past();
    state.set_key(tenure.key);
    state.set_worker(tenure.worker);
    state.set_epoch(tenure.epoch);
    state.set_started_ms(tenure.started_ms);
    state.set_ended_ms(tenure.ended_ms);
    state.set_why(static_cast<std::uint32_t>(tenure.why));
    state.set_quarantined(tenure.quarantined);
  }
  for (const auto& [ticket, due] : answers_) {
    v1::AnswerState& state = *rest.add_answers();
    state.set_ticket(ticket);
    state.set_order(due.order);
    state.set_state(static_cast<std::uint32_t>(due.state));
    state.set_code(static_cast<std::uint32_t>(due.code));
    state.set_epoch(due.epoch);
    state.set_worker(due.worker);
    state.set_text(due.text);
  }
  rest.set_answer_orders(answer_orders_);
  return rest.SerializeAsString();
}

}  // namespace tenure
