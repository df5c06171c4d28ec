// Several hearts write into one lease page, because a process has a session for each shard.

#include "guard/lease_page.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

namespace tenure::guard {
namespace {

using namespace std::chrono_literals;

TEST(Leases, HeartsThatComeTogetherGetASlotEach) {
  constexpr std::uint64_t kHearts = 8;
  constexpr std::uint64_t kRounds = 200;
  Leases leases(*LeasePage::create());
  const Instant now = BootClock().now();
  for (std::uint64_t round = 0; round < kRounds; ++round) {
    std::vector<std::thread> hearts;
    for (std::uint64_t i = 1; i <= kHearts; ++i) {
      hearts.emplace_back([&, session = round * kHearts + i] { EXPECT_TRUE(leases.renew(session, now + 1h, kNoLog)); });
    }
    for (std::thread& heart : hearts) heart.join();
    std::vector<int> slots;
    for (std::uint64_t i = 1; i <= kHearts; ++i) {
      const int slot = leases.acquire(round * kHearts + i);
      ASSERT_GE(slot, 0);
      EXPECT_EQ(std::count(slots.begin(), slots.end(), slot), 0);
      slots.push_back(slot);
    }
    for (const int slot : slots) leases.release(slot);
    for (std::uint64_t i = 1; i <= kHearts; ++i) leases.over(round * kHearts + i);
  }
}

TEST(Leases, ThereIsAnEndToThem) {
  Leases leases(*LeasePage::create());
  const Instant now = BootClock().now();
  for (std::uint64_t session = 1; session <= kLeaseSlots; ++session) {
    ASSERT_TRUE(leases.renew(session, now + 1h, kNoLog));
  }
  EXPECT_FALSE(leases.renew(kLeaseSlots + 1, now + 1h, kNoLog));
  leases.over(7);
  EXPECT_TRUE(leases.renew(kLeaseSlots + 1, now + 1h, kNoLog));
}

}  // namespace
}  // namespace tenure::guard
