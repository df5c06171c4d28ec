// Sessions and workers: who is in the pool, and when somebody no longer is.

#include <algorithm>

#include "base/mutant.h"
#include "machine/machine.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

void Machine::on(const v1::Join& record) {
  const bool sound = record.session() != 0 && record.node().size() <= kIdBytesMax &&
                     record.host().size() <= kIdBytesMax && record.lease_ms() >= kLeaseMsMin &&
                     record.lease_ms() <= kLeaseMsMax && record.epoch_floor() <= kEpochFloorMax;
  if (!sound || gone_ || record.speaks() < version_ || sessions_.find(record.session()) != nullptr ||
      sessions_.all.size() >= kSessionsMax) {
    return refuse_record();
  }
  // Epochs that this node saw in a history that is gone must not be given again.
  epoch_ = std::max(epoch_, record.epoch_floor());
  if (!configured_) configure(record.configure());

  Session& session = sessions_.all[record.session()];
  session.id = record.session();
  session.node = record.node();
  session.host = record.host();
  session.pid = record.pid();
  session.lease_ms = record.lease_ms();
  session.speaks = record.speaks();
  session.age = ++sessions_.ages;
  session.last_beat = position_;
  session.joined_ms = log_time_ms_;
  note(session.id);
  effects_->joined(at(), session.id);
  if (sessions_.all.size() == 1) repeat_answers();  // there was nobody to say them so far
}

void Machine::on(const v1::Beat& record) {
  Session* session = sessions_.find(record.session());
  if (session == nullptr) return refuse_record();
  session->last_beat = position_;
  session->beat_number = std::max(session->beat_number, record.number());
  session->speaks = std::max(session->speaks, record.speaks());
  effects_->beat_seen(at(), {session->id, record.number(), record.digest_position(), record.digest(), record.read()});
}

// A claim that was made too early, too late or twice finds a newer beat, or no session, and is void.
void Machine::on(const v1::Expire& record) {
  const Session* session = sessions_.find(record.session());
  if (session == nullptr) return refuse_record();
  if (session->last_beat != record.last_beat()) return refuse_record();
  end_session(record.session(), SessionEnd::expired);
}

void Machine::on(const v1::End& record) {
  if (sessions_.find(record.session()) == nullptr) return refuse_record();
  switch (record.reason()) {
    case v1::End::FENCED: return end_session(record.session(), SessionEnd::fenced);
    case v1::End::CRASHED: return end_session(record.session(), SessionEnd::crashed);
    default: return end_session(record.session(), SessionEnd::left);
  }
}

void Machine::end_session(std::uint64_t id, SessionEnd how) {
  TenureEnd why = TenureEnd::expired;
  if (how == SessionEnd::left) why = TenureEnd::left;
  if (how == SessionEnd::fenced) why = TenureEnd::fenced;
  if (how == SessionEnd::crashed) why = TenureEnd::crashed;

  const bool was_eldest = sessions_.eldest()->id == id;
  const std::uint32_t on_trial = this->on_trial(id);
  note(id);
  const std::vector<WorkerIx> workers = workers_.by_age;
  for (const WorkerIx ix : workers) {
    if (workers_[ix].session == id) remove_worker(ix, why, on_trial);
  }
  sessions_.all.erase(id);
  effects_->session_ended(at(), id, how);

  // What the eldest had still to say is now the next one's to say.
  if (was_eldest) repeat_answers();
  check_shutdown();
}

