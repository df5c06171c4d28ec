#include "node/keys/choice_duty.h"

#include <utility>

#include "tenure/v1/record.pb.h"

namespace tenure {

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
  std::vector<WorkerView> workers;
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (worker.open()) workers.push_back({worker.id, worker.place.weight});
  }
  if (workers.empty()) return stand_down();
  if (std::exchange(all_due_, false)) {
    machine.each_job(0, [&](const JobInfo& job) {
      choose(job, workers);
      return true;
    });
  } else {
    for (const Bytes& key : keys_due_) {
      if (const auto job = machine.find(key)) choose(*job, workers);
    }
  }
  keys_due_.clear();
}

void ChoiceDuty::choose(const JobInfo& job, const std::vector<WorkerView>& workers) {
  const std::size_t index = choose_(job.key, workers);
  if (index >= workers.size() || workers[index].id == job.worker) return;
  v1::Record record;
  record.mutable_choose()->set_key(Bytes(job.key));
  record.mutable_choose()->set_worker(Bytes(workers[index].id));
  appender_.offer(record);
}

}  // namespace tenure
