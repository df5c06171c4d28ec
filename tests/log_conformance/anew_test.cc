// A handle whose history was lost can still be used: load_snapshot() starts over with the log as it is now. A node
// fences, loads, and joins again with the same handle.

#include <gtest/gtest.h>

#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

void expect_empty(const Result<Snapshot>& snapshot) {
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->cursor, Cursor());
  EXPECT_TRUE(snapshot->chunks.empty());
}

TEST_P(LogConformance, AfterRemoveTheHandleGoesOnWithAnEmptyLog) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "before"));
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(code_of(append(*log, "too early")), Errc::lost_history);
  expect_empty(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "after"));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 1U);
  EXPECT_EQ(run->front().data, "after");
}

// Both end up in one new log, whichever of them comes first.
TEST_P(LogConformance, AfterLostHistoryTheHandleBeginsAnew) {
  const auto log = open();
  const auto other = open();
  ASSERT_TRUE(append(*log, "before"));
  const auto before = read(*other, {});
  ASSERT_TRUE(before) << before.error().message();
  ASSERT_TRUE(remove(*log));
  expect_empty(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "by the one that removed"));

  EXPECT_EQ(code_of(read(*other, Cursor::at(before->back()))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*other, "too early")), Errc::lost_history);
  expect_empty(load_snapshot(*other));
  ASSERT_TRUE(append(*other, "by the other"));
  for (Log* reader : {log.get(), other.get()}) {
    Cursor cursor;
    const auto run = read_on(*reader, cursor, 2);
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->at(0).data, "by the one that removed");
    EXPECT_EQ(run->at(1).data, "by the other");
  }
}

// The engine cannot know what else the reader has wrong, so nothing of it gets into the log.
TEST_P(LogConformance, AppendsWaitForASnapshotAlsoWhereTheLogItselfIsStillThere) {
  const auto log = open();
  EXPECT_EQ(code_of(read(*log, {7, 7})), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "too early")), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "x"));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "x");
}

TEST_P(LogConformance, ASnapshotOfALostHistoryIsNotStoredInTheNewOne) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "before"));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  const auto writer = log->begin_snapshot(Cursor::at(run->back()));
  writer->add("old");
  ASSERT_TRUE(remove(*log));
  expect_empty(load_snapshot(*log));
  Answer<Status> answer;
  writer->commit(answer.callback());
  EXPECT_EQ(code_of(answer.get()), Errc::lost_history);
  expect_empty(load_snapshot(*log));
}

// Several nodes may remove the log of a pool that has ended. A late one must not remove the log of the next pool.
TEST_P(LogConformance, AHandleOfARemovedLogDoesNotRemoveTheNewOne) {
  const auto log = open();
  const auto late = open();
  ASSERT_TRUE(append(*log, "before"));
  ASSERT_TRUE(remove(*log));
  const auto anew = open();
  ASSERT_TRUE(append(*anew, "after"));
  EXPECT_NE(code_of(remove(*late)), Errc::unavailable);
  ASSERT_TRUE(append(*anew, "still there"));
  const auto reader = open();
  Cursor cursor;
  const auto run = read_on(*reader, cursor, 2);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->at(0).data, "after");
  EXPECT_EQ(run->at(1).data, "still there");
}

// Handles that come late to the end of a pool create nothing again.
TEST_P(LogConformance, NothingIsLeftAfterARemovalBesideOtherHandles) {
  const auto log = open();
  const auto late = open();
  ASSERT_TRUE(append(*log, "before"));
  ASSERT_TRUE(append(*late, "before, too"));
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(code_of(append(*late, "after")), Errc::lost_history);
  EXPECT_EQ(code_of(append(*late, "again")), Errc::lost_history);
  EXPECT_EQ(leftovers(), std::vector<std::string>{});
}

