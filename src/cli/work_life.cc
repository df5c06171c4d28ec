#include "cli/work_life.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <thread>
#include <utility>

#include "cli/failure.h"
#include "cli/output.h"
#include "render/table.h"
#include "tenure/v1/record.pb.h"

namespace tenure::cli {
namespace {

constexpr std::chrono::minutes kJoinPatience{2};
constexpr std::chrono::seconds kListPatience{2};
constexpr std::chrono::seconds kTellStuckAfter{2};
constexpr std::chrono::seconds kLookStuckEvery{10};
constexpr int kLookMs = 20;

// Says who has the id. Every worker is in the first shard.
void tell_taken(Shards& pool, const std::string& id, const std::vector<NodeWorker>& own) {
  v1::Ask ask;
  ask.mutable_workers();
  const v1::Told told = pool.inquire(0, ask, after(kListPatience)).value_or(v1::Told());
  std::string holder;
  const auto wanted = std::find_if(own.begin(), own.end(), [&](const NodeWorker& one) { return one.id == id; });
  const bool ranked = wanted != own.end() && wanted->ring.partitions != 0;
  std::string what = "the id '" + id + "'";
  for (const v1::ListedWorker& worker : told.workers()) {
    const bool of_ordinal = ranked && !worker.draining() && worker.ordinal_plus_one() == wanted->ordinal + 1;
    if (worker.id() != id && !of_ordinal) continue;
    if (worker.id() != id) what = "the ordinal " + std::to_string(wanted->ordinal);
    holder = " by node " + worker.node() + " (host " + worker.host() + ", process " + std::to_string(worker.pid()) +
             "), whose lease has up to " + render::show_ms(static_cast<std::int64_t>(worker.lease_left_ms())) + " left";
  }
  print_note("tenure: " + what + " is taken" + holder + "; waiting for it, a signal ends the wait");
}

// Says why leaving takes long, if it is because no other worker can take the keys. Every worker is in the first shard.
// True if that was said.
bool tell_stuck(Shards& pool, const std::vector<NodeWorker>& own) {
  v1::Ask ask;
  ask.mutable_workers();
  const Result<v1::Told> told = pool.inquire(0, ask, after(kListPatience));
  if (!told) return false;
  std::uint64_t keys = 0;
  std::string error;
  for (const v1::ListedWorker& worker : told->workers()) {
    const bool ours = std::any_of(own.begin(), own.end(), [&](const NodeWorker& one) { return one.id == worker.id(); });
    if (ours) keys += worker.keys();
    if (!ours && !worker.draining() && !worker.unfit()) return false;  // it takes them
    if (worker.unfit()) error = "; the last error of worker '" + worker.id() + "': " + worker.error();
  }
  if (keys == 0 || error.empty()) return false;
  print_note("tenure: " + std::to_string(keys) + (keys == 1 ? " key stays" : " keys stay") +
             " here: no other worker can take them, because the others are unfit or leaving. This worker goes on until "
             "another one can; a second signal ends it at once" +
             error);
  return true;
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
    for (const std::string& id : taken.take()) tell_taken(pool, id, workers);
  }
  if (joining.interrupted) leave(pool, workers, signals);
  adding.join();
  return joining;
}

void wait_for_end(const Shards& pool, const Signals& signals) {
  constexpr int kLookAtPoolMs = 200;
  while (!pool.over() && !signals.wait(kLookAtPoolMs)) {
  }
}

void leave(Shards& pool, const std::vector<NodeWorker>& own, const Signals& signals) {
  std::atomic<bool> left = false;
  auto look_at = after(kTellStuckAfter);
  bool told = false;
  std::thread closing([&] {
    // Programs are killed when their time to stop is over, so it ends, unless the log is away.
    while (!pool.over() && !pool.close(after(std::chrono::hours(24)))) {
    }
    left = true;
  });
  while (!left) {
    if (!signals.wait(kLookMs)) {
      if (!told && std::chrono::steady_clock::now() >= look_at) {
        told = tell_stuck(pool, own);
        look_at = after(kLookStuckEvery);
      }
      continue;
    }
    print_note("tenure: leaving at once");
    std::_Exit(kOther);  // the guard ends the programs and writes the session's end
  }
  closing.join();
}

}  // namespace tenure::cli
