// Order, bounds and independence under load.

#include <atomic>
#include <thread>

#include "pool_conformance/fixture.h"

namespace tenure::conformance {
namespace {

class PoolLoad : public PoolConformance {};

// Eight threads dispatch tasks to shared keys: each thread's tasks of a key run in the order it sent them, one at a
// time, and each once.
TEST_P(PoolLoad, OrderPerKey) {
  constexpr int kThreads = 8;
  constexpr int kKeys = 10;
  constexpr int kTasks = 200;
  PoolOptions options = quick();
  options.max_queued_jobs = kThreads * kTasks;
  struct PerKey {
    std::atomic<int> running{0};
    std::map<int, int> last;  // by thread; tasks of a key run one at a time
  };
  std::vector<PerKey> keys(kKeys);
  std::atomic<int> wrong{0};
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker([&](Job& job) {
    PerKey& key = keys[std::stoul(job.key())];
    if (key.running.fetch_add(1) != 0) ++wrong;
    const std::size_t dash = job.payload().find('-');
    const int thread = std::stoi(job.payload().substr(0, dash));
    const int number = std::stoi(job.payload().substr(dash + 1));
    if (key.last.contains(thread) && key.last[thread] >= number) ++wrong;
    key.last[thread] = number;
    --key.running;
  }));
  std::vector<std::thread> threads;
  std::atomic<int> done{0};
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&, thread] {
      std::vector<Ticket> tickets;
      for (int i = 0; i < kTasks; ++i) {
        tickets.push_back(
            pool.dispatch_task(std::to_string(i % kKeys), std::to_string(thread) + "-" + std::to_string(i)).value());
      }
      for (const Ticket& ticket : tickets) done += ticket.wait_done(kPatience) ? 1 : 0;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(done, kThreads * kTasks);
  EXPECT_EQ(wrong, 0);
}

// No more handlers run at a time than the option says, and that many do.
TEST_P(PoolLoad, ConcurrencyIsBounded) {
  PoolOptions options = quick();
  options.concurrency = 3;
  std::mutex mutex;
  std::condition_variable changed;
  int running = 0;
  int most = 0;
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker([&](Job&) {
    std::unique_lock lock(mutex);
    most = std::max(most, ++running);
    changed.notify_all();
    changed.wait_for(lock, kPatience, [&] { return most == 3; });
    --running;
  }));
  std::vector<Ticket> tickets;
  for (int i = 0; i < 30; ++i) tickets.push_back(pool.dispatch_task("k" + std::to_string(i)).value());
  for (const Ticket& ticket : tickets) EXPECT_TRUE(ticket.wait_done(kPatience));
  EXPECT_EQ(most, 3);
}

// A handler that is slow holds up its own key, and nobody else.
TEST_P(PoolLoad, SlowHandlerHoldsUpNobodyElse) {
  Gate gate;
  Pool pool = open();
  ASSERT_TRUE(pool.add_worker([&](Job& job) {
    if (job.key() == "slow") gate.pass();
  }));
  const Ticket slow = pool.dispatch_task("slow").value();
  const Ticket behind = pool.dispatch_task("slow").value();
  std::vector<Ticket> others;
  for (int i = 0; i < 100; ++i) others.push_back(pool.dispatch_task("k" + std::to_string(i)).value());
  for (const Ticket& ticket : others) EXPECT_TRUE(ticket.wait_done(kPatience));
  EXPECT_EQ(code_of(slow.wait_done(0s)), Errc::timed_out);
  gate.open();
  EXPECT_TRUE(slow.wait_done(kPatience));
  EXPECT_TRUE(behind.wait_done(kPatience));
}

// The same after very many quick ones, which one thread works off while the others look on: it is noticed that this
// thread does not come back, and what waits behind the slow one is run by others.
TEST_P(PoolLoad, SlowHandlerAmongQuickOnesHoldsUpNobodyElse) {
  constexpr int kQuick = 2000;
  constexpr int kRounds = 3;
  PoolOptions options = quick();
  options.max_queued_jobs = 2 * kQuick;
  std::vector<Gate> gates(kRounds);
  Pool pool = open(options);
  ASSERT_TRUE(pool.add_worker([&](Job& job) {
    if (job.key().starts_with("slow")) gates[std::stoul(job.payload())].pass();
  }));
  std::vector<Ticket> slow;
  for (int round = 0; round < kRounds; ++round) {
    std::vector<Ticket> others;
    for (int i = 0; i < kQuick; ++i) {
      if (i == kQuick / 2) {
        slow.push_back(pool.dispatch_task("slow-" + std::to_string(round), std::to_string(round)).value());
      }
      others.push_back(pool.dispatch_task("k" + std::to_string(i)).value());
    }
    for (const Ticket& ticket : others) EXPECT_TRUE(ticket.wait_done(kPatience));
  }
  for (const Ticket& ticket : slow) EXPECT_EQ(code_of(ticket.wait_done(0s)), Errc::timed_out);
  for (Gate& gate : gates) gate.open();
  for (const Ticket& ticket : slow) EXPECT_TRUE(ticket.wait_done(kPatience));
}

// Pools of one process share the log: what one dispatches another may run.
TEST_P(PoolLoad, PoolsInOneProcessShareTheWork) {
  std::atomic<int> by_a{0};
  std::atomic<int> by_b{0};
  Pool a = open();
  Pool b = open();
  ASSERT_TRUE(a.add_worker([&](Job&) { ++by_a; }));
  ASSERT_TRUE(b.add_worker([&](Job&) { ++by_b; }));
  std::vector<Ticket> tickets;
  for (int i = 0; i < 200; ++i) tickets.push_back((i % 2 == 0 ? a : b).dispatch_task("k" + std::to_string(i)).value());
  for (const Ticket& ticket : tickets) EXPECT_TRUE(ticket.wait_done(kPatience));
  EXPECT_EQ(by_a + by_b, 200);
  EXPECT_GT(by_a, 0);
  EXPECT_GT(by_b, 0);
}

INSTANTIATE_TEST_SUITE_P(Engines, PoolLoad, testing::ValuesIn(pool_engines()), testing::PrintToStringParamName());

}  // namespace
}  // namespace tenure::conformance
