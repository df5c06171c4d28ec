// A disk that becomes full at every point of a commit. SQLite lets a test replace its system calls. Here the write call
// accepts as many bytes as there is room for.

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>

#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

std::atomic<std::int64_t> room = INT64_MAX;

ssize_t write_where_room(int file, const void* data, std::size_t size, off_t offset) {
  const auto wanted = static_cast<std::int64_t>(size);
  const std::int64_t before = room.fetch_sub(wanted);
  const std::int64_t fits = std::clamp<std::int64_t>(before, 0, wanted);
  if (fits < wanted) room.fetch_add(wanted - fits);
  if (fits == 0 && wanted > 0) {
    errno = ENOSPC;
    return -1;
  }
  return pwrite(file, data, static_cast<std::size_t>(fits), offset);
}

class SqliteFullDisk : public SqliteFile {
 protected:
  void SetUp() override {
    const auto call = reinterpret_cast<sqlite3_syscall_ptr>(write_where_room);
    for (const char* name : {"pwrite", "pwrite64"}) {
      // Which of the two it calls depends on how SQLite was built, and the other is not there.
      (void)system()->xSetSystemCall(system(), name, call);
    }
  }
  void TearDown() override {
    room = INT64_MAX;
    for (const char* name : {"pwrite", "pwrite64"}) (void)system()->xSetSystemCall(system(), name, nullptr);
  }
  static sqlite3_vfs* system() { return sqlite3_vfs_find("unix"); }

  // What a process finds that opens the files as they are now.
  std::vector<Entry> entries_of_copy() const {
    const std::string copy = directory() + "/copy.db";
    for (const char* part : {"", "-wal"}) {
      std::filesystem::copy_file(path() + part, copy + part, std::filesystem::copy_options::overwrite_existing);
    }
    std::vector<Entry> all;
    {
      const auto log = open_log("sqlite:" + copy, {});
      EXPECT_TRUE(log) << log.error().message();
      if (!log) return {};
      const auto last = append(**log, "the end");
      EXPECT_TRUE(last) << last.error().message();
      Cursor cursor;
      auto entries = read_on(**log, cursor, last.value_or(1));
      EXPECT_TRUE(entries) << entries.error().message();
      if (entries) all = *std::move(entries);
    }
    for (const char* part : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(copy + part);
    all.pop_back();
    return all;
  }

  void expect_whole() const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    std::string said;
    const auto note = [](void* to, int, char** columns, char**) {
      static_cast<std::string*>(to)->append(columns[0]);
      return 0;
    };
    EXPECT_EQ(sqlite3_exec(db, "PRAGMA integrity_check", note, &said, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    EXPECT_EQ(said, "ok");
    sqlite3_close(db);
  }

  // Fills the disk after each of these numbers of bytes of a commit with one entry of `size`. Then nothing of it is in
  // the log, read here or after everything stopped right there. When there is space again, the log continues.
  void fill_within(std::size_t size, const std::vector<std::int64_t>& after, const std::string& options) const {
    const auto log = open(options);
    ASSERT_TRUE(append(*log, "first"));
    std::vector<Bytes> expected{"first"};
    for (const std::int64_t bytes : after) {
      SCOPED_TRACE(bytes);
      room = bytes;
      const auto refused = append(*log, Bytes(size, 'x'));
      EXPECT_EQ(room.load(), 0);
      room = INT64_MAX;
      EXPECT_EQ(code_of(refused), Errc::full);
      const std::vector<Entry> copied = entries_of_copy();
      ASSERT_EQ(copied.size(), expected.size());

      expected.emplace_back(size, static_cast<char>('a' + bytes % 26));
      const auto position = append(*log, expected.back());
      ASSERT_TRUE(position) << position.error().message();
      ASSERT_EQ(*position, expected.size());
    }
    Cursor cursor;
    const auto entries = read_on(*log, cursor, expected.size());
    ASSERT_TRUE(entries) << entries.error().message();
    for (std::size_t i = 0; i < expected.size(); ++i) EXPECT_EQ(entries->at(i).data, expected[i]) << i;
    expect_whole();
  }
};

// A frame has a head of 24 bytes and a page of 8192; 131071 is the most that is written with one call.
const std::vector<std::int64_t> kWithinFrames = {0,      1,       24,      25,      8215,    8216,    8217,    16'431,
                                                 50'000, 131'070, 131'071, 131'072, 200'000, 262'142, 262'143, 290'000};

TEST_F(SqliteFullDisk, ACommitOfOneFrameIsWholeOrNotThere) { fill_within(10, {0, 1, 24, 25, 8215}, ""); }

TEST_F(SqliteFullDisk, ACommitOfOneWriteIsWholeOrNotThere) {
  fill_within(50'000, {0, 1, 24, 25, 8215, 8216, 8217, 40'000}, "");
}

TEST_F(SqliteFullDisk, ACommitOfSeveralWritesIsWholeOrNotThere) { fill_within(300'000, kWithinFrames, ""); }

TEST_F(SqliteFullDisk, ACommitWhoseFramesAreWrittenOneByOneIsWholeOrNotThere) {
  fill_within(300'000, kWithinFrames, "?sync=normal");
}

// More than SQLite's cache holds: its pages go to the WAL before the commit, and some of them are written twice.
TEST_F(SqliteFullDisk, ATransactionThatOutgrowsTheCacheIsWholeOrNotThere) {
  fill_within(6'000'000, {0, 8215, 131'071, 1'000'000, 2'500'000, 4'000'000, 5'900'000}, "");
}

// A snapshot's chunks are stored in transactions of their own. What failed leaves no trace, and the next one is whole.
TEST_F(SqliteFullDisk, ASnapshotIsWholeOrNotThere) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "first"));
  Cursor cursor;
  ASSERT_TRUE(read_on(*log, cursor, 1));
  const std::vector<Bytes> chunks = {Bytes(300'000, 'a'), Bytes(300'000, 'b')};
  for (const std::int64_t bytes : {0, 100'000, 320'000, 500'000}) {
    SCOPED_TRACE(bytes);
    room = bytes;
    EXPECT_EQ(code_of(store_snapshot(*log, cursor, chunks)), Errc::full);
    room = INT64_MAX;
    const auto before = load_snapshot(*log);
    ASSERT_TRUE(before) << before.error().message();
    EXPECT_TRUE(before->chunks.empty());
  }
  ASSERT_TRUE(store_snapshot(*log, cursor, chunks));
  const auto stored = load_snapshot(*log);
  ASSERT_TRUE(stored) << stored.error().message();
  EXPECT_EQ(stored->chunks, chunks);
  expect_whole();
}

}  // namespace
}  // namespace tenure::conformance
