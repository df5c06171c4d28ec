// Workers that do not start, workers that die while they are free, in transit or held, and workers that their holders
// discard. Holders that vanish.

#include <gtest/gtest.h>

#include "stage.h"

namespace tenure {
namespace {

using Kind = CheckoutEvent::Kind;
using News = CheckoutNews<Thing>;

TEST(CheckoutStart, that_fails_is_tried_again_later_and_later) {
  CheckoutOptions options = sized(1, 1, -1);
  options.start_backoff = 100ms;
  options.start_backoff_max = 1s;
  Stage stage(options);
  stage.world.failing = true;
  stage.time->settle();
  EXPECT_EQ(stage.state().health, CheckoutHealth::failing);
  EXPECT_EQ(stage.state().reason, "no route");
  EXPECT_EQ(stage.pool->metrics().start_failures, 1U);
  stage.time->advance(40ms);
  EXPECT_EQ(stage.pool->metrics().start_failures, 1U);
  stage.time->advance(60ms);
  EXPECT_EQ(stage.pool->metrics().start_failures, 2U);
  stage.time->advance(1min);
  const std::uint64_t failures = stage.pool->metrics().start_failures;
  EXPECT_GT(failures, 50U);   // at most a second apart, at least half of one
  EXPECT_LT(failures, 130U);  //
  stage.world.failing = false;
  stage.time->advance(1s);
  EXPECT_EQ(stage.state().health, CheckoutHealth::ready);
  EXPECT_EQ(stage.state().free, 1U);
  EXPECT_EQ(stage.state().reason, "");
}

TEST(CheckoutStart, failing_side_by_side_counts_once) {
  CheckoutOptions options = sized(10, 10);
  options.start_failures_max = 2;
  Stage stage(options);
  stage.world.failing = true;
  stage.time->settle();
  EXPECT_EQ(stage.pool->metrics().start_failures, 10U);
  EXPECT_EQ(stage.state().health, CheckoutHealth::failing);
  stage.world.failing = false;
  stage.time->advance(100ms);  // one is tried, and then all of them
  EXPECT_EQ(stage.state().free, 10U);
}

TEST(CheckoutStart, never_leaves_callers_with_a_silent_pool) {
  Stage without_queue(sized(1, 1, 0));
  without_queue.world.failing = true;
  without_queue.time->settle();
  const auto refused = without_queue.pool->checkout();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::pool_down);
  EXPECT_NE(refused.error().context.find("no route"), std::string::npos);

