// Effects of time on workers, and operations on the whole pool.

#include <gtest/gtest.h>

#include "stage.h"

namespace tenure {
namespace {

using Kind = CheckoutEvent::Kind;

bool is_valid(const Thing& thing) { return thing.valid; }

TEST(CheckoutValidation, replaces_what_is_not_fit_and_lends_the_next) {
  const auto stage = Stage::ready(sized(2, 2), is_valid);
  stage->take()->valid = false;
  const Stage::Lease lease = stage->take();
  EXPECT_TRUE(lease->valid);
  EXPECT_EQ(stage->pool->metrics().invalid, 1U);
  stage->time->settle();
  EXPECT_EQ(stage->state().active(), 2U);
  EXPECT_EQ(stage->count(Kind::invalid), 1);
}

// Nothing is wrong with it: it counts neither as a death nor as a failed start, however young it is.
TEST(CheckoutRetirement, replaces_when_free_and_at_the_checkin) {
  const auto stage = Stage::ready(sized(1, 1));
  stage->world.alarm(0).retire("worn out");
  stage->time->settle();
  EXPECT_EQ(stage->take()->id, 1);
  {
    const Stage::Lease lease = stage->take();
    stage->world.alarm(1).retire("worn out");
    stage->world.alarm(1).retire("a second time");
    stage->world.alarm(0).retire("of one that is gone");
    stage->time->settle();
    EXPECT_TRUE(lease.alive());
    EXPECT_EQ(lease->id, 1);
  }
  stage->time->settle();
  EXPECT_EQ(stage->take()->id, 2);
  EXPECT_EQ(stage->pool->metrics().expired, 2U);
  EXPECT_EQ(stage->pool->metrics().deaths, 0U);
  EXPECT_EQ(stage->pool->metrics().start_failures, 0U);
  EXPECT_EQ(stage->count(Kind::expired), 2);
}

TEST(CheckoutValidation, keeps_the_place_of_one_who_waits) {
  const auto stage = Stage::ready(sized(1, 1, -1), is_valid);
  Stage::Lease lease = stage->take();
  std::vector<int> order;
  std::mutex mutex;
  const auto wait = [&](int id) {
    return std::thread([&, id] {
      const auto mine = stage->pool->checkout(1min);
      const std::lock_guard lock(mutex);
      order.push_back(id);
    });
  };
  std::thread first = wait(1);
  stage->wait_for_waiting(1);
  std::thread second = wait(2);
  stage->wait_for_waiting(2);
  lease->valid = false;
  lease.checkin();  // the first finds it useless, and goes back to the head of the queue
  while (stage->pool->metrics().invalid == 0) std::this_thread::yield();
  stage->wait_for_waiting(2);
  stage->time->settle();
  first.join();
  second.join();
  EXPECT_EQ(order, (std::vector<int>{1, 2}));
}

TEST(CheckoutValidation, happens_to_a_request_when_it_confirms) {
  const auto stage = Stage::ready(sized(1, 1, -1), is_valid);
  stage->take()->valid = false;
  int offers = 0;
  auto request = stage->pool->checkout_async([&](const CheckoutNews<Thing>& news) {
    if (news.kind() == CheckoutNewsKind::worker) ++offers;
  });
  EXPECT_EQ(request.confirm().error().code, Errc::worker_died);
  stage->time->settle();
  EXPECT_EQ(offers, 2);
  EXPECT_TRUE(request.confirm());
}

TEST(CheckoutValidation, that_throws_says_no) {
  int calls = 0;
  const auto stage = Stage::ready(sized(2, 2), [&](Thing&) {
    if (++calls == 1) throw std::runtime_error("oh");
    return true;
  });
  EXPECT_TRUE(stage->take());
  EXPECT_EQ(calls, 2);
}

TEST(CheckoutLifetime, replaces_old_workers_when_they_are_free) {
  CheckoutOptions options = sized(4, 4);
  options.max_lifetime = 60s;
  options.lifetime_jitter = 0.5;
  const auto stage = Stage::ready(options);
  Stage::Lease held = stage->take();
  const int old = held->id;
  stage->time->advance(29s);
  EXPECT_EQ(stage->pool->metrics().expired, 0U);
  std::uint64_t before = 0;
  int steps = 0;
  for (int i = 0; i < 31; ++i) {
    stage->time->advance(1s);
    const std::uint64_t expired = stage->pool->metrics().expired;
    if (expired != before) ++steps;
    before = expired;
  }
  EXPECT_EQ(stage->pool->metrics().expired, 3U);
  EXPECT_GT(steps, 1);  // they did not leave all at once
  EXPECT_EQ(held->id, old);
  EXPECT_TRUE(held.alive());
  held.checkin();
  EXPECT_EQ(stage->pool->metrics().expired, 4U);
  stage->time->settle();
  EXPECT_EQ(stage->state().free, 4U);
  EXPECT_EQ(stage->count(Kind::expired), 4);
}

TEST(CheckoutIdle, workers_leave_down_to_the_minimum) {
  CheckoutOptions options = sized(5, 5, -1);
  options.idle_timeout = 10s;
  options.min_idle = 2;
  const auto stage = Stage::ready(options);
  stage->time->advance(9s);
  EXPECT_EQ(stage->state().free, 5U);
  stage->time->advance(10s);
  EXPECT_EQ(stage->state().free, 2U);
  EXPECT_EQ(stage->pool->metrics().idled_out, 3U);
  stage->time->advance(1min);
  EXPECT_EQ(stage->state().free, 2U);
  // When they are wanted they come back; and two are kept free.
  const Stage::Lease first = stage->take();
  stage->time->advance(5s);
  EXPECT_EQ(stage->state().free, 2U);
  EXPECT_EQ(stage->state().active(), 3U);
}

TEST(CheckoutIdle, a_worker_in_use_now_and_then_stays) {
  CheckoutOptions options = sized(1, 1);
  options.idle_timeout = 10s;
  const auto stage = Stage::ready(options);
  for (int i = 0; i < 20; ++i) {
    stage->time->advance(6s);
    EXPECT_EQ(stage->take()->id, 0);
  }
}

TEST(CheckoutLeak, is_reported_once_with_the_place_of_the_checkout) {
  CheckoutOptions options = sized(2, 2);
  options.leak_after = 10s;
  const auto stage = Stage::ready(options);
  const auto lease = stage->pool->checkout();
  const auto line = std::source_location::current().line() - 1;
  stage->time->advance(9s);
  EXPECT_EQ(stage->count(Kind::leaked), 0);
  stage->time->advance(10s);
  stage->time->advance(1min);
  EXPECT_EQ(stage->count(Kind::leaked), 1);
  EXPECT_EQ(stage->pool->metrics().leaks, 1U);
  const auto event = std::find_if(stage->events.begin(), stage->events.end(),
                                  [](const CheckoutEvent& each) { return each.kind == Kind::leaked; });
  EXPECT_NE(event->text.find("care_test.cc:" + std::to_string(line)), std::string::npos) << event->text;
  EXPECT_EQ(event->worker, lease->worker_number());
}

TEST(CheckoutHibernation, happens_when_all_are_free_after_work) {
  CheckoutOptions options = sized(2, 2);
  options.hibernate_when_free = true;
  const auto stage = Stage::ready(options);
  const auto hibernations = [&] { return stage->pool->metrics().hibernations; };
  Stage::Lease lease = stage->take();
  stage->time->advance(10s);
  EXPECT_EQ(hibernations(), 0U);
  lease.checkin();
  stage->time->advance(2s);
  EXPECT_EQ(hibernations(), 1U);
  stage->time->advance(1min);
  EXPECT_EQ(hibernations(), 1U);  // nothing has happened since
}

TEST(CheckoutSuspend, holds_everybody_up_until_resume) {
  const auto stage = Stage::ready(sized(2, 2, -1));
  Stage::Lease held = stage->take();
  stage->pool->suspend();
  EXPECT_EQ(stage->state().health, CheckoutHealth::suspended);
  EXPECT_EQ(stage->pool->checkout(1ms).error().code, Errc::timed_out);
  std::atomic<bool> served{false};
  std::thread caller([&] { served = stage->pool->checkout(1min).has_value(); });
  stage->wait_for_waiting(1);
  held.checkin();
  EXPECT_EQ(stage->state().free, 2U);
  EXPECT_EQ(stage->state().waiting, 1U);
  EXPECT_EQ(stage->state().starting, 0U);  // the pool need not grow
  stage->pool->resume();
  caller.join();
  EXPECT_TRUE(served);
  EXPECT_EQ(stage->state().health, CheckoutHealth::ready);
}

TEST(CheckoutDrain, refuses_newcomers_serves_the_queue_and_waits_for_the_rest) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease held = stage->take();
  std::atomic<bool> served{false};
  std::thread caller([&] { served = stage->pool->checkout(1min).has_value(); });
  stage->wait_for_waiting(1);
  const Status late = stage->pool->drain(1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timed_out);
  EXPECT_NE(late.error().context.find("1 of 1 workers held"), std::string::npos);
  const auto refused = stage->pool->checkout();
  EXPECT_EQ(refused.error().code, Errc::pool_down);
  EXPECT_EQ(refused.error().context, "draining");
  EXPECT_EQ(stage->state().health, CheckoutHealth::draining);
  std::thread drainer([&] { EXPECT_TRUE(stage->pool->drain(1min)); });
  held.checkin();
  drainer.join();
  caller.join();
  EXPECT_TRUE(served);
  stage->pool->resume();
  EXPECT_TRUE(stage->take());
}

TEST(CheckoutResize, up_and_down) {
  const auto stage = Stage::ready(sized(2, 2, -1));
  EXPECT_TRUE(stage->pool->resize(100, 100));
  stage->time->settle();
  EXPECT_EQ(stage->state().free, 100U);
  std::vector<Stage::Lease> leases;
  for (int i = 0; i < 100; ++i) leases.push_back(stage->take());
  EXPECT_TRUE(stage->pool->resize(1, 3));
  EXPECT_EQ(stage->state().held, 100U);
  leases.clear();
  stage->time->settle();
  EXPECT_EQ(stage->state().free, 3U);
  EXPECT_EQ(stage->world.alive, 3);
  stage->time->advance(1min);  // the rest leaves as extra workers do
  EXPECT_EQ(stage->state().free, 1U);
  EXPECT_EQ(stage->pool->resize(3, 2).error().code, Errc::invalid);
  EXPECT_EQ(stage->state().max_workers, 3U);
}

TEST(CheckoutResize, makes_room_for_those_who_wait) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  const Stage::Lease lease = stage->take();
  std::thread caller([&] { EXPECT_TRUE(stage->pool->checkout(1min)); });
  stage->wait_for_waiting(1);
  EXPECT_TRUE(stage->pool->resize(1, 2));
  stage->time->settle();
  caller.join();
}

