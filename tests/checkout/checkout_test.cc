// Checkout and checkin: the lease or the error that a caller gets. The registry of names.

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>

#include "stage.h"

namespace tenure {
namespace {

TEST(Checkout, lends_a_worker_and_takes_it_back) {
  const auto stage = Stage::ready(sized(2, 2));
  {
    const Stage::Lease lease = stage->take();
    EXPECT_TRUE(lease->valid);
    EXPECT_EQ(stage->state().held, 1U);
    EXPECT_EQ(stage->state().free, 1U);
  }
  EXPECT_EQ(stage->state().free, 2U);
  EXPECT_EQ(stage->pool->metrics().checkouts, 1U);
}

TEST(Checkout, a_thread_gets_the_worker_it_had_last) {
  const auto stage = Stage::ready(sized(5, 5));
  const int first = stage->take()->id;
  for (int i = 0; i < 10; ++i) EXPECT_EQ(stage->take()->id, first);
}

TEST(Checkout, never_lends_a_worker_twice) {
  const auto stage = Stage::ready(sized(5, 5));
  std::vector<Stage::Lease> leases;
  std::set<int> ids;
  for (int i = 0; i < 5; ++i) ids.insert(leases.emplace_back(stage->take())->id);
  EXPECT_EQ(ids.size(), 5U);
  EXPECT_EQ(stage->refusal(), Errc::overloaded);
}

TEST(Checkout, a_lease_can_be_moved_and_let_go_elsewhere) {
  const auto stage = Stage::ready(sized(1, 1));
  Stage::Lease lease = stage->take();
  Stage::Lease other = std::move(lease);
  EXPECT_FALSE(lease);  // NOLINT(bugprone-use-after-move)
  EXPECT_EQ(stage->state().held, 1U);
  std::thread([moved = std::move(other)]() mutable { moved.checkin(); }).join();
  EXPECT_EQ(stage->state().free, 1U);
  other = stage->take();
  other = Stage::Lease();  // an assignment lets the former one go
  EXPECT_EQ(stage->state().free, 1U);
}

// A thread remembers its last slot of a few pools; none of them is ever taken for another's, nor a dead pool's.
TEST(Checkout, a_thread_that_uses_many_pools_gets_each_ones_own_workers) {
  std::vector<std::unique_ptr<CheckoutPool<int>>> pools;
  for (int i = 0; i < 20; ++i) {
    pools.push_back(std::make_unique<CheckoutPool<int>>([i] { return i; }, sized(1, 1)));
  }
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 20; ++i) {
      EXPECT_EQ(*pools[static_cast<std::size_t>(i)]->checkout().value(), i);
      EXPECT_EQ(*pools[static_cast<std::size_t>(i)]->checkout().value(), i);
    }
  }
  pools[19] = std::make_unique<CheckoutPool<int>>([] { return 100; }, sized(1, 1));
  EXPECT_EQ(*pools[19]->checkout().value(), 100);
}

// The Result of a checkout keeps its error elsewhere; it is used as any other.
TEST(Checkout, its_result_can_be_moved_and_asked_as_any_other) {
  const auto stage = Stage::ready(sized(1, 1));
  Result<Stage::Lease> lease = stage->pool->checkout();
  Result<Stage::Lease> refused = stage->pool->checkout();
  Result<Stage::Lease> likewise = stage->pool->checkout();
  ASSERT_TRUE(lease && !refused && !likewise);
  EXPECT_THROW((void)refused.value(), BadResult);
  EXPECT_EQ(std::as_const(refused).error().operation, "checkout");
  refused.error().context = "mine";
  EXPECT_EQ(likewise.error().context, "");
  Result<Stage::Lease> moved = std::move(refused);
  EXPECT_EQ(moved.error().context, "mine");
  EXPECT_FALSE(refused);  // NOLINT(bugprone-use-after-move): there is still no lease
  moved = std::move(lease);
  ASSERT_TRUE(moved);
  EXPECT_EQ(stage->state().held, 1U);
  moved = Failure(Error{Errc::closed, "test", "over"});  // lets the lease go
  EXPECT_EQ(std::move(moved).error().code, Errc::closed);
  EXPECT_EQ(stage->state().free, 1U);
}

