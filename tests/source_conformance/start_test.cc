// Where a source can be begun, and what its ends are.

#include <thread>

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using source::StartAt;

TEST_P(SourceConformance, AnEmptyStreamHasNoEvents) {
  const auto stream = writer();
  const auto source = reader();
  const auto ends = source->ends("0");
  ASSERT_TRUE(ends) << ends.error().message();
  EXPECT_GT(ends->first, ends->last);
  for (const StartAt::Kind kind : {StartAt::Kind::oldest, StartAt::Kind::newest, StartAt::Kind::time}) {
    const auto found = source->find("0", {.kind = kind, .position = 0, .time_ms = 0});
    ASSERT_TRUE(found) << found.error().message();
    EXPECT_EQ(*found, ends->last);
  }
}

TEST_P(SourceConformance, EndsAreThoseOfTheEventsThatAreKept) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  const auto source = reader();
  auto ends = source->ends("0");
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->first, given.front());
  EXPECT_EQ(ends->last, given.back());
  ASSERT_TRUE(stream->trim(given[4]));
  ends = source->ends("0");
  ASSERT_TRUE(ends);
  EXPECT_EQ(ends->first, given[4]);
  EXPECT_EQ(ends->last, given.back());
  ASSERT_TRUE(stream->trim(given.back() + 1));
  ends = source->ends("0");
  ASSERT_TRUE(ends);
  EXPECT_GT(ends->first, ends->last);
  EXPECT_EQ(ends->last, given.back());
}

// A stream that was trimmed long ago is begun at its oldest event, and that is no loss.
TEST_P(SourceConformance, TheOldestEventIsTheOldestThatIsKept) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  ASSERT_TRUE(stream->trim(given[4]));
  const auto after = reader()->find("0", {});
  ASSERT_TRUE(after) << after.error().message();
  Reading from = reading(*after);
  EXPECT_EQ(from.until(6).front().payload, "e4");
  EXPECT_TRUE(from.losses.empty());
}

// A position is resolved once. What is added between two reads is not left out.
TEST_P(SourceConformance, TheNewestIsResolvedOnce) {
  const auto stream = writer();
  add(*stream, events_of("old", 5));
  const auto after = reader()->find("0", {.kind = StartAt::Kind::newest, .position = 0, .time_ms = 0});
  ASSERT_TRUE(after) << after.error().message();
  add(*stream, {event_of("before the first read")});
  Reading from = reading(*after);
  from.until(1);
  add(*stream, {event_of("between two reads")});
  add(*stream, {event_of("another one")});
  EXPECT_EQ(payloads(from.until(3)),
            (std::vector<std::string>{"before the first read", "between two reads", "another one"}));
}

TEST_P(SourceConformance, APositionIsThatOfTheFirstEventThatIsWanted) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  const auto after = reader()->find("0", {.kind = StartAt::Kind::position, .position = given[7], .time_ms = 0});
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(payloads(reading(*after).until(3)), (std::vector<std::string>{"e7", "e8", "e9"}));
}

TEST_P(SourceConformance, ATimeIsThatOfTheFirstEventAtIt) {
  const BootClock clock;
  const auto stream = writer();
  add(*stream, events_of("old", 5));
  const std::int64_t between = clock.wall_ms() + 3;
  while (clock.wall_ms() < between + 3) std::this_thread::yield();
  add(*stream, events_of("new", 5));
  const auto source = reader();
  const auto after = source->find("0", {.kind = StartAt::Kind::time, .position = 0, .time_ms = between});
  ASSERT_TRUE(after) << after.error().message();
  EXPECT_EQ(reading(*after).until(5).front().payload, "new0");
  const auto ends = source->ends("0");
  ASSERT_TRUE(ends);
  const auto future =
      source->find("0", {.kind = StartAt::Kind::time, .position = 0, .time_ms = clock.wall_ms() + 3'600'000});
  ASSERT_TRUE(future) << future.error().message();
  EXPECT_EQ(*future, ends->last);
  const auto past = source->find("0", {.kind = StartAt::Kind::time, .position = 0, .time_ms = 1});
  ASSERT_TRUE(past);
  EXPECT_EQ(reading(*past).until(10).front().payload, "old0");
}

}  // namespace
}  // namespace tenure::conformance
