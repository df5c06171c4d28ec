#include "machine/keys/placement.h"

#include <algorithm>
#include <utility>

#include "assign/jump.h"
#include "assign/rendezvous.h"
#include "base/assert.h"
#include "base/mutant.h"
#include "machine/limits.h"
#include "tenure/v1/keys.pb.h"

namespace tenure {

// The worker that should hold the key, given the open workers that take its job; none if there are none, or if a
// choice is due.
WorkerIx Placement::choose(SlotId slot) {
  if (const WorkerIx server = server_of(slot); server != kNone) return server;
  const Crowd& crowd = takers_of(slot);
  if (crowd.workers.empty()) return kNone;
  if (ranks_.is_partition(slot)) return ranks_.choose(slot, crowd);
  const Placed& placed = state_.table.placed[slot];
  switch (context_.config().assignment) {
    case Assignment::rendezvous: return crowd.workers[rendezvous_choose(placed.hash, crowd.places)];
    case Assignment::jump:
      return crowd.workers[jump_choose(placed.hash, static_cast<std::uint32_t>(crowd.workers.size()))];
    case Assignment::chosen:
      if (placed.target != kNone && state_.workers[placed.target].open() && takes(placed.target, slot)) {
        return placed.target;
      }
      return context_.sessions().chooser != 0 && !is_own(slot) ? kNone : rendezvous(slot);
  }
  ASSERT(false);
}

// The open workers that take the key's job.
const Crowd& Placement::takers_of(SlotId slot) {
  const JobKind kind = state_.table.slots[slot].kind;
  const TypeId type = types_matter(kind) ? state_.table.head_type(slot) : kNoType;
  return state_.takers.of(kind, type, state_.types, state_.workers);
}

WorkerIx Placement::rendezvous(SlotId slot) {
  ASSERT(!ranks_.is_partition(slot));
  const Crowd& crowd = takers_of(slot);
  if (crowd.workers.empty()) return kNone;
  return crowd.workers[rendezvous_choose(state_.table.placed[slot].hash, crowd.places)];
}

bool Placement::takes(WorkerIx ix, SlotId slot) const {
  if (ranks_.is_partition(slot) && !ranks_.may_hold(ix, slot)) return false;
  const Takes& taken = state_.workers[ix].takes;
  const JobKind kind = state_.table.slots[slot].kind;
  if (taken.all(kind) && !may_be_own(kind)) return true;
  return taken.has(kind, state_.types.name(state_.table.head_type(slot))) || MUTANT(placement_ignores_takes);
}

WorkerIx Placement::find_server(SlotId slot) const {
  const auto found = state_.servers.find(state_.table.slots[slot].key);
  if (found == state_.servers.end()) return kNone;
  const auto open = std::find_if(found->second.rbegin(), found->second.rend(),
                                 [&](WorkerIx ix) { return state_.workers[ix].open() && takes(ix, slot); });
  return open != found->second.rend() ? *open : kNone;
}

// One session chooses at a time, and only for the workers that there are: a choice that was made for others may name a
// worker that is no longer the right one, and the next choice is on its way.
void Placement::on(const v1::Choose& record) {
  const std::uint64_t chooser = context_.sessions().chooser;
  const bool current = record.round() == state_.choice_round || MUTANT(choice_of_other_workers);
  const SlotId slot = state_.table.find(record.key());
  if (!is_chosen() || chooser == 0 || record.session() != chooser || !current || slot == kNone) {
    return context_.refuse_record();
  }
  if (is_own(slot) || ranks_.is_partition(slot)) return context_.refuse_record();
  if (served(slot)) return context_.refuse_record();  // a served key belongs to its server, whatever the choice
  const WorkerIx ix = record.worker().empty() ? rendezvous(slot) : state_.workers.find(record.worker());
  if (ix == kNone || !state_.workers[ix].open() || !takes(ix, slot)) return context_.refuse_record();
  retarget(slot, ix);
}

// Without anybody who chooses, keys are placed by rendezvous until somebody does.
void Placement::chooser_changed() {
  if (!is_chosen()) return;
  if (context_.sessions().chooser != 0) return choices_due();
  const std::vector<SlotId> waiting =
      state_.table.select([](const Placed& placed) { return placed.target == kNone; });  // or free
  for (const SlotId slot : waiting) {
    if (state_.table.slots[slot].live) retarget(slot, choose(slot));
  }
}

void Placement::choices_due() {
  // The users' function is not asked about keys of the library itself.
  if (state_.types.has_own()) {
    for (SlotId slot = 0; slot < state_.table.placed.size(); ++slot) {
      if (!state_.table.slots[slot].live || !is_own(slot) || stays(slot)) continue;
      retarget(slot, ranks_.is_partition(slot) ? choose(slot) : rendezvous(slot));
    }
  }
  ++state_.choice_round;
  context_.note(state_.choice_round);
  context_.effects().choices_due(context_.at());
}

SlotId Placement::add_key(BytesView key, std::uint64_t hash, JobKind kind) {
  const SlotId slot = state_.table.add(key, hash);
  slots_.mark_saved(slot);
  state_.table.slots[slot].kind = kind;
  state_.table.slots[slot].since_ms = context_.log_time_ms();
  ranks_.added(slot);
  state_.table.placed[slot].target = choose(slot);
  state_.bytes += key.size();
  return slot;
}

void Placement::tell_choice_due(SlotId slot) {
  if (context_.sessions().chooser == 0 || is_own(slot)) return;
  context_.effects().choice_due(context_.at(), state_.table.slots[slot].key);
}

void Placement::retarget_head(SlotId slot) {
  slots_.touch(slot);
  slots_.set_target(slot, choose(slot));
  if (state_.table.slots[slot].head != kNone) ask_for_choice(slot);
}

void Placement::retarget(SlotId slot, WorkerIx target) {
  if (state_.table.slots[slot].diverted) {
    slots_.touch(slot);
    state_.table.slots[slot].diverted = target != choose(slot);
  }
  if (state_.table.placed[slot].target != target) aim(slot, target);
}

void Placement::aim(SlotId slot, WorkerIx target) {
  slots_.touch(slot);
  const Placed& placed = state_.table.placed[slot];
  const Slot& entry = state_.table.slots[slot];
  if (entry.state == JobState::moving && placed.target != kNone) queues_.mark(placed.target);
  slots_.set_target(slot, target);
  if (entry.state == JobState::queued) {
    slots_.set_state(slot, JobState::queued);  // makes its place in the old queue void
    queues_.enqueue(slot);
  } else if (entry.state == JobState::running && entry.kind == JobKind::resident && placed.holder != target) {
    if (MUTANT(handback_unreleased) && ranks_.is_partition(slot)) return queues_.grant_held(slot);
    queues_.enqueue_move(slot);
  }
}

void Placement::retarget_all() {
  refresh_open();
  for (SlotId slot = 0; slot < state_.table.placed.size(); ++slot) {
    const WorkerIx target = choose(slot);
    const bool changes = target != state_.table.placed[slot].target && state_.table.slots[slot].live;
    if (changes && !stays(slot)) retarget(slot, target);
  }
  if (is_chosen()) choices_due();
}

void Placement::retarget_orphan(SlotId slot, WorkerIx from) {
  if (context_.config().assignment != Assignment::rendezvous || state_.table.placed[slot].target != from) return;
  state_.table.slots[slot].diverted = false;
  slots_.set_target(slot, choose(slot));
}

void Placement::set_serves(WorkerIx ix, BytesView key, bool serves) {
  std::vector<Bytes>& own = state_.workers[ix].serves;
  const auto at = std::lower_bound(own.begin(), own.end(), key);
  const bool has = at != own.end() && *at == key;
  if (has == serves || (serves && own.size() >= kServedPerWorkerMax)) return;
  if (serves) {
    own.insert(at, Bytes(key));
    state_.servers[Bytes(key)].push_back(ix);
  } else {
    own.erase(at);
    remove_server(ix, key);
  }
  const SlotId slot = state_.table.find(key);
  if (slot == kNone) return;
  if (serves || !is_chosen() || served(slot) || ranks_.is_partition(slot)) return retarget(slot, choose(slot));
  // It stays with its last server until the function has chosen.
  if (context_.sessions().chooser == 0) return retarget(slot, rendezvous(slot));
  if (!MUTANT(serving_ends_unasked)) context_.effects().choice_due(context_.at(), key);
}

void Placement::serve_again(WorkerIx ix) {
  for (const Bytes& key : state_.workers[ix].serves) {
    const SlotId slot = state_.table.find(key);
    if (slot != kNone && server_of(slot) == ix) retarget(slot, ix);
  }
}

void Placement::stop_serving(WorkerIx ix) {
  for (const Bytes& key : state_.workers[ix].serves) remove_server(ix, key);
  state_.workers[ix].serves.clear();
}

void Placement::remove_server(WorkerIx ix, BytesView key) {
  const auto found = state_.servers.find(key);
  std::erase(found->second, ix);
  if (found->second.empty()) state_.servers.erase(found);
}

// Those that it should have, and those that a worker had in whose place it stands.
void Placement::offer_partitions(WorkerIx ix) {
  if (!state_.workers[ix].open()) return;
  for (std::size_t i = 0; i < state_.partitions.size(); ++i) {
    const SlotId slot = state_.partitions[i];
    if (slot == kNone || stays(slot)) continue;
    const WorkerIx target = state_.table.placed[slot].target;
    const bool closed = target != kNone && !state_.workers[target].open();
    if (closed || (takes(ix, slot) && ranks_.prefers(slot, ix))) retarget(slot, choose(slot));
  }
}

// Under rendezvous only the newcomer's draw is compared with the current one, so only keys that must move do.
void Placement::worker_opened(WorkerIx ix, WorkerIx replaced, bool inherits) {
  offer_partitions(ix);
  if (is_chosen()) {
    if (replaced != kNone) {
      for (const SlotId slot : state_.table.select([=](const Placed& placed) { return placed.target == replaced; })) {
        const WorkerIx server = server_of(slot);
        const WorkerIx heir = takes(ix, slot) ? ix : kNone;
        retarget(slot, server != kNone ? server : heir);
      }
    }
    if (context_.sessions().chooser == 0) return chooser_changed();
    return choices_due();
  }
  const PoolWorker& worker = state_.workers[ix];
  if (context_.config().assignment != Assignment::rendezvous || (replaced != kNone && !inherits)) {
    return retarget_all();
  }

  const bool any_served = !state_.servers.empty();
  const std::vector<SlotId> gained = state_.table.select([&](const Placed& placed) {
    if (placed.target == kNone) return true;  // no target, or a free slot
    if (inherits) return placed.target == replaced;
    return rendezvous_prefers(placed.hash, worker.place, state_.workers[placed.target].place);
  });
  state_.table.visit_each(gained, KeyTable::Ahead::slots, [&](SlotId slot) {
    if (!state_.table.slots[slot].live || ranks_.is_partition(slot)) return;
    if (takes(ix, slot)) return retarget(slot, any_served ? choose(slot) : ix);
    if (MUTANT(joins_unseat_residents)) retarget(slot, kNone);
  });
}

// Keys targeted at it go to the others. Keys that it holds follow as moves.
void Placement::worker_closed(WorkerIx ix) {
  if (context_.config().assignment == Assignment::jump) return retarget_all();
  const std::vector<SlotId> lost = state_.table.select([=](const Placed& placed) { return placed.target == ix; });
  state_.table.visit_each(lost, KeyTable::Ahead::slots, [&](SlotId slot) { retarget(slot, choose(slot)); });
  if (is_chosen()) choices_due();
}

// What runs well on an unfit worker stays there.
bool Placement::stays(SlotId slot) const {
  const Placed& placed = state_.table.placed[slot];
  if (placed.holder == kNone || placed.target != placed.holder) return false;
  const PoolWorker& holder = state_.workers[placed.holder];
  const Slot& entry = state_.table.slots[slot];
  return holder.fitness.unfit && !holder.draining && entry.kind == JobKind::resident &&
         (entry.state == JobState::running || entry.state == JobState::starting);
}

void Placement::worker_unfit(WorkerIx ix) {
  if (context_.config().assignment == Assignment::jump) return retarget_all();
  const std::vector<SlotId> lost =
      state_.table.select([=](const Placed& placed) { return placed.target == ix || placed.target == kNone; });
  state_.table.visit_each(lost, KeyTable::Ahead::slots, [&](SlotId slot) {
    if (state_.table.slots[slot].live && !stays(slot)) retarget(slot, choose(slot));
  });
  if (is_chosen()) choices_due();
}

// The worker in whose place `from` stands had the key before, and is the first to be asked for it. A key that a worker
// serves, or that a user's function has chosen a worker for, is not brought to another one.
WorkerIx Placement::other_for(SlotId slot, WorkerIx from, const std::vector<std::uint64_t>& failed_on,
                              bool only_proven) {
  const bool chosen = context_.config().assignment == Assignment::chosen && !ranks_.is_partition(slot);
  if (chosen || server_of(slot) != kNone) return kNone;
  const auto failed = [&](WorkerIx ix) {
    return std::find(failed_on.begin(), failed_on.end(), state_.workers[ix].age) != failed_on.end();
  };
  const WorkerIx predecessor = state_.workers.predecessor(from);
  const bool asked_first = predecessor != kNone && !failed(predecessor) && !state_.workers[predecessor].fitness.unfit &&
                           takes(predecessor, slot);
  if (asked_first) return predecessor;
  for (const bool proven : {true, false}) {
    if (!proven && only_proven) break;
    std::vector<WorkerIx> others;
    std::vector<Place> places;
    for (const WorkerIx ix : takers_of(slot).workers) {
      if (failed(ix) || (proven && !state_.workers[ix].fitness.proven)) continue;
      others.push_back(ix);
      places.push_back(state_.workers[ix].place);
    }
    if (ranks_.is_partition(slot)) {
      if (const WorkerIx best = ranks_.best_of(slot, others); best != kNone) return best;
      continue;
    }
    if (!others.empty()) return others[rendezvous_choose(state_.table.placed[slot].hash, places)];
  }
  return kNone;
}

void Placement::lend(SlotId slot, WorkerIx to) {
  slots_.touch(slot);
  state_.table.slots[slot].lent = false;
  if (to != kNone) {
    state_.table.slots[slot].diverted = false;
    aim(slot, to);
    state_.table.slots[slot].lent = true;
    return;
  }
  // The primary has lent it, so it need not settle first.
  const WorkerIx best = ranks_.best_of(slot, takers_of(slot).workers);
  if (best != kNone && ranks_.rank(best, slot) == Rank::primary) return retarget(slot, best);
  rechoose(slot);
}

void Placement::divert(SlotId slot, WorkerIx to) {
  slots_.touch(slot);
  state_.table.slots[slot].lent = false;
  const WorkerIx before = state_.table.placed[slot].target;
  state_.table.slots[slot].diverted = to != choose(slot);
  if (state_.table.slots[slot].diverted && ranks_.is_partition(slot)) ranks_.diverted(slot);
  if (before != to) return aim(slot, to);
  if (state_.table.slots[slot].state == JobState::queued) queues_.enqueue(slot);
}

void Placement::settle_strays() {
  const std::vector<SlotId> strays = std::exchange(state_.strays, {});
  for (const SlotId slot : strays) {
    const Slot& entry = state_.table.slots[slot];
    if (entry.live && entry.state == JobState::queued) retarget(slot, choose(slot));
  }
}

}  // namespace tenure
