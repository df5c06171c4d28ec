#include "node/keys/choice_duty.h"

#include <algorithm>
#include <utility>

#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

bool has_open_worker(const Machine& machine) {
  const std::vector<WorkerIx>& all = machine.workers().by_age;
  return std::any_of(all.begin(), all.end(), [&](WorkerIx ix) { return machine.workers()[ix].open(); });
}

}  // namespace

void ChoiceDuty::stand_down() {
  all_due_ = true;
  keys_due_.clear();
}

void ChoiceDuty::choice_due(const At& /*at*/, BytesView key) {
  if (choose_ && !all_due_) keys_due_.emplace_back(key);
}

void ChoiceDuty::serve(const Machine& machine) {
  if (!choose_ || machine.config().assignment != Assignment::chosen) return;
  if (!all_due_ && keys_due_.empty()) return;
  if (!has_open_worker(machine)) return stand_down();
  if (std::exchange(all_due_, false)) {
    machine.each_job(0, [&](const JobInfo& job) {
      choose(machine, job);
      return true;
    });
  } else {
    for (const Bytes& key : keys_due_) {
      if (const auto job = machine.find(key)) choose(machine, *job);
    }
  }
  keys_due_.clear();
}

// Among the workers that take the job. Without one it waits, and the next worker to come makes every choice due again.
void ChoiceDuty::choose(const Machine& machine, const JobInfo& job) {
  takers_.clear();
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (worker.open() && worker.takes.has(job.kind, job.type)) takers_.push_back({worker.id, worker.place.weight});
  }
  if (takers_.empty()) return;
  const std::size_t index = choose_(job.key, takers_);
  if (index >= takers_.size() || takers_[index].id == job.worker) return;
  v1::Record record;
  record.mutable_choose()->set_key(Bytes(job.key));
  record.mutable_choose()->set_worker(Bytes(takers_[index].id));
  appender_.offer(record);
}

}  // namespace tenure
