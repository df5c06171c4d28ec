// A SQLite pool's file while it is in use: replaced, tampered with, full, or locked by a frozen process.

#include <csignal>
#include <deque>

#include "log_conformance/child.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;
using SqliteUse = SqliteFile;

Cursor last_of(Log& log, std::size_t count) {
  Cursor cursor;
  EXPECT_TRUE(read_on(log, cursor, count));
  return cursor;
}

// The entry is inserted without a wake-up, as by a writer that died right after its commit.
TEST_F(SqliteUse, AReaderNoticesACommitWhoseWakeUpWasLost) {
  make_pool(1);
  const auto log = open();
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(last_of(*log, 1), waiting.callback());
  EXPECT_FALSE(waiting.ready_within(20ms));
  tamper("INSERT INTO runs SELECT first + 1, 1, time_ms, x'0b000000' || 'unannounced' FROM runs");
  const auto run = waiting.get();
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->front().data, "unannounced");
}

TEST_F(SqliteUse, AnEntryThatWasChangedIsLostHistory) {
  make_pool(3);
  const auto log = open();
  const Cursor cursor = last_of(*log, 3);
  tamper("UPDATE runs SET data=x'07000000' || 'changed' WHERE first=3");
  EXPECT_EQ(code_of(read(*log, cursor)), Errc::lost_history);
}

// The pool was stopped, an older copy put in its place, and the pool has grown to the same length again.
TEST_F(SqliteUse, ARestoredOlderBackupIsLostHistory) {
  make_pool(2);
  std::filesystem::copy_file(path(), directory() + "/backup.db");
  Cursor cursor;
  {
    const auto log = open();
    ASSERT_TRUE(append(*log, "acknowledged, then lost"));
    cursor = last_of(*log, 3);
  }
  std::filesystem::rename(directory() + "/backup.db", path());
  const auto log = open();
  EXPECT_EQ(code_of(read(*log, cursor)), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "another third entry"));
  EXPECT_EQ(code_of(read(*log, cursor)), Errc::lost_history);
}

// The same under a pool that runs: both the waiting reader and the next append find out.
TEST_F(SqliteUse, AFileReplacedUnderARunningPoolIsLostHistory) {
  make_pool(2);
  std::filesystem::copy_file(path(), directory() + "/backup.db");
  const auto log = open();
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(last_of(*log, 2), waiting.callback());
  std::filesystem::remove(path() + "-wal");
  std::filesystem::remove(path() + "-shm");
  std::filesystem::rename(directory() + "/backup.db", path());
  EXPECT_EQ(code_of(waiting.get()), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "x")), Errc::lost_history);

  const auto anew = open();
  ASSERT_TRUE(append(*anew, "goes into the new file"));
  EXPECT_EQ(code_of(append(*log, "x")), Errc::lost_history);
}

// The node's way back after a restore: the handle it has loads, reads and appends in the file that is there now.
TEST_F(SqliteUse, AfterTheFileWasReplacedTheHandleBeginsAnew) {
  make_pool(2);
  std::filesystem::copy_file(path(), directory() + "/backup.db");
  const auto log = open();
  ASSERT_TRUE(append(*log, "lost with the file"));
  const Cursor cursor = last_of(*log, 3);
  std::filesystem::remove(path() + "-wal");
  std::filesystem::remove(path() + "-shm");
  std::filesystem::rename(directory() + "/backup.db", path());
  EXPECT_EQ(code_of(read(*log, cursor)), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "in the restored file"));
  Cursor anew;
  const auto entries = read_on(*log, anew, 3);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->at(1).data, "entry1");
  EXPECT_EQ(entries->at(2).data, "in the restored file");
  EXPECT_GE(entries->at(2).time_ms, entries->at(1).time_ms);
}

// Starting over needs the write turn. If a frozen process has it, the handle soon returns an error, and closes
// promptly.
TEST_F(SqliteUse, AHandleThatCannotBeginAnewClosesPromptly) {
  auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  Child holder(TENURE_SQLITE_ACTOR, {"hold-turn", path()});
  ASSERT_EQ(holder.line(), "held");
  std::filesystem::remove(path());
  EXPECT_EQ(code_of(load_snapshot(*log)), Errc::unavailable);
  log->load_snapshot([](const Result<Snapshot>&) {});
  const auto started = std::chrono::steady_clock::now();
  log.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 500ms);
}

// The file comes from another boot, on which the wall clock was an hour ahead of what it is now.
TEST_F(SqliteUse, TimesGoOnFromTheLastEntryAfterAReboot) {
  make_pool(1);
  tamper(
      "UPDATE runs SET time_ms = time_ms + 3600000;"
      "UPDATE meta SET value='another boot' WHERE name='boot_id'");
  const auto log = open();
  ASSERT_TRUE(append(*log, "after the reboot"));
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 2);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_GE(entries->at(1).time_ms, entries->at(0).time_ms);
  EXPECT_LT(entries->at(1).time_ms, entries->at(0).time_ms + 60'000);
}

TEST_F(SqliteUse, RemovingThePoolLeavesNoFiles) {
  {
    const auto log = open();
    ASSERT_TRUE(append(*log, "x"));
    ASSERT_TRUE(remove(*log));
  }
  EXPECT_TRUE(std::filesystem::is_empty(directory()));
}

