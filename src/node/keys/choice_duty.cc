#include "node/keys/choice_duty.h"

#include <algorithm>
#include <exception>
#include <utility>

#include "base/mutant.h"
#include "machine/own_names.h"
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

void ChoiceDuty::look(const Machine& machine, std::uint64_t session) {
  if (machine.config().assignment != Assignment::chosen) return;
  if (!choose_ && !std::exchange(said_missing_, true)) {
    events_.choice_failed({Errc::invalid, "choose worker",
                           "the pool's assignment is chosen, and this process has no function that chooses: members "
                           "that have one choose, and without any the keys are placed by rendezvous"});
  }
  if (machine.sessions().chooser != session) return stand_down();
  if (!all_due_ && keys_due_.empty()) return;
  if (!has_open_worker(machine)) return stand_down();
  session_ = session;
  round_ = machine.choice_round();
  const std::vector<Bytes> keys = std::exchange(keys_due_, {});
  if (std::exchange(all_due_, false)) {
    machine.each_job(0, [&](const JobInfo& job) {
      choose(machine, job);
      return true;
    });
    return;
  }
  for (const Bytes& key : keys) {
    if (const auto job = machine.find(key)) choose(machine, *job);
  }
}

// Among the workers that take the job. Without one it waits, and the next worker to come makes every choice due again.
// The choice is compared with the worker that the key is going to. The present holder may not be that worker.
void ChoiceDuty::choose(const Machine& machine, const JobInfo& job) {
  if (job.served || is_own_type(job.type)) return;
  takers_.clear();
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (worker.open() && worker.takes.has(job.kind, job.type)) takers_.push_back({worker.id, worker.place.weight});
  }
  if (takers_.empty()) return;
  const BytesView chosen = call(job.key, takers_);
  const BytesView present = MUTANT(choice_by_holder) ? job.worker : job.target;
  if (!chosen.empty() && chosen == present) return;
  if (chosen.empty() && MUTANT(choice_gives_nothing)) return;
  v1::Record record;
  v1::Choose& choice = *record.mutable_choose();
  choice.set_key(Bytes(job.key));
  choice.set_worker(Bytes(chosen));
  choice.set_session(session_);
  choice.set_round(round_);
  appender_.offer(record);
}

BytesView ChoiceDuty::call(BytesView key, const std::vector<WorkerView>& workers) {
  try {
    const std::size_t index = choose_(key, workers);
    if (index < workers.size()) return workers[index].id;
    say_failed(key,
               "it gave the index " + std::to_string(index) + " of " + std::to_string(workers.size()) + " workers");
  } catch (const std::exception& thrown) {
    say_failed(key, std::string("it threw: ") + thrown.what());
  } catch (...) {
    say_failed(key, "it threw");
  }
  return {};
}

void ChoiceDuty::say_failed(BytesView key, const std::string& why) {
  if (failed_.size() >= kFailuresSaidMax || !failed_.emplace(key).second) return;
  events_.choice_failed({Errc::invalid, "choose worker",
                         "the function failed for key '" + Bytes(key) + "', which is placed by rendezvous: " + why});
  if (failed_.size() == kFailuresSaidMax) {
    events_.choice_failed({Errc::invalid, "choose worker", "the function has failed for many keys: no more is said"});
  }
}

}  // namespace tenure
