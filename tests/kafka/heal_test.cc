// A cluster that loses the topics of a living pool: the pool puts itself back. And a shutdown leaves nothing.

#include "kafka/admin.h"
#include "kafka/shared_broker.h"
#include "pool_conformance/healing_pool.h"

namespace tenure::conformance {
namespace {

class KafkaHeal : public testing::Test {
 protected:
  void delete_topics() const { admin_.delete_topics(space_.topics()); }

  const TopicSpace space_{shared_broker()};
  const KafkaAdmin admin_{space_.brokers()};
  HealingPool pool_{space_.url()};
};

TEST_F(KafkaHeal, PutsThePoolBackAfterItsTopicsWereDeleted) {
  pool_.fill();
  const auto before = pool_.ledger.epochs();
  delete_topics();
  pool_.expect_back(before);
  pool_.close();
}

// The members of the old log do not keep their jobs, whatever the new log is.
TEST_F(KafkaHeal, StopsEverythingWhereItIsTurnedOff) {
  pool_.heals = false;
  pool_.fill();
  delete_topics();
  ASSERT_TRUE(pool_.ledger.wait_none());
  const auto again = pool_.members[0]->dispatch("tenant-0");
  ASSERT_TRUE(again && again->wait_started(30s));
  pool_.close();
}

TEST_F(KafkaHeal, LeavesNoPoolBehindAShutdown) {
  pool_.fill();
  ASSERT_TRUE(pool_.members[0]->shutdown());
  pool_.members.clear();
  EXPECT_EQ(space_.topics(), std::vector<std::string>{});
  EXPECT_EQ(pool_.restored(), 0);
}

}  // namespace
}  // namespace tenure::conformance
