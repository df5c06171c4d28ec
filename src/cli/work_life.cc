#include "cli/work_life.h"

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <map>
#include <thread>
#include <utility>

#include "base/show_ms.h"
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
constexpr std::chrono::milliseconds kLookRivalsEvery{100};

// Who has the id, or the ordinal. Every worker is in the first shard.
std::optional<v1::ListedWorker> holder_of(Shards& pool, const NodeWorker& wanted) {
  v1::Ask ask;
  ask.mutable_workers();
  const v1::Told told = pool.inquire(0, ask, after(kListPatience)).value_or(v1::Told());
  for (const v1::ListedWorker& worker : told.workers()) {
    const bool of_ordinal =
        wanted.ring.partitions != 0 && !worker.draining() && worker.ordinal_plus_one() == wanted.ordinal + 1;
    if (worker.id() == wanted.id || of_ordinal) return worker;
  }
  return std::nullopt;
}

std::string taken_text(const NodeWorker& wanted, const std::optional<v1::ListedWorker>& holder) {
  const bool by_id = !holder || holder->id() == wanted.id;
  std::string text =
      (by_id ? "the id '" + wanted.id + "'" : "the ordinal " + std::to_string(wanted.ordinal)) + " is taken";
  if (!holder) return text;
  return text + " by node " + holder->node() + " (host " + holder->host() + ", process " +
         std::to_string(holder->pid()) + "), whose lease has up to " +
         show_ms(static_cast<std::int64_t>(holder->lease_left_ms())) + " left";
}

// Watches the workers that have ids or ordinals of ours.
class Rivals {
 public:
  explicit Rivals(const std::vector<NodeWorker>& own) : own_(own) {}

  void note(Shards& pool, const std::string& id) {
    const auto wanted = std::find_if(own_.begin(), own_.end(), [&](const NodeWorker& one) { return one.id == id; });
    if (wanted == own_.end()) return;
    const auto holder = holder_of(pool, *wanted);
    print_note("tenure: " + taken_text(*wanted, holder) + "; waiting for it, a signal ends the wait");
    if (holder) seen_[&*wanted] = *holder;
  }
  // Which of them has sent a beat since, or is another one: its lease has more left than it had.
  std::optional<std::string> alive(Shards& pool) {
    for (auto& [wanted, before] : seen_) {
      const auto now = holder_of(pool, *wanted);
      if (!now) continue;
      if (now->lease_left_ms() > before.lease_left_ms() || now->pid() != before.pid()) return taken_text(*wanted, now);
      before = *now;
    }
    return std::nullopt;
  }

 private:
  const std::vector<NodeWorker>& own_;
  std::map<const NodeWorker*, v1::ListedWorker> seen_;
};

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

// The guard ends the programs and writes the session's end.
[[noreturn]] void leave_at_once() {
  print_note("tenure: leaving at once");
  std::_Exit(kOther);
}

}  // namespace

void TakenIds::worker_refused(BytesView worker, Errc why) {
  if (why != Errc::key_exists) return;
  const std::lock_guard lock(mutex_);
  if (heard_.emplace(worker).second) fresh_.emplace_back(worker);
}

void TakenIds::worker_added(BytesView worker) {
  const std::lock_guard lock(mutex_);
  heard_.erase(std::string(worker));
}

std::vector<std::string> TakenIds::take() {
  const std::lock_guard lock(mutex_);
  return std::exchange(fresh_, {});
}

Joining join(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals,
             bool refuse_taken) {
  Joining joining;
  Rivals rivals(workers);
  std::optional<std::string> refused;
  auto look_at = after(kLookRivalsEvery);
  std::atomic<bool> done = false;
  std::thread adding([&] {
    for (const NodeWorker& worker : workers) {
      joining.added = pool.add_worker(worker, after(kJoinPatience));
      if (!joining.added) break;
    }
    done = true;
  });
  while (!done && !joining.interrupted && !refused) {
    joining.interrupted = signals.wait(kLookMs);
    for (const std::string& id : taken.take()) rivals.note(pool, id);
    if (!refuse_taken || std::chrono::steady_clock::now() < look_at) continue;
    refused = rivals.alive(pool);
    look_at = after(kLookRivalsEvery);
  }
  if (joining.interrupted || refused) leave(pool, workers, signals);
  adding.join();
  if (refused) joining.added = fail(Errc::key_exists, "join", *refused);
  return joining;
}

void wait_for_end(Shards& pool, const std::vector<NodeWorker>& workers, TakenIds& taken, const Signals& signals,
                  const std::function<bool()>& enough) {
  constexpr int kLookAtPoolMs = 200;
  Rivals rivals(workers);
  while (!pool.over() && !(enough && enough()) && !signals.wait(enough ? kLookMs : kLookAtPoolMs)) {
    for (const std::string& id : taken.take()) rivals.note(pool, id);
  }
}

void close_unless_urged(const std::function<void()>& close, const Signals& signals) {
  std::atomic<bool> closed = false;
  std::thread closing([&] {
    close();
    closed = true;
  });
  while (!closed) {
    if (signals.wait(kLookMs)) leave_at_once();
  }
  closing.join();
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
    leave_at_once();
  }
  closing.join();
}

}  // namespace tenure::cli
