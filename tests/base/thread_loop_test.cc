#include "base/thread_loop.h"

#include <gtest/gtest.h>

#include <future>
#include <thread>
#include <vector>

namespace tenure {
namespace {

using namespace std::chrono_literals;

// Work posted from another thread runs on the loop, in order.
TEST(ThreadLoop, RunsPostedWorkInOrder) {
  ThreadLoop loop("test");
  std::vector<int> order;
  for (int i = 0; i < 100; ++i) loop.post([&order, i] { order.push_back(i); });
  loop.run([] {});
  ASSERT_EQ(order.size(), 100U);
  for (int i = 0; i < 100; ++i) EXPECT_EQ(order[static_cast<std::size_t>(i)], i);
}

// Timers fire in the order of their times, not of their arming, and never early.
TEST(ThreadLoop, FiresTimersInOrderOfTime) {
  ThreadLoop loop("test");
  std::promise<void> last;
  std::vector<int> order;
  Instant armed_for{};
  bool early = false;
  loop.run([&] {
    armed_for = loop.now() + 2ms;
    loop.at(armed_for + 2ms, [&] {
      order.push_back(2);
      last.set_value();
    });
    loop.at(armed_for, [&] {
      early = loop.now() < armed_for;
      order.push_back(1);
    });
  });
  last.get_future().wait();
  EXPECT_EQ(order, (std::vector{1, 2}));
  EXPECT_FALSE(early);
}

// A cancelled timer does not run, and an owned timer dies with its owner.
TEST(ThreadLoop, CancelledTimersDoNotRun) {
  ThreadLoop loop("test");
  bool ran = false;
  std::promise<void> later;
  loop.run([&] {
    const TimerId id = loop.at(loop.now() + 1ms, [&] { ran = true; });
    loop.cancel(id);
    {
      Timer owned(loop);
      owned.arm(loop.now() + 1ms, [&] { ran = true; });
    }
    loop.at(loop.now() + 3ms, [&] { later.set_value(); });
  });
  later.get_future().wait();
  EXPECT_FALSE(ran);
}

// Where the loop is idle, work runs at once in the thread that brings it, together with what it posts, and is on the
// loop for so long.
TEST(ThreadLoop, AnIdleLoopRunsWorkInTheCallingThread) {
  ThreadLoop loop("test");
  loop.run([] {});
  std::vector<std::thread::id> ran_on;
  bool on_loop = false;
  const auto bring = [&] {
    ran_on.clear();
    loop.run_or_post([&] {
      on_loop = loop.on_loop();
      ran_on.push_back(std::this_thread::get_id());
      loop.post([&] { ran_on.push_back(std::this_thread::get_id()); });
    });
  };
  do {
    bring();
    loop.run([] {});
    loop.run([] {});
    std::this_thread::yield();  // the loop's thread may not have gone to rest when it was brought
  } while (ran_on[0] != std::this_thread::get_id());
  EXPECT_EQ(ran_on, std::vector(2, std::this_thread::get_id()));
  EXPECT_TRUE(on_loop);
  EXPECT_FALSE(loop.on_loop());
}

// Two threads never run work on the loop at the same time, and no work is lost.
TEST(ThreadLoop, TurnsDoNotOverlap) {
  ThreadLoop loop("test");
  int sum = 0;  // unguarded on purpose: the loop is what guards it
  constexpr int kEach = 2000;
  constexpr int kThreads = 3;
  std::vector<std::thread> threads;
  threads.reserve(kThreads);
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int k = 0; k < kEach; ++k) {
        loop.run_or_post([&] {
          ++sum;
          loop.post([&] { ++sum; });
        });
        if (k % 3 == 0) loop.post([&] { ++sum; });
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  loop.run([] {});
  loop.run([&] { EXPECT_EQ(sum, kThreads * (2 * kEach + (kEach + 2) / 3)); });
}

// A guest leaves to the loop's own thread what others have posted meanwhile, and timers, also one that comes earlier
// than all that the thread knows of.
TEST(ThreadLoop, WhatAGuestLeavesIsDoneByTheLoopsThread) {
  ThreadLoop loop("test");
  std::promise<std::thread::id> posted;
  std::promise<std::thread::id> timer;
  loop.run([&] { loop.at(loop.now() + 1h, [] {}); });
  loop.run_or_post([&] {
    std::thread([&] { loop.post([&] { posted.set_value(std::this_thread::get_id()); }); }).join();
    loop.at(loop.now() + 1ms, [&] { timer.set_value(std::this_thread::get_id()); });
  });
  EXPECT_NE(posted.get_future().get(), std::this_thread::get_id());
  EXPECT_NE(timer.get_future().get(), std::this_thread::get_id());
}

// Work still queued when the loop ends is destroyed, not run and not leaked.
TEST(ThreadLoop, DestroysWhatItDoesNotRun) {
  auto token = std::make_shared<int>(1);
  {
    ThreadLoop loop("test");
    std::promise<void> gate;
    loop.post([opened = gate.get_future().share()] { opened.wait(); });
    loop.post([token] { *token = 2; });
    loop.post([token] {});
    std::thread opener([&] { gate.set_value(); });
    opener.join();
  }
  EXPECT_EQ(token.use_count(), 1);
}

}  // namespace
}  // namespace tenure
