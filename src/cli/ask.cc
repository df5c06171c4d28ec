// Commands that send one request to the pool and wait for the answer: notify, stop, drain, shutdown.

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <set>

#include "cli/connect.h"
#include "cli/failure.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

std::string counted(std::uint64_t number, std::string_view what) {
  return std::to_string(number) + " " + std::string(what) + (number == 1 ? "" : "s");
}

// A stop's answer is the number of tasks that it has dropped, or nothing.
std::uint64_t dropped_by(const PendingTicket::View& view) { return read_number(view.text, UINT32_MAX).value_or(0); }

Stage stage_of(const Call& call) { return call.value("wait") == "accepted" ? Stage::accepted : Stage::done; }

int ask(const Call& call, const Request& request, Stage stage, std::string_view done) {
  const Result<Deadline> deadline = deadline_of(call);
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = connect(call);
  if (!pool) return report(call, pool.error());
  const Result<TicketPtr> ticket = (*pool)->submit(request);
  if (!ticket) return report(call, ticket.error());
  if (!(*ticket)->wait(stage, *deadline)) {
    return report(call, (*pool)->late((*ticket)->operation()));
  }
  if (const Status outcome = (*ticket)->outcome(stage); !outcome) return report(call, outcome.error());
  const PendingTicket::View view = (*ticket)->view();
  if (call.json()) {
    Json json;
    json.object().field("key", request.key);
    view.epoch == 0 ? json.null("epoch") : json.field("epoch", view.epoch);
    view.worker.empty() ? json.null("worker") : json.field("worker", view.worker);
    if (request.kind == Request::Kind::stop) json.field("dropped", dropped_by(view));
    print(json.end());
  } else {
    const std::uint64_t dropped = request.kind == Request::Kind::stop ? dropped_by(view) : 0;
    print(request.key + " " + std::string(done) + (view.worker.empty() ? "" : " on " + view.worker) +
          (dropped == 0 ? "" : ", " + counted(dropped, "queued task") + " dropped"));
  }
  return kDone;
}

// Adds the number of keys that the worker holds in a shard to `held`. Leaves `held` alone if the shard has no such
// worker.
void count_keys(const Machine& machine, const std::string& worker, std::optional<std::uint64_t>& held) {
  const WorkerIx ix = machine.workers().find(worker);
  if (ix != kNone) held = held.value_or(0) + machine.workers()[ix].keys_held;
}

// The workers other than this one that take keys.
std::set<std::string> takers_beside(const Machine& machine, const std::string& id) {
  std::set<std::string> takers;
  for (const WorkerIx ix : machine.workers().by_age) {
    const PoolWorker& worker = machine.workers()[ix];
    if (worker.open() && worker.id != id) takers.insert(worker.id);
  }
  return takers;
}

// Waits until a draining worker holds no keys in a shard.
class Emptying final : public PoolWatcher {
 public:
  explicit Emptying(std::string worker) : worker_(std::move(worker)) {}

  void applied(const Machine& machine) override {
    const WorkerIx ix = machine.workers().find(worker_);
    std::lock_guard lock(mutex_);
    empty_ = ix == kNone || (machine.workers()[ix].draining && machine.workers()[ix].keys_held == 0);
    if (empty_) changed_.notify_all();
  }
  bool wait(Deadline deadline) {
    std::unique_lock lock(mutex_);
    return changed_.wait_until(lock, deadline, [this] { return empty_; });
  }

 private:
  const std::string worker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool empty_ = false;
};

}  // namespace

int run_notify(const Call& call) {
  Request request;
  request.kind = Request::Kind::notify;
  request.key = call.words[0];
  request.text = call.words[1];
  return ask(call, request, stage_of(call), "notified");
}

int run_stop(const Call& call) {
  Request request;
  request.kind = Request::Kind::stop;
  request.key = call.words[0];
  return ask(call, request, Stage::done, "stopped");
}

int run_drain(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::minutes(2));
  if (!deadline) return report_usage(call, deadline.error());
  const std::string& id = call.words[0];
  std::deque<Emptying> emptying;  // by shard
  const Result<std::unique_ptr<Shards>> pool = follow(call, [&](std::uint32_t) { return &emptying.emplace_back(id); });
  if (!pool) return report(call, pool.error());
  std::optional<std::uint64_t> held;
  std::set<std::string> takers;
  const auto look = [&](const Machine& machine) {
    count_keys(machine, id, held);
    takers.merge(takers_beside(machine, id));
  };
  if (const Status looked = (*pool)->look(look, *deadline); !looked) return report(call, looked.error());
  if (!held) return report(call, {Errc::no_such_key, "drain", "there is no worker '" + id + "'"});
  if (takers.empty()) print_note("no other worker takes keys: those of '" + id + "' wait until one joins");
  if (const Status sent = (*pool)->drain(id, false, *deadline); !sent) return report(call, sent.error());
  if (!std::all_of(emptying.begin(), emptying.end(), [&](Emptying& shard) { return shard.wait(*deadline); })) {
    return report(call, {Errc::timed_out, "drain", "some jobs of '" + id + "' have not stopped yet"});
  }
  if (call.json()) {
    Json json;
    json.object().field("worker", id).field("moved", *held);
    print(json.field("takers", static_cast<std::uint64_t>(takers.size())).end());
  } else {
    print(id + " is drained: " + counted(*held, "key") + (takers.empty() ? " wait for a worker" : " moved"));
  }
  return kDone;
}

int run_shutdown(const Call& call) {
  const Result<Deadline> deadline = deadline_of(call, std::chrono::minutes(5));
  if (!deadline) return report_usage(call, deadline.error());
  const Result<std::unique_ptr<Shards>> pool = follow(call);
  if (!pool) return report(call, pool.error());
  if (const Status ended = (*pool)->shut_down(*deadline); !ended) return report(call, ended.error());
  if (call.json()) {
    Json json;
    print(json.object().field("pool", pool_name(call)).field("state", "gone").end());
  } else {
    print("pool " + pool_name(call) + " has ended");
  }
  return kDone;
}

}  // namespace tenure::cli
