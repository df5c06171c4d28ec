// Streams in SQLite files and other programs that use them: what they write, delete and break.

#include <gtest/gtest.h>
#include <sqlite3.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include <filesystem>
#include <thread>

#include "log_conformance/temporary_directory.h"
#include "source/stream_url.h"
#include "source_conformance/reading.h"

namespace tenure::conformance {
namespace {

using namespace std::chrono_literals;
using source::Change;

class SqliteStreams : public testing::Test {
 protected:
  std::string url(const std::string& options = "") const {
    return source::with_stream("sqlite:" + directory_.path() + "/tenure.db" + options, "orders");
  }
  std::string file() const { return directory_.path() + "/tenure.db-stream-orders.db"; }
  Reading read(std::uint64_t after = 0, std::vector<source::Mark> marks = {}) const {
    Reading reading(source::open_source(url()).value());
    EXPECT_TRUE(reading.source().open("0", after, std::move(marks)));
    reading.position = after;
    return reading;
  }
  // As any other program would.
  int run(const std::string& sql) const {
    sqlite3* db = nullptr;
    EXPECT_EQ(sqlite3_open(file().c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 5000);
    const int code = sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr);
    sqlite3_close(db);
    return code;
  }

  const TemporaryDirectory directory_;
};

TEST_F(SqliteStreams, RowsOfOtherProgramsAreEvents) {
  const auto stream = source::open_stream_writer(url(), true).value();
  ASSERT_EQ(run("INSERT INTO events(payload, key, topic, name) VALUES('p', 'k', 't', 'n'), (x'00ff', NULL, NULL, NULL),"
                " (NULL, '', 7, 1.5)"),
            SQLITE_OK);
  const auto events = read().until(3);
  ASSERT_EQ(events.size(), 3U);
  EXPECT_EQ(events[0].payload, "p");
  EXPECT_EQ(events[0].key, "k");
  EXPECT_EQ(events[0].topic, "t");
  EXPECT_EQ(events[0].name, "n");
  EXPECT_EQ(events[1].payload, Bytes("\0\xff", 2));
  EXPECT_FALSE(events[1].key.has_value());
  EXPECT_EQ(events[2].payload, "");
  EXPECT_EQ(events[2].key, "");
  EXPECT_EQ(events[2].topic, "7");
  EXPECT_NEAR(static_cast<double>(events[0].time_ms), static_cast<double>(BootClock().wall_ms()), 60'000);
}

// A program that knows nothing of Tenure wakes nobody. Its commit is noticed all the same, and soon.
TEST_F(SqliteStreams, ACommitOfAnotherProgramEndsAWait) {
  const auto stream = source::open_stream_writer(url(), true).value();
  Reading reading = read();
  EXPECT_TRUE(reading.is_quiet());
  const BootClock clock;
  Nanos longest{0};
  for (int i = 0; i < 10; ++i) {
    Instant committed;
    std::thread other([&] {
      EXPECT_EQ(run("INSERT INTO events(payload) VALUES('x')"), SQLITE_OK);
      committed = clock.now();
    });
    ASSERT_TRUE(reading.next());
    const Instant seen = clock.now();
    other.join();
    longest = std::max(longest, seen - committed);
  }
  EXPECT_EQ(reading.events.size(), 10U);
  EXPECT_LT(longest, 400ms) << "it was found by the look that comes anyway";
}

TEST_F(SqliteStreams, AWaitCostsNoProcessor) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("e", 10));
  Reading reading = read();
  reading.until(10);
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return std::chrono::seconds(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
           std::chrono::microseconds(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec);
  };
  const auto before = used();
  EXPECT_FALSE(reading.next(1s));
  EXPECT_LT(used() - before, 30ms);
}

TEST_F(SqliteStreams, DeletedRowsAreLossesWhereverTheyWere) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("e", 10));
  ASSERT_EQ(run("DELETE FROM events WHERE id IN (3, 4, 7, 10)"), SQLITE_OK);
  Reading reading = read();
  while (reading.position < 10) ASSERT_TRUE(reading.next());
  EXPECT_EQ(payloads(reading.events), (std::vector<std::string>{"e0", "e1", "e4", "e5", "e7", "e8"}));
  ASSERT_EQ(reading.losses.size(), 3U);
  EXPECT_EQ(reading.losses[0].first, 3U);
  EXPECT_EQ(reading.losses[0].last, 4U);
  EXPECT_EQ(reading.losses[1].count, 1U);
  EXPECT_EQ(reading.losses[2].first, 10U);
}

