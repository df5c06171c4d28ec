#include "machine/keys/takers.h"

#include "base/mutant.h"

namespace tenure {

void Takers::refresh(const WorkerTable& workers) {
  open_ = Crowd{};
  crowds_.clear();
  uniform_ = {true, true};
  users_ = {};
  helpers_.clear();
  for (const WorkerIx ix : workers.by_age) {
    const PoolWorker& worker = workers[ix];
    if (!worker.open()) continue;
    open_.workers.push_back(ix);
    if (worker.helps) helpers_.push_back(ix);
    open_.places.push_back(worker.place);
    for (const JobKind kind : {JobKind::resident, JobKind::task}) {
      const auto k = static_cast<std::size_t>(kind);
      const bool ignored = MUTANT(placement_ignores_takes);
      if (!worker.takes.users(kind) && !ignored) continue;
      users_[k].workers.push_back(ix);
      users_[k].places.push_back(worker.place);
      if (!worker.takes.all(kind) && !ignored) uniform_[k] = false;
    }
  }
}

void Takers::forget(TypeId type) {
  for (const JobKind kind : {JobKind::resident, JobKind::task}) crowds_.erase(index(kind, type));
}

const Crowd& Takers::find(JobKind kind, TypeId type, const TypeTable& types, const WorkerTable& workers) {
  const auto found = crowds_.find(index(kind, type));
  if (found != crowds_.end()) return found->second;
  if (crowds_.size() >= kCrowdsMax) crowds_.clear();
  Crowd& crowd = crowds_[index(kind, type)];
  for (std::size_t i = 0; i < open_.workers.size(); ++i) {
    if (!workers[open_.workers[i]].takes.has(kind, types.name(type))) continue;
    crowd.workers.push_back(open_.workers[i]);
    crowd.places.push_back(open_.places[i]);
  }
  return crowd;
}

}  // namespace tenure
