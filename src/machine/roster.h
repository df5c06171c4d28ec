#pragma once

// Who is in the pool: sessions (a node's life, which beats) and the workers that live under them. Data and look-up
// only; the rules are in machine_members.cc.

#include <algorithm>
#include <cstdint>
#include <deque>
#include <map>
#include <vector>

#include "assign/rendezvous.h"
#include "base/bytes.h"
#include "machine/key_table.h"
#include "machine/limits.h"

namespace tenure {

struct Session {
  std::uint64_t id = 0;
  Bytes node;
  Bytes host;
  std::uint32_t pid = 0;
  std::uint32_t lease_ms = 0;
  std::uint32_t speaks = 0;
  std::uint64_t age = 0;        // smaller is elder
  std::uint64_t last_beat = 0;  // the position of its last beat, or of its join
  std::uint64_t beat_number = 0;
  std::int64_t joined_ms = 0;  // log time
};

// A key that waits in a worker's queue. Void once the slot's stamp has moved on.
struct QueueItem {
  SlotId slot;
  std::uint64_t stamp;
};

struct RosterWorker {
  Bytes id;
  std::uint64_t session = 0;
  std::uint64_t age = 0;
  std::int64_t joined_ms = 0;
  Place place{};
  std::uint32_t window = 0;
  bool live = false;
  bool draining = false;
  std::vector<Bytes> serves;  // sorted

  // Keys that are to be granted to it, and keys that are to be taken from it.
  std::deque<QueueItem> residents;
  std::deque<QueueItem> tasks;
  std::deque<QueueItem> last_chances;
  std::deque<QueueItem> moves;

  std::uint32_t starting = 0;  // residents granted and not yet started
  std::uint32_t tasks_held = 0;
  std::uint32_t moving = 0;
  std::uint64_t keys_held = 0;
  std::uint32_t on_trial = 0;  // jobs on their last chance that it runs now
  bool dirty = false;          // its queues are to be looked at; never set between records

  bool open() const { return live && !draining; }
};

// Where a worker that is gone stood, if that does not follow from its name: it had replaced another. Whoever replaces
// it in turn gets the same place.
struct KeptPlace {
  Bytes worker;
  std::uint64_t seed = 0;
};

class Roster {
 public:
  std::map<std::uint64_t, Session> sessions;
  std::vector<RosterWorker> workers;  // by WorkerIx; not all are live
  std::vector<WorkerIx> by_age;       // live workers, eldest first
  std::uint64_t ages = 0;
  std::deque<KeptPlace> kept_places;  // the latest last; each worker once

  // The seed of the place that the worker has or last had.
  std::uint64_t seed_of(BytesView id) const {
    if (const WorkerIx ix = worker(id); ix != kNone) return workers[ix].place.seed;
    const auto kept = std::find_if(kept_places.begin(), kept_places.end(),
                                   [id](const KeptPlace& place) { return place.worker == id; });
    return kept != kept_places.end() ? kept->seed : hash_bytes(id);
  }

  Session* session(std::uint64_t id) {
    const auto found = sessions.find(id);
    return found == sessions.end() ? nullptr : &found->second;
  }
  const Session* session(std::uint64_t id) const { return const_cast<Roster*>(this)->session(id); }

  // The eldest session speaks for the pool; null if nobody is in it.
  const Session* eldest() const {
    const Session* best = nullptr;
    for (const auto& [id, session] : sessions) {
      if (best == nullptr || session.age < best->age) best = &session;
    }
    return best;
  }

  // How many sessions are elder than this one: they speak first.
  std::size_t rank(const Session& session) const {
    std::size_t elder = 0;
    for (const auto& [id, other] : sessions) elder += other.age < session.age ? 1 : 0;
    return elder;
  }

  WorkerIx worker(BytesView id) const {
    for (const WorkerIx ix : by_age) {
      if (workers[ix].id == id) return ix;
    }
    return kNone;
  }

  WorkerIx add_worker() {
    WorkerIx ix = 0;
    while (ix < workers.size() && workers[ix].live) ++ix;
    if (ix == workers.size()) workers.emplace_back();
    workers[ix] = RosterWorker{};
    workers[ix].live = true;
    workers[ix].age = ++ages;
    by_age.push_back(ix);
    return ix;
  }

  void remove_worker(WorkerIx ix) {
    keep_place(workers[ix].id, workers[ix].place.seed);
    std::erase(by_age, ix);
    workers[ix] = RosterWorker{};
  }

 private:
  void keep_place(BytesView id, std::uint64_t seed) {
    std::erase_if(kept_places, [id](const KeptPlace& place) { return place.worker == id; });
    if (seed == hash_bytes(id)) return;
    kept_places.push_back({Bytes(id), seed});
    if (kept_places.size() > kPlacesKeptMax) kept_places.pop_front();
  }
};

}  // namespace tenure
