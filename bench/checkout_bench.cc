// Measures how many checkouts a second a pool makes, compared with two others in the same run. "Limit" is a bare array
// of slots, with a compare-and-swap to claim one and a store to free it, and nothing else. "Plain" is an ordinary pool
// with a mutex, a condition variable and a list.
//
//     checkout_bench [--repetitions N] [--ms N] [--only rates|async|refused] [--callers N]
//
// It prints the tables of docs/benchmarks.md; with --callers only those rows of the first one.
//
// The machine may be busy with other things. So each repetition measures all pools one after the other, and compares
// rates per second of CPU time, as shares within a repetition. It prints medians with their range. The longest checkout
// includes the time in which its thread had no processor; the longest wait in the queue is measured by the pool.

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/checkout.hpp>
#include <thread>
#include <vector>

namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

int repetitions = 5;
std::chrono::milliseconds span = 100ms;

struct Spread {
  double median = 0;
  double low = 0;
  double high = 0;
};

Spread spread(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return {values[values.size() / 2], values.front(), values.back()};
}

std::string with_range(std::vector<double> values) {
  const Spread each = spread(std::move(values));
  char text[64];
  std::snprintf(text, sizeof text, "%.2f (%.2f-%.2f)", each.median, each.low, each.high);
  return text;
}

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_nsec) * 1e-9;
}

// The limit.
class BareSlots {
 public:
  explicit BareSlots(std::size_t slots) : slots_(slots) {}
  void use(std::size_t thread) {
    for (std::size_t i = thread % slots_.size();; i = i + 1 == slots_.size() ? 0 : i + 1) {
      bool taken = false;
      if (!slots_[i].taken.compare_exchange_strong(taken, true)) continue;
      slots_[i].taken.store(false, std::memory_order_release);
      return;
    }
  }

 private:
  struct alignas(128) Slot {
    std::atomic<bool> taken{false};
  };
  std::vector<Slot> slots_;
};

// As it is usually written.
class PlainPool {
 public:
  explicit PlainPool(std::size_t workers) : free_(workers) {}
  void use(std::size_t /*thread*/) {
    int worker = 0;
    {
      std::unique_lock lock(mutex_);
      wake_.wait(lock, [this] { return !free_.empty(); });
      worker = free_.back();
      free_.pop_back();
    }
    const std::lock_guard lock(mutex_);
    free_.push_back(worker);
    wake_.notify_one();
  }

 private:
  std::mutex mutex_;
  std::condition_variable wake_;
  std::vector<int> free_;
};

tenure::CheckoutOptions sized(std::size_t workers, std::int64_t max_queue = -1) {
  tenure::CheckoutOptions options;
  options.default_workers = options.max_workers = static_cast<std::uint32_t>(workers);
  options.max_queue = max_queue;
  return options;
}

class OurPool {
 public:
  explicit OurPool(std::size_t workers, std::int64_t max_queue = -1)
      : pool_([] { return 1; }, sized(workers, max_queue)) {
    while (pool_.state().free < workers) std::this_thread::yield();
  }
  void use(std::size_t /*thread*/) {
    const auto lease = pool_.checkout(1min);
    if (!lease) std::abort();
  }
  tenure::CheckoutPool<int>& pool() { return pool_; }

 private:
  tenure::CheckoutPool<int> pool_;
};

struct Rate {
  double a_second = 0;  // by the clock
  double a_core = 0;    // for each second of processor time
};

// Measures rounds with this many threads, in millions per second.
template <class Pool>
Rate rate(Pool& pool, std::size_t threads) {
  std::atomic<bool> go{false};
  std::atomic<bool> stop{false};
  std::atomic<std::uint64_t> rounds{0};
  std::atomic<double> spent{0};
  std::vector<std::thread> running;
  running.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      while (!go) std::this_thread::yield();
      const double begun = cpu_seconds();
      std::uint64_t mine = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        for (int round = 0; round < 16; ++round) pool.use(i);
        mine += 16;
      }
      rounds += mine;
      spent += cpu_seconds() - begun;
    });
  }
  const auto begun = Clock::now();
  go = true;
  std::this_thread::sleep_for(span);
  stop = true;
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  for (auto& thread : running) thread.join();
  return {static_cast<double>(rounds) / seconds / 1e6, static_cast<double>(rounds) / spent / 1e6};
}

// How long checkouts take, each of them timed: the 99th percentile and the longest.
struct Latency {
  double p99_us = 0;
  double max_ms = 0;
};

