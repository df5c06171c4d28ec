// A Redis that loses everything under a living pool: the pool puts itself back.

#include "pool_conformance/healing_pool.h"
#include "redis/server.h"

namespace tenure::conformance {
namespace {

class RedisHeal : public testing::Test {
 protected:
  RedisServer server_;
  HealingPool pool_{server_.url()};
};

TEST_F(RedisHeal, PutsThePoolBackAfterFlushall) {
  pool_.fill();
  const auto before = pool_.ledger.epochs();
  server_.command({"FLUSHALL"});
  pool_.expect_back(before);
  pool_.close();
}

// The server is away for longer than the lease and comes back without its data.
TEST_F(RedisHeal, PutsThePoolBackAfterALongOutage) {
  pool_.fill();
  const auto before = pool_.ledger.epochs();
  server_.kill();
  ASSERT_TRUE(pool_.ledger.wait_none());  // every lease has run out
  server_.restart();
  pool_.expect_back(before);
  pool_.close();
}

TEST_F(RedisHeal, DoesNothingWhereItIsTurnedOff) {
  pool_.heals = false;
  pool_.fill();
  server_.command({"FLUSHALL"});
  ASSERT_TRUE(pool_.ledger.wait_none());
  const auto again = pool_.members[0]->dispatch("tenant-0");
  ASSERT_TRUE(again && again->wait_started(30s));
  const auto keys = pool_.members[0]->keys();
  ASSERT_TRUE(keys);
  EXPECT_EQ(keys->keys.size(), 1U);
  pool_.close();
}

// A pool that was shut down is not put back by anybody.
TEST_F(RedisHeal, LeavesNoPoolBehindAShutdown) {
  pool_.fill();
  ASSERT_TRUE(pool_.members[0]->shutdown());
  pool_.members.clear();
  Pool next("heal", server_.url(), pool_.options());
  ASSERT_TRUE(next.add_worker(std::make_shared<Tenant>(pool_.ledger)));
  const auto keys = next.keys();
  ASSERT_TRUE(keys);
  EXPECT_TRUE(keys->keys.empty());
  EXPECT_EQ(pool_.restored(), 0);
}

// The note by which a member that was cut off tells a shutdown from a loss. It expires.
TEST_F(RedisHeal, TheServerKnowsThatAPoolWasRemoved) {
  pool_.fill();
  ASSERT_TRUE(pool_.members[0]->shutdown());
  pool_.members.clear();
  const std::string ttl = server_.command({"PTTL", "tenure:{heal}:removed"});
  EXPECT_GT(std::stoll(ttl), 0) << ttl;
  EXPECT_LE(std::stoll(ttl), 3'600'000);
}

}  // namespace
}  // namespace tenure::conformance
