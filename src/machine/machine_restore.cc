// The state from bytes. A snapshot comes from a disk or a server and is believed only after it was checked: numbers
// that point nowhere, lists that loop, or a sum that differs make it refused, never a crash.

#include <algorithm>
#include <set>

#include "machine/machine.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

constexpr std::uint32_t kSlotsMax = 1U << 30;

constexpr std::uint32_t down(std::uint32_t stored) { return stored - 1; }

Failure broken(const char* what) { return fail(Errc::corrupt, "restore snapshot", what); }

bool load_queue(const v1::QueueState& from, std::uint32_t slots_end, std::deque<QueueItem>& into) {
  if (from.slots_size() != from.stamps_size()) return false;
  for (int i = 0; i < from.slots_size(); ++i) {
    if (from.slots(i) >= slots_end) return false;
    into.push_back({from.slots(i), from.stamps(i)});
  }
  return true;
}

// A free list names each number below `end` at most once.
bool load_free(const google::protobuf::RepeatedField<std::uint32_t>& from, std::uint32_t end,
               std::vector<std::uint32_t>& into) {
  std::vector<bool> seen(end);
  for (const std::uint32_t id : from) {
    if (id >= end || seen[id]) return false;
    seen[id] = true;
    into.push_back(id);
  }
  return true;
}

template <class Enum>
bool load_enum(std::uint32_t from, Enum last, Enum& into) {
  if (from > static_cast<std::uint32_t>(last)) return false;
  into = static_cast<Enum>(from);
  return true;
}

}  // namespace

Status Machine::restore(const std::vector<Bytes>& chunks) {
  Machine fresh;
  Bytes rest_bytes;
  std::vector<v1::SnapshotChunk> parsed(chunks.size());
  std::uint64_t items = 0;
  std::uint64_t sum = 0;
  for (std::size_t i = 0; i < chunks.size(); ++i) {
    if (!parsed[i].ParseFromString(chunks[i])) return broken("a chunk does not parse");
    rest_bytes += parsed[i].rest();
    for (const Bytes& item : parsed[i].items()) sum += hash_bytes(item);
    items += static_cast<std::uint64_t>(parsed[i].items_size());
  }
  sum += hash_bytes(rest_bytes);
  if (parsed.empty() || !parsed.back().has_tail()) return broken("its end is missing");
  if (parsed.back().tail().items() != items || parsed.back().tail().sum() != sum) return broken("its sum differs");

  v1::Rest rest;
  if (!rest.ParseFromString(rest_bytes)) return broken("its rest does not parse");
  if (rest.version() == 0) return broken("its rest is inconsistent");
  if (rest.version() > kMachineVersion) {
    return fail(Errc::version, "restore snapshot",
                "it speaks machine version " + std::to_string(rest.version()) + ", this program speaks " +
                    std::to_string(kMachineVersion) + ": use a newer one");
  }
  if (!fresh.load_rest(rest, items)) return broken("its rest is inconsistent");
  std::uint64_t slots = 0;
  for (const v1::SnapshotChunk& chunk : parsed) {
    for (const Bytes& bytes : chunk.items()) {
      v1::Item item;
      if (!item.ParseFromString(bytes) || !fresh.load_item(item)) return broken("an item is inconsistent");
      slots += item.has_key() ? 1 : 0;
    }
  }
  if (slots != fresh.table_.slots.live() || items - slots != fresh.table_.jobs.live() || !fresh.consistent()) {
    return broken("its items do not fit together");
  }
  fresh.table_.rebuild();
  fresh.refresh_open();

  // All of the state; what is about this process only stays.
  position_ = fresh.position_;
  digest_ = fresh.digest_;
  version_ = fresh.version_;
  engine_ms_ = fresh.engine_ms_;
  log_time_ms_ = fresh.log_time_ms_;
  epoch_ = fresh.epoch_;
  stamps_ = fresh.stamps_;
  queued_ = fresh.queued_;
  configured_ = fresh.configured_;
  shutting_down_ = fresh.shutting_down_;
  gone_ = fresh.gone_;
  config_ = fresh.config_;
  sessions_ = std::move(fresh.sessions_);
  workers_ = std::move(fresh.workers_);
  table_ = std::move(fresh.table_);
  timers_ = std::move(fresh.timers_);
  senders_ = std::move(fresh.senders_);
  served_ = std::move(fresh.served_);
  dead_ = std::move(fresh.dead_);
  dead_tasks_ = fresh.dead_tasks_;
  past_ = std::move(fresh.past_);
  answers_ = std::move(fresh.answers_);
  answer_order_ = std::move(fresh.answer_order_);
  answer_orders_ = fresh.answer_orders_;
  state_bytes_ = fresh.state_bytes_;
  refresh_open();
  told_drained_ = drained();
  snapshots_ = 0;
  return {};
}

