// A pool of processes under random kills, judged by an oracle: a worker has one holder, who gets its own answers; there
// are never more programs than max_workers; and none is left at the end.
//
// Runs for a second, or for TENURE_STRESS_SECONDS; TENURE_STRESS_SEED repeats the choices.

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdlib>
#include <mutex>
#include <random>
#include <set>
#include <tenure/checkout_process.hpp>
#include <thread>

#include "guard/process.h"
#include "guard/process_tree.h"

namespace tenure {
namespace {

using namespace std::chrono_literals;

constexpr std::uint32_t kWorkers = 3;

struct ProcessJudge {
  std::mutex mutex;
  std::set<std::int64_t> held;  // guarded by mutex
  std::atomic<std::uint64_t> answered{0};
  std::atomic<std::uint64_t> died{0};
  std::atomic<std::uint64_t> most{0};
  std::atomic<bool> stop{false};

  void take(std::int64_t process) {
    const std::lock_guard lock(mutex);
    EXPECT_TRUE(held.insert(process).second) << "two holders";
  }
  void give_back(std::int64_t process) {
    const std::lock_guard lock(mutex);
    EXPECT_EQ(held.erase(process), 1U);
  }
};

void use_processes(const CheckoutRef<ProcessWorker>& pool, ProcessJudge& judge, std::uint64_t seed) {
  std::mt19937_64 dice(seed);
  while (!judge.stop) {
    auto lease = pool.checkout(10s);
    if (!lease) continue;
    const std::int64_t process = (*lease)->process_id();
    judge.take(process);
    const int rounds = static_cast<int>(dice() % 20);
    for (int i = 0; i < rounds; ++i) {
      const std::string mine = std::to_string(dice());
      const std::uint64_t act = dice() % 100;
      if (act == 0) ::kill(static_cast<pid_t>(process), SIGKILL);
      if (act == 1) (void)(*lease)->call("hang", 1ms);
      if (act == 2) (void)(*lease)->call("exit 1");
      if (act == 3) (void)(*lease)->call("grandchild");
      if (act == 4) (void)(*lease)->send("nobody receives this");
      const auto answer = (*lease)->call(mine, 10s);
      if (answer) {
        EXPECT_EQ(*answer, mine) << "another's answer";
        ++judge.answered;
      } else {
        ++judge.died;
        break;
      }
    }
    judge.give_back(process);
    if (dice() % 50 == 0) lease->discard("at random");
  }
}

std::vector<pid_t> programs_now() {
  std::vector<pid_t> found;
  for (const pid_t guard : guard::children_of(getpid())) {
    for (const pid_t keeper : guard::children_of(guard)) {
      for (const pid_t each : guard::children_of(keeper)) found.push_back(each);
    }
  }
  return found;
}

bool runs(pid_t process) {
  std::array<char, 1> place{};
  return ::readlink(("/proc/" + std::to_string(process) + "/exe").c_str(), place.data(), place.size()) > 0;
}

std::set<pid_t> keepers_seen() {
  std::set<pid_t> found;
  for (const pid_t guard : guard::children_of(getpid())) {
    for (const pid_t keeper : guard::children_of(guard)) {
      // One that has ended, and that its guard has yet to wait for, has no program any more.
      if (runs(keeper)) found.insert(keeper);
    }
  }
  return found;
}

// How many there were at one moment, at least. A look takes time, and one may end and another begin meanwhile; those
// that two looks have seen were all there between the two.
std::size_t keepers_at_once() {
  const std::set<pid_t> before = keepers_seen();
  const std::set<pid_t> after = keepers_seen();
  return static_cast<std::size_t>(
      std::count_if(before.begin(), before.end(), [&](pid_t keeper) { return after.contains(keeper); }));
}

TEST(ProcessStress, RandomKills) {
  setenv("TENURE_GUARD", TENURE_GUARD, 1);
  const char* seconds = std::getenv("TENURE_STRESS_SECONDS");
  const char* given = std::getenv("TENURE_STRESS_SEED");
  const std::uint64_t seed = given != nullptr ? std::strtoull(given, nullptr, 10) : std::random_device()();
  std::printf("TENURE_STRESS_SEED=%llu\n", static_cast<unsigned long long>(seed));
  const auto end = std::chrono::steady_clock::now() +
                   std::chrono::milliseconds(seconds != nullptr ? std::atoi(seconds) * 1000 : 1000);
  ProcessJudge judge;
  {
    ProcessOptions process;
    process.command = {PROCESS_CHILD};
    process.stop_patience = 10ms;
    process.limits.calls = 200;
    CheckoutOptions options;
    options.default_workers = 1;
    options.max_workers = kWorkers;
    options.max_queue = -1;
    options.start_backoff = options.start_backoff_max = 1ms;
    auto pool = open_process_pool(process, options).value();
    std::vector<std::thread> threads;
    for (std::uint64_t i = 0; i < 5; ++i) {
      threads.emplace_back([&, i] { use_processes(pool, judge, seed + i); });
    }
    // Kills any program, and counts. Grandchildren are below their keeper when their program is dead; they are not
    // workers.
    std::mt19937_64 dice(seed + 99);
    while (std::chrono::steady_clock::now() < end || judge.answered < 100) {
      judge.most = std::max<std::uint64_t>(judge.most, keepers_at_once());
      const auto programs = programs_now();
      if (!programs.empty() && dice() % 4 == 0) ::kill(programs[dice() % programs.size()], SIGKILL);
      std::this_thread::sleep_for(5ms);
    }
    judge.stop = true;
    for (auto& thread : threads) thread.join();
    EXPECT_EQ(pool.state().held, 0U);
    EXPECT_EQ(pool.state().waiting, 0U);
  }
  EXPECT_LE(judge.most, kWorkers);
  EXPECT_EQ(programs_now().size(), 0U);
  std::printf("%llu answered, %llu died, at most %llu programs\n", static_cast<unsigned long long>(judge.answered),
              static_cast<unsigned long long>(judge.died), static_cast<unsigned long long>(judge.most));
}

}  // namespace
}  // namespace tenure
