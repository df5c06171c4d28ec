#include "pool/member_core.h"

#include <algorithm>
#include <utility>

#include "base/assert.h"
#include "node/keys/listing.h"
#include "pool/worker_rules.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

MemberCore::MemberCore(Parts parts, std::unique_ptr<KnownDeath> own_deaths, KnownDeath* known_death, Host* host)
    : PoolCore(std::move(parts)),
      shutdown_seen_(std::exchange(options_.shutdown_seen, nullptr)),
      own_deaths_(std::move(own_deaths)),
      heart_loop_("tenure-heart") {
  sender_.set_way(way_to_node());
  loop_.run([&] {
    const NodeWorld world{.log = *log_,
                          .loop = loop_,
                          .heart_loop = heart_loop_,
                          .clock = clock_,
                          .entropy = entropy_,
                          .host = host,
                          .known_death = known_death};
    node_ = std::make_unique<Node>(world, options_.node, events_);
    for (PoolWatcher* watcher : listeners_.pool) node_->listen(*watcher);
    node_->start();
  });
}

MemberCore::~MemberCore() {
  stop([this] { node_.reset(); });
  heart_loop_.run([] {});
}

RequestSender::Way MemberCore::way_to_node() {
  return {
      .has_room = [this] { return !node_ || node_->has_room(); },
      .send = [this](SealedRequests& requests) -> Status {
        Status sent = node_ ? node_->send(requests) : fail(Errc::closed, "append", "the pool was closed");
        if (!sent && saw_shutdown_) return fail(Errc::shutting_down, "append", "the pool was shut down");
        return sent;
      },
  };
}

void MemberCore::on_loop(std::function<void(Node&)> what) {
  loop_.post([this, what = std::move(what)] {
    if (node_) what(*node_);
  });
}

void MemberCore::host_lost() {
  on_loop([](Node& node) { node.host_lost(); });
}

void MemberCore::order_shutdown() {
  on_loop([](Node& node) { node.shut_down(); });
}

void MemberCore::leave_at_shutdown() {
  on_loop([](Node& node) { node.leave_at_shutdown(); });
}

HoldReports& MemberCore::reports() {
  ASSERT(node_ != nullptr);
  return node_->reports();
}

Status MemberCore::still_running(const char* operation) const {
  const std::optional<Error> why = failure();
  return why ? Status(ended_because(*why, operation)) : Status();
}

Status MemberCore::check_own(const std::string& worker, const char* operation) const {
  if (Status running = still_running(operation); !running) return running;
  if (has_worker(worker)) return {};
  return fail(Errc::invalid, operation, "no worker '" + worker + "' here");
}

Status MemberCore::add_worker(NodeWorker worker, Deadline deadline) {
  if (Status sound = check_worker(worker); !sound) return sound;
  const std::string id = worker.id;
  {
    std::lock_guard lock(mutex_);
    if (failure_) return ended_because(*failure_, "add worker");
    if (!workers_.emplace(id, HeardWorker{}).second) {
      return fail(Errc::key_exists, "add worker", "this process already has a worker '" + id + "'");
    }
  }
  on_loop([worker](Node& node) { node.add_worker(worker); });
  // For good; the others may be accepted later.
  const auto is_final = [](const std::optional<Errc>& why) { return why == Errc::invalid || why == Errc::pool_full; };
  wait(deadline, [&] { return failure_ || workers_.at(id).added || is_final(workers_.at(id).refused); });
  std::optional<Error> refusal;
  loop_.run([&] {
    std::lock_guard lock(mutex_);
    const HeardWorker& heard = workers_.at(id);
    if (node_ && !heard.added && heard.refused) refusal = refusal_of(node_->machine(), worker, *heard.refused);
  });
  std::lock_guard lock(mutex_);
  if (failure_) return ended_because(*failure_, "add worker");
  if (workers_.at(id).added) return {};
  workers_.erase(id);
  on_loop([id](Node& node) { node.remove_worker(id); });
  if (refusal) return Failure(*refusal);
  if (delay_) return ended_because(*delay_, "add worker");
  return fail(Errc::timed_out, "add worker", "the pool did not accept '" + id + "' in time");
}

bool MemberCore::has_worker(const std::string& id) const {
  std::lock_guard lock(mutex_);
  return workers_.contains(id);
}

Status MemberCore::remove_worker(const std::string& id, Deadline deadline) {
  if (Status own = check_own(id, "remove worker"); !own) return own;
  on_loop([id](Node& node) { node.remove_worker(id); });
  if (wait(patience_with_stops(deadline), [&] { return failure_ || !workers_.contains(id); })) return {};
  return fail(Errc::timed_out, "remove worker",
              "'" + id + "' still holds " + held_keys(&id) + "; it leaves once it has no keys");
}

// The jobs have the pool's worker_shutdown_ttl to stop; then it takes a moment until their ends are in the log.
Deadline MemberCore::patience_with_stops(Deadline deadline) {
  constexpr std::chrono::seconds kSaid(1);
  std::chrono::milliseconds patience{};
  loop_.run([&] {
    if (node_) patience = std::chrono::milliseconds(node_->machine().config().worker_shutdown_ttl_ms);
  });
  return std::min(deadline, after(patience + kSaid));
}

