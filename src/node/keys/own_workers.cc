#include "node/keys/own_workers.h"

#include <algorithm>
#include <utility>

#include "node/records.h"

namespace tenure {

OwnWorkers::OwnWorkers(Loop& loop, Appender& appender, NodeEvents& events, Nanos retry_after)
    : loop_(loop), appender_(appender), events_(events), retry_after_(retry_after), retry_(loop) {}

void OwnWorkers::add(NodeWorker worker) {
  const Bytes id = worker.id;
  OwnWorker& own = workers_[id] = {.options = std::move(worker)};
  if (session_ != 0) offer(own.options);
}

void OwnWorkers::remove(BytesView id) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  found->second.removing = true;
  if (session_ != 0 && found->second.added) drain(id);
}

void OwnWorkers::serve(BytesView id, std::vector<Bytes> add, std::vector<Bytes> remove) {
  const auto found = workers_.find(id);
  if (found == workers_.end()) return;
  std::vector<Bytes>& serves = found->second.options.serves;
  for (const Bytes& key : remove) std::erase(serves, key);
  serves.insert(serves.end(), add.begin(), add.end());
  // Also while the worker itself is still on its way into the log: this record lies behind it.
  if (session_ == 0) return;
  v1::Record record;
  record.mutable_serve()->set_session(session_);
  record.mutable_serve()->set_worker(Bytes(id));
  for (Bytes& key : add) record.mutable_serve()->add_add(std::move(key));
  for (Bytes& key : remove) record.mutable_serve()->add_remove(std::move(key));
  appender_.offer(record);
}

bool OwnWorkers::removing() const {
  return std::any_of(workers_.begin(), workers_.end(), [](const auto& entry) { return entry.second.removing; });
}

void OwnWorkers::begin(std::uint64_t session, std::uint32_t version, const Ring& ring) {
  session_ = session;
  version_ = version;
  if (closing_) return;
  for (auto& [id, worker] : workers_) worker.refused = false;
  follow(ring);
  offer_all();
}

void OwnWorkers::end() {
  session_ = 0;
  retry_.cancel();
  for (auto& [id, worker] : workers_) worker.added = false;
}

void OwnWorkers::drop_removed() {
  std::erase_if(workers_, [](const auto& entry) { return entry.second.removing; });
}

void OwnWorkers::offer_all() {
  for (const auto& [id, worker] : workers_) {
    if (!worker.added && !worker.refused) offer(worker.options);
  }
}

// A pool of older members knows nothing of what workers take, or of their ranks, and would give the worker any job: the
// worker is held back until they have left. The record of such a worker has a number of its own, which older members
// skip. So it can do no harm even in a pool whose switch to the newer version was lost with the end of the log.
void OwnWorkers::offer(const NodeWorker& worker) {
  if (version_ < worker.version()) return events_.worker_refused(worker.id, Errc::version);
  const bool ranked = worker.ring.partitions != 0;
  v1::Record record;
  v1::AddWorker& add = ranked                      ? *record.mutable_add_ranked()
                       : worker.takes.everything() ? *record.mutable_add_worker()
                                                   : *record.mutable_add_taker();
  if (ranked) {
    encode_ring(worker.ring, *add.mutable_ring());
    add.set_ordinal_plus_one(worker.ordinal + 1);
  }
  add.set_session(session_);
  add.set_worker(worker.id);
  add.set_weight(worker.weight);
  add.set_window(worker.window);
  add.set_replaces(worker.replaces);
  add.set_isolates(worker.isolates);
  add.set_helps(worker.helps);
  for (const Bytes& key : worker.serves) add.add_serves(key);
  worker.takes.save(*add.mutable_takes());
  appender_.offer(record);
}

void OwnWorkers::drain(BytesView id) { appender_.offer(drain_record(id, true)); }

// A worker that has not been added may have the id of another process's. If its record is on its way, worker_added()
// drains it.
void OwnWorkers::drain_all() {
  for (const auto& [id, worker] : workers_) {
    if (worker.added) drain(id);
  }
}

bool OwnWorkers::holding(const Machine& machine) {
  bool holding = false;
  for (auto& [id, worker] : workers_) {
    const WorkerIx ix = machine.workers().find(id);
    if (ix == kNone || machine.workers()[ix].session != session_) continue;
    const PoolWorker& state = machine.workers()[ix];
    const bool empty = state.draining && state.keys_held == 0;
    holding = holding || !empty;
    if (!worker.removing || !empty || std::exchange(worker.removal_sent, true)) continue;
    v1::Record record;
    record.mutable_remove_worker()->set_session(session_);
    record.mutable_remove_worker()->set_worker(id);
    appender_.offer(record);
  }
  return holding;
}

void OwnWorkers::worker_added(const At& /*at*/, std::uint64_t session, BytesView worker) {
  const auto own = workers_.find(worker);
  if (!present(session) || own == workers_.end()) return;
  own->second.added = own->second.ever_added = true;
  events_.worker_added(worker);
  if (own->second.removing || closing_) drain(worker);
}

// Errc::key_exists: another living worker has the id. The former life of a worker that was killed and came back has not
// expired yet, so the worker is offered again. After any other refusal a retry under this session would fail, too.
void OwnWorkers::worker_refused(const At& /*at*/, std::uint64_t session, BytesView worker, Errc why) {
  if (!present(session)) return;
  events_.worker_refused(worker, why);
  const auto own = workers_.find(worker);
  if (own != workers_.end() && why != Errc::key_exists) own->second.refused = true;
  if (why != Errc::key_exists || retry_.armed()) return;
  retry_.arm(loop_.now() + retry_after_, [this] {
    if (session_ != 0 && !closing_) offer_all();
  });
}

void OwnWorkers::worker_removed(const At& /*at*/, std::uint64_t session, BytesView worker) {
  const auto own = workers_.find(worker);
  if (own == workers_.end()) return;
  if (present(session)) {
    own->second.added = false;
    events_.worker_removed(worker);
    if (own->second.removing) workers_.erase(own);
  } else if (session_ != 0 && !closing_ && !own->second.added) {
    offer(own->second.options);
  }
}

// Workers that were held back can be offered now.
void OwnWorkers::version_switched(const At& /*at*/, std::uint32_t version) {
  const std::uint32_t before = std::exchange(version_, version);
  if (session_ == 0 || closing_) return;
  for (const auto& [id, worker] : workers_) {
    const bool held_back = before < worker.options.version();
    if (!worker.added && !worker.refused && held_back) offer(worker.options);
  }
}

void OwnWorkers::partitions_set(const At& /*at*/, const Ring& ring) { follow(ring); }

// A worker that was in the pool has the partitions that the pool has by now, or has again after it lost something. One
// that was never in it is refused if it names others.
void OwnWorkers::follow(const Ring& ring) {
  if (ring.partitions == 0) return;
  for (auto& [id, worker] : workers_) {
    if (worker.options.ring.partitions != 0 && worker.ever_added) worker.options.ring = ring;
  }
}

}  // namespace tenure
