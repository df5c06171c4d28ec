// The simulated world keeps the promises of the interfaces that it implements: order within a loop, clocks with their
// own rates, and processes that stop where they are told to.

#include "sim/world/world.h"

#include <gtest/gtest.h>

#include <vector>

#include "sim/world/process.h"
#include "sim/world/sim_clock.h"

namespace tenure::sim {
namespace {

using namespace std::chrono_literals;

// Posts run in their order, timers in the order of their times, and none before its time.
TEST(World, LoopKeepsOrder) {
  World world(1);
  SimClock clock(world, 5s, 0, 0);
  SimLoop& loop = world.start_process("a", clock).add_loop("node");
  std::vector<int> posts;
  std::vector<int> timers;
  for (int i = 0; i < 200; ++i) loop.post([&, i] { posts.push_back(i); });
  for (int i = 99; i >= 0; --i) {
    const Instant when = clock.now() + i * 1ms;
    loop.at(when, [&, i, when] {
      EXPECT_GE(clock.now(), when);
      timers.push_back(i);
    });
  }
  world.run_until(kSecond);
  ASSERT_EQ(posts.size(), 200U);
  ASSERT_EQ(timers.size(), 100U);
  EXPECT_TRUE(std::is_sorted(posts.begin(), posts.end()));
  EXPECT_TRUE(std::is_sorted(timers.begin(), timers.end()));
}

TEST(World, CancelledTimerDoesNotRun) {
  World world(1);
  SimClock clock(world, 5s, 0, 0);
  SimLoop& loop = world.start_process("a", clock).add_loop("node");
  int ran = 0;
  const TimerId first = loop.at(clock.now() + 1ms, [&] { ++ran; });
  loop.at(clock.now() + 2ms, [&] { ran += 10; });
  loop.cancel(first);
  loop.cancel(first);
  world.run_until(kSecond);
  EXPECT_EQ(ran, 10);
}

// A clock 200 ppm fast fires its timers that much earlier in true time, also when its rate changes meanwhile.
TEST(World, ClockRatesDecideWhenTimersFire) {
  World world(1);
  SimClock fast(world, 1s, 200, 0);
  SimClock slow(world, 9s, 0, 0);
  Time fast_at = 0;
  Time slow_at = 0;
  world.start_process("fast", fast).add_loop("node").at(fast.now() + 10s, [&] { fast_at = world.now(); });
  world.start_process("slow", slow).add_loop("node").at(slow.now() + 10s, [&] { slow_at = world.now(); });
  world.run_until(5 * kSecond);
  world.set_clock_rate(slow, -200);
  world.run_until(20 * kSecond);
  EXPECT_NEAR(static_cast<double>(fast_at), 10e9 / 1.0002, 1e5);
  EXPECT_NEAR(static_cast<double>(slow_at), 5e9 + 5e9 / 0.9998, 1e5);
}

TEST(World, TrueTimeInvertsTheClock) {
  World world(1);
  Dice dice(7);
  for (const std::int64_t ppm : {-500, -37, 0, 1, 200, 500}) {
    const SimClock clock(world, 3s, ppm, 0);
    for (int i = 0; i < 1000; ++i) {
      const Instant when = clock.now() + Nanos(dice.between(0, 100 * kSecond));
      const Time at = clock.true_time(when);
      EXPECT_GE(clock.at(at), when);
      EXPECT_LT(clock.at(at - 2), when);
    }
  }
}

TEST(World, WallClockStepsAndBootTimeDoesNot) {
  World world(1);
  SimClock clock(world, 3s, 0, 1000);
  const Instant before = clock.now();
  clock.step_wall(-5000);
  EXPECT_EQ(clock.wall_ms(), -4000);
  EXPECT_EQ(clock.now(), before);
}

// Nothing runs while a process is paused; afterwards what became due runs, in order within each loop, and over many
// seeds every loop is at some time the first.
TEST(World, PausedProcessWakesInAnyOrderOfItsLoops) {
  bool node_first = false;
  bool heart_first = false;
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    World world(seed);
    SimClock clock(world, 3s, 0, 0);
    Process& process = world.start_process("a", clock);
    SimLoop& node = process.add_loop("node");
    SimLoop& heart = process.add_loop("heart");
    std::vector<int> order;
    process.pause();
    for (int i = 0; i < 5; ++i) node.post([&, i] { order.push_back(i); });
    heart.at(clock.now() + 10ms, [&] { order.push_back(100); });
    world.run_until(kSecond);
    EXPECT_TRUE(order.empty());
    process.resume();
    world.run_until(2 * kSecond);
    ASSERT_EQ(order.size(), 6U);
    (order.front() == 100 ? heart_first : node_first) = true;
    std::erase(order, 100);
    EXPECT_TRUE(std::is_sorted(order.begin(), order.end()));
  }
  EXPECT_TRUE(node_first);
  EXPECT_TRUE(heart_first);
}

TEST(World, StalledLoopHoldsUpNoOther) {
  World world(3);
  SimClock clock(world, 3s, 0, 0);
  Process& process = world.start_process("a", clock);
  SimLoop& node = process.add_loop("node");
  SimLoop& heart = process.add_loop("heart");
  Time node_at = 0;
  Time heart_at = 0;
  process.stall(node, kSecond);
  node.post([&] { node_at = world.now(); });
  heart.post([&] { heart_at = world.now(); });
  world.run_until(2 * kSecond);
  EXPECT_GE(node_at, kSecond);
  EXPECT_LT(heart_at, kMilli);
}

// A process may crash itself in the middle of its work: nothing of it runs again, its body is destroyed once the work
// has returned, and what the body still wants of its loops is ignored.
TEST(World, CrashedProcessRunsNothing) {
  World world(3);
  SimClock clock(world, 3s, 0, 0);
  Process& process = world.start_process("a", clock);
  SimLoop& node = process.add_loop("node");
  struct Body {
    SimLoop& loop;
    int& ran;
    bool& destroyed;
    Timer timer{loop};
    ~Body() {
      loop.post([&r = ran] { ++r; });
      destroyed = true;
    }
  };
  int ran = 0;
  bool destroyed = false;
  auto body = std::make_shared<Body>(node, ran, destroyed);
  body->timer.arm(clock.now() + 1s, [&] { ++ran; });
  process.own(std::move(body));
  node.post([&] {
    process.crash();
    EXPECT_FALSE(destroyed);
    node.post([&] { ++ran; });
  });
  node.post([&] { ++ran; });
  world.run_until(3 * kSecond);
  EXPECT_TRUE(destroyed);
  EXPECT_EQ(ran, 0);
}

TEST(World, SameSeedSameTrace) {
  const auto run = [](std::uint64_t seed) {
    World world(seed);
    SimClock clock(world, 3s, 0, 0);
    SimLoop& loop = world.start_process("a", clock).add_loop("node");
    std::function<void()> again = [&] {
      if (world.now() < kSecond) loop.post(again);
    };
    loop.post(again);
    world.run_until(2 * kSecond);
    return world.trace();
  };
  EXPECT_EQ(run(1), run(1));
  EXPECT_NE(run(1), run(2));
}

}  // namespace
}  // namespace tenure::sim
