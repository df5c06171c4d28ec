// The asynchronous checkout: its events, confirming, cancelling, and destruction at any moment.

#include <gtest/gtest.h>

#include "stage.h"

namespace tenure {
namespace {

using Told = CheckoutNewsKind;
using News = CheckoutNews<Thing>;
using Request = CheckoutRequest<Thing>;

// Records its events.
struct Listener {
  std::vector<Told> heard;
  std::function<void(const News&)> call() {
    return [this](const News& news) { heard.push_back(news.kind()); };
  }
};

TEST(CheckoutRequest, is_offered_a_free_worker_at_once) {
  const auto stage = Stage::ready(sized(1, 1));
  Listener listener;
  Request request = stage->pool->checkout_async(listener.call());
  EXPECT_EQ(listener.heard, std::vector{Told::worker});
  EXPECT_EQ(stage->state().in_transit, 1U);
  EXPECT_EQ(stage->state().held, 1U);
  {
    auto lease = request.confirm();
    ASSERT_TRUE(lease);
    EXPECT_TRUE((*lease)->valid);
    EXPECT_EQ(stage->state().in_transit, 0U);
  }
  EXPECT_EQ(stage->state().free, 1U);
}

TEST(CheckoutRequest, hears_that_it_is_enqueued_and_then_of_the_worker) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  Stage::Lease lease = stage->take();
  Listener listener;
  Request request = stage->pool->checkout_async(listener.call());
  EXPECT_EQ(listener.heard, std::vector{Told::enqueued});
  EXPECT_EQ(request.confirm().error().code, Errc::busy);
  lease.checkin();
  EXPECT_EQ(listener.heard, (std::vector{Told::enqueued, Told::worker}));
  EXPECT_TRUE(request.confirm());
}

TEST(CheckoutRequest, hears_that_the_pool_is_overloaded) {
  const auto stage = Stage::ready(sized(1, 1, 0));
  const Stage::Lease lease = stage->take();
  Listener listener;
  Request first = stage->pool->checkout_async(listener.call());   // by the mutex
  Request second = stage->pool->checkout_async(listener.call());  // by the flag
  EXPECT_EQ(listener.heard, (std::vector{Told::overloaded, Told::overloaded}));
  EXPECT_EQ(first.confirm().error().code, Errc::closed);
  Request forced = stage->pool->checkout_async(listener.call(), {.force_enqueue = true});
  EXPECT_EQ(listener.heard.back(), Told::enqueued);
}

TEST(CheckoutRequest, hears_that_the_pool_went_down) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  const Stage::Lease lease = stage->take();
  std::string reason;
  Request request = stage->pool->checkout_async([&](const News& news) {
    if (news.kind() == Told::pool_down) reason = news.error().context;
  });
  stage->pool->close();
  EXPECT_EQ(reason, "closed");
  EXPECT_EQ(request.confirm().error().code, Errc::closed);
}

TEST(CheckoutRequest, can_be_confirmed_from_within_its_callback) {
  const auto stage = Stage::ready(sized(1, 1));
  Stage::Lease lease;
  const Request request = stage->pool->checkout_async([&](const News& news) { lease = *news.confirm(); });
  EXPECT_TRUE(lease);
}

TEST(CheckoutRequest, cancelled_while_it_waits_leaves_the_queue) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  Listener first;
  Listener second;
  Request cancelled = stage->pool->checkout_async(first.call());
  const Request next = stage->pool->checkout_async(second.call());
  cancelled.cancel();
  EXPECT_EQ(stage->state().waiting, 1U);
  lease.checkin();
  EXPECT_EQ(first.heard, std::vector{Told::enqueued});
  EXPECT_EQ(second.heard.back(), Told::worker);
  EXPECT_EQ(stage->pool->metrics().cancelled, 1U);
}

TEST(CheckoutRequest, cancelled_after_the_offer_gives_the_worker_back) {
  const auto stage = Stage::ready(sized(1, 1));
  Listener listener;
  Request request = stage->pool->checkout_async(listener.call());
  request.cancel();
  EXPECT_EQ(stage->state().free, 1U);
  EXPECT_EQ(stage->state().in_transit, 0U);
  EXPECT_EQ(request.confirm().error().code, Errc::closed);
}

TEST(CheckoutRequest, cancelled_after_the_confirmation_leaves_the_lease_alone) {
  const auto stage = Stage::ready(sized(1, 1));
  Request request = stage->pool->checkout_async([](const News&) {});
  auto lease = request.confirm();
  request.cancel();
  request.reset();
  EXPECT_EQ(stage->state().held, 1U);
  EXPECT_TRUE((*lease)->valid);
}