TEST_F(SqliteStreams, ABoundHoldsForOtherPrograms) {
  const auto stream = source::open_stream_writer(url(), true).value();
  ASSERT_TRUE(stream->set_limits({.events_max = 3, .at_bound = source::StreamLimits::AtBound::refuse}));
  EXPECT_EQ(run("INSERT INTO events(payload) VALUES(1), (2), (3)"), SQLITE_OK);
  EXPECT_EQ(run("INSERT INTO events(payload) VALUES(4)"), SQLITE_CONSTRAINT);
  EXPECT_EQ(code_of(stream->add({event_of("x")})), Errc::pool_full);
  ASSERT_TRUE(stream->set_limits({.events_max = 3, .at_bound = source::StreamLimits::AtBound::drop_oldest}));
  EXPECT_EQ(run("INSERT INTO events(payload) VALUES(4)"), SQLITE_OK);
  EXPECT_EQ(payloads(read(1).until(3)), (std::vector<std::string>{"2", "3", "4"}));
}

// Only the owner can open the files, under any umask.
TEST_F(SqliteStreams, FilesBelongToTheirOwner) {
  const mode_t before = umask(0);
  {
    const auto stream = source::open_stream_writer(url(), true).value();
    add(*stream, events_of("e", 1));
    read().until(1);
    for (const auto& entry : std::filesystem::directory_iterator(directory_.path())) {
      EXPECT_EQ(static_cast<int>(entry.status().permissions()), 0600) << entry.path();
    }
  }
  umask(before);
}

TEST_F(SqliteStreams, ARemovedStreamLeavesNoFiles) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("e", 1));
  ASSERT_TRUE(stream->remove());
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
  EXPECT_EQ(code_of(stream->add({event_of("x")})), Errc::no_such_key);
  EXPECT_TRUE(std::filesystem::is_empty(directory_.path()));
}

// Somebody deletes the files under a reader and a writer. Neither goes on in files that nobody else can see.
TEST_F(SqliteStreams, FilesThatAreDeletedAreNoticed) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("old", 3));
  Reading reading = read();
  reading.until(3);
  for (const char* suffix : {"", "-wal", "-shm", "-wake"}) std::filesystem::remove(file() + suffix);
  EXPECT_EQ(code_of(stream->add({event_of("x")})), Errc::no_such_key);
  EXPECT_FALSE(reading.next());
  const auto again = source::open_stream_writer(url(), true).value();
  add(*again, events_of("new", 2));
  while (reading.events.size() < 5 && (reading.next() || reading.error->code == Errc::no_such_key)) {
  }
  ASSERT_EQ(reading.events.size(), 5U);
  EXPECT_EQ(reading.changes, std::vector<Change>{Change::anew});
  // The writer goes on in the new file.
  EXPECT_EQ(add(*stream, {event_of("more")}).size(), 1U);
}

TEST_F(SqliteStreams, AFileOfAnotherProgramIsRefused) {
  ASSERT_EQ(run("CREATE TABLE t(x)"), SQLITE_OK);
  EXPECT_EQ(code_of(source::open_stream_writer(url(), true)), Errc::refused);
  EXPECT_EQ(code_of(source::open_source(url()).value()->ends("0")), Errc::refused);
}

// A stream is beside the pool's file, and wakes no member of it.
TEST_F(SqliteStreams, ThePoolsFileIsNotTouched) {
  const auto stream = source::open_stream_writer(url(), true).value();
  add(*stream, events_of("e", 3));
  EXPECT_FALSE(std::filesystem::exists(directory_.path() + "/tenure.db"));
  EXPECT_TRUE(std::filesystem::exists(file()));
}

}  // namespace
}  // namespace tenure::conformance