Latency latency(OurPool& pool, std::size_t threads) {
  // A bucket for each eighth of a power of two of nanoseconds.
  using Histogram = std::array<std::uint64_t, 512>;
  const auto bucket = [](std::uint64_t ns) {
    const int power = 63 - __builtin_clzll(ns | 8);
    return static_cast<std::size_t>(power * 8) + ((ns >> (power - 3)) & 7);
  };
  std::atomic<bool> stop{false};
  std::mutex mutex;
  Histogram all{};
  std::uint64_t longest = 0;
  std::vector<std::thread> running;
  running.reserve(threads);
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&] {
      Histogram mine{};
      std::uint64_t slowest = 0;
      while (!stop.load(std::memory_order_relaxed)) {
        const auto begun = Clock::now();
        const auto lease = pool.pool().checkout(1min);
        const auto ns = static_cast<std::uint64_t>((Clock::now() - begun).count());
        ++mine[bucket(ns)];
        slowest = std::max(slowest, ns);
      }
      const std::lock_guard lock(mutex);
      for (std::size_t b = 0; b < all.size(); ++b) all[b] += mine[b];
      longest = std::max(longest, slowest);
    });
  }
  std::this_thread::sleep_for(span * 3);
  stop = true;
  for (auto& thread : running) thread.join();
  std::uint64_t total = 0;
  for (const std::uint64_t count : all) total += count;
  std::uint64_t seen = 0;
  for (std::size_t b = 0; b < all.size(); ++b) {
    seen += all[b];
    if (seen * 100 >= total * 99) {
      const double ns = static_cast<double>(std::uint64_t{1} << (b / 8)) * (1.0 + static_cast<double>(b % 8 + 1) / 8.0);
      return {ns / 1e3, static_cast<double>(longest) / 1e6};
    }
  }
  return {};
}

void compare(std::size_t callers, std::size_t workers) {
  std::vector<double> ours;
  std::vector<double> ours_a_core;
  std::vector<double> limit;
  std::vector<double> plain;
  std::vector<double> share;
  std::vector<double> gain;
  std::vector<double> p99;
  std::vector<double> longest;
  std::vector<double> queued;
  for (int i = 0; i < repetitions; ++i) {
    OurPool pool(workers);
    BareSlots bare(workers);
    PlainPool usual(workers);
    limit.push_back(rate(bare, callers).a_core);
    const Rate mine = rate(pool, callers);
    plain.push_back(rate(usual, callers).a_core);
    ours.push_back(mine.a_second);
    ours_a_core.push_back(mine.a_core);
    share.push_back(mine.a_core / limit.back());
    gain.push_back(mine.a_core / plain.back());
    const Latency timed = latency(pool, callers);
    p99.push_back(timed.p99_us);
    longest.push_back(timed.max_ms);
    queued.push_back(std::chrono::duration<double, std::milli>(pool.pool().metrics().wait_max).count());
  }
  std::printf("| %zu, %zu | %s | %.0f | %s | %s | %s | %.2f | %.1f | %s |\n", callers, workers,
              with_range(ours_a_core).c_str(), spread(limit).median, with_range(share).c_str(),
              with_range(gain).c_str(), with_range(ours).c_str(), spread(p99).median, spread(longest).median,
              with_range(queued).c_str());
  std::fflush(stdout);
}

// Callers that wait without a thread: each gets a worker, gives it back, and requests another.
Rate async_rate(std::size_t callers, std::size_t workers, std::size_t threads) {
  OurPool pool(workers);
  struct Caller {
    tenure::CheckoutRequest<int> request;
    std::atomic<bool> asked{false};  // another thread may have the news before `request` is assigned
  };
  std::vector<Caller> all(callers);
  std::atomic<std::uint64_t> served{0};
  std::atomic<bool> stop{false};
  std::function<void(Caller&)> ask = [&](Caller& caller) {
    caller.asked = false;
    caller.request = pool.pool().checkout_async([&](const tenure::CheckoutNews<int>& news) {
      if (news.kind() != tenure::CheckoutNewsKind::worker) return;
      while (!caller.asked) std::this_thread::yield();
      {
        const auto lease = news.confirm();
        if (lease) served.fetch_add(1, std::memory_order_relaxed);
      }
      if (!stop.load(std::memory_order_relaxed)) ask(caller);
    });
    caller.asked = true;
  };
  // All workers are taken, so that everybody waits. Giving them back starts it, on this many threads.
  std::vector<tenure::CheckoutLease<int>> leases;
  leases.reserve(workers);
  for (std::size_t i = 0; i < workers; ++i) leases.push_back(*pool.pool().checkout());
  for (Caller& caller : all) ask(caller);
  std::atomic<double> spent{0};
  std::vector<std::thread> running;
  running.reserve(threads);
  const auto begun = Clock::now();
  for (std::size_t i = 0; i < threads; ++i) {
    running.emplace_back([&, i] {
      const double from = cpu_seconds();
      for (std::size_t lease = i; lease < workers; lease += threads) leases[lease].checkin();
      spent += cpu_seconds() - from;
    });
  }
  std::this_thread::sleep_for(span);
  stop = true;
  for (auto& thread : running) thread.join();
  const double seconds = std::chrono::duration<double>(Clock::now() - begun).count();
  return {static_cast<double>(served) / seconds / 1e6, static_cast<double>(served) / spent / 1e6};
}

