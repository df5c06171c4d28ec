// Topics as streams: where keys go, what a topic cannot do, and what is refused.

#include "kafka/source_place.h"

namespace tenure::conformance {
namespace {

class KafkaStreamTest : public KafkaSourceTest {
 protected:
  std::unique_ptr<source::StreamWriter> writer(const std::string& options = "", bool create = true) const {
    auto opened = source::open_stream_writer(url(options), create);
    EXPECT_TRUE(opened) << opened.error().message();
    return opened ? std::move(*opened) : nullptr;
  }
};

source::Event keyed(const std::string& key) {
  source::Event event;
  event.key = key;
  event.payload = "of " + key;
  return event;
}

// murmur2, as Kafka's own clients have it: these are what its DefaultPartitioner gives for 8 partitions.
TEST_F(KafkaStreamTest, AKeyHasThePartitionThatKafkasOwnClientsGiveIt) {
  const auto stream = writer("?partitions=8");
  ASSERT_TRUE(stream);
  const auto info = stream->info();
  ASSERT_TRUE(info) << info.error().message();
  EXPECT_EQ(info->partitions, 8U);
  ASSERT_TRUE(stream->add({keyed("21"), keyed("foobar"), keyed("a-little-bit-long-string")}));
  // murmur2 & 0x7fffffff, modulo 8: -973932308, -790332482, -985981536.
  const auto from = source_at(url());
  for (const auto& [key, hash] :
       {std::pair{"21", -973932308}, {"foobar", -790332482}, {"a-little-bit-long-string", -985981536}}) {
    const std::string partition = std::to_string((hash & 0x7fffffff) % 8);
    ASSERT_TRUE(from->open(partition, 0, {}));
    TopicReading reading;
    ASSERT_TRUE(read_events(*from, partition, reading, 1)) << key;
    bool found = false;
    for (const source::Event& event : reading.events) found = found || event.key == key;
    EXPECT_TRUE(found) << key << " is not in " << partition;
  }
}

TEST_F(KafkaStreamTest, WhatATopicCannotDoIsRefusedWithTheCommandThatHelps) {
  const auto stream = writer();
  ASSERT_TRUE(stream);
  const Status bounded = stream->set_limits({.events_max = 100});
  ASSERT_FALSE(bounded);
  EXPECT_EQ(bounded.error().code, Errc::refused);
  EXPECT_NE(bounded.error().message().find("--add-config retention.bytes="), std::string::npos);
  EXPECT_TRUE(stream->set_limits({}));
}

TEST_F(KafkaStreamTest, AnEventThatIsTooLargeIsRefusedAndNothingIsHurt) {
  make_topic(1, {{"max.message.bytes", "10000"}});
  const auto stream = writer("", false);
  source::Event large;
  large.payload = Bytes(20'000, 'x');
  const auto refused = stream->add({large});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::refused) << refused.error().message();
  EXPECT_NE(refused.error().message().find("max.message.bytes"), std::string::npos) << refused.error().message();
  EXPECT_TRUE(stream->add({keyed("small")}));
}

TEST_F(KafkaStreamTest, WrongUrlsAreRefusedWithoutRepeatingThem) {
  const std::string host = "kafka://user:hidden@" + brokers();
  for (const std::string& wrong :
       {host, host + "/", host + "/a/b", host + "/a?stream=b", host + "/a%20b", host + "/" + std::string(250, 'x'),
        host + "/a?partitions=0", host + "/a?group=", host + "/..", host + "/a?no=1"}) {
    const auto opened = source::open_source(wrong);
    ASSERT_FALSE(opened) << wrong;
    EXPECT_EQ(opened.error().code, Errc::invalid) << opened.error().message();
    EXPECT_EQ(opened.error().message().find("hidden"), std::string::npos) << opened.error().message();
  }
}

}  // namespace
}  // namespace tenure::conformance
