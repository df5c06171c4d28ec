// A process reads entries that it has just committed from memory, and all others from the file.

#include <atomic>
#include <cstring>

#include "log_conformance/child.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

// How often readers of this program have asked SQLite for entries.
std::atomic<int> asked = 0;

int count_reads(unsigned /*kind*/, void* /*context*/, void* /*statement*/, void* sql) {
  if (std::strstr(static_cast<const char*>(sql), "time_ms, data FROM runs") != nullptr) ++asked;
  return 0;
}

int trace(sqlite3* db, char** /*error*/, const sqlite3_api_routines* /*routines*/) {
  return sqlite3_trace_v2(db, SQLITE_TRACE_STMT, count_reads, nullptr);
}

// Logs whose reads from the file are counted, as all connections of this process are traced.
class SqliteMemory : public SqliteFile {
 protected:
  void SetUp() override { sqlite3_auto_extension(reinterpret_cast<void (*)()>(trace)); }
  void TearDown() override { sqlite3_reset_auto_extension(); }

  std::string url() const { return "sqlite:" + path(); }
  // Another process appends PREFIX-0, PREFIX-1, …
  void append_elsewhere(const std::string& prefix, int count) const {
    Child child(TENURE_ACTOR, {url(), "append", prefix, std::to_string(count)});
    EXPECT_EQ(child.wait(), 0);
  }
  static std::string data_of(const Result<std::vector<Entry>>& run) {
    if (!run) return std::string(to_string(run.error().code));
    std::string all;
    for (const Entry& entry : *run) all += (all.empty() ? "" : " ") + entry.data;
    return all;
  }
};

// Beginning with the second, each entry is waited for, committed and read without a look at the file. Where a commit
// takes as long as the slow poll there is one, so that some are allowed.
TEST_F(SqliteMemory, OwnEntriesAreReadWithoutTheFile) {
  constexpr int kEntries = 40;
  const auto log = open("?sync=off");
  ASSERT_TRUE(append(*log, "first"));
  Cursor cursor;
  ASSERT_TRUE(read_on(*log, cursor, 1));
  asked = 0;
  for (int i = 0; i < kEntries; ++i) {
    Answer<Result<std::vector<Entry>>> waiting;
    log->read(cursor, waiting.callback());
    const std::string data = "entry" + std::to_string(i) + Bytes(10'000, '.');
    ASSERT_TRUE(append(*log, data));
    const auto run = waiting.get();
    ASSERT_EQ(data_of(run), data);
    cursor = Cursor::at(run->back());
  }
  EXPECT_LT(asked, kEntries / 4);
}

// The file is the judge of what memory hands out, to every handle of the process.
TEST_F(SqliteMemory, HandlesOfAProcessReadTheSameAsTheFileSays) {
  const auto log = open();
  const auto other = open();
  for (const char* data : {"a", "b", "c"}) ASSERT_TRUE(append(*log, data));
  const auto all = read(*log, {});
  ASSERT_EQ(data_of(all), "a b c");
  asked = 0;
  for (Log* reader : {log.get(), other.get()}) {
    const auto rest = read(*reader, Cursor::at(all->front()));
    ASSERT_EQ(data_of(rest), "b c");
    for (std::size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(rest->at(i).position, all->at(i + 1).position);
      EXPECT_EQ(rest->at(i).time_ms, all->at(i + 1).time_ms);
    }
  }
  EXPECT_EQ(asked, 0);
  ASSERT_TRUE(append(*other, "d"));
  EXPECT_EQ(data_of(read(*log, Cursor::at(all->back()))), "d");
  EXPECT_EQ(asked, 0);
}

TEST_F(SqliteMemory, WhatAnotherProcessHasWrittenInBetweenIsNotMissed) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  const auto first = read(*log, {});
  ASSERT_EQ(data_of(first), "a");
  append_elsewhere("theirs", 1);
  EXPECT_EQ(data_of(read(*log, Cursor::at(first->back()))), "theirs-0");
  ASSERT_TRUE(append(*log, "b"));
  append_elsewhere("again", 1);
  ASSERT_TRUE(append(*log, "c"));
  EXPECT_EQ(data_of(read(*log, Cursor::at(first->back()))), "theirs-0 b again-0 c");
}