// One thread keeps all workers busy, for ten microseconds at a time; others are refused. Refusals for each second of
// processor time, and how much of its capacity the pool still serves.
void refusals() {
  constexpr std::size_t kWorkers = 5;
  std::vector<double> per_core;
  std::vector<double> kept;
  const auto run = [&](bool crowded) {
    OurPool pool(kWorkers, 0);
    std::atomic<bool> stop{false};
    std::atomic<std::uint64_t> refused{0};
    std::atomic<double> spent{0};
    std::thread crowd;
    double accepted_per_cpu = 0;
    std::vector<tenure::CheckoutLease<int>> leases;
    leases.reserve(kWorkers);
    for (std::size_t i = 0; i < kWorkers; ++i) leases.push_back(*pool.pool().checkout());
    if (crowded) {
      crowd = std::thread([&] {
        const double begun = cpu_seconds();
        std::uint64_t mine = 0;
        while (!stop.load(std::memory_order_relaxed)) {
          for (int i = 0; i < 64; ++i) {
            if (!pool.pool().checkout(0s)) ++mine;
          }
        }
        spent = cpu_seconds() - begun;
        refused = mine;
      });
    }
    const auto end = Clock::now() + span;
    const double begun = cpu_seconds();
    std::uint64_t accepted = 0;
    for (std::size_t i = 0; Clock::now() < end; i = (i + 1) % kWorkers) {
      const double until = cpu_seconds() + 10e-6;
      while (cpu_seconds() < until) {
      }
      leases[i].checkin();
      for (;;) {
        auto lease = pool.pool().checkout(0s);
        if (!lease) continue;
        leases[i] = *std::move(lease);
        break;
      }
      ++accepted;
    }
    accepted_per_cpu = static_cast<double>(accepted) / (cpu_seconds() - begun);
    stop = true;
    if (crowded) {
      crowd.join();
      per_core.push_back(static_cast<double>(refused) / spent / 1e6);
    }
    return accepted_per_cpu;
  };
  for (int i = 0; i < repetitions; ++i) {
    const double alone = run(false);
    kept.push_back(run(true) / alone);
  }
  std::printf("| refused, M/s a core | %s |\n", with_range(per_core).c_str());
  std::printf("| accepted meanwhile, of capacity | %s |\n", with_range(kept).c_str());
}

void async_rates() {
  for (const std::size_t workers : {5U, 20U}) {
    for (const std::size_t threads : {1U, 2U}) {
      std::vector<double> rates;
      std::vector<double> a_core;
      for (int i = 0; i < repetitions; ++i) {
        const Rate each = async_rate(512, workers, threads);
        rates.push_back(each.a_second);
        a_core.push_back(each.a_core);
      }
      std::printf("| 512 asynchronous callers, %zu workers, %zu threads, M/s | %s, a core %s |\n", workers, threads,
                  with_range(rates).c_str(), with_range(a_core).c_str());
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  std::size_t only_callers = 0;  // zero: all
  std::string only;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (std::strcmp(argv[i], "--repetitions") == 0) repetitions = std::max(1, std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--ms") == 0) span = std::chrono::milliseconds(std::max(1, std::atoi(argv[i + 1])));
    if (std::strcmp(argv[i], "--callers") == 0) only_callers = static_cast<std::size_t>(std::atoi(argv[i + 1]));
    if (std::strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  if (only.empty() || only == "rates") {
    std::printf("| callers, workers | M/s a core | limit | of the limit | times the plain | M/s by the clock ");
    std::printf("| p99 us | max ms | longest queued, ms |\n| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    for (const std::size_t callers : {1U, 2U, 8U, 64U, 512U}) {
      if (only_callers != 0 && callers != only_callers) continue;
      for (const std::size_t workers : {5U, 20U}) compare(callers, workers);
    }
  }
  if (only.empty()) std::printf("\n| | median (range) |\n| --- | --- |\n");
  if (only.empty() || only == "async") async_rates();
  if (only.empty() || only == "refused") refusals();
}