TEST_F(SqliteUse, AFullDiskFailsTheAppendWholeAndRoomHealsIt) {
  Child child(TENURE_SQLITE_ACTOR, {"fill", path(), "1000000"});
  const auto first = child.line();
  ASSERT_TRUE(first);
  ASSERT_TRUE(first->starts_with("full ")) << *first;
  EXPECT_EQ(child.line(), "again ok");
  EXPECT_EQ(child.wait(), 0);
  const auto fitted = static_cast<std::size_t>(std::stoi(first->substr(5)));
  EXPECT_GT(fitted, 0U);
  const auto log = open();
  Cursor cursor;
  const auto entries = read_on(*log, cursor, fitted + 1);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->size(), fitted + 1);
  EXPECT_EQ(entries->back().data, "room again");
}

// A process that is stopped inside its commit keeps the turn. The append says whose it is, closing does not wait for
// it, and when the process is gone the turn is free.
TEST_F(SqliteUse, AFrozenHolderOfTheWriteTurnIsNamed) {
  const auto log = open();
  {
    Child holder(TENURE_SQLITE_ACTOR, {"hold-turn", path()});
    ASSERT_EQ(holder.line(), "held");
    holder.signal(SIGSTOP);
    const auto blocked = append(*log, "x");
    ASSERT_EQ(code_of(blocked), Errc::unavailable);
    EXPECT_NE(blocked.error().context.find("process " + std::to_string(holder.pid())), std::string::npos);

    auto other = open_log("sqlite:" + path(), {});
    ASSERT_TRUE(other) << other.error().message();
    Answer<Result<Position>> waiting;
    (*other)->append(Lane::beat, "never written", waiting.callback());
    EXPECT_FALSE(waiting.ready_within(20ms));
    const auto started = std::chrono::steady_clock::now();
    other->reset();
    EXPECT_LT(std::chrono::steady_clock::now() - started, 500ms);
    EXPECT_EQ(code_of(waiting.get()), Errc::closed);
  }
  EXPECT_TRUE(append(*log, "y"));
}

// The last handle takes the writer with it, also while that waits for its turn.
TEST_F(SqliteUse, TheLastHandleClosesPromptlyBehindAFrozenHolder) {
  auto log = open();
  Child holder(TENURE_SQLITE_ACTOR, {"hold-turn", path()});
  ASSERT_EQ(holder.line(), "held");
  log->append(Lane::data, "never written", [](const Result<Position>&) {});
  const auto started = std::chrono::steady_clock::now();
  log.reset();
  EXPECT_LT(std::chrono::steady_clock::now() - started, 500ms);
}

// What a writer left unfinished when it was killed is not seen, and is swept by the next snapshot.
TEST_F(SqliteUse, AnUnfinishedSnapshotIsSwept) {
  make_pool(2);
  tamper(
      "INSERT INTO snapshots VALUES(77, 1, 0, NULL);"
      "INSERT INTO snapshot_chunks VALUES(77, 0, 'half');"
      "INSERT INTO snapshot_chunks VALUES(78, 0, 'headless')");
  const auto log = open();
  const auto before = load_snapshot(*log);
  ASSERT_TRUE(before) << before.error().message();
  EXPECT_TRUE(before->chunks.empty());
  ASSERT_TRUE(store_snapshot(*log, last_of(*log, 2), {"whole"}));
  tamper("CREATE TABLE only_one(x CHECK(x = 1)); INSERT INTO only_one SELECT count(*) FROM snapshot_chunks");
}

// Nothing of what was acknowledged is still on its way to the file, whatever its size: a copy of the files has it, as
// if everything had stopped right then.
TEST_F(SqliteUse, WhatWasAcknowledgedIsInTheFiles) {
  const std::vector<std::size_t> sizes = {1, 10'000, 130'000, 300'000, 5'000'000};
  for (const char* sync : {"?sync=full", "?sync=normal", "?sync=off"}) {
    const std::string copy = directory() + "/copy.db";
    const auto log = open(sync);
    for (const std::size_t size : sizes) {
      const auto position = append(*log, Bytes(size, 'x'));
      ASSERT_TRUE(position) << position.error().message();
      for (const char* part : {"", "-wal"}) {
        std::filesystem::copy_file(path() + part, copy + part, std::filesystem::copy_options::overwrite_existing);
      }
      const auto copied = open_log("sqlite:" + copy, {});
      ASSERT_TRUE(copied) << copied.error().message();
      const auto entries = read(**copied, {*position - 1, 0});
      ASSERT_TRUE(entries) << entries.error().message();
      EXPECT_EQ(entries->back().data, Bytes(size, 'x'));
      (*copied)->close();
      for (const char* part : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(copy + part);
    }
  }
}

class SqliteWal : public SqliteFile, public testing::WithParamInterface<const char*> {};

// The log outgrows the WAL's bound several times over; the WAL does not.
TEST_P(SqliteWal, StaysBounded) {
  const auto log = open(GetParam());
  std::deque<Answer<Result<Position>>> outstanding;
  for (int i = 0; i < 1600; ++i) {
    log->append(Lane::data, Bytes(100'000, 'x'), outstanding.emplace_back().callback());
    if (outstanding.size() < 100) continue;
    ASSERT_TRUE(outstanding.front().get());
    outstanding.pop_front();
  }
  for (auto& answer : outstanding) ASSERT_TRUE(answer.get());
  EXPECT_LT(std::filesystem::file_size(path() + "-wal"), 64U << 20);
  EXPECT_GT(std::filesystem::file_size(path()), 100U << 20);
}

INSTANTIATE_TEST_SUITE_P(Syncs, SqliteWal, testing::Values("?sync=full", "?sync=normal", "?sync=off"));

}  // namespace
}  // namespace tenure::conformance
