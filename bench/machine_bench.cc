// Measures how fast a machine applies records, and the cost of a million resident keys: bytes per key, the times of a
// join, a death, a snapshot and a restart, and the longest stall of the loop.

#include <benchmark/benchmark.h>
#include <malloc.h>

#include <algorithm>
#include <chrono>

#include "pool_log.h"

namespace tenure {
namespace {

using Clock = std::chrono::steady_clock;

double ms_since(Clock::time_point from) {
  return std::chrono::duration<double, std::milli>(Clock::now() - from).count();
}

class Nothing final : public Effects {};

// A log of small tasks: `batch` dispatches an entry, and a completion for each, with 4 workers and `keys` keys.
std::vector<LogEntry> task_log(int tasks, int batch, int keys) {
  PoolLog log;
  std::vector<LogEntry> entries;
  log.add_node(1);
  for (int i = 0; i < 4; ++i) log.add_worker(1, "worker-" + std::to_string(i), kWindowMax);
  entries.push_back(log.flush());
  std::uint64_t ticket = 0;
  for (int sent = 0; sent < tasks; sent += batch) {
    for (int i = 0; i < batch; ++i) {
      v1::Dispatch& dispatch = *log.add().mutable_dispatch();
      dispatch.set_ticket(++ticket);
      dispatch.set_kind(v1::TASK);
      dispatch.set_key("tenant-" + std::to_string((sent + i) % keys));
      dispatch.set_payload("small payload");
    }
    entries.push_back(log.flush());
    while (!log.granted_now.empty()) {
      for (const PoolLog::Granted& task : std::vector(log.granted_now)) {
        v1::Done& done = *log.add().mutable_done();
        done.set_key(task.key);
        done.set_epoch(task.epoch);
      }
      entries.push_back(log.flush());
    }
  }
  return entries;
}

// Bytes of the log in, decisions out: decoding is part of it.
void apply_small_tasks(benchmark::State& state) {
  const int tasks = 200'000;
  const std::vector<LogEntry> entries = task_log(tasks, static_cast<int>(state.range(0)), 10'000);
  std::uint64_t records = 0;
  for (auto _ : state) {
    Machine machine;
    Nothing nothing;
    // The pool's options came with the log's first entry, which PoolLog wrote before these.
    v1::Batch first;
    first.set_format(kBatchFormat);
    first.set_sender(2);
    first.set_sequence(1);
    first.add_records()->mutable_configure()->set_max_queued_jobs(100'000'000);
    const Bytes data = first.SerializeAsString();
    machine.apply({1, 1'000'001, data}, nothing);
    for (const LogEntry& entry : entries) machine.apply(entry.view(), nothing);
    records += machine.stats().records;
    if (machine.keys() != 0) state.SkipWithError("tasks were left over");
  }
  state.counters["records_per_s"] = benchmark::Counter(static_cast<double>(records), benchmark::Counter::kIsRate);
}
BENCHMARK(apply_small_tasks)->Arg(1)->Arg(16)->Arg(256)->Unit(benchmark::kMillisecond);

// Delayed tasks of one key that fall due together: the time of each must not grow with their number.
void fire_delayed_tasks(benchmark::State& state) {
  const auto tasks = static_cast<std::uint64_t>(state.range(0));
  for (auto _ : state) {
    state.PauseTiming();
    auto log = std::make_unique<PoolLog>();
    for (std::uint64_t ticket = 1; ticket <= tasks; ++ticket) {
      v1::Dispatch& dispatch = *log->add().mutable_dispatch();
      dispatch.set_ticket(ticket);
      dispatch.set_kind(v1::TASK);
      dispatch.set_key("tenant");
      dispatch.set_delay_ms(1'000);
      if (log->gathered() == 500 || ticket == tasks) log->flush();
    }
    log->pass(2'000);
    state.ResumeTiming();
    while (log->machine().next_due_ms()) {
      log->add().mutable_tick();
      log->flush();
    }
    state.PauseTiming();
    log.reset();
    state.ResumeTiming();
  }
  state.counters["tasks_per_s"] =
      benchmark::Counter(static_cast<double>(tasks), benchmark::Counter::kIsIterationInvariantRate);
}
BENCHMARK(fire_delayed_tasks)->Arg(1'000)->Arg(50'000)->Iterations(3)->Unit(benchmark::kMillisecond);

// What a step of a large pool costs: all of it, and the longest single entry, which is how long the loop stands.
struct Cost {
  double total_ms = 0;
  double longest_ms = 0;

  template <class Work>
  void time(Work work) {
    const auto from = Clock::now();
    work();
    const double ms = ms_since(from);
    total_ms += ms;
    longest_ms = std::max(longest_ms, ms);
  }
};

// Answers as holders would, until nothing is granted and nothing moves any more.
void run_until_still(PoolLog& log, Cost& cost) {
  while (!log.granted_now.empty() || !log.stopping_now.empty()) {
    for (const PoolLog::Granted& job : log.granted_now) {
      v1::Started& started = *log.add().mutable_started();
      started.set_key(job.key);
      started.set_epoch(job.epoch);
    }
    for (const PoolLog::Granted& job : log.stopping_now) {
      v1::Released& released = *log.add().mutable_released();
      released.set_key(job.key);
      released.set_epoch(job.epoch);
    }
    cost.time([&] { log.flush(); });
  }
}

std::size_t allocated_bytes() {
  const struct mallinfo2 info = mallinfo2();
  return info.uordblks + info.hblkhd;
}

void million_resident_keys(benchmark::State& state) {
  const auto keys = static_cast<int>(state.range(0));
  constexpr std::uint64_t kNodes = 4;
  for (auto _ : state) {
    const std::size_t before = allocated_bytes();
    auto log = std::make_unique<PoolLog>();
    for (std::uint64_t node = 1; node <= kNodes; ++node) {
      log->add_node(node);
      log->add_worker(node, "worker-" + std::to_string(node));
    }
    log->flush();
    Cost fill;
    std::size_t content = 0;
    for (int i = 0; i < keys;) {
      while (log->gathered() < 500 && i < keys) {
        v1::Dispatch& dispatch = *log->add().mutable_dispatch();
        dispatch.set_ticket(static_cast<std::uint64_t>(++i));
        dispatch.set_key("tenant-" + std::to_string(100'000'000 + i));
        dispatch.set_payload("payload of a job");
        content += dispatch.key().size() + dispatch.payload().size();
      }
      fill.time([&] { log->flush(); });
      run_until_still(*log, fill);
    }
    const std::size_t after = allocated_bytes();
    state.counters["bytes_per_key"] = static_cast<double>(after - before - content) / keys;
    state.counters["fill_longest_ms"] = fill.longest_ms;

    Machine& machine = log->machine();
    const std::uint64_t moves_before = machine.stats().moves;
    Cost join;
    log->add_node(kNodes + 1);
    log->add_worker(kNodes + 1, "worker-new");
    join.time([&] { log->flush(); });
    state.counters["join_ms"] = join.total_ms;
    Cost moving;
    run_until_still(*log, moving);
    state.counters["join_moves_ms"] = moving.total_ms;
    state.counters["join_longest_ms"] = std::max(join.longest_ms, moving.longest_ms);
    state.counters["join_moved_share"] = static_cast<double>(machine.stats().moves - moves_before) / keys;

    Cost snapshot;
    std::vector<Bytes> chunks;
    std::size_t bytes = 0;
    std::unique_ptr<SnapshotSource> source;
    snapshot.time([&] { source = machine.begin_snapshot(); });
    for (bool more = true; more;) {
      std::optional<Bytes> chunk;
      snapshot.time([&] { chunk = source->next(); });
      more = chunk.has_value();
      if (more) {
        bytes += chunk->size();
        chunks.push_back(std::move(*chunk));
      }
    }
    source.reset();
    state.counters["snapshot_ms"] = snapshot.total_ms;
    state.counters["snapshot_longest_ms"] = snapshot.longest_ms;
    state.counters["snapshot_mib"] = static_cast<double>(bytes) / (1 << 20);

    Cost restore;
    Machine copy;
    restore.time([&] {
      if (!copy.restore(chunks)) state.SkipWithError("the snapshot does not restore");
    });
    state.counters["restore_ms"] = restore.total_ms;
    if (copy.state_digest() != machine.state_digest()) state.SkipWithError("the restored state differs");

    Cost death;
    v1::End& end = *log->add().mutable_end();
    end.set_session(1);
    end.set_reason(v1::End::CRASHED);
    death.time([&] { log->flush(); });
    state.counters["death_ms"] = death.total_ms;
    Cost taking_over;
    run_until_still(*log, taking_over);
    state.counters["death_longest_ms"] = std::max(death.longest_ms, taking_over.longest_ms);
    state.counters["longest_stall_ms"] = std::max({fill.longest_ms, join.longest_ms, moving.longest_ms,
                                                   snapshot.longest_ms, death.longest_ms, taking_over.longest_ms});
  }
}
BENCHMARK(million_resident_keys)->Arg(1'000'000)->Iterations(1)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace tenure

BENCHMARK_MAIN();
