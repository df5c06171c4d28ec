#include <algorithm>
#include <set>
#include <utility>

#include "machine/keys/keys_snapshot.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/snapshot.pb.h"

namespace tenure {
namespace {

constexpr std::uint32_t kSlotsMax = 1U << 30;

bool load_queue(const v1::QueueState& from, std::uint32_t slots_end, std::deque<QueueItem>& into) {
  if (from.slots_size() != from.stamps_size()) return false;
  for (int i = 0; i < from.slots_size(); ++i) {
    if (from.slots(i) >= slots_end) return false;
    into.push_back({from.slots(i), from.stamps(i)});
  }
  return true;
}

// A free list has each number below `end` at most once.
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

bool load_fitness(const v1::FitnessState& from, std::uint32_t slots_end, WorkerFitness& into, WorkerQueues& queues) {
  into.window = from.window();
  into.proven = from.proven();
  into.unfit = from.unfit();
  into.failed.assign(from.failed().begin(), from.failed().end());
  into.error = from.error();
  into.pause_ms = from.pause_ms();
  into.probe_at_ms = from.probe_at_ms();
  into.stamp = from.stamp();
  into.due_ms = from.due_ms();
  into.probe = from_stored(from.probe());
  into.look_from = from.look_from();
  return load_queue(from.tentative(), slots_end, queues.tentative);
}

bool load_moves(const v1::WorkerState& from, std::uint32_t slots_end, WorkerQueues& into, std::size_t& targets) {
  for (const v1::MovesState& moves : from.moves()) {
    const WorkerIx target = from_stored(moves.target());
    const bool fresh = moves.target() <= kWorkersMax && !into.moves.contains(target);
    if (!fresh || !load_queue(moves.keys(), slots_end, into.moves[target])) return false;
    targets = std::max(targets, std::size_t{moves.target()});
  }
  return true;
}

bool load_workers(const v1::KeysState& from, KeysState& into) {
  std::size_t targets = 0;  // one past the highest that some key is to move to
  for (const v1::WorkerState& state : from.workers()) {
    if (state.index() >= kWorkersMax) return false;
    into.workers.make_room(state.index() + 1);
    PoolWorker& worker = into.workers[state.index()];
    if (worker.live) return false;
    worker.live = true;
    worker.id = state.id();
    worker.session = state.session();
    worker.age = state.age();
    worker.joined_ms = state.joined_ms();
    worker.place = {state.seed(), state.weight()};
    worker.window = state.window();
    worker.draining = state.draining();
    worker.leaving = state.leaving();
    worker.serves.assign(state.serves().begin(), state.serves().end());
    if (!std::is_sorted(worker.serves.begin(), worker.serves.end()) || !worker.takes.load(state.takes())) return false;
    if (into.queues.size() <= state.index()) into.queues.resize(state.index() + 1);
    WorkerQueues& queues = into.queues[state.index()];
    const bool loaded = load_queue(state.residents(), from.slots_end(), queues.residents) &&
                        load_queue(state.tasks(), from.slots_end(), queues.tasks) &&
                        load_moves(state, from.slots_end(), queues, targets) &&
                        load_fitness(state.fitness(), from.slots_end(), worker.fitness, queues);
    if (!loaded) return false;
    worker.starting = state.starting();
    worker.tasks_held = state.tasks_held();
    worker.moving = state.moving();
    worker.keys_held = state.keys_held();
    worker.isolates = state.isolates();
    worker.helps = state.helps();
    worker.arriving = state.arriving();
    worker.successor = from_stored(state.successor());
    worker.ordinal = from_stored(state.ordinal());
    worker.settle_stamp = state.settle_stamp();
    worker.settle_due_ms = state.settle_due_ms();
    into.workers.by_age.push_back(state.index());
  }
  into.queues.resize(std::max(into.queues.size(), targets));
  for (const WorkerIx ix : into.workers.by_age) {
    const WorkerIx successor = into.workers[ix].successor;
    if (successor == kNone) continue;
    if (successor >= into.workers.end() || successor == ix || !into.workers[successor].live) return false;
    into.workers[ix].replaced = !into.workers[successor].fitness.unfit;
  }
  into.workers.ages = from.worker_ages();
  if (static_cast<std::size_t>(from.kept_places_size()) > kPlacesKeptMax) return false;
  std::set<BytesView> kept;
  for (const v1::PlaceState& state : from.kept_places()) {
    if (state.worker().empty() || !kept.insert(state.worker()).second) return false;
    into.workers.kept_places.push_back({state.worker(), state.seed()});
  }

  return true;
}

bool load_table(const v1::KeysState& from, std::uint64_t items, KeyTable& table) {
  // Every number is free or has an item, so the allocated memory is proportional to the bytes read.
  const std::uint64_t slots_max = static_cast<std::uint64_t>(from.slots_free_size()) + items;
  const std::uint64_t jobs_max = static_cast<std::uint64_t>(from.jobs_free_size()) + items;
  if (from.slots_end() > std::min<std::uint64_t>(slots_max, kSlotsMax)) return false;
  if (from.jobs_end() > std::min<std::uint64_t>(jobs_max, kSlotsMax)) return false;
  std::vector<std::uint32_t> slots_free;
  std::vector<std::uint32_t> jobs_free;
  if (!load_free(from.slots_free(), from.slots_end(), slots_free)) return false;
  if (!load_free(from.jobs_free(), from.jobs_end(), jobs_free)) return false;
  table.slots.reset(from.slots_end(), std::move(slots_free));
  table.jobs.reset(from.jobs_end(), std::move(jobs_free));
  table.placed.assign(from.slots_end(), Placed{});

  return true;
}

bool load_servers(const v1::KeysState& from, KeysState& into) {
  for (const v1::ServedState& state : from.served()) {
    if (into.servers.contains(state.key())) return false;
    std::vector<WorkerIx>& workers = into.servers[state.key()];
    for (const WorkerIx ix : state.workers()) {
      if (ix >= into.workers.end() || !into.workers[ix].live) return false;
      workers.push_back(ix);
    }
    if (workers.empty()) return false;
  }
  return true;
}

bool load_dead(const v1::KeysState& from, KeysState& into) {
  for (const v1::DeadState& state : from.dead()) {
    if (into.dead.contains(state.id())) return false;
    DeadLetter& letter = into.dead[state.id()];
    letter = {state.key(),   JobKind::task,    state.quarantined(), from_stored(state.job()),
              state.epoch(), state.since_ms(), state.error()};
    if (!load_enum(state.kind(), JobKind::task, letter.kind) || letter.job >= from.jobs_end()) return false;
    into.dead_tasks += letter.kind == JobKind::task ? 1 : 0;
  }
  return true;
}

bool load_types(const v1::KeysState& from, KeysState& into) {
  return std::all_of(from.types().begin(), from.types().end(),
                     [&](const v1::TypeState& state) { return into.types.restore_name(state.number(), state.name()); });
}

bool load_past(const v1::KeysState& from, KeysState& into) {
  if (static_cast<std::size_t>(from.past_size()) > kPastTenuresMax) return false;
  for (const v1::PastState& state : from.past()) {
    PastTenure tenure{.key = state.key(),
                      .worker = state.worker(),
                      .epoch = state.epoch(),
                      .started_ms = state.started_ms(),
                      .ended_ms = state.ended_ms(),
                      .why = TenureEnd::handoff,
                      .quarantined = state.quarantined(),
                      .error = state.error()};
    if (!load_enum(state.why(), TenureEnd::expired, tenure.why)) return false;
    into.bytes += tenure.bytes();
    into.past.push_back(std::move(tenure));
  }
  return true;
}

bool load_job(const v1::JobState& state, KeysState& into) {
  const JobId id = from_stored(state.job());
  if (id >= into.table.jobs.end() || !job_content_fits(state)) return false;
  KeptJob& job = into.table.jobs[id];
  if (state.ticket() == 0 || job.ticket != 0) return false;  // it has a ticket once it was loaded
  job.stamp = state.stamp();
  job.due_ms = state.due_ms();
  job.next = from_stored(state.next());
  job.slot = from_stored(state.slot());
  load_job_content(state, job);
  if (!into.types.restore_job(state.type(), job.type)) return false;
  if (state.stop_tickets_size() != 0 || state.stop_says_size() != 0 || state.dropped() != 0) {
    job.extras().stop_tickets.assign(state.stop_tickets().begin(), state.stop_tickets().end());
    job.extras().stop_says.assign(state.stop_says().begin(), state.stop_says().end());
    job.extras().dropped = state.dropped();
  }
  if (state.failed_on_size() != 0) {
    if (static_cast<std::size_t>(state.failed_on_size()) > kFailedOnMax) return false;
    job.extras().failed_on.assign(state.failed_on().begin(), state.failed_on().end());
  }
  into.bytes += content_bytes(job);
  return true;
}

bool load_key(const v1::KeyState& state, KeysState& into) {
  if (state.slot() >= into.table.slots.end() || into.table.slots[state.slot()].live) return false;
  Slot& slot = into.table.slots[state.slot()];
  slot.live = true;
  slot.key = state.key();
  slot.epoch = state.epoch();
  slot.stamp = state.stamp();
  slot.since_ms = state.since_ms();
  slot.due_ms = state.due_ms();
  slot.head = from_stored(state.head());
  slot.tail = from_stored(state.tail());
  slot.delayed = from_stored(state.delayed());
  slot.diverted = state.diverted();
  slot.lent = state.lent();
  slot.started_ms = state.started_ms();
  into.table.placed[state.slot()] = {hash_bytes(slot.key), from_stored(state.target()), from_stored(state.holder())};
  into.bytes += slot.key.size();
  return load_enum(state.state(), JobState::quarantined, slot.state) &&
         load_enum(state.kind(), JobKind::task, slot.kind) && load_enum(state.past(), Past::forgotten, slot.past);
}

}  // namespace

bool job_content_fits(const v1::JobState& state) {
  const int count = state.messages_size();
  return state.message_numbers_size() == count && state.message_tickets_size() == count &&
         state.message_says_size() == count && state.progress() <= static_cast<std::uint32_t>(Progress::begun);
}

void load_job_content(const v1::JobState& state, KeptJob& job) {
  job.payload = state.payload();
  job.ticket = state.ticket();
  job.max_attempts = static_cast<std::uint16_t>(state.max_attempts());
  job.attempts = static_cast<std::uint16_t>(state.attempts());
  job.crashes = static_cast<std::uint16_t>(state.crashes());
  job.lonely_deaths = static_cast<std::uint16_t>(state.lonely_deaths());
  job.answer_in_log = state.answer_in_log();
  job.progress = static_cast<Progress>(state.progress());
  job.ran = state.ran();
  job.steady = state.steady();
  const bool plain = !state.has_checkpoint() && state.last_message() == 0 && state.error().empty();
  if (plain) return;
  JobExtra& extra = job.extras();
  extra.has_checkpoint = state.has_checkpoint();
  extra.checkpoint = state.checkpoint();
  extra.last_message = state.last_message();
  extra.error = state.error();
  for (int i = 0; i < state.messages_size(); ++i) {
    extra.messages.push_back(
        {state.message_numbers(i), state.messages(i), state.message_tickets(i), state.message_says(i)});
    extra.message_bytes += state.messages(i).size();
  }
}

std::uint64_t content_bytes(const KeptJob& job) {
  return job.payload.size() +
         (job.extra ? job.extra->checkpoint.size() + job.extra->message_bytes + job.extra->error.size() : 0);
}

bool load_keys(const v1::KeysState& from, std::uint64_t items, KeysState& into) {
  into.queued = from.queued();
  into.choice_round = from.choice_round();
  into.delayed = from.delayed();
  return load_table(from, items, into.table) && load_workers(from, into) && load_servers(from, into) &&
         load_dead(from, into) && load_past(from, into) && load_types(from, into);
}

bool load_key_item(const v1::Item& item, KeysState& into) {
  if (item.has_job()) return load_job(item.job(), into);
  return item.has_key() && load_key(item.key(), into);
}

}  // namespace tenure