void Machine::on(const v1::AddWorker& record) {
  const Session* session = sessions_.find(record.session());
  const bool sound = !record.worker().empty() && record.worker().size() <= kIdBytesMax &&
                     record.weight() <= kWeightMax && record.window() <= kWindowMax &&
                     record.replaces().size() <= kIdBytesMax &&
                     static_cast<std::size_t>(record.serves_size()) <= kServedPerWorkerMax &&
                     std::all_of(record.serves().begin(), record.serves().end(),
                                 [](const Bytes& key) { return !key.empty() && key.size() <= kKeyBytesMax; });
  if (session == nullptr) return refuse_record();
  Errc why{};
  if (!sound) {
    why = Errc::invalid;
  } else if (workers_.find(record.worker()) != kNone) {
    why = Errc::key_exists;
  } else if (workers_.by_age.size() >= kWorkersMax) {
    why = Errc::pool_full;
  }
  if (why != Errc{}) {
    refuse_record();
    effects_->worker_refused(at(), session->id, record.worker(), why);
    return;
  }

  const WorkerIx replaced = record.replaces().empty() ? kNone : workers_.find(record.replaces());
  // The place follows from the name, so that a worker that comes back gets its keys back; one that replaces
  // another stands where that one stands or stood. It may replace its own former life.
  const std::uint64_t seed =
      record.replaces().empty() ? hash_bytes(record.worker()) : workers_.seed_of(record.replaces());
  const WorkerIx ix = workers_.add();
  PoolWorker& worker = workers_[ix];
  worker.id = record.worker();
  worker.session = session->id;
  worker.joined_ms = log_time_ms_;
  worker.window = record.window() == 0 ? kWindowDefault : record.window();
  worker.place.weight = record.weight() == 0 ? kWeightDefault : record.weight();
  worker.place.seed = seed;
  bool inherits = false;  // what an open one was to have; of one that drains, others are to have it by now
  if (replaced != kNone) {
    inherits = workers_[replaced].open() && workers_[replaced].place.weight == worker.place.weight;
    workers_[replaced].draining = true;
  }
  const auto taken = [&](WorkerIx other) {
    return other != ix && workers_[other].open() && workers_[other].place.seed == worker.place.seed;
  };
  while (std::any_of(workers_.by_age.begin(), workers_.by_age.end(), taken)) {
    worker.place.seed = hash_mix(worker.place.seed, worker.age);
  }
  note(worker.place.seed);
  effects_->worker_added(at(), session->id, worker.id);
  refresh_open();
  for (const Bytes& key : record.serves()) set_serves(ix, key, true);
  worker_opened(ix, replaced, inherits);
}

void Machine::on(const v1::RemoveWorker& record) {
  const WorkerIx ix = workers_.find(record.worker());
  if (ix == kNone || workers_[ix].session != record.session()) return refuse_record();
  remove_worker(ix, TenureEnd::left, false);
}

void Machine::on(const v1::Drain& record) {
  const WorkerIx ix = workers_.find(record.worker());
  if (ix == kNone || workers_[ix].draining) return refuse_record();
  workers_[ix].draining = true;
  note(workers_[ix].age);
  refresh_open();
  worker_closed(ix);
}

void Machine::on(const v1::Serve& record) {
  const WorkerIx ix = workers_.find(record.worker());
  if (ix == kNone || workers_[ix].session != record.session()) return refuse_record();
  const auto set = [&](const auto& keys, bool serves) {
    for (const Bytes& key : keys) {
      if (!key.empty() && key.size() <= kKeyBytesMax) set_serves(ix, key, serves);
    }
  };
  set(record.remove(), false);
  set(record.add(), true);
}

void Machine::set_serves(WorkerIx ix, BytesView key, bool serves) {
  std::vector<Bytes>& own = workers_[ix].serves;
  const auto at = std::lower_bound(own.begin(), own.end(), key);
  const bool has = at != own.end() && *at == key;
  if (has == serves || (serves && own.size() >= kServedPerWorkerMax)) return;
  if (serves) {
    own.insert(at, Bytes(key));
    served_[Bytes(key)].push_back(ix);
  } else {
    own.erase(at);
    const auto found = served_.find(key);
    std::erase(found->second, ix);
    if (found->second.empty()) served_.erase(found);
  }
  const SlotId slot = table_.find(key);
  if (slot != kNone) retarget(slot, choose(slot));
}

// So many jobs of its session were on their last chance.
void Machine::remove_worker(WorkerIx ix, TenureEnd why, std::uint32_t on_trial) {
  workers_[ix].draining = true;
  refresh_open();

  for (const Bytes& key : workers_[ix].serves) {
    const auto found = served_.find(key);
    std::erase(found->second, ix);
    if (found->second.empty()) served_.erase(found);
  }
  workers_[ix].serves.clear();

  // In one pass, since a worker may have held half a million keys: what it held waits for its next holder at once.
  const bool rendezvous = config_.assignment == Assignment::rendezvous;
  const std::vector<SlotId> held = table_.select([ix](const Placed& placed) { return placed.holder == ix; });
  table_.visit_each(held, KeyTable::Ahead::slots_and_heads, [&](SlotId slot) {
    touch(slot);
    if (rendezvous && table_.placed[slot].target == ix) table_.placed[slot].target = choose(slot);
    orphan(slot, why, on_trial);
  });
  worker_closed(ix);
  effects_->worker_removed(at(), workers_[ix].session, workers_[ix].id);
  workers_.remove(ix);
  refresh_open();
}

void Machine::on(const v1::SwitchVersion& record) {
  const bool spoken = std::all_of(sessions_.all.begin(), sessions_.all.end(),
                                  [&](const auto& entry) { return entry.second.speaks >= record.to(); });
  if (record.to() <= version_ || !spoken || sessions_.all.empty()) return refuse_record();
  version_ = record.to();
  note(version_);
}

}  // namespace tenure