// Restored in place, and as long as what was lost: the next entry follows the position of the last one in memory. What
// was there before is not handed out with it, to no reader.
TEST_F(SqliteMemory, HistoryThatWasLostInPlaceIsNoticedByContent) {
  const auto log = open();
  for (const char* data : {"a", "b", "c"}) ASSERT_TRUE(append(*log, data));
  const auto all = read(*log, {});
  ASSERT_EQ(data_of(all), "a b c");
  tamper("UPDATE runs SET data=x'01000000' || 'x' WHERE first >= 2");
  ASSERT_TRUE(append(*log, "d"));
  EXPECT_EQ(data_of(read(*open(), Cursor::at(all->front()))), "x x d");
  EXPECT_EQ(code_of(read(*open(), Cursor::at(all->at(1)))), Errc::lost_history);
  EXPECT_EQ(code_of(read(*log, Cursor::at(all->at(2)))), Errc::lost_history);
}

// Nobody appends or announces anything: the reader at the end finds out by its slow poll.
TEST_F(SqliteMemory, AReaderAtTheEndLooksAtTheFileNowAndThen) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "a"));
  const auto all = read(*log, {});
  ASSERT_EQ(data_of(all), "a");
  tamper("UPDATE runs SET data=x'01000000' || 'x'");
  EXPECT_EQ(code_of(read(*log, Cursor::at(all->back()))), Errc::lost_history);
}

// The new pool has as many entries as the old one, from another process, and then one of our own.
TEST_F(SqliteMemory, APoolMadeAnewHasNothingOfTheOldOne) {
  const auto log = open();
  for (const char* data : {"a", "b"}) ASSERT_TRUE(append(*log, data));
  const auto old = read(*log, {});
  ASSERT_EQ(data_of(old), "a b");
  for (const char* part : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(path() + part);
  append_elsewhere("anew", 2);
  EXPECT_EQ(code_of(read(*log, Cursor::at(old->front()))), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "c"));
  EXPECT_EQ(code_of(read(*open(), Cursor::at(old->front()))), Errc::lost_history);
  EXPECT_EQ(data_of(read(*log, {})), "anew-0 anew-1 c");
}

TEST_F(SqliteMemory, APoolThatWeRemovedHasNothingOfTheOldOne) {
  const auto log = open();
  const auto other = open();
  for (const char* data : {"a", "b"}) ASSERT_TRUE(append(*log, data));
  const auto old = read(*log, {});
  ASSERT_EQ(data_of(old), "a b");
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(code_of(read(*other, Cursor::at(old->front()))), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  for (const char* data : {"x", "y"}) ASSERT_TRUE(append(*log, data));
  EXPECT_EQ(code_of(read(*other, Cursor::at(old->front()))), Errc::lost_history);
  EXPECT_EQ(code_of(read(*log, Cursor::at(old->front()))), Errc::lost_history);
}

// Where it was not by this process, memory knows at the latest when that appends again.
TEST_F(SqliteMemory, WhatWasTrimmedIsTrimmed) {
  const auto log = open();
  for (const char* data : {"a", "b", "c", "d"}) ASSERT_TRUE(append(*log, data));
  const auto all = read(*log, {});
  ASSERT_EQ(data_of(all), "a b c d");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(all->back()), {"state"}));
  ASSERT_TRUE(trim(*log, all->at(1).position));
  EXPECT_EQ(code_of(read(*log, Cursor::at(all->at(0)))), Errc::trimmed);
  ASSERT_TRUE(append(*log, "e"));
  ASSERT_TRUE(append(*log, "f"));
  const auto kept = read(*log, Cursor::at(all->at(1)));
  ASSERT_EQ(data_of(kept), "c d e f");
  tamper("DELETE FROM runs WHERE first < 6");
  ASSERT_TRUE(append(*log, "g"));
  EXPECT_EQ(code_of(read(*log, Cursor::at(kept->at(2)))), Errc::trimmed);
  EXPECT_EQ(data_of(read(*log, Cursor::at(kept->at(3)))), "g");
}

}  // namespace
}  // namespace tenure::conformance