bool Machine::load_rest(const v1::Rest& rest, std::uint64_t items) {
  position_ = rest.position();
  digest_ = rest.digest();
  version_ = rest.version();
  engine_ms_ = rest.engine_ms();
  log_time_ms_ = rest.log_time_ms();
  epoch_ = rest.epoch();
  stamps_ = rest.stamps();
  queued_ = rest.queued();
  configured_ = rest.configured();
  shutting_down_ = rest.shutting_down();
  gone_ = rest.gone();

  const v1::Configure& config = rest.config();
  config_.max_queued_jobs = config.max_queued_jobs();
  config_.max_attempts = config.max_attempts();
  config_.pending_job_ttl_ms = static_cast<std::int64_t>(config.pending_job_ttl_ms());
  config_.worker_shutdown_ttl_ms = static_cast<std::int64_t>(config.worker_shutdown_ttl_ms());
  config_.backoff_base_ms = static_cast<std::int64_t>(config.backoff_base_ms());
  config_.backoff_cap_ms = static_cast<std::int64_t>(config.backoff_cap_ms());
  config_.quarantine_after = down(config.quarantine_after_plus_one());
  if (config.assignment() < v1::Configure::RENDEZVOUS || config.assignment() > v1::Configure::CHOSEN) return false;
  config_.assignment = static_cast<Assignment>(config.assignment());
  config_.shard = {config.shard(), std::max(1U, config.shards())};

  for (const v1::SessionState& state : rest.sessions()) {
    Session session{state.id(),     state.node(), state.host(),      state.pid(),         state.lease_ms(),
                    state.speaks(), state.age(),  state.last_beat(), state.beat_number(), state.joined_ms()};
    if (!sessions_.all.emplace(state.id(), std::move(session)).second) return false;
  }
  // Every number is free or has an item: so the room that is made is in proportion to the bytes that were read.
  const std::uint64_t slots_max = static_cast<std::uint64_t>(rest.slots_free_size()) + items;
  const std::uint64_t jobs_max = static_cast<std::uint64_t>(rest.jobs_free_size()) + items;
  if (rest.slots_end() > std::min<std::uint64_t>(slots_max, kSlotsMax)) return false;
  if (rest.jobs_end() > std::min<std::uint64_t>(jobs_max, kSlotsMax)) return false;
  for (const v1::WorkerState& state : rest.workers()) {
    if (state.index() >= kWorkersMax || sessions_.find(state.session()) == nullptr) return false;
    workers_.make_room(state.index() + 1);
    PoolWorker& worker = workers_[state.index()];
    if (worker.live) return false;
    worker.live = true;
    worker.id = state.id();
    worker.session = state.session();
    worker.age = state.age();
    worker.joined_ms = state.joined_ms();
    worker.place = {state.seed(), state.weight()};
    worker.window = state.window();
    worker.draining = state.draining();
    worker.serves.assign(state.serves().begin(), state.serves().end());
    if (!std::is_sorted(worker.serves.begin(), worker.serves.end())) return false;
    const bool queues = load_queue(state.residents(), rest.slots_end(), worker.residents) &&
                        load_queue(state.tasks(), rest.slots_end(), worker.tasks) &&
                        load_queue(state.last_chances(), rest.slots_end(), worker.last_chances) &&
                        load_queue(state.moves(), rest.slots_end(), worker.moves);
    if (!queues) return false;
    worker.starting = state.starting();
    worker.tasks_held = state.tasks_held();
    worker.moving = state.moving();
    worker.keys_held = state.keys_held();
    worker.on_trial = state.on_trial();
    workers_.by_age.push_back(state.index());
  }
  sessions_.ages = rest.session_ages();
  workers_.ages = rest.worker_ages();
  if (static_cast<std::size_t>(rest.kept_places_size()) > kPlacesKeptMax) return false;
  std::set<BytesView> kept;
  for (const v1::PlaceState& state : rest.kept_places()) {
    if (state.worker().empty() || !kept.insert(state.worker()).second) return false;
    workers_.kept_places.push_back({state.worker(), state.seed()});
  }

  std::vector<std::uint32_t> slots_free;
  std::vector<std::uint32_t> jobs_free;
  if (!load_free(rest.slots_free(), rest.slots_end(), slots_free)) return false;
  if (!load_free(rest.jobs_free(), rest.jobs_end(), jobs_free)) return false;
  table_.slots.reset(rest.slots_end(), std::move(slots_free));
  table_.jobs.reset(rest.jobs_end(), std::move(jobs_free));
  table_.placed.assign(rest.slots_end(), Placed{});

  for (const v1::TimerState& state : rest.timers()) {
    MachineTimer timer{state.due_ms(), state.stamp(), TimerKind::retry, state.id()};
    if (!load_enum(state.kind(), TimerKind::solo, timer.kind)) return false;
    if (!timers_.insert(timer).second) return false;
  }
  std::map<std::uint64_t, Sender> senders;
  std::set<std::uint64_t> orders;
  for (const v1::SenderState& state : rest.senders()) {
    const Sender sender{state.last(), state.seen(), state.used_ms(), state.order()};
    if (!senders.emplace(state.id(), sender).second || !orders.insert(state.order()).second) return false;
  }
  senders_.restore(std::move(senders), rest.sender_orders());
  for (const v1::ServedState& state : rest.served()) {
    if (served_.contains(state.key())) return false;
    std::vector<WorkerIx>& workers = served_[state.key()];
    for (const WorkerIx ix : state.workers()) {
      if (ix >= workers_.end() || !workers_[ix].live) return false;
      workers.push_back(ix);
    }
    if (workers.empty()) return false;
  }
  for (const v1::DeadState& state : rest.dead()) {
    if (dead_.contains(state.id())) return false;
    DeadLetter& letter = dead_[state.id()];
    letter = {state.key(),   JobKind::task,    state.quarantined(), down(state.job()),
              state.epoch(), state.since_ms(), state.error()};
    if (!load_enum(state.kind(), JobKind::task, letter.kind) || letter.job >= rest.jobs_end()) return false;
    dead_tasks_ += letter.kind == JobKind::task ? 1 : 0;
  }
  for (const v1::PastState& state : rest.past()) {
    PastTenure tenure{state.key(),      state.worker(),     state.epoch(),      state.started_ms(),
                      state.ended_ms(), TenureEnd::handoff, state.quarantined()};
    if (!load_enum(state.why(), TenureEnd::expired, tenure.why)) return false;
    remember(std::move(tenure));
  }
  if (past_.size() != static_cast<std::size_t>(rest.past_size())) return false;
  for (const v1::AnswerState& state : rest.answers()) {
    if (answers_.contains(state.ticket())) return false;
    DueAnswer& due = answers_[state.ticket()];
    due = {state.order(), TicketState::accepted, static_cast<Errc>(state.code()),
           state.epoch(), state.worker(),        state.text()};
    if (!load_enum(state.state(), TicketState::stopped, due.state)) return false;
    if (!answer_order_.emplace(state.order(), state.ticket()).second) return false;
  }
  answer_orders_ = rest.answer_orders();
  return answers_.size() == answer_order_.size();
}