// Without a queue a caller is refused at once, and served in the moment a worker is free, not some time later.
TEST(Checkout, overload_clears_in_the_moment_a_worker_is_free) {
  const auto stage = Stage::ready(sized(2, 2));
  Stage::Lease first = stage->take();
  const Stage::Lease second = stage->take();
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(stage->refusal(), Errc::overloaded);
  EXPECT_TRUE(stage->state().overloaded);
  for (int i = 0; i < 1000; ++i) {
    first.checkin();
    EXPECT_FALSE(stage->state().overloaded);
    first = stage->take();
    EXPECT_EQ(stage->refusal(), Errc::overloaded);
  }
  EXPECT_EQ(stage->pool->metrics().overloaded, 2000U);
}

TEST(Checkout, waits_for_workers_that_are_starting) {
  Stage stage(sized(2, 2));
  EXPECT_EQ(stage.state().health, CheckoutHealth::starting);
  EXPECT_EQ(stage.state().starting, 2U);
  std::thread caller([&] { EXPECT_TRUE(stage.pool->checkout(1min)); });
  stage.wait_for_waiting(1);
  stage.time->settle();
  caller.join();
  EXPECT_EQ(stage.state().health, CheckoutHealth::ready);
}

TEST(Checkout, says_when_it_waited_in_vain_and_for_what) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  const Stage::Lease lease = stage->take();
  const auto late = stage->pool->checkout(1ms);
  ASSERT_FALSE(late);
  EXPECT_EQ(late.error().code, Errc::timed_out);
  EXPECT_NE(late.error().context.find("1 of 1 workers held"), std::string::npos) << late.error().message();
  EXPECT_EQ(stage->pool->metrics().timed_out, 1U);
  EXPECT_EQ(stage->state().waiting, 0U);
}

TEST(Checkout, a_closed_pool_is_down_and_says_why) {
  const auto stage = Stage::ready(sized(1, 1));
  const CheckoutRef<Thing> ref = stage->pool->ref();
  stage->pool.reset();
  const auto refused = ref.checkout();
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::pool_down);
  EXPECT_EQ(refused.error().context, "closed");
  EXPECT_EQ(ref.state().health, CheckoutHealth::down);
  EXPECT_EQ(stage->world.alive, 0);
}

TEST(Checkout, a_lease_outlives_its_pool) {
  const auto stage = Stage::ready(sized(2, 2));
  Stage::Lease lease = stage->take();
  stage->pool.reset();
  EXPECT_EQ(stage->world.alive, 1);
  EXPECT_TRUE(lease->valid);
  lease.checkin();
  EXPECT_EQ(stage->world.alive, 0);
}

TEST(Checkout, closing_answers_those_who_wait) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  const Stage::Lease lease = stage->take();
  std::vector<std::thread> callers;
  std::atomic<int> told{0};
  for (int i = 0; i < 4; ++i) {
    callers.emplace_back([&] {
      const auto refused = stage->pool->checkout(1min);
      if (!refused && refused.error().code == Errc::pool_down) ++told;
    });
  }
  stage->wait_for_waiting(4);
  stage->pool->close();
  for (auto& caller : callers) caller.join();
  EXPECT_EQ(told, 4);
}

TEST(Checkout, state_is_a_value) {
  const auto stage = Stage::ready(sized(3, 5, 7));
  const Stage::Lease lease = stage->take();
  const CheckoutState state = stage->state();
  EXPECT_EQ(state.health, CheckoutHealth::ready);
  EXPECT_EQ(state.free, 2U);
  EXPECT_EQ(state.held, 1U);
  EXPECT_EQ(state.active(), 3U);
  EXPECT_EQ(state.waiting, 0U);
  EXPECT_FALSE(state.overloaded);
  EXPECT_EQ(state.default_workers, 3U);
  EXPECT_EQ(state.max_workers, 5U);
  EXPECT_EQ(state.max_queue, 7);
}