// For people: what this process's workers, or one of them, hold.
std::string MemberCore::held_keys(const std::string* worker) {
  constexpr std::size_t kNamed = 3;
  std::vector<std::string> named;
  std::size_t count = 0;
  loop_.run([&] {
    if (!node_) return;
    node_->machine().each_job(0, [&](const JobInfo& job) {
      const bool own = job.session != 0 && job.session == node_->session();
      if (!own || (worker != nullptr && job.worker != *worker)) return true;
      if (++count <= kNamed) named.push_back("'" + Bytes(job.key) + "'");
      return true;
    });
  });
  std::string text;
  for (const std::string& key : named) text += (text.empty() ? "" : ", ") + key;
  if (count > kNamed) text += " and " + std::to_string(count - kNamed) + " more";
  return text.empty() ? "keys" : text;
}

Status MemberCore::wait_for_state(const char* operation, std::function<bool(const Machine&)> wanted,
                                  Deadline deadline) {
  const auto awaited = std::make_shared<Awaited>(Awaited{std::move(wanted)});
  on_loop([this, awaited](Node& node) {
    if (awaited->wanted(node.machine())) return hear([&] { awaited->reached = true; });
    awaited_.push_back(awaited);
  });
  const bool in_time = wait(deadline, [&] { return failure_ || awaited->reached; });
  on_loop([this, awaited](Node&) { std::erase(awaited_, awaited); });
  if (Status running = still_running(operation); !running) return running;
  if (in_time) return {};
  return Failure(late(operation));
}

Status MemberCore::serve(const std::string& worker, std::vector<Bytes> add, std::vector<Bytes> remove,
                         Deadline deadline) {
  if (Status sound = check_served(add, remove); !sound) return sound;
  if (Status own = check_own(worker, "serve"); !own) return own;
  on_loop([worker, add, remove](Node& node) { node.serve(worker, add, remove); });
  const auto applied = [worker, add = std::move(add), remove = std::move(remove)](const Machine& machine) {
    const WorkerIx ix = machine.workers().find(worker);
    if (ix == kNone) return false;
    const auto serves = [&, &all = machine.workers()[ix].serves](const Bytes& key) {
      return std::binary_search(all.begin(), all.end(), key);
    };
    return std::all_of(add.begin(), add.end(), serves) && std::none_of(remove.begin(), remove.end(), serves);
  };
  return wait_for_state("serve", applied, deadline);
}

Status MemberCore::drain(const std::string& worker, bool until_empty, Deadline deadline) {
  if (Status sound = check_drained(worker); !sound) return sound;
  if (Status running = still_running("drain"); !running) return running;
  on_loop([worker](Node& node) { node.drain(worker); });
  const auto applied = [worker, until_empty](const Machine& machine) {
    const WorkerIx ix = machine.workers().find(worker);
    return ix == kNone || (machine.workers()[ix].draining && !(until_empty && machine.workers()[ix].keys_held != 0));
  };
  return wait_for_state("drain", applied, deadline);
}

std::vector<std::string> MemberCore::workers() const {
  std::lock_guard lock(mutex_);
  std::vector<std::string> ids;
  for (const auto& [id, worker] : workers_) {
    if (worker.added) ids.push_back(id);
  }
  return ids;
}

Status MemberCore::look(const std::function<void(const Machine&)>& what, Deadline deadline) {
  if (Status fresh = catch_up(deadline); !fresh) return fresh;
  loop_.run([&] { what(node_->machine()); });
  return {};
}

Result<v1::Told> MemberCore::inquire(const v1::Ask& ask, Deadline deadline) {
  if (ask.has_remembered()) return fail(Errc::refused, "ask members", "only a client that keeps no state asks");
  v1::Told told;
  const auto look_up = [&](const Machine& machine) { told = tell(machine, node_->observer(), ask); };
  if (Status looked = look(look_up, deadline); !looked) return Failure(looked.error());
  return told;
}

Status MemberCore::close(Deadline deadline) {
  if (over()) return {};
  // A node without workers would end before the submitted requests are in the log.
  wait_answered(deadline);
  const Deadline patience = patience_with_stops(deadline);
  on_loop([](Node& node) { node.close(); });
  if (wait(patience, [this] { return failure_.has_value(); })) return {};
  return fail(Errc::timed_out, "close", held_keys(nullptr) + " have not stopped yet");
}

Status MemberCore::expect_end() {
  if (!over()) on_loop([](Node& node) { node.expect_end(); });
  return {};
}

Status MemberCore::shut_down(Deadline deadline) {
  if (const std::optional<Error> why = failure()) return shut_down_after(*why);
  // The record of the shutdown must come after this process's submitted requests.
  wait_answered(deadline);
  on_loop([this](Node& node) {
    shutting_down_ = true;
    node.shut_down_and_see();
  });
  if (!wait(deadline, [this] { return failure_.has_value(); })) {
    bool nobody = false;
    loop_.run([&] { nobody = node_->machine().workers().by_age.empty(); });
    return fail(Errc::timed_out, "shut down",
                nobody ? "tasks are left and no worker is there: the pool ends once one has joined and done them"
                       : "some jobs are still under way; the pool ends once they are done");
  }
  const Error why = *failure();
  if (why.code == Errc::shutting_down) return {};
  return ended_because(why, "shut down");
}

}  // namespace tenure