  Stage with_queue(sized(1, 1, -1));
  with_queue.world.failing = true;
  with_queue.time->settle();
  const auto late = with_queue.pool->checkout(1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timed_out);
  EXPECT_NE(late.error().context.find("no route"), std::string::npos);
}

// The only worker has died young, and its replacement fails at first. That is no reason to call the pool down, even if
// its queue has no places.
TEST(CheckoutStart, a_pool_that_restarts_its_only_worker_lets_a_caller_wait) {
  const auto stage = Stage::ready(sized(1, 1, 0));
  std::vector<CheckoutNewsKind> heard;
  const auto hear = [&](const News& news) { heard.push_back(news.kind()); };
  stage->world.failing = true;
  stage->world.alarm(0).died("gone");
  const auto while_it_stops = stage->pool->checkout_async(hear);
  const auto behind = stage->pool->checkout(0ms);
  ASSERT_FALSE(behind);
  EXPECT_EQ(behind.error().code, Errc::overloaded);
  stage->time->settle();
  EXPECT_EQ(stage->state().health, CheckoutHealth::failing);
  EXPECT_EQ(heard, (std::vector{CheckoutNewsKind::enqueued}));
  stage->world.failing = false;
  stage->time->advance(10s);
  EXPECT_EQ(heard, (std::vector{CheckoutNewsKind::enqueued, CheckoutNewsKind::worker}));
}

// The same during the backoff: a caller that gives up learns why there is no worker.
TEST(CheckoutStart, a_caller_that_waits_for_a_restart_in_vain_is_told_why) {
  const auto stage = Stage::ready(sized(1, 1, 0));
  stage->world.failing = true;
  stage->world.alarm(0).died("gone");
  stage->time->settle();
  const auto late = stage->pool->checkout(1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timed_out);
  EXPECT_NE(late.error().context.find("starts fail"), std::string::npos) << late.error().message();
}

TEST(CheckoutStart, a_pool_gives_up_if_it_is_told_to) {
  CheckoutOptions options = sized(1, 1, -1);
  options.start_failures_max = 3;
  Stage stage(options);
  stage.world.failing = true;
  std::vector<CheckoutNewsKind> heard;
  const auto request = stage.pool->checkout_async([&](const News& news) { heard.push_back(news.kind()); });
  stage.time->advance(10s);
  EXPECT_EQ(stage.state().health, CheckoutHealth::down);
  EXPECT_EQ(stage.pool->metrics().start_failures, 4U);
  EXPECT_EQ(heard, (std::vector{CheckoutNewsKind::enqueued, CheckoutNewsKind::pool_down}));
  const auto refused = stage.pool->checkout();
  EXPECT_EQ(refused.error().code, Errc::pool_down);
  EXPECT_EQ(refused.error().context, "starts fail too often: no route");
  EXPECT_EQ(stage.events.back().health, CheckoutHealth::down);
}

TEST(CheckoutStart, what_a_factory_throws_is_a_failed_start) {
  const auto why = [](const CheckoutPool<int>& pool) {
    while (pool.metrics().start_failures == 0) std::this_thread::yield();
    return pool.state().reason;
  };
  const CheckoutOptions options = sized(1, 1, -1);
  EXPECT_EQ(why(CheckoutPool<int>([]() -> int { throw std::runtime_error("no licence"); }, options)), "no licence");
  EXPECT_NE(why(CheckoutPool<int>([]() -> int { throw 7; }, options)), "");  // NOLINT
  EXPECT_EQ(why(CheckoutPool<int>([] { return std::unique_ptr<int>(); }, options)), "the factory gave a null pointer");
}

// Three factories wait for each other: they can only return if all of them run at the same time.
TEST(CheckoutStart, runs_side_by_side) {
  std::atomic<int> inside{0};
  CheckoutOptions options = sized(3, 3, -1);
  options.parallel_starts = 3;
  CheckoutPool<int> pool(
      [&] {
        ++inside;
        while (inside < 3) std::this_thread::yield();
        return 1;
      },
      options);
  EXPECT_TRUE(pool.checkout(1min));
}

TEST(CheckoutDeath, of_a_free_worker_replaces_it) {
  const auto stage = Stage::ready(sized(2, 2));
  stage->time->advance(1min);
  stage->world.alarm(0).died("reset by peer");
  EXPECT_EQ(stage->state().free, 1U);
  EXPECT_EQ(stage->state().stopping, 1U);
  stage->time->settle();
  EXPECT_EQ(stage->state().free, 2U);
  EXPECT_EQ(stage->world.made, 3);
  EXPECT_EQ(stage->world.peak, 2);
  EXPECT_EQ(stage->pool->metrics().deaths, 1U);
  EXPECT_EQ(stage->count(Kind::died), 1);
  stage->world.alarm(0).died("again");  // of one that has left
  stage->time->settle();
  EXPECT_EQ(stage->state().free, 2U);
}

TEST(CheckoutDeath, of_a_held_worker_is_told_to_its_holder) {
  const auto stage = Stage::ready(sized(1, 1));
  stage->time->advance(1min);
  Stage::Lease lease = stage->take();
  std::string told;
  lease.on_death([&](const std::string& reason) { told = reason; });
  EXPECT_TRUE(lease.alive());
  stage->world.alarm(0).died("reset by peer");
  EXPECT_FALSE(lease.alive());
  EXPECT_EQ(told, "reset by peer");
  EXPECT_EQ(stage->world.alive, 1);  // it is still the holder's
  lease.checkin();
  EXPECT_EQ(stage->state().free, 0U);
  stage->time->settle();
  EXPECT_EQ(stage->take()->id, 1);
}

TEST(CheckoutDeath, is_told_at_once_to_one_who_asks_too_late) {
  const auto stage = Stage::ready(sized(1, 1));
  Stage::Lease lease = stage->take();
  stage->world.alarm(0).died("gone");
  std::string told;
  lease.on_death([&](const std::string& reason) { told = reason; });
  EXPECT_EQ(told, "gone");
}

TEST(CheckoutDeath, is_not_told_to_an_earlier_holder) {
  const auto stage = Stage::ready(sized(1, 1));
  int told = 0;
  {
    Stage::Lease lease = stage->take();
    lease.on_death([&](const std::string&) { ++told; });
  }
  const Stage::Lease next = stage->take();
  stage->world.alarm(0).died("gone");
  EXPECT_EQ(told, 0);
}

TEST(CheckoutDeath, of_a_worker_in_transit_offers_another) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  stage->time->advance(1min);
  std::vector<CheckoutNewsKind> heard;
  auto request = stage->pool->checkout_async([&](const News& news) { heard.push_back(news.kind()); });
  const auto behind = stage->pool->checkout_async([](const News&) {});
  stage->world.alarm(0).died("gone");
  EXPECT_EQ(request.confirm().error().code, Errc::worker_died);
  stage->time->settle();
  EXPECT_EQ(heard, (std::vector{CheckoutNewsKind::worker, CheckoutNewsKind::enqueued, CheckoutNewsKind::worker}));
  auto lease = request.confirm();
  ASSERT_TRUE(lease);
  EXPECT_EQ((*lease)->id, 1);
  EXPECT_EQ(stage->state().waiting, 1U);  // the one behind it is still behind it
}

