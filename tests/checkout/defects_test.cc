// Known defects of other checkout pools, by name: at every step of the handover a participant dies, or does the same
// thing twice. Afterwards every worker must be free, none lost, none lent twice, and nobody waiting.

#include <gtest/gtest.h>

#include "stage.h"

namespace tenure {
namespace {

using News = CheckoutNews<Thing>;

class Defects : public testing::Test {
 protected:
  Defects() : stage_(Stage::ready(sized(2, 2, -1))) { stage_->time->advance(1min); }

  void expect_whole() {
    stage_->time->settle();
    const CheckoutState state = stage_->state();
    EXPECT_EQ(state.free, 2U);
    EXPECT_EQ(state.held, 0U);
    EXPECT_EQ(state.in_transit, 0U);
    EXPECT_EQ(state.waiting, 0U);
    EXPECT_EQ(stage_->world.alive, 2);
    EXPECT_LE(stage_->world.peak, 2);
    const Stage::Lease first = stage_->take();
    const Stage::Lease second = stage_->take();
    EXPECT_NE(first->id, second->id);
  }
  CheckoutRequest<Thing> ask() {
    return stage_->pool->checkout_async([](const News&) {});
  }

  std::unique_ptr<Stage> stage_;
};

TEST_F(Defects, double_confirm) {
  auto request = ask();
  {
    auto lease = request.confirm();
    EXPECT_EQ(request.confirm().error().code, Errc::invalid);
    EXPECT_EQ(stage_->state().held, 1U);
  }
  EXPECT_EQ(request.confirm().error().code, Errc::invalid);
  expect_whole();
}

TEST_F(Defects, double_cancel) {
  auto offered = ask();
  offered.cancel();
  const Stage::Lease first = stage_->take();
  const Stage::Lease second = stage_->take();
  offered.cancel();  // must not give back what is another's by now
  EXPECT_EQ(stage_->state().held, 2U);
  auto waiting = ask();
  waiting.cancel();
  waiting.cancel();
  EXPECT_EQ(stage_->state().waiting, 0U);
}

TEST_F(Defects, double_checkin) {
  Stage::Lease lease = stage_->take();
  lease.checkin();
  lease.checkin();
  expect_whole();
}

// The same below the lease, where nothing but the generation stands in the way.
TEST_F(Defects, stale_checkin_of_what_another_holds) {
  const detail::CheckoutAnswer answer = detail::checkout(*stage_->core, 0s, false, std::source_location::current());
  const detail::CheckoutClaim stale{answer.slot, answer.generation};
  detail::checkin(stale);
  {
    const Stage::Lease next = stage_->take();  // the same thread gets the same worker
    detail::checkin(stale);
    detail::discard(stale, "late");
    EXPECT_EQ(stage_->state().held, 1U);
    EXPECT_TRUE(next->valid);
  }
  detail::checkin(stale);
  EXPECT_EQ(stage_->pool->metrics().stale_checkins, 3U);
  expect_whole();
}

TEST_F(Defects, checkin_before_confirm) {
  auto request = ask();
  request.cancel();  // the worker goes back before it was confirmed
  EXPECT_EQ(stage_->state().free, 2U);
  EXPECT_EQ(request.confirm().error().code, Errc::closed);
  expect_whole();
}

TEST_F(Defects, requester_dies_while_it_waits) {
  {
    const Stage::Lease first = stage_->take();
    const Stage::Lease second = stage_->take();
    const auto request = ask();
  }
  expect_whole();
}

TEST_F(Defects, requester_dies_before_it_confirms) {
  {
    const auto request = ask();
  }
  expect_whole();
}

TEST_F(Defects, requester_dies_after_it_confirmed) {
  {
    auto request = ask();
    auto lease = request.confirm();
    request.reset();
    EXPECT_EQ(stage_->state().held, 1U);
  }
  expect_whole();
}

TEST_F(Defects, requester_dies_in_the_moment_of_the_offer) {
  Stage::Lease first = stage_->take();
  Stage::Lease second = stage_->take();
  CheckoutRequest<Thing> request;
  request = stage_->pool->checkout_async([&](const News& news) {
    if (news.kind() == CheckoutNewsKind::worker) request.reset();
  });
  first.checkin();
  second.checkin();
  expect_whole();
}

TEST_F(Defects, worker_dies_while_it_is_free) {
  stage_->world.alarm(0).died();
  expect_whole();
}

TEST_F(Defects, worker_dies_while_it_is_held) {
  {
    const Stage::Lease lease = stage_->take();
    stage_->world.alarm(lease->id).died();
    stage_->world.alarm(lease->id).died();
  }
  expect_whole();
}

TEST_F(Defects, worker_dies_in_transit_and_the_requester_too) {
  {
    const auto first = ask();
    const auto second = ask();
    stage_->world.alarm(0).died();
    stage_->world.alarm(1).died();
  }
  expect_whole();
}

TEST_F(Defects, worker_dies_in_transit_and_the_request_is_cancelled_while_it_waits_again) {
  auto first = ask();
  auto second = ask();
  stage_->world.alarm(0).died();
  stage_->world.alarm(1).died();
  EXPECT_EQ(first.confirm().error().code, Errc::worker_died);
  EXPECT_EQ(stage_->state().waiting, 1U);
  first.cancel();
  second.cancel();
  expect_whole();
}

TEST_F(Defects, worker_dies_while_it_is_discarded) {
  Stage::Lease lease = stage_->take();
  const int id = lease->id;
  lease.discard();
  stage_->world.alarm(id).died();
  expect_whole();
}

TEST_F(Defects, failing_starts) {
  stage_->world.failing = true;
  stage_->world.alarm(0).died();
  stage_->world.alarm(1).died();
  stage_->time->advance(1min);
  EXPECT_EQ(stage_->state().health, CheckoutHealth::failing);
  stage_->world.failing = false;
  stage_->time->advance(1min);
  expect_whole();
}

TEST_F(Defects, ten_thousand_cancelled_waiters) {
  {
    const Stage::Lease first = stage_->take();
    const Stage::Lease second = stage_->take();
    std::vector<CheckoutRequest<Thing>> requests;
    for (int i = 0; i < 10'000; ++i) requests.push_back(ask());
    EXPECT_EQ(stage_->state().waiting, 10'000U);
    for (auto& request : requests) request.cancel();
    EXPECT_EQ(stage_->state().waiting, 0U);
  }
  EXPECT_EQ(stage_->pool->metrics().cancelled, 10'000U);
  expect_whole();
}

TEST_F(Defects, pool_closes_while_workers_are_held_offered_and_waited_for) {
  Stage::Lease held = stage_->take();
  auto offered = ask();
  auto waiting = ask();
  stage_->pool->close();
  EXPECT_EQ(waiting.confirm().error().code, Errc::closed);
  EXPECT_TRUE(offered.confirm());  // it was its own already; and is let go at once
  held.checkin();
  EXPECT_EQ(stage_->world.alive, 0);
}

}  // namespace
}  // namespace tenure