TEST(CheckoutFactory, may_give_a_value_a_pointer_or_a_result) {
  const CheckoutOptions options = sized(1, 1, -1);
  EXPECT_EQ(**CheckoutPool<int>([] { return 1; }, options).checkout(), 1);
  EXPECT_EQ(**CheckoutPool<int>([] { return std::make_unique<int>(2); }, options).checkout(), 2);
  EXPECT_EQ(**CheckoutPool<int>([] { return Result<int>(3); }, options).checkout(), 3);
  EXPECT_EQ(**CheckoutPool<int>(
                  [](const WorkerAlarm&) { return Result<std::unique_ptr<int>>(std::make_unique<int>(4)); }, options)
                  .checkout(),
            4);
  CheckoutPool<int> with_state([owned = std::make_unique<int>(5)] { return *owned; }, options);
  EXPECT_EQ(**with_state.checkout(), 5);
}

TEST(CheckoutOptions, that_make_no_sense_are_refused) {
  const auto refused = [](const CheckoutOptions& options) {
    const auto pool = CheckoutPool<int>::open([] { return 1; }, options);
    return !pool && pool.error().code == Errc::invalid;
  };
  EXPECT_TRUE(refused(sized(2, 1)));
  EXPECT_TRUE(refused(sized(0, 0)));
  EXPECT_TRUE(refused(sized(1, CheckoutOptions::kMaxWorkers + 1)));
  EXPECT_TRUE(refused(sized(1, 1, -2)));
  CheckoutOptions options = sized(1, 1);
  options.lifetime_jitter = 1.0;
  EXPECT_TRUE(refused(options));
  options = sized(1, 1);
  options.leak_after = -1ms;
  EXPECT_TRUE(refused(options));
  EXPECT_THROW(CheckoutPool<int>([] { return 1; }, sized(2, 1)), BadResult);
  EXPECT_FALSE(refused(sized(0, 1)));
}

TEST(CheckoutOptions, have_the_documented_defaults) {
  const CheckoutOptions options;
  EXPECT_EQ(options.default_workers, 20U);
  EXPECT_EQ(options.max_workers, 25U);
  EXPECT_EQ(options.max_queue, 0);
  EXPECT_FALSE(options.hibernate_when_free);
  EXPECT_EQ(options.shrink_timeout.first, 5s);
  EXPECT_EQ(options.shrink_timeout.later, 10s);
  const ShrinkTimeout both = 3s;
  EXPECT_EQ(both.first, both.later);
}

TEST(CheckoutRegistry, finds_a_pool_by_its_name) {
  CheckoutOptions options = sized(1, 1, -1);
  options.name = "connections";
  {
    CheckoutPool<int> pool([] { return 9; }, options);
    auto found = CheckoutRef<int>::find("connections");
    ASSERT_TRUE(found);
    EXPECT_EQ(**found->checkout(), 9);
    EXPECT_EQ(CheckoutRef<int>::find("other").error().code, Errc::no_such_pool);
    EXPECT_EQ(CheckoutRef<long>::find("connections").error().code, Errc::invalid);
    EXPECT_EQ(CheckoutPool<int>::open([] { return 1; }, options).error().code, Errc::key_exists);
    EXPECT_TRUE(CheckoutRef<int>::find("connections"));  // the loser has not taken the name with it
  }
  EXPECT_EQ(CheckoutRef<int>::find("connections").error().code, Errc::no_such_pool);
  CheckoutPool<int> next([] { return 1; }, options);
  EXPECT_TRUE(CheckoutRef<int>::find("connections"));
}

}  // namespace
}  // namespace tenure