bool Machine::load_item(const v1::Item& item) {
  if (item.has_job()) {
    const v1::JobState& state = item.job();
    const JobId id = down(state.job());
    if (id >= table_.jobs.end() || state.message_numbers_size() != state.messages_size()) return false;
    KeptJob& job = table_.jobs[id];
    if (state.ticket() == 0 || job.ticket != 0) return false;  // it has a ticket once it was loaded
    job.payload = state.payload();
    job.ticket = state.ticket();
    job.stamp = state.stamp();
    job.due_ms = state.due_ms();
    job.next = down(state.next());
    job.slot = down(state.slot());
    job.max_attempts = state.max_attempts();
    job.attempts = static_cast<std::uint16_t>(state.attempts());
    job.crashes = static_cast<std::uint16_t>(state.crashes());
    if (state.fuse_ms() > kYouthMs) return false;
    job.fuse_ms = static_cast<std::uint16_t>(state.fuse_ms());
    job.say = state.say();
    job.fresh = state.fresh();
    state_bytes_ += job.payload.size();
    const bool plain = !state.has_checkpoint() && state.last_message() == 0 && state.stop_tickets_size() == 0 &&
                       state.stop_says_size() == 0 && state.together_max() == 0;
    if (plain) return true;
    JobExtra& extra = job.extras();
    extra.has_checkpoint = state.has_checkpoint();
    extra.checkpoint = state.checkpoint();
    extra.last_message = state.last_message();
    for (int i = 0; i < state.messages_size(); ++i) {
      extra.messages.push_back({state.message_numbers(i), state.messages(i)});
      extra.message_bytes += state.messages(i).size();
    }
    extra.stop_tickets.assign(state.stop_tickets().begin(), state.stop_tickets().end());
    extra.stop_says.assign(state.stop_says().begin(), state.stop_says().end());
    extra.together_max = state.together_max();
    state_bytes_ += extra.checkpoint.size() + extra.message_bytes;
    return true;
  }
  if (!item.has_key()) return false;
  const v1::KeyState& state = item.key();
  if (state.slot() >= table_.slots.end() || table_.slots[state.slot()].live) return false;
  Slot& slot = table_.slots[state.slot()];
  slot.live = true;
  slot.key = state.key();
  slot.epoch = state.epoch();
  slot.stamp = state.stamp();
  slot.since_ms = state.since_ms();
  slot.due_ms = state.due_ms();
  slot.head = down(state.head());
  slot.tail = down(state.tail());
  slot.delayed = down(state.delayed());
  slot.stop_wanted = state.stop_wanted();
  slot.solo = state.solo();
  slot.settled = state.settled();
  slot.started_ms = state.started_ms();
  table_.placed[state.slot()] = {hash_bytes(slot.key), down(state.target()), down(state.holder())};
  state_bytes_ += slot.key.size();
  return load_enum(state.state(), JobState::quarantined, slot.state) &&
         load_enum(state.kind(), JobKind::task, slot.kind) && load_enum(state.past(), Past::forgotten, slot.past);
}

}  // namespace tenure
