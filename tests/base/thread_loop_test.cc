#include "base/thread_loop.h"

#include <gtest/gtest.h>

#include <future>
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
