// Topics as sources on brokers that die, lose their tail, drop what compaction makes useless, or refuse. Each test has
// its own broker.

#include "kafka/guarded_server.h"
#include "kafka/server.h"
#include "kafka/source_place.h"
#include "log_conformance/free_port.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;
using source::Change;

using Payloads = std::vector<std::string>;

const std::string kTopic = "orders";

std::string topic_url(const KafkaServer& server) { return server.url() + "/" + kTopic; }

void write_all(const KafkaServer& server, const Payloads& values) {
  const PlainProducer producer(server.brokers());
  for (const std::string& value : values) producer.write(kTopic, 0, {.value = value});
}

TEST(KafkaSourceFaults, NoBrokerIsUnavailableAndSaysWhy) {
  const auto from = source_at("kafka://127.0.0.1:" + std::to_string(free_port()) + "/orders?timeout=1000");
  const auto names = from->partitions();
  ASSERT_FALSE(names);
  EXPECT_EQ(names.error().code, Errc::unavailable);
  EXPECT_NE(names.error().message().find("Connection refused"), std::string::npos) << names.error().message();
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  EXPECT_TRUE(read_until(*from, "0", reading, [&] { return reading.error == Errc::unavailable; }));
}

// It says so meanwhile, and goes on by itself: nothing twice, nothing lost.
TEST(KafkaSourceFaults, AReaderGoesOnWhenABrokerIsBack) {
  KafkaServer server({"broker.session.timeout.ms=1000", "broker.heartbeat.interval.ms=200"});
  const KafkaAdmin admin(server.brokers());
  admin.make_topic(kTopic, 1, {});
  write_all(server, {"1", "2", "3"});
  const auto from = source_at(topic_url(server) + "?timeout=1000");
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "0", reading, 3));
  server.kill();
  ASSERT_TRUE(read_until(*from, "0", reading, [&] { return reading.error == Errc::unavailable; }));
  server.restart();
  write_all(server, {"4", "5"});
  ASSERT_TRUE(read_events(*from, "0", reading, 5));
  EXPECT_EQ(reading.payloads(), (Payloads{"1", "2", "3", "4", "5"}));
  EXPECT_TRUE(reading.changes.empty());
  EXPECT_TRUE(reading.losses.empty());
}

// As after an unclean election, under the reader: events that it has read are gone, and others have their positions.
TEST(KafkaSourceFaults, ATailThatIsLostUnderAReaderIsNoticedExactly) {
  KafkaServer server({"broker.session.timeout.ms=1000", "broker.heartbeat.interval.ms=200"});
  {
    const KafkaAdmin admin(server.brokers());
    admin.make_topic(kTopic, 1, {});
    write_all(server, {"1", "2", "3"});
  }
  server.kill();
  server.save();
  server.restart();
  const auto from = source_at(topic_url(server) + "?timeout=1000");
  ASSERT_TRUE(from->open("0", 0, {}));
  write_all(server, {"lost 4", "lost 5"});
  TopicReading reading;
  ASSERT_TRUE(read_events(*from, "0", reading, 5));
  server.kill();
  server.bring_back();
  server.restart();
  write_all(server, {"4", "5", "6", "7"});
  ASSERT_TRUE(read_events(*from, "0", reading, 9));
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(reading.resumed, 3U);
  EXPECT_EQ(reading.payloads(), (Payloads{"1", "2", "3", "lost 4", "lost 5", "4", "5", "6", "7"}));
}

// Records that a later one with their key replaces vanish. That is no loss, and marks at them prove nothing.
TEST(KafkaSourceFaults, GapsOfCompactionAreNoLoss) {
  const KafkaServer server({"log.cleaner.backoff.ms=100", "log.cleaner.min.compaction.lag.ms=0"});
  const KafkaAdmin admin(server.brokers());
  admin.make_topic(kTopic, 1,
                   {{"cleanup.policy", "compact"}, {"segment.ms", "100"}, {"min.cleanable.dirty.ratio", "0.01"}});
  const PlainProducer producer(server.brokers());
  const auto from = source_at(topic_url(server));
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading all;
  for (int i = 1; i <= 5; ++i) producer.write(kTopic, 0, {.key = "same", .value = std::to_string(i)});
  producer.write(kTopic, 0, {.key = "other", .value = "6"});
  ASSERT_TRUE(read_events(*from, "0", all, 6));
  // Each write may begin the segment that lets the ones before be compacted.
  std::uint64_t first = 1;
  ASSERT_TRUE(soon(30s, [&] {
    producer.write(kTopic, 0, {.key = "same", .value = "again"});
    const auto look = source_at(topic_url(server));
    EXPECT_TRUE(look->open("0", 0, {}));
    TopicReading reading;
    if (!read_events(*look, "0", reading, 1)) return false;
    EXPECT_TRUE(reading.losses.empty());
    first = reading.events.front().position;
    return first > 5;
  }));
  const auto again = source_at(topic_url(server));
  ASSERT_TRUE(again->open("0", 3, {all.marks()[1], all.marks()[2]}));
  TopicReading rest{.position = 3};
  ASSERT_TRUE(read_events(*again, "0", rest, 2));
  EXPECT_EQ(rest.events.front().position, first);
  EXPECT_TRUE(rest.changes.empty());
  EXPECT_TRUE(rest.losses.empty());
}

// A user who has no rights.
TEST(KafkaSourceAccess, RefusalsSayWhatToDoAndNoSecrets) {
  const GuardedServer server;
  const KafkaAdmin admin(server.brokers());
  const auto url = [&](const std::string& login) {
    return "kafka://" + login + "@" + server.place() + "/" + kTopic + "?timeout=2000&sasl=plain";
  };
  admin.make_topic(kTopic, 1, {});
  const auto expect_refused = [](const Error& error, const std::string& advice) {
    EXPECT_EQ(error.code, Errc::refused) << error.message();
    EXPECT_NE(error.message().find(advice), std::string::npos) << error.message();
    EXPECT_EQ(error.message().find("hidden"), std::string::npos) << error.message();
  };
  const auto from = source_at(url("stranger:hidden"));
  const auto names = from->partitions();
  ASSERT_FALSE(names);
  expect_refused(names.error(), "lacks a right");
  ASSERT_TRUE(from->open("0", 0, {}));
  TopicReading reading;
  EXPECT_TRUE(read_until(*from, "0", reading, [&] { return reading.error == Errc::refused; }));
  const auto writer = source::open_stream_writer(url("stranger:hidden"), false);
  ASSERT_FALSE(writer);
  expect_refused(writer.error(), "lacks a right");
  const auto wrong = source_at(url("stranger:hidden-too"))->partitions();
  ASSERT_FALSE(wrong);
  expect_refused(wrong.error(), "check user, password and sasl=");
}

}  // namespace
}  // namespace tenure::conformance