// The queue has not been empty for longer than the interval: callers that have waited longer than the target are
// refused.
TEST(CheckoutShedding, sends_away_who_waited_too_long_in_a_standing_queue) {
  CheckoutOptions options = sized(1, 1, -1);
  options.shed_target = 5ms;
  options.shed_interval = 100ms;
  const auto stage = Stage::ready(options);
  Stage::Lease lease = stage->take();
  std::vector<std::string> heard;
  std::vector<CheckoutRequest<Thing>> requests;
  const auto ask = [&](const std::string& name, bool force) {
    requests.push_back(stage->pool->checkout_async(
        [&heard, name](const CheckoutNews<Thing>& news) {
          if (news.kind() == CheckoutNewsKind::overloaded) heard.push_back(name + " sent away");
          if (news.kind() == CheckoutNewsKind::worker) {
            const auto mine = news.confirm();
            heard.push_back(name + " served");
          }
        },
        {.force_enqueue = force}));
  };
  ask("old", false);
  ask("forced", true);
  stage->time->advance(101ms);
  ask("new", false);
  lease.checkin();
  EXPECT_EQ(heard, (std::vector<std::string>{"old sent away", "forced served", "new served"}));
  EXPECT_EQ(stage->pool->metrics().shed, 1U);
}

TEST(CheckoutShedding, leaves_a_short_queue_alone) {
  CheckoutOptions options = sized(1, 1, -1);
  options.shed_target = 5ms;
  const auto stage = Stage::ready(options);
  Stage::Lease lease = stage->take();
  Stage::Lease got;
  const auto request = stage->pool->checkout_async([&](const CheckoutNews<Thing>& news) {
    if (news.kind() == CheckoutNewsKind::worker) got = *news.confirm();
  });
  stage->time->advance(50ms);
  lease.checkin();
  EXPECT_TRUE(got);
}

TEST(CheckoutEvents, a_hook_that_throws_is_counted) {
  CheckoutOptions options = sized(1, 1);
  options.on_event = [](const CheckoutEvent&) { throw std::runtime_error("oh"); };
  const auto stage = Stage::ready(options);
  EXPECT_GT(stage->pool->metrics().callback_errors, 0U);
}

TEST(CheckoutEvents, have_names) {
  EXPECT_EQ(to_string(Kind::leaked), "leaked");
  EXPECT_EQ(to_string(CheckoutHealth::degraded), "degraded");
}

TEST(CheckoutMetrics, count_waiting) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  const auto request = stage->pool->checkout_async([](const CheckoutNews<Thing>& news) {
    if (news.kind() != CheckoutNewsKind::worker) return;
    EXPECT_TRUE(news.confirm());
  });
  stage->time->advance(30ms);
  lease.checkin();
  const CheckoutMetrics metrics = stage->pool->metrics();
  EXPECT_EQ(metrics.checkouts, 2U);
  EXPECT_EQ(metrics.waited, 1U);
  EXPECT_EQ(metrics.wait_max, 30ms);
}

}  // namespace
}  // namespace tenure
