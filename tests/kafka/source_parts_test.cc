// The parts of topics as sources that need no broker: URLs, the marks that a reader keeps, and the bounds of fetching.

#include <gtest/gtest.h>

#include <algorithm>

#include "source/kafka/partition_fetch.h"
#include "source/kafka/recent_marks.h"
#include "source/kafka/topic_url.h"

namespace tenure::source {
namespace {

TEST(TopicUrl, NamesTheTopicInThePathOrAsAnOption) {
  for (const char* url : {"kafka://a:1,b/orders?timeout=1000", "kafka://a:1,b?stream=orders&timeout=1000",
                          "kafka://a:1,b/?timeout=1000&stream=orders"}) {
    const auto found = parse_topic_url(url);
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(found->topic, "orders");
    EXPECT_EQ(found->settings.brokers, "a:1,b:9092");
    EXPECT_EQ(found->settings.timeout_ms, 1000U);
    EXPECT_EQ(found->partitions, 1U);
    EXPECT_EQ(found->group, "");
  }
  const auto more = parse_topic_url("kafka://a/a.b_c-D?partitions=12&group=my%20group");
  ASSERT_TRUE(more) << more.error().message();
  EXPECT_EQ(more->topic, "a.b_c-D");
  EXPECT_EQ(more->partitions, 12U);
  EXPECT_EQ(more->group, "my group");
}

TEST(TopicUrl, APasswordThatWasNotEscapedIsNotRepeated) {
  const auto found = parse_topic_url("kafka://user:se/cret@host/orders");
  ASSERT_FALSE(found);
  EXPECT_EQ(found.error().message().find("cret"), std::string::npos) << found.error().message();
}

// The newest are all there, and the older ones are further and further apart.
TEST(RecentMarks, KeepsAllOfTheLastAndFewerOfTheOlderOnes) {
  RecentMarks marks;
  constexpr std::uint64_t kEvents = 100'000;
  for (std::uint64_t i = 1; i <= kEvents; ++i) {
    marks.add({i, i});
    ASSERT_LE(marks.all().size(), RecentMarks::kMax);
  }
  const auto& all = marks.all();
  EXPECT_EQ(marks.newest(), kEvents);
  EXPECT_EQ(all[all.size() - RecentMarks::kAll].position, kEvents - RecentMarks::kAll + 1);
  for (std::size_t i = 1; i < all.size(); ++i) {
    const std::uint64_t age = kEvents - all[i].position;
    ASSERT_GT(all[i].position, all[i - 1].position);
    EXPECT_LE(all[i].position - all[i - 1].position, std::max<std::uint64_t>(age / 2, 1)) << "at an age of " << age;
  }
  EXPECT_EQ(all.front().position, 1U);
}

TEST(RecentMarks, ForgetsWhatWasCut) {
  RecentMarks marks;
  marks.start({{1, 1}, {5, 5}, {9, 9}});
  marks.cut(5);
  EXPECT_EQ(marks.newest(), 5U);
  marks.cut(0);
  EXPECT_EQ(marks.newest(), 0U);
}

TEST(FetchBounds, AreSharedAmongPartitions) {
  const FetchBounds one = FetchBounds::of(1);
  const FetchBounds hundred = FetchBounds::of(100);
  EXPECT_LE(hundred.bytes * 100, 2 * one.bytes);
  EXPECT_LE(hundred.events * 100, one.events);
  EXPECT_GE(FetchBounds::of(100'000).request_bytes, 1U << 16);
}

}  // namespace
}  // namespace tenure::source