TEST(CheckoutRequest, may_be_destroyed_in_every_state) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  {
    const Request offered = stage->pool->checkout_async([](const News&) {});
  }
  EXPECT_EQ(stage->state().free, 1U);
  Stage::Lease lease = stage->take();
  {
    const Request waiting = stage->pool->checkout_async([](const News&) {});
  }
  EXPECT_EQ(stage->state().waiting, 0U);
  lease.checkin();
  {
    Request taken = stage->pool->checkout_async([](const News&) {});
    lease = *taken.confirm();
  }
  EXPECT_EQ(stage->state().held, 1U);
}

TEST(CheckoutRequest, may_be_destroyed_within_its_own_callback) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  Request request;
  int calls = 0;
  request = stage->pool->checkout_async([&](const News& news) {
    ++calls;
    if (news.kind() == Told::worker) request.reset();
  });
  lease.checkin();
  EXPECT_EQ(calls, 2);
  EXPECT_EQ(stage->state().free, 1U);
}

// The executor has been handed the call when the request is destroyed; what it runs later does nothing.
TEST(CheckoutRequest, destroyed_before_its_executor_came_to_it_is_silent) {
  const auto stage = Stage::ready(sized(1, 1));
  std::vector<std::function<void()>> tasks;
  int calls = 0;
  {
    const Request request = stage->pool->checkout_async(
        [&](const News&) { ++calls; },
        {.executor = [&](std::function<void()> task) { tasks.push_back(std::move(task)); }});
    EXPECT_EQ(tasks.size(), 1U);
  }
  for (const auto& task : tasks) task();
  EXPECT_EQ(calls, 0);
  EXPECT_EQ(stage->state().free, 1U);
}

TEST(CheckoutRequest, events_reach_the_executor_in_order) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  Stage::Lease lease = stage->take();
  std::vector<std::function<void()>> tasks;
  Listener listener;
  const Request request = stage->pool->checkout_async(
      listener.call(), {.executor = [&](std::function<void()> task) { tasks.push_back(std::move(task)); }});
  lease.checkin();
  EXPECT_EQ(listener.heard.size(), 0U);
  EXPECT_EQ(tasks.size(), 1U);  // one task delivers both events
  for (std::size_t i = 0; i < tasks.size(); ++i) tasks[i]();
  EXPECT_EQ(listener.heard, (std::vector{Told::enqueued, Told::worker}));
}

// One thread is in the callback while another destroys the request: it waits for the callback to be over.
TEST(CheckoutRequest, destruction_waits_for_a_call_on_another_thread) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  Stage::Lease lease = stage->take();
  std::promise<void> inside;
  std::promise<void> go_on;
  std::atomic<bool> over{false};
  Request request = stage->pool->checkout_async([&](const News& news) {
    if (news.kind() != Told::worker) return;
    inside.set_value();
    go_on.get_future().wait();
    over = true;
  });
  std::thread giver([&] { lease.checkin(); });
  inside.get_future().wait();
  std::thread releaser([&] { go_on.set_value(); });
  request.reset();
  EXPECT_TRUE(over);
  giver.join();
  releaser.join();
}

TEST(CheckoutRequest, a_callback_that_throws_is_counted_and_harms_nobody) {
  const auto stage = Stage::ready(sized(1, 1));
  {
    const Request request = stage->pool->checkout_async([](const News&) { throw std::runtime_error("oh"); });
  }
  EXPECT_EQ(stage->pool->metrics().callback_errors, 1U);
  EXPECT_EQ(stage->state().free, 1U);
}

// Each callback gives its worker back, which is news for the next request. One checkin delivers ten thousand of them,
// without a thread or a stack frame each.
TEST(CheckoutRequest, thousands_of_waiters_cost_no_thread_and_no_stack) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  std::vector<int> served;
  std::vector<Request> requests;
  for (int i = 0; i < 10'000; ++i) {
    requests.push_back(stage->pool->checkout_async([&served, i](const News& news) {
      if (news.kind() == Told::worker && news.confirm()) served.push_back(i);
    }));
  }
  EXPECT_EQ(stage->state().waiting, 10'000U);
  lease.checkin();
  ASSERT_EQ(served.size(), 10'000U);
  EXPECT_TRUE(std::is_sorted(served.begin(), served.end()));
}

TEST(CheckoutRequest, threads_and_requests_wait_in_one_queue) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  std::mutex mutex;
  std::vector<std::string> served;
  const auto note = [&](const char* who) {
    const std::lock_guard lock(mutex);
    served.emplace_back(who);
  };
  const Request first = stage->pool->checkout_async([&](const News& news) {
    if (news.kind() != Told::worker) return;
    const auto mine = news.confirm();
    note("request");
  });
  std::thread second([&] {
    const auto mine = stage->pool->checkout(1min);
    note("thread");
  });
  stage->wait_for_waiting(2);
  const Request third = stage->pool->checkout_async([&](const News& news) {
    if (news.kind() != Told::worker) return;
    const auto mine = news.confirm();
    note("request");
  });
  lease.checkin();
  second.join();
  EXPECT_EQ(served, (std::vector<std::string>{"request", "thread", "request"}));
}

}  // namespace
}  // namespace tenure
