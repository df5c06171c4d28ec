// Promise 3: a stream that is not the one that was read is noticed, by content.

#include "source_conformance/engine.h"

namespace tenure::conformance {
namespace {

using source::Change;
using source::Mark;
using source::mark_of;

TEST_P(SourceConformance, AStreamThatIsNotThereIsReported) {
  auto source = source::open_source(url());
  if (source) {
    EXPECT_EQ(code_of((*source)->partitions()), Errc::no_such_key);
    EXPECT_EQ(code_of((*source)->ends("0")), Errc::no_such_key);
    EXPECT_EQ(code_of((*source)->find("0", {})), Errc::no_such_key);
  } else {
    EXPECT_EQ(source.error().code, Errc::no_such_key);
  }
  EXPECT_EQ(code_of(source::open_stream_writer(url(), false)), Errc::no_such_key);
}

TEST_P(SourceConformance, AStreamThatWasRemovedIsGone) {
  const auto stream = writer();
  add(*stream, events_of("e", 3));
  Reading reader = reading();
  reader.until(3);
  ASSERT_TRUE(stream->remove());
  EXPECT_FALSE(reader.next());
  ASSERT_TRUE(reader.error);
  EXPECT_EQ(reader.error->code, Errc::no_such_key);
  EXPECT_EQ(code_of(source::open_stream_writer(url(), false)), Errc::no_such_key);
}

TEST_P(SourceConformance, AStreamThatIsMadeAgainIsNoticedByItsReader) {
  auto stream = writer();
  add(*stream, events_of("old", 5));
  Reading reader = reading();
  reader.until(5);
  ASSERT_TRUE(stream->remove());
  stream = writer();
  add(*stream, events_of("new", 2));
  // It may have been looked for in between.
  while (reader.events.size() < 7 && (reader.next() || reader.error->code == Errc::no_such_key)) {
  }
  ASSERT_EQ(reader.events.size(), 7U);
  EXPECT_EQ(reader.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(reader.events[5].payload, "new0");
}

TEST_P(SourceConformance, AStreamThatIsMadeAgainIsNoticedByMarks) {
  auto stream = writer();
  add(*stream, events_of("old", 5));
  const auto old = reading().until(5);
  ASSERT_EQ(old.size(), 5U);
  ASSERT_TRUE(stream->remove());
  stream = writer();
  add(*stream, events_of("new", 8));
  Reading reader = reading(old[4].position, {mark_of(old[1]), mark_of(old[3]), mark_of(old[4])});
  const auto read = reader.until(8);
  ASSERT_EQ(read.size(), 8U);
  EXPECT_EQ(reader.changes, std::vector<Change>{Change::anew});
  EXPECT_EQ(read.front().payload, "new0");
  EXPECT_TRUE(reader.losses.empty());
}

// It lost everything behind a mark that still holds, and has other events there.
TEST_P(SourceConformance, ATailThatWasReplacedIsNoticedByMarks) {
  const auto stream = writer();
  add(*stream, events_of("e", 6));
  const auto events = reading().until(6);
  ASSERT_EQ(events.size(), 6U);
  const Mark other{events[4].position, mark_of(events[4]).hash ^ 2};
  Reading reader = reading(events[4].position, {mark_of(events[0]), mark_of(events[2]), other});
  const auto read = reader.until(3);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(reader.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(read.front().payload, "e3");
}

// It ends before the position up to which it was read.
TEST_P(SourceConformance, ATailThatIsGoneIsNoticedByMarks) {
  const auto stream = writer();
  add(*stream, events_of("e", 6));
  const auto events = reading().until(6);
  ASSERT_EQ(events.size(), 6U);
  const std::uint64_t beyond = events[5].position + 100;
  Reading reader = reading(beyond, {mark_of(events[2]), {beyond, 77}});
  const auto read = reader.until(3);
  ASSERT_EQ(read.size(), 3U);
  EXPECT_EQ(reader.changes, std::vector<Change>{Change::cut});
  EXPECT_EQ(read.front().payload, "e3");
}

TEST_P(SourceConformance, MarksThatHoldChangeNothing) {
  const auto stream = writer();
  add(*stream, events_of("e", 6));
  const auto events = reading().until(6);
  ASSERT_EQ(events.size(), 6U);
  Reading reader = reading(events[3].position, {mark_of(events[0]), mark_of(events[2]), mark_of(events[3])});
  EXPECT_EQ(payloads(reader.until(2)), (std::vector<std::string>{"e4", "e5"}));
  EXPECT_TRUE(reader.changes.empty());
}

// Marks whose events were trimmed say nothing. The loss is reported as a loss.
TEST_P(SourceConformance, MarksThatWereTrimmedAreNoChange) {
  const auto stream = writer();
  const auto given = add(*stream, events_of("e", 10));
  ASSERT_EQ(given.size(), 10U);
  const auto events = reading().until(10);
  ASSERT_EQ(events.size(), 10U);
  ASSERT_TRUE(stream->trim(given[7]));
  Reading reader = reading(given[3], {mark_of(events[1]), mark_of(events[3])});
  EXPECT_EQ(payloads(reader.until(3)), (std::vector<std::string>{"e7", "e8", "e9"}));
  EXPECT_TRUE(reader.changes.empty());
  EXPECT_EQ(reader.losses.size(), 1U);
}

}  // namespace
}  // namespace tenure::conformance
