// tenure bench handoff: restarts workers one after the other, and measures how long each key has no holder.

#include <algorithm>
#include <map>
#include <mutex>
#include <tenure/tenure.hpp>
#include <thread>

#include "cli/bench/handoff_partitions.h"
#include "cli/bench/place.h"
#include "cli/failure.h"
#include "cli/run.h"
#include "render/distribution.h"

namespace tenure::cli {
namespace {

using SteadyClock = std::chrono::steady_clock;

// Records who holds which key, as reported by the handlers themselves.
class Holds {
 public:
  void began(const std::string& key) {
    std::lock_guard lock(mutex_);
    Key& state = keys_[key];
    if (++state.holders > 1) ++double_holders_;
    if (state.ended && !closed_) {
      gaps_.add(SteadyClock::now() - *state.ended);
      ++moves_;
    }
  }
  void ended(const std::string& key) {
    std::lock_guard lock(mutex_);
    Key& state = keys_[key];
    --state.holders;
    state.ended = SteadyClock::now();
  }

  // Whether every key has a holder.
  bool all_held(std::uint64_t keys) {
    std::lock_guard lock(mutex_);
    return keys_.size() == keys &&
           std::all_of(keys_.begin(), keys_.end(), [](const auto& entry) { return entry.second.holders == 1; });
  }
  // Later events are not counted.
  void close() {
    std::lock_guard lock(mutex_);
    closed_ = true;
  }

  std::uint64_t moves() const { return moves_; }
  std::uint64_t double_holders() const { return double_holders_; }
  const Samples& gaps() const { return gaps_; }

 private:
  struct Key {
    int holders = 0;
    std::optional<SteadyClock::time_point> ended;
  };

  std::mutex mutex_;
  std::map<std::string, Key> keys_;
  std::uint64_t moves_ = 0;
  std::uint64_t double_holders_ = 0;
  Samples gaps_;
  bool closed_ = false;
};

class Resident final : public Handler {
 public:
  explicit Resident(Holds& holds) : holds_(holds) {}
  Outcome start(Job& job) override {
    holds_.began(job.key());
    return {};
  }
  std::optional<std::string> stop(Job& job) override {
    holds_.ended(job.key());
    return std::nullopt;
  }