// A member that leaves a pool may find its log gone. It only wants to know.
TEST_P(LogConformance, AHandleMayRefuseToMakeTheLogAgain) {
  const auto log = open();
  const auto late = open();
  ASSERT_TRUE(append(*log, "before"));
  const auto before = read(*late, {});
  ASSERT_TRUE(before) << before.error().message();
  const auto there = load_snapshot(*late, IfGone::report);
  ASSERT_TRUE(there) << there.error().message();
  ASSERT_TRUE(append(*late, "too"));
  ASSERT_TRUE(remove(*log));
  for (int i = 0; i < 2; ++i) {
    EXPECT_EQ(code_of(load_snapshot(*late, IfGone::report)), Errc::no_such_pool);
    EXPECT_EQ(code_of(append(*late, "after")), Errc::lost_history);
    EXPECT_EQ(leftovers(), std::vector<std::string>{});
  }
  // The handle is not lost: it finds the next log, and makes one if it is asked to.
  expect_empty(load_snapshot(*log));
  expect_empty(load_snapshot(*late, IfGone::report));
  ASSERT_TRUE(append(*late, "anew"));
  ASSERT_TRUE(remove(*late));
  EXPECT_EQ(code_of(load_snapshot(*log, IfGone::report)), Errc::no_such_pool);
  expect_empty(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "by the other"));
}

// Many handles look while one removes the log. None of them makes it again.
TEST_P(LogConformance, HandlesThatLookDuringARemovalLeaveNothing) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "before"));
  std::vector<std::unique_ptr<Log>> late;
  for (int i = 0; i < 8; ++i) late.push_back(open());
  std::vector<Answer<Result<Snapshot>>> looks(late.size());
  Answer<Status> removed;
  for (std::size_t i = 0; i < late.size(); ++i) {
    if (i == late.size() / 2) log->remove(removed.callback());
    late[i]->load_snapshot(IfGone::report, looks[i].callback());
  }
  ASSERT_TRUE(removed.get());
  for (auto& look : looks) {
    const auto seen = look.get();
    if (seen) continue;
    // An engine whose files are just being removed is asked again.
    EXPECT_TRUE(seen.error().code == Errc::no_such_pool || seen.error().code == Errc::unavailable)
        << seen.error().message();
  }
  for (const auto& each : late) {
    auto seen = load_snapshot(*each, IfGone::report);
    while (!seen && seen.error().code == Errc::unavailable) seen = load_snapshot(*each, IfGone::report);
    EXPECT_EQ(code_of(seen), Errc::no_such_pool);
  }
  EXPECT_EQ(leftovers(), std::vector<std::string>{});
}

// The read was outstanding when the pool was removed. A load_snapshot() at the same time does not hide that.
TEST_P(LogConformance, AWaitingReadIsToldBeforeTheHandleBeginsAnew) {
  const auto log = open();
  const auto other = open();
  Answer<Result<std::vector<Entry>>> waiting;
  other->read({}, waiting.callback());
  ASSERT_TRUE(remove(*log));
  expect_empty(load_snapshot(*other));
  EXPECT_EQ(code_of(waiting.get()), Errc::lost_history);
}

TEST_P(LogConformance, AReadOnlyHandleDoesNotCreateWhatWasRemoved) {
  const auto log = open();
  const auto onlooker = open(true);
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(code_of(load_snapshot(*onlooker)), Errc::refused);
  expect_empty(load_snapshot(*log));
  expect_empty(load_snapshot(*onlooker));
  ASSERT_TRUE(append(*log, "after"));
  EXPECT_TRUE(read(*onlooker, {}));
}

// The times of the new log lie on the scale of the wall clock, as those of the old one did.
TEST_P(LogConformance, TimesOfTheNewLogGoOnOnTheScaleOfTheWallClock) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "before"));
  const auto before = read(*log, {});
  ASSERT_TRUE(before) << before.error().message();
  ASSERT_TRUE(remove(*log));
  expect_empty(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "after"));
  const auto after = read(*log, {});
  ASSERT_TRUE(after) << after.error().message();
  // The clocks are read in whole milliseconds, and the wall clock may be slewed.
  EXPECT_GE(after->front().time_ms, before->front().time_ms - 2);
  EXPECT_LT(after->front().time_ms, before->front().time_ms + 60'000);
}

}  // namespace
}  // namespace tenure::conformance
