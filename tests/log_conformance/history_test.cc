// Snapshots, trims, and the errors for a reader whose history is gone.

#include <gtest/gtest.h>

#include "log_conformance/engine.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {
namespace {

// Appends `count` entries and reads them back.
std::vector<Entry> fill(Log& log, std::size_t count) {
  std::vector<Answer<Result<Position>>> answers(count);
  for (std::size_t i = 0; i < count; ++i) {
    log.append(Lane::data, "entry" + std::to_string(i), answers[i].callback());
  }
  for (auto& answer : answers) EXPECT_TRUE(answer.get());
  Cursor cursor;
  auto entries = read_on(log, cursor, count);
  EXPECT_TRUE(entries);
  return entries ? std::move(*entries) : std::vector<Entry>();
}

TEST_P(LogConformance, WithoutASnapshotAnEmptyOneIsLoaded) {
  const auto log = open();
  const auto snapshot = load_snapshot(*log);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->cursor, Cursor());
  EXPECT_TRUE(snapshot->chunks.empty());
}

TEST_P(LogConformance, ASnapshotComesBackInItsChunksAndReplacesTheOneBefore) {
  const auto log = open();
  const auto entries = fill(*log, 3);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[0]), {"a", "", "c"}));
  const auto first = load_snapshot(*open());
  ASSERT_TRUE(first) << first.error().message();
  EXPECT_EQ(first->cursor, Cursor::at(entries[0]));
  EXPECT_EQ(first->chunks, (std::vector<Bytes>{"a", "", "c"}));

  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[2]), {"newer"}));
  const auto second = load_snapshot(*open());
  ASSERT_TRUE(second) << second.error().message();
  EXPECT_EQ(second->cursor, Cursor::at(entries[2]));
  EXPECT_EQ(second->chunks, (std::vector<Bytes>{"newer"}));
}

TEST_P(LogConformance, ALargeSnapshotComesBackWhole) {
  const auto log = open();
  const auto entries = fill(*log, 1);
  std::vector<Bytes> chunks;
  for (char c = 'a'; c < 'a' + 12; ++c) chunks.emplace_back(1U << 20, c);
  chunks.emplace_back(kEntryBytesMax, 'z');
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[0]), chunks));
  const auto snapshot = load_snapshot(*log);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->chunks, chunks);
}

TEST_P(LogConformance, AnOlderSnapshotThanTheStoredOneIsDroppedAndThatIsSuccess) {
  const auto log = open();
  const auto entries = fill(*log, 2);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[1]), {"new"}));
  EXPECT_TRUE(store_snapshot(*log, Cursor::at(entries[0]), {"old"}));
  const auto snapshot = load_snapshot(*log);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->chunks, (std::vector<Bytes>{"new"}));
}

TEST_P(LogConformance, AnUncommittedSnapshotIsDiscarded) {
  const auto log = open();
  const auto entries = fill(*log, 2);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[0]), {"kept"}));
  log->begin_snapshot(Cursor::at(entries[1]))->add("discarded");
  const auto snapshot = load_snapshot(*log);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  EXPECT_EQ(snapshot->chunks, (std::vector<Bytes>{"kept"}));
}

TEST_P(LogConformance, AnOversizedChunkIsRefusedAtCommit) {
  const auto log = open();
  const auto entries = fill(*log, 1);
  EXPECT_EQ(code_of(store_snapshot(*log, Cursor::at(entries[0]), {Bytes(kEntryBytesMax + 1, 'x')})), Errc::invalid);
}

// A waiting read does not keep the snapshot from being loaded.
TEST_P(LogConformance, ASnapshotIsLoadedWhileAReadWaits) {
  const auto log = open();
  Answer<Result<std::vector<Entry>>> waiting;
  log->read({}, waiting.callback());
  EXPECT_FALSE(waiting.ready_within(std::chrono::milliseconds(20)));
  const auto started = std::chrono::steady_clock::now();
  EXPECT_TRUE(load_snapshot(*log));
  EXPECT_LT(std::chrono::steady_clock::now() - started, std::chrono::milliseconds(400));
  ASSERT_TRUE(append(*log, "x"));
  EXPECT_TRUE(waiting.get());
}