 private:
  Holds& holds_;
};

struct Member {
  Pool pool;
  std::string id;
};

Result<Member> join(const BenchSpot& spot, Holds& holds, const std::string& id, const std::string& replaces,
                    std::uint64_t keys) {
  PoolOptions options;
  options.max_queued_jobs = static_cast<std::uint32_t>(keys + 1);
  Result<Pool> pool = Pool::open(spot.pool, spot.url, options);
  if (!pool) return Failure(pool.error());
  WorkerOptions worker;
  worker.id = id;
  worker.replaces = replaces;
  const Result<Worker> added = pool->add_worker(std::make_shared<Resident>(holds), worker);
  if (!added) return Failure(added.error());
  return Member{*std::move(pool), id};
}

Status run(const BenchSpot& spot, Holds& holds, std::uint64_t keys, std::uint64_t workers, bool replace) {
  std::vector<Member> members;
  for (std::uint64_t i = 0; i < workers; ++i) {
    Result<Member> member = join(spot, holds, "worker-" + std::to_string(i), "", keys);
    if (!member) return Failure(member.error());
    members.push_back(*std::move(member));
  }
  std::vector<Ticket> tickets;
  for (std::uint64_t i = 0; i < keys; ++i) {
    const Result<Ticket> ticket = members[0].pool.dispatch("key-" + std::to_string(i));
    if (!ticket) return Failure(ticket.error());
    tickets.push_back(*ticket);
  }
  for (const Ticket& ticket : tickets) {
    if (Status started = ticket.wait_started(std::chrono::seconds(60)); !started) return started;
  }
  for (std::uint64_t i = 0; i < workers; ++i) {
    const std::string id = "worker-" + std::to_string(i) + (replace ? "-next" : "");
    if (!replace) {
      if (Status left = members[i].pool.close(); !left) return left;
    }
    Result<Member> next = join(spot, holds, id, replace ? members[i].id : "", keys);
    if (!next) return Failure(next.error());
    if (replace) {
      if (Status left = members[i].pool.close(); !left) return left;
    }
    members[i] = *std::move(next);
  }
  const auto deadline = SteadyClock::now() + std::chrono::seconds(60);
  while (!holds.all_held(keys)) {
    if (SteadyClock::now() > deadline) return fail(Errc::timed_out, "bench", "not every key has a holder again");
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  holds.close();
  return {};
}

int report_partitions(const Call& call, const BenchPlace& place, std::uint64_t partitions, std::uint64_t rounds) {
  const Result<PartitionMoves> found =
      move_partitions(place.spot("pool"), static_cast<std::uint32_t>(partitions), rounds, call.has("replace"));
  if (!found) return report(call, found.error());
  if (call.json()) {
    Json json;
    json.object().field("engine", place.shown()).field("keys", partitions).field("partitions", partitions);
    json.field("moves", found->moves).field("moves_minimum", found->moves_minimum);
    render::write(json, "gap_ms", found->gaps);
    render::write(json, "return_ms", found->returns);
    print(json.field("double_holders", found->double_holders).end());
  } else {
    print(place.shown() + ": " + std::to_string(partitions) + " partitions, each replica restarted " +
          std::to_string(rounds) + " times");
    print("  moves  " + std::to_string(found->moves) + ", at least " + std::to_string(found->moves_minimum));
    print("  gap    " + render::text_of(found->gaps));
    print("  return " + render::text_of(found->returns));
    print("  double holders " + std::to_string(found->double_holders));
  }
  return found->double_holders == 0 ? kDone : kOther;
}

}  // namespace

int run_bench_handoff(const Call& call) {
  std::uint64_t keys = 1000;
  std::uint64_t workers = 4;
  if (Status sound = call.read_number("keys", keys, 1, 1'000'000); !sound) return report_usage(call, sound.error());
  if (Status sound = call.read_number("workers", workers, 2, 64); !sound) return report_usage(call, sound.error());
  std::uint64_t partitions = 0;
  if (Status sound = call.read_number("partitions", partitions, 2, 64); !sound)
    return report_usage(call, sound.error());
  std::uint64_t rounds = 25;
  if (Status sound = call.read_number("rounds", rounds, 1, 10'000); !sound) return report_usage(call, sound.error());
  if (partitions != 0 && (call.has("keys") || call.has("workers"))) {
    return report_usage(call,
                        misused("--partitions has a replica for each partition, without --keys and --workers").error());
  }
  if (partitions == 0 && call.has("rounds")) return report_usage(call, misused("--rounds needs --partitions").error());
  const Result<BenchPlace> place = BenchPlace::of(call);
  if (!place) return report(call, place.error());
  if (partitions != 0) return report_partitions(call, *place, partitions, rounds);
  Holds holds;
  if (const Status ran = run(place->spot("pool"), holds, keys, workers, call.has("replace")); !ran) {
    return report(call, ran.error());
  }
  if (call.json()) {
    Json json;
    json.object().field("engine", place->shown()).field("keys", keys).field("moves", holds.moves());
    json.field("moves_minimum", keys);
    render::write(json, "gap_ms", holds.gaps().distribution());
    print(json.field("double_holders", holds.double_holders()).end());
  } else {
    print(place->shown() + ": " + std::to_string(keys) + " keys on " + std::to_string(workers) +
          " workers, each restarted once");
    print("  moves " + std::to_string(holds.moves()) + ", at least " + std::to_string(keys));
    print("  gap   " + render::text_of(holds.gaps().distribution()));
    print("  double holders " + std::to_string(holds.double_holders()));
  }
  return holds.double_holders() == 0 ? kDone : kOther;
}

}  // namespace tenure::cli
