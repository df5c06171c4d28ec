#pragma once

// The workers of a pool: members that can hold keys, each under a session. Data and lookups only.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <vector>

#include "assign/ranked.h"
#include "assign/rendezvous.h"
#include "base/bytes.h"
#include "base/mutant.h"
#include "machine/keys/key_table.h"
#include "machine/limits.h"
#include "machine/takes.h"

namespace tenure {

// How far a worker is trusted to start residents. Fitness and Probation have the rules.
struct WorkerFitness {
  std::uint32_t window = kStartsFirst;  // residents that may be on their way to it and starting there
  bool proven = false;                  // a start has succeeded there
  bool unfit = false;                   // it gets no more keys, but for one now and then as a probe
  std::vector<std::uint64_t> failed;    // hashes of the keys that count against it since the last success
  Bytes error;                          // of the last start that failed there, until one succeeds
  std::int64_t pause_ms = 0;            // between two probes
  std::int64_t probe_at_ms = 0;         // when the next one is due
  std::uint64_t stamp = 0;              // of its timer
  std::int64_t due_ms = 0;              // zero: it has none
  SlotId probe = kNone;                 // the key that is tried there
  SlotId look_from = 0;                 // where to look for the next one
};

struct PoolWorker {
  Bytes id;
  std::uint64_t session = 0;
  std::uint64_t age = 0;
  std::int64_t joined_ms = 0;
  Place place{};
  std::uint32_t window = 0;
  bool live = false;
  bool draining = false;
  bool leaving = false;       // draining for good: its node removes it
  bool isolates = false;      // its jobs run in processes of their own
  bool helps = false;         // it also gets tasks that wait for others
  std::vector<Bytes> serves;  // sorted
  Takes takes;                // never changes
  std::uint32_t ordinal = kNoOrdinal;

  std::uint64_t settle_stamp = 0;  // of the timer of its settling
  std::int64_t settle_due_ms = 0;  // zero: it has none

  std::uint32_t starting = 0;  // residents granted but not started
  std::uint32_t tasks_held = 0;
  std::uint32_t moving = 0;
  std::uint64_t keys_held = 0;

  WorkerFitness fitness;
  std::uint32_t arriving = 0;  // residents that others are stopping so that they can move here
  WorkerIx successor = kNone;  // the worker that has replaced it
  bool replaced = false;       // and that is fit; otherwise this one goes on in its place

  bool open() const { return live && !draining && !replaced && (!fitness.unfit || MUTANT(unfit_gets_keys)); }
};

// The place of a worker that is gone, if it does not follow from its name because the worker had replaced another. A
// worker that replaces it gets the same place.
struct KeptPlace {
  Bytes worker;
  std::uint64_t seed = 0;
};

class WorkerTable {
 public:
  std::vector<WorkerIx> by_age;       // live workers, eldest first
  std::uint64_t ages = 0;             // the last age
  std::deque<KeptPlace> kept_places;  // the latest last; each worker once

  PoolWorker& operator[](WorkerIx ix) { return workers_[ix]; }
  const PoolWorker& operator[](WorkerIx ix) const { return workers_[ix]; }
  std::size_t end() const { return workers_.size(); }  // one past the largest number in use
  // For restoring.
  void make_room(std::size_t end) {
    if (workers_.size() < end) workers_.resize(end);
  }

  WorkerIx find(BytesView id) const {
    for (const WorkerIx ix : by_age) {
      if (workers_[ix].id == id) return ix;
    }
    return kNone;
  }

  // The seed of the worker's current or last place.
  std::uint64_t seed_of(BytesView id) const {
    if (const WorkerIx ix = find(id); ix != kNone) return workers_[ix].place.seed;
    const auto kept = std::find_if(kept_places.begin(), kept_places.end(),
                                   [id](const KeptPlace& place) { return place.worker == id; });
    return kept != kept_places.end() ? kept->seed : hash_bytes(id);
  }

  // No two open workers stand at one place.
  void settle_place(WorkerIx ix) {
    const auto taken = [&](WorkerIx other) {
      return other != ix && workers_[other].open() && workers_[other].place.seed == workers_[ix].place.seed;
    };
    while (std::any_of(by_age.begin(), by_age.end(), taken)) {
      workers_[ix].place.seed = hash_mix(workers_[ix].place.seed, workers_[ix].age);
    }
  }

  // The worker that `ix` has replaced, if it could still go on in its place.
  WorkerIx predecessor(WorkerIx ix) const {
    const auto found = std::find_if(by_age.begin(), by_age.end(), [&](WorkerIx other) {
      return workers_[other].successor == ix && !workers_[other].draining;
    });
    return found != by_age.end() ? *found : kNone;
  }

  WorkerIx find_age(std::uint64_t age) const {
    const auto found =
        std::find_if(by_age.begin(), by_age.end(), [&](WorkerIx other) { return workers_[other].age == age; });
    return found != by_age.end() ? *found : kNone;
  }

  WorkerIx add() {
    WorkerIx ix = 0;
    while (ix < workers_.size() && workers_[ix].live) ++ix;
    if (ix == workers_.size()) workers_.emplace_back();
    workers_[ix] = PoolWorker{};
    workers_[ix].live = true;
    workers_[ix].age = ++ages;
    by_age.push_back(ix);
    return ix;
  }

  void remove(WorkerIx ix) {
    keep_place(workers_[ix].id, workers_[ix].place.seed);
    std::erase(by_age, ix);
    workers_[ix] = PoolWorker{};
  }

 private:
  void keep_place(BytesView id, std::uint64_t seed) {
    std::erase_if(kept_places, [id](const KeptPlace& place) { return place.worker == id; });
    if (seed == hash_bytes(id)) return;
    kept_places.push_back({Bytes(id), seed});
    if (kept_places.size() > kPlacesKeptMax) kept_places.pop_front();
  }

  std::vector<PoolWorker> workers_;  // by WorkerIx; not all are live
};

}  // namespace tenure
