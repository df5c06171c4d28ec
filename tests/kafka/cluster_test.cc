// Three brokers, of which the leader of the log dies or freezes.

#include <set>

#include "kafka/admin.h"
#include "kafka/cluster.h"
#include "log/engines.h"
#include "log_conformance/insist.h"
#include "log_conformance/member.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;

// Everything that was acknowledged is there, once for each acknowledgement at least, and in the order in which it was
// sent.
void expect_all(Log& log, const std::vector<Bytes>& acknowledged) {
  Cursor cursor;
  std::set<Bytes> found;
  while (!found.contains(acknowledged.back())) {
    const auto run = insist_read(log, cursor);
    ASSERT_TRUE(run) << run.error().message();
    for (const Entry& entry : *run) found.insert(entry.data);
    cursor = Cursor::at(run->back());
  }
  for (const Bytes& data : acknowledged) EXPECT_TRUE(found.contains(data)) << data;
}

// One cluster for both: it takes a while to start.
TEST(KafkaCluster, AFailoverLosesNothingThatWasAcknowledged) {
  KafkaCluster cluster;
  const auto log = open_at(cluster.url() + "?timeout=1500");
  ASSERT_TRUE(log);
  const std::string topic = "tenure.default.0";
  std::vector<Bytes> acknowledged;
  const auto put_some = [&](const std::string& name) {
    for (int i = 0; i < 20; ++i) {
      const Bytes data = name + " " + std::to_string(i);
      const auto position = insist_append(*log, data);
      ASSERT_TRUE(position) << position.error().message();
      acknowledged.push_back(data);
    }
  };
  put_some("before");
  auto reader = std::make_unique<Member>(open_at(cluster.url() + "?timeout=1500"), Cursor(), Life::beating);
  ASSERT_TRUE(soon(20s, [&] { return reader->has_read("before 19"); }));
  for (const Finding& finding : engine_of("kafka://")->inspect(cluster.url(), {})) {
    EXPECT_TRUE(finding.ok) << finding.name << ": " << finding.message;
  }

  KafkaServer& killed = cluster.leader_of(topic);
  killed.kill();
  put_some("after a death");
  ASSERT_TRUE(soon(30s, [&] { return reader->has_read("after a death 19"); }));
  killed.restart();
  // Until it has caught up, the next broker to go would leave less than min.insync.replicas.
  ASSERT_TRUE(soon(60s, [&] { return KafkaAdmin(cluster.brokers()).in_sync(topic) == 3; }));

  KafkaServer& frozen = cluster.leader_of(topic);
  frozen.freeze();
  put_some("after a freeze");
  ASSERT_TRUE(soon(30s, [&] { return reader->has_read("after a freeze 19"); }));
  frozen.thaw();
  put_some("at last");
  EXPECT_FALSE(reader->lost());
  reader.reset();
  expect_all(*open_at(cluster.url()), acknowledged);
}

}  // namespace
}  // namespace tenure::conformance
