#include "node/steward.h"

#include <algorithm>

#include "machine/answers/answer_state.h"
#include "node/keys/listing.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

using std::chrono::milliseconds;

constexpr std::size_t kAskedMax = 16;          // by one entry: each is looked up while the loop waits
constexpr Nanos kStagger = milliseconds(100);  // by which each later node waits longer than the one before it

}  // namespace

Steward::Steward(Loop& loop, Appender& appender, const Observer& observer, ChooseWorker choose)
    : loop_(loop), appender_(appender), observer_(observer), choose_(std::move(choose)), tick_(loop) {}

void Steward::reset() {
  answered_ = 0;
  all_due_ = true;
  keys_due_.clear();
  switching_to_ = 0;
  tick_.cancel();
}

void Steward::look(const Machine& machine, std::uint64_t session, Instant applied_at) {
  const Session* own = machine.sessions().find(session);
  if (own == nullptr) {
    asked_.clear();
    return tick_.cancel();
  }
  const std::size_t rank = machine.sessions().rank(*own);
  arm_tick(machine, rank, applied_at);
  if (rank != 0) {
    asked_.clear();
    // Whoever becomes the eldest begins by saying all that is still to be said.
    answered_ = 0;
    all_due_ = true;
    keys_due_.clear();
    return;
  }
  say_answers(machine);
  tell_askers(machine);
  choose(machine);
  switch_version(machine);
}

void Steward::arm_tick(const Machine& machine, std::size_t rank, Instant applied_at) {
  const std::optional<std::int64_t> due = machine.next_due_ms();
  if (!due) return tick_.cancel();
  const Nanos left = milliseconds(std::max<std::int64_t>(*due - machine.log_time_ms(), 0));
  const Instant when = applied_at + left + kStagger * static_cast<std::int64_t>(rank);
  if (tick_.armed() && tick_.when() == when) return;
  tick_.arm(std::max(when, loop_.now() + milliseconds(1)), [this] {
    v1::Record record;
    record.mutable_tick();
    appender_.offer(record);
  });
}

void Steward::say_answers(const Machine& machine) {
  const auto& order = machine.answer_order();
  for (auto at = order.upper_bound(answered_); at != order.end(); ++at) {
    const DueAnswer& due = machine.answers().at(at->second);
    v1::Record record;
    v1::Answer& answer = *record.mutable_answer();
    answer.set_ticket(at->second);
    answer.set_state(answer_state(due.state));
    answer.set_code(static_cast<std::uint32_t>(due.code));
    answer.set_error(due.text);
    answer.set_worker(due.worker);
    answer.set_epoch(due.epoch);
    appender_.offer(record);
    answered_ = at->first;
  }
}

// Who is not told will have loaded the state before long.
void Steward::asked(const v1::Ask& ask) {
  if (asked_.size() < kAskedMax) asked_.push_back(ask.SerializeAsString());
}

void Steward::tell_askers(const Machine& machine) {
  for (const Bytes& asked : std::exchange(asked_, {})) {
    v1::Ask ask;
    if (!appender_.has_room() || !ask.ParseFromString(asked)) continue;
    v1::Record record;
    *record.mutable_told() = tell(machine, observer_, ask, kToldMax, kToldBytesMax);
    appender_.offer(record);
  }
}

void Steward::choose(const Machine& machine) {
  if (!choose_ || machine.config().assignment != Assignment::chosen) return;
  if (!all_due_ && keys_due_.empty()) return;
  std::vector<WorkerView> workers;
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (worker.open()) workers.push_back({worker.id, worker.place.weight});
  }
  if (workers.empty()) return;
  if (std::exchange(all_due_, false)) {
    machine.each_job(0, [&](const JobInfo& job) {
      choose_one(job, workers);
      return true;
    });
  } else {
    for (const Bytes& key : keys_due_) {
      if (const auto job = machine.find(key)) choose_one(*job, workers);
    }
  }
  keys_due_.clear();
}

void Steward::choose_one(const JobInfo& job, const std::vector<WorkerView>& workers) {
  const std::size_t index = choose_(job.key, workers);
  if (index >= workers.size() || workers[index].id == job.worker) return;
  v1::Record record;
  record.mutable_choose()->set_key(Bytes(job.key));
  record.mutable_choose()->set_worker(Bytes(workers[index].id));
  appender_.offer(record);
}

void Steward::switch_version(const Machine& machine) {
  std::uint32_t spoken = kMachineVersion;
  for (const auto& [id, session] : machine.sessions().all) spoken = std::min(spoken, session.speaks);
  if (spoken <= machine.version() || spoken <= switching_to_) return;
  switching_to_ = spoken;
  v1::Record record;
  record.mutable_switch_version()->set_to(spoken);
  appender_.offer(record);
}

}  // namespace tenure
