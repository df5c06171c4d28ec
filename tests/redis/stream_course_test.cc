// What a reader of a Redis stream concludes from its counts, without a server.

#include <gtest/gtest.h>

#include "source/redis/stream_course.h"

namespace tenure::source::redis {
namespace {

using Step = StreamCourse::Step;

constexpr Continuity same(std::uint64_t after) { return {.change = Change::none, .resumed = after}; }

std::vector<Event> entries(std::initializer_list<std::uint64_t> positions) {
  std::vector<Event> events;
  for (const std::uint64_t position : positions) {
    Event event;
    event.position = position;
    events.push_back(event);
  }
  return events;
}

// Ten entries at 10, 20, … 100.
constexpr StreamLook kTen{.added = 10, .length = 10, .first = 10, .last = 100};

StreamCourse at(std::uint64_t after, const StreamLook& look, bool resumed = false,
                std::optional<std::uint64_t> ahead = std::nullopt) {
  StreamCourse course;
  course.begin(after, resumed);
  course.resume(look, same(after), ahead);
  return course;
}

TEST(StreamCourse, EntriesThatFollowAreTaken) {
  StreamCourse course = at(9, kTen);
  EXPECT_EQ(course.judge(kTen, 3, 30), Step::take);
  const auto run = course.take(kTen, entries({10, 20, 30}));
  EXPECT_EQ(run.position, 30U);
  EXPECT_FALSE(run.lost);
  EXPECT_EQ(course.position(), 30U);
}

TEST(StreamCourse, ATrimOverItsHeadIsCounted) {
  StreamCourse course = at(9, kTen);
  course.take(kTen, entries({10, 20, 30}));
  // 40, 50 and 60 are gone.
  const StreamLook trimmed{.added = 10, .length = 4, .first = 70, .last = 100};
  EXPECT_EQ(course.judge(trimmed, 4, 100), Step::closer);
  const auto run = course.take_exact(trimmed, entries({70, 80}));
  ASSERT_TRUE(run.lost);
  EXPECT_EQ(run.lost->first, 31U);
  EXPECT_EQ(run.lost->last, 69U);
  EXPECT_EQ(run.lost->count, 3U);
  EXPECT_EQ(run.position, 80U);
}

// A stream that keeps one entry is trimmed right behind its reader.
TEST(StreamCourse, ATrimBehindItIsNoLoss) {
  StreamCourse course = at(100, kTen);
  const StreamLook one{.added = 11, .length = 1, .first = 110, .last = 110};
  EXPECT_EQ(course.judge(one, 1, 110), Step::closer);
  EXPECT_EQ(course.judge_exact(one), Step::take);
  const auto run = course.take_exact(one, entries({110}));
  EXPECT_FALSE(run.lost);
  EXPECT_EQ(run.events.size(), 1U);
}

TEST(StreamCourse, EverythingMayBeTrimmed) {
  StreamCourse course = at(100, kTen);
  const StreamLook none{.added = 13, .length = 0, .first = 0, .last = 130};
  const auto run = course.take_exact(none, {});
  ASSERT_TRUE(run.lost);
  EXPECT_EQ(run.lost->count, 3U);
  EXPECT_EQ(run.lost->last, 130U);
  EXPECT_EQ(run.position, 130U);
}

// A reader that starts in the middle counts what is in front of it, and so knows what lies behind.
TEST(StreamCourse, ACountedStartIsExact) {
  StreamCourse course = at(30, kTen, true, 7);
  const StreamLook trimmed{.added = 12, .length = 3, .first = 100, .last = 120};
  const auto run = course.take_exact(trimmed, entries({100, 110, 120}));
  ASSERT_TRUE(run.lost);
  EXPECT_EQ(run.lost->count, 6U);
}

TEST(StreamCourse, AnUncountedStartHasABound) {
  StreamCourse course = at(30, kTen, true);
  const StreamLook trimmed{.added = 12, .length = 3, .first = 100, .last = 120};
  const auto run = course.take_exact(trimmed, entries({100}));
  ASSERT_TRUE(run.lost);
  EXPECT_GE(run.lost->count, 6U);
  EXPECT_LE(run.lost->count, 9U);
}

// The counts of a stream that was made again are too small.
TEST(StreamCourse, AStreamThatWasMadeAgainIsNoticed) {
  StreamCourse course = at(100, kTen);
  const StreamLook again{.added = 2, .length = 2, .first = 210, .last = 220};
  EXPECT_EQ(course.judge(again, 2, 220), Step::resume);
  course.doubt();
  const auto run = course.resume(again, same(100), std::nullopt);
  EXPECT_EQ(run.change, Change::anew);
  EXPECT_EQ(run.resumed, 209U);
  EXPECT_EQ(course.judge(again, 2, 220), Step::take);
}

// It has grown as large as the old one was.
TEST(StreamCourse, ALargeStreamThatWasMadeAgainIsNoticed) {
  StreamCourse course = at(100, kTen);
  const StreamLook again{.added = 14, .length = 14, .first = 210, .last = 350};
  EXPECT_EQ(course.judge(again, 10, 300), Step::resume);
  course.doubt();
  EXPECT_EQ(course.resume(again, same(100), std::nullopt).change, Change::anew);
}

TEST(StreamCourse, ATailThatWasCutIsNoticed) {
  StreamCourse course = at(100, kTen);
  const StreamLook cut{.added = 8, .length = 8, .first = 10, .last = 80};
  EXPECT_EQ(course.judge(cut, 0, 0), Step::resume);
  course.doubt();
  const auto run = course.resume(cut, {.change = Change::cut, .resumed = 80}, std::nullopt);
  EXPECT_EQ(run.change, Change::cut);
  EXPECT_EQ(course.position(), 80U);
  EXPECT_EQ(course.judge(cut, 0, 0), Step::take);
}

TEST(StreamCourse, AnEntryThatIsDeletedAheadIsALoss) {
  StreamCourse course = at(30, kTen, false, 7);
  const StreamLook hole{.added = 10, .length = 9, .first = 10, .last = 100, .deleted = 50};
  EXPECT_EQ(course.judge(hole, 6, 100), Step::closer);
  const auto run = course.take_exact(hole, entries({40, 60}));
  ASSERT_TRUE(run.lost);
  EXPECT_EQ(run.lost->first, 31U);
  EXPECT_EQ(run.lost->last, 50U);
  EXPECT_EQ(run.lost->count, 1U);
  // Once.
  EXPECT_EQ(course.judge(hole, 4, 100), Step::take);
}

TEST(StreamCourse, AnEntryThatIsDeletedBehindIsNone) {
  StreamCourse course = at(30, kTen);
  const StreamLook hole{.added = 10, .length = 9, .first = 10, .last = 100, .deleted = 20};
  EXPECT_EQ(course.judge(hole, 7, 100), Step::take);
}

// One who begins with the oldest entry has not lost what was deleted before.
TEST(StreamCourse, OldHolesAreNoLossForANewReader) {
  const StreamLook hole{.added = 10, .length = 9, .first = 10, .last = 100, .deleted = 50};
  StreamCourse fresh = at(9, hole);
  EXPECT_EQ(fresh.judge(hole, 9, 100), Step::take);
  StreamCourse resumed = at(9, hole, true);
  EXPECT_EQ(resumed.judge(hole, 9, 100), Step::closer);
}

// Other places of the stream may follow at any time.
TEST(StreamCourse, AStartInTheFutureWaits) {
  StreamCourse course = at(500, kTen);
  EXPECT_EQ(course.judge(kTen, 0, 0), Step::take);
  const StreamLook more{.added = 11, .length = 11, .first = 10, .last = 510};
  EXPECT_EQ(course.judge(more, 1, 510), Step::take);
  EXPECT_FALSE(course.take(more, entries({510})).lost);
}

}  // namespace
}  // namespace tenure::source::redis