TEST_P(LogConformance, WithoutASnapshotNothingIsTrimmed) {
  const auto log = open();
  const auto entries = fill(*log, 5);
  ASSERT_TRUE(trim(*log, entries[4].position));
  const auto run = read(*log, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->size(), 5U);
}

TEST_P(LogConformance, ATrimNeverPassesTheSnapshotsOwnEntry) {
  const auto log = open();
  const auto entries = fill(*log, 5);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[2]), {"state"}));
  ASSERT_TRUE(trim(*log, entries[4].position + 100));
  const auto run = read(*log, Cursor::at(entries[2]));
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 2U);
  EXPECT_EQ(run->at(0).data, "entry3");
}

TEST_P(LogConformance, ATrimMayStopShortOfTheSnapshot) {
  const auto log = open();
  const auto entries = fill(*log, 5);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[4]), {"state"}));
  ASSERT_TRUE(trim(*log, entries[2].position));
  EXPECT_EQ(code_of(read(*log, Cursor::at(entries[1]))), Errc::trimmed);
  const auto run = read(*log, Cursor::at(entries[2]));
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->size(), 2U);
}

// The slow reader and the new one both lie before the trim; each continues from the snapshot.
TEST_P(LogConformance, AReaderBehindATrimIsToldAndContinuesFromTheSnapshot) {
  const auto log = open();
  const auto entries = fill(*log, 3000);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[2990]), {"state"}));
  ASSERT_TRUE(trim(*log, entries[2990].position));

  const auto slow = open();
  EXPECT_EQ(code_of(read(*slow, Cursor::at(entries[7]))), Errc::trimmed);
  EXPECT_EQ(code_of(read(*slow, {})), Errc::trimmed);
  const auto snapshot = load_snapshot(*slow);
  ASSERT_TRUE(snapshot) << snapshot.error().message();
  const auto run = read(*slow, snapshot->cursor);
  ASSERT_TRUE(run) << run.error().message();
  ASSERT_EQ(run->size(), 9U);
  EXPECT_EQ(run->front().data, "entry2991");
}

// Not even when all but the last entry are gone and the log is opened again.
TEST_P(LogConformance, PositionsAreNotGivenAgainAfterATrim) {
  auto log = open();
  const auto entries = fill(*log, 4);
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries[3]), {"state"}));
  ASSERT_TRUE(trim(*log, entries[3].position));
  log.reset();
  log = open();
  const auto position = append(*log, "next");
  ASSERT_TRUE(position) << position.error().message();
  EXPECT_GT(*position, entries[3].position);
}

TEST_P(LogConformance, AnotherEntryAtTheCursorIsLostHistory) {
  const auto log = open();
  const auto entries = fill(*log, 2);
  EXPECT_EQ(code_of(read(*log, {entries[0].position, entries[0].position + 1})), Errc::lost_history);
}

TEST_P(LogConformance, ACursorBeyondTheEndIsLostHistory) {
  const auto log = open();
  EXPECT_EQ(code_of(read(*log, {7, 7})), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  const auto entries = fill(*log, 2);
  EXPECT_EQ(code_of(read(*log, {entries[1].position + 1, 7})), Errc::lost_history);
}

// The waiting reader is woken, and nobody appends to what is gone. The name is free for a new pool.
TEST_P(LogConformance, ARemovedPoolIsLostHistoryToOthersAndMayBeCreatedAnew) {
  const auto log = open();
  const auto other = open();
  const auto entries = fill(*log, 2);
  Answer<Result<std::vector<Entry>>> waiting;
  other->read(Cursor::at(entries[1]), waiting.callback());
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(code_of(waiting.get()), Errc::lost_history);
  EXPECT_EQ(code_of(append(*other, "late")), Errc::lost_history);

  const auto anew = open();
  ASSERT_TRUE(append(*anew, "first"));
  const auto run = read(*anew, {});
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "first");
  EXPECT_EQ(code_of(append(*other, "late")), Errc::lost_history);
}

}  // namespace
}  // namespace tenure::conformance
