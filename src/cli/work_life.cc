#include "cli/work_life.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "cli/output.h"
#include "render/table.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::chrono::minutes kJoinPatience{2};
constexpr std::chrono::seconds kListPatience{2};
constexpr int kLookMs = 20;

// Says who has the id. Every worker is in the first shard.
void tell_taken(Shards& pool, const std::string& id) {
  v1::Ask ask;
  ask.mutable_workers();
  const v1::Told told = pool.inquire(0, ask, after(kListPatience)).value_or(v1::Told());
  std::string holder;
  for (const v1::ListedWorker& worker : told.workers()) {
    if (worker.id() != id) continue;
    holder = " by node " + worker.node() + " (host " + worker.host() + ", process " + std::to_string(worker.pid()) +
             "), whose lease has up to " + render::show_ms(static_cast<std::int64_t>(worker.lease_left_ms())) + " left";
  }
  print_note("tenure: the id '" + id + "' is taken" + holder + "; waiting for it, a signal ends the wait");
}

}  // namespace

void TakenIds::worker_refused(BytesView worker, Errc why) {
  if (why != Errc::key_exists) return;
  const std::lock_guard lock(mutex_);
  if (heard_.emplace(worker).second) fresh_.emplace_back(worker);
}

std::vector<std::string> TakenIds::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

Joining join(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals) {
  Joining joining;
  std::atomic<bool> done = false;
  std::thread adding([&] {
    for (const NodeWorker& worker : workers) {
      joining.added = pool.add_worker(worker, after(kJoinPatience));
      if (!joining.added) break;
    }
    done = true;
  });
  while (!done && !joining.interrupted) {
    joining.interrupted = signals.wait(kLookMs);
    for (const std::string& id : taken.take()) tell_taken(pool, id);
  }
  if (joining.interrupted) leave(pool, signals);
  adding.join();
  return joining;
}

void wait_for_end(const Shards& pool, const Signals& signals) {
  constexpr int kLookAtPoolMs = 200;
  while (!pool.over() && !signals.wait(kLookAtPoolMs)) {
  }
}

void leave(Shards& pool, const Signals& signals) {
  std::atomic<bool> left = false;
  std::thread closing([&] {
    // Programs are killed when their time to stop is over, so it ends, unless the log is away.
    while (!pool.over() && !pool.close(after(std::chrono::hours(24)))) {
    }
    left = true;
  });
  while (!left) {
    if (!signals.wait(kLookMs)) continue;
    print_note("tenure: leaving at once");
    std::_Exit(kOther);  // the guard ends the programs and writes the session's end
  }
  closing.join();
}

}  // namespace tenure::cli
