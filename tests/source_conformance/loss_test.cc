// Promise 2: what a reader cannot read any more is reported, with its range, and counted. Nothing else is.

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using source::Loss;

// The events, or the report that they are lost: nothing is in neither, and nothing in both.
void expect_complete(const Reading& reader, const std::vector<std::uint64_t>& given, bool dense) {
  std::size_t next = 0;
  std::uint64_t lost = 0;
  for (const std::uint64_t position : given) {
    if (next < reader.events.size() && reader.events[next].position == position) {
      ++next;
      continue;
    }
    bool reported = false;
    for (const Loss& loss : reader.losses) reported |= loss.first <= position && position <= loss.last;
    EXPECT_TRUE(reported) << "position " << position << " was left out silently";
    ++lost;
  }
  EXPECT_EQ(next, reader.events.size());
  std::uint64_t counted = 0;
  for (const Loss& loss : reader.losses) counted += loss.count;
  EXPECT_GE(counted, lost);
  if (dense) {
    EXPECT_EQ(counted, lost);
  }
}

TEST_P(SourceConformance, ATrimAheadOfAReaderIsALoss) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  ASSERT_TRUE(stream->trim(given[6]));
  Reading reader = reading(given[1]);
  const auto read = reader.until(4);
  ASSERT_EQ(read.size(), 4U);
  EXPECT_EQ(read.front().payload, "e6");
  ASSERT_EQ(reader.losses.size(), 1U);
  EXPECT_GT(reader.losses[0].first, given[1]);
  EXPECT_LE(reader.losses[0].first, given[2]);
  EXPECT_GE(reader.losses[0].last, given[5]);
  EXPECT_LT(reader.losses[0].last, given[6]);
  expect_complete(reader, {given.begin() + 2, given.end()}, GetParam().dense);
  EXPECT_TRUE(reader.is_quiet());
  EXPECT_EQ(reader.losses.size(), 1U) << "a loss is reported once";
}

// A reader of the whole stream knows how many events it has read, so that every kind can count what it has lost.
TEST_P(SourceConformance, ALossUnderAReaderIsCounted) {
  const auto stream = writer();
  auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  Reading reader = reading();
  reader.until(10);
  for (int i = 0; i < 30; ++i) {
    const auto more = add(*stream, events_of("f" + std::to_string(i) + "-", 100));
    given.insert(given.end(), more.begin(), more.end());
    if (i % 3 == 2) {
      ASSERT_TRUE(stream->trim(given[given.size() - 5]));
    }
  }
  while (reader.position < given.back()) ASSERT_TRUE(reader.next());
  expect_complete(reader, given, true);
}

TEST_P(SourceConformance, EverythingMayBeLost) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  ASSERT_TRUE(stream->trim(given.back() + 1));
  Reading reader = reading(given[3]);
  ASSERT_TRUE(reader.next());
  ASSERT_EQ(reader.losses.size(), 1U);
  EXPECT_GE(reader.losses[0].last, given.back());
  EXPECT_GE(reader.position, given.back()) << "or the loss would be reported again by the next reader";
  expect_complete(reader, {given.begin() + 4, given.end()}, GetParam().dense);
  add(*stream, {event_of("new")});
  EXPECT_EQ(payloads(reader.until(1)), std::vector<std::string>{"new"});
  EXPECT_EQ(reader.losses.size(), 1U);
}

TEST_P(SourceConformance, ATrimOfWhatWasReadIsNoLoss) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  Reading reader = reading();
  reader.until(10);
  ASSERT_TRUE(stream->trim(given.back() + 1));
  add(*stream, {event_of("new")});
  reader.until(11);
  EXPECT_TRUE(reader.losses.empty());
  EXPECT_TRUE(reader.changes.empty());
  // Neither for one who goes on behind it.
  Reading next = reading(given.back(), {source::mark_of(reader.events[9])});
  EXPECT_EQ(payloads(next.until(1)), std::vector<std::string>{"new"});
  EXPECT_TRUE(next.changes.empty());
  if (GetParam().dense) {
    EXPECT_TRUE(next.losses.empty());
  }
}

TEST_P(SourceConformance, ATrimToNowhereDropsNothing) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 5));
  ASSERT_EQ(given.size(), 5U);
  ASSERT_TRUE(stream->trim(0));
  ASSERT_TRUE(stream->trim(given.front()));
  EXPECT_EQ(reading().until(5).size(), 5U);
}

}  // namespace
}  // namespace tenure::conformance