TEST(CheckoutDeath, before_the_factory_returned_is_a_failed_start) {
  std::optional<WorkerAlarm> kept;
  std::atomic<int> calls{0};
  CheckoutOptions options = sized(1, 1, -1);
  options.start_backoff = 1ms;
  CheckoutPool<int> pool(
      [&](const WorkerAlarm& alarm) {
        if (++calls == 1) alarm.died("stillborn");
        return 1;
      },
      options);
  EXPECT_TRUE(pool.checkout(1min));
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(pool.metrics().start_failures, 1U);
}

// Workers that start well and die at once must not keep the pool busy: they count as failed starts.
TEST(CheckoutDeath, right_after_the_start_slows_starts_down) {
  CheckoutOptions options = sized(1, 1, -1);
  options.start_backoff = 100ms;
  Stage stage(options);
  for (int i = 0; i < 5; ++i) {
    while (stage.world.made == i) stage.time->advance(10ms);
    stage.world.alarm(i).died("crash");
    stage.time->settle();
    EXPECT_EQ(stage.state().health, CheckoutHealth::failing);
  }
  const int made = stage.world.made;
  stage.time->advance(700ms);  // the fifth delay is 1600 ms, of which at least half
  EXPECT_EQ(stage.world.made, made);
  stage.time->advance(1s);
  EXPECT_EQ(stage.world.made, made + 1);
  EXPECT_EQ(stage.state().health, CheckoutHealth::ready);
}

TEST(CheckoutDiscard, replaces_the_worker) {
  const auto stage = Stage::ready(sized(1, 1));
  Stage::Lease lease = stage->take();
  lease.discard("protocol error");
  EXPECT_FALSE(lease);
  stage->time->settle();
  EXPECT_EQ(stage->take()->id, 1);
  EXPECT_EQ(stage->pool->metrics().discarded, 1U);
  EXPECT_EQ(stage->count(Kind::discarded), 1);
  EXPECT_EQ(stage->world.peak, 1);
}

TEST(CheckoutDiscard, serves_those_who_wait_with_the_replacement) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  std::thread caller([&] { EXPECT_EQ((*stage->pool->checkout(1min))->id, 1); });
  stage->wait_for_waiting(1);
  lease.discard();
  stage->time->settle();
  caller.join();
}

TEST(CheckoutHolder, that_throws_gives_its_worker_back) {
  const auto stage = Stage::ready(sized(1, 1));
  EXPECT_THROW(
      {
        const Stage::Lease lease = stage->take();
        throw std::runtime_error("oh");
      },
      std::runtime_error);
  EXPECT_EQ(stage->state().free, 1U);
}

TEST(CheckoutHolder, whose_thread_ends_gives_its_worker_back) {
  const auto stage = Stage::ready(sized(1, 1));
  std::thread([&] {
    thread_local Stage::Lease kept;
    kept = stage->take();
  }).join();
  EXPECT_EQ(stage->state().free, 1U);
}

}  // namespace
}  // namespace tenure
