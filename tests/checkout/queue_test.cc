// The queue: who may join it, in which order it is served, and how a caller leaves it. Growth and shrinking.

#include <gtest/gtest.h>

#include "stage.h"

namespace tenure {
namespace {

// Threads that wait, one after the other, and say in which order they were served.
class Line {
 public:
  explicit Line(Stage& stage) : stage_(stage) {}
  ~Line() {
    for (auto& thread : threads_) thread.join();
  }

  void join(int id, bool force = false) {
    const std::size_t waiting = stage_.state().waiting;
    threads_.emplace_back([this, id, force] {
      auto lease = stage_.pool->checkout(1min, force);
      if (!lease) return;
      const std::lock_guard lock(mutex_);
      served_.push_back(id);
    });
    stage_.wait_for_waiting(waiting + 1);
  }
  std::vector<int> served() {
    for (auto& thread : threads_) thread.join();
    threads_.clear();
    return served_;
  }

 private:
  Stage& stage_;
  std::vector<std::thread> threads_;
  std::mutex mutex_;
  std::vector<int> served_;  // guarded by mutex_
};

TEST(CheckoutQueue, is_first_in_first_out) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  Line line(*stage);
  for (int i = 0; i < 8; ++i) line.join(i);
  lease.checkin();
  EXPECT_EQ(line.served(), (std::vector<int>{0, 1, 2, 3, 4, 5, 6, 7}));
}

TEST(CheckoutQueue, lets_nobody_overtake_those_who_wait) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  std::promise<Stage::Lease> first;
  stage->wait_for_waiting(0);
  auto request = stage->pool->checkout_async([&](const CheckoutNews<Thing>& news) {
    if (news.kind() == CheckoutNewsKind::worker) first.set_value(*news.confirm());
  });
  EXPECT_EQ(stage->state().waiting, 1U);
  lease.checkin();  // is handed over within
  EXPECT_EQ(stage->pool->checkout(0s).error().code, Errc::timed_out);
  EXPECT_TRUE(first.get_future().get());
}

TEST(CheckoutQueue, is_bounded) {
  const auto stage = Stage::ready(sized(1, 1, 2));
  Stage::Lease lease = stage->take();
  Line line(*stage);
  line.join(0);
  line.join(1);
  EXPECT_EQ(stage->refusal(), Errc::overloaded);
  EXPECT_TRUE(stage->state().overloaded);
  lease.checkin();
  EXPECT_EQ(line.served().size(), 2U);
  EXPECT_FALSE(stage->state().overloaded);
  EXPECT_TRUE(stage->take());
}

TEST(CheckoutQueue, can_be_forced_open_where_there_is_none) {
  const auto stage = Stage::ready(sized(1, 1, 0));
  Stage::Lease lease = stage->take();
  EXPECT_EQ(stage->refusal(false), Errc::overloaded);
  Line line(*stage);
  line.join(0, true);
  EXPECT_EQ(stage->refusal(false), Errc::overloaded);
  lease.checkin();
  EXPECT_EQ(line.served(), std::vector<int>{0});
}

TEST(CheckoutQueue, can_be_forced_open_where_it_is_full) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  Stage::Lease lease = stage->take();
  Line line(*stage);
  line.join(0);
  EXPECT_EQ(stage->refusal(false), Errc::overloaded);
  line.join(1, true);
  lease.checkin();
  EXPECT_EQ(line.served(), (std::vector<int>{0, 1}));
}

TEST(CheckoutQueue, is_left_without_a_trace) {
  const auto stage = Stage::ready(sized(1, 1, -1));
  Stage::Lease lease = stage->take();
  for (int i = 0; i < 100; ++i) EXPECT_EQ(stage->refusal(), Errc::timed_out);
  EXPECT_EQ(stage->state().waiting, 0U);
  lease.checkin();
  EXPECT_TRUE(stage->take());
  EXPECT_EQ(stage->pool->metrics().timed_out, 100U);
}

TEST(CheckoutQueue, has_room_again_when_somebody_leaves) {
  const auto stage = Stage::ready(sized(1, 1, 1));
  const Stage::Lease lease = stage->take();
  auto waiting = stage->pool->checkout_async([](const auto&) {});
  EXPECT_EQ(stage->refusal(), Errc::overloaded);
  waiting.cancel();
  EXPECT_EQ(stage->refusal(), Errc::timed_out);  // it waited
}

TEST(CheckoutGrowth, starts_workers_on_demand_up_to_the_maximum) {
  const auto stage = Stage::ready(sized(2, 4));
  std::vector<Stage::Lease> leases;
  for (int i = 0; i < 2; ++i) leases.push_back(stage->take());
  std::vector<CheckoutRequest<Thing>> requests;
  std::vector<Stage::Lease> later;
  const auto confirm = [&](const CheckoutNews<Thing>& news) {
    if (news.kind() == CheckoutNewsKind::worker) later.push_back(*news.confirm());
  };
  // There is no queue, but a caller that makes the pool grow may wait for the new worker.
  requests.push_back(stage->pool->checkout_async(confirm));
  requests.push_back(stage->pool->checkout_async(confirm));
  EXPECT_EQ(stage->state().starting, 2U);
  EXPECT_EQ(stage->refusal(), Errc::overloaded);
  stage->time->settle();
  EXPECT_EQ(later.size(), 2U);
  EXPECT_EQ(stage->state().held, 4U);
  EXPECT_EQ(stage->world.peak, 4);
}

TEST(CheckoutGrowth, shrinks_when_more_than_a_fifth_is_free) {
  CheckoutOptions options = sized(10, 13);
  options.shrink_timeout = {5s, 10s};
  const auto stage = Stage::ready(options);
  std::vector<Stage::Lease> leases;
  for (int i = 0; i < 10; ++i) leases.push_back(stage->take());
  std::vector<CheckoutRequest<Thing>> requests;
  for (int i = 0; i < 3; ++i) {
    requests.push_back(stage->pool->checkout_async([&](const CheckoutNews<Thing>& news) {
      if (news.kind() == CheckoutNewsKind::worker) leases.push_back(*news.confirm());
    }));
  }
  stage->time->settle();
  EXPECT_EQ(stage->state().active(), 13U);
  stage->time->advance(5s);  // the first look: none is free
  EXPECT_EQ(stage->state().active(), 13U);
  leases.resize(11);
  stage->time->advance(10s);  // the second: two of ten are free, which is not more than a fifth
  EXPECT_EQ(stage->state().active(), 13U);
  leases.resize(9);
  stage->time->advance(10s);  // four are free; after one left three, after two two
  EXPECT_EQ(stage->state().active(), 11U);
  leases.clear();
  stage->time->advance(10s);
  EXPECT_EQ(stage->state().active(), 10U);
  stage->time->advance(1min);
  EXPECT_EQ(stage->state().active(), 10U);  // never below the default
  EXPECT_EQ(stage->pool->metrics().shrunk, 3U);
  EXPECT_EQ(stage->world.alive, 10);
}

TEST(CheckoutGrowth, from_nothing) {
  const auto stage = Stage::ready(sized(0, 1));
  EXPECT_EQ(stage->state().active(), 0U);
  EXPECT_EQ(stage->state().health, CheckoutHealth::ready);
  std::thread caller([&] { EXPECT_TRUE(stage->pool->checkout(1min)); });
  stage->wait_for_waiting(1);
  stage->time->settle();
  caller.join();
}

}  // namespace
}  // namespace tenure
