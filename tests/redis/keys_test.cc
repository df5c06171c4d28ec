// What other programs, or people, can do to a pool's keys, and how the engine reports it.

#include "log/redis/entry_id.h"
#include "redis/place.h"

namespace tenure::conformance {
namespace {

class RedisKeys : public testing::Test {
 protected:
  std::unique_ptr<Log> open() const { return open_at(server_.url()); }
  Error error_of_open() const {
    const auto log = try_open(server_.url());
    EXPECT_FALSE(log);
    return log ? Error{} : log.error();
  }
  std::string command(const std::vector<std::string>& words) const { return server_.command(words); }

  const RedisServer server_;
};

TEST_F(RedisKeys, AnotherKindOfValueUnderTheNameIsRefusedAndLeftAsItWas) {
  command({"SET", kMetaKey, "theirs"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
  EXPECT_EQ(command({"GET", kMetaKey}), "theirs");
  EXPECT_EQ(command({"DBSIZE"}), "1");
}

TEST_F(RedisKeys, AnotherKindOfValueInPlaceOfTheStreamIsRefused) {
  const auto log = open();
  const Entry first = put(*log, "x");
  command({"SET", log_key(server_), "theirs"});
  EXPECT_EQ(code_of(append(*log, "y")), Errc::refused);
  EXPECT_EQ(code_of(read(*log, Cursor::at(first))), Errc::refused);
  EXPECT_EQ(error_of_open().code, Errc::refused);
  EXPECT_EQ(command({"GET", log_key(server_)}), "theirs");
}

TEST_F(RedisKeys, AStreamOfAnotherProgramInPlaceOfOursIsLostHistory) {
  const auto log = open();
  const Entry first = put(*log, "x");
  const std::string key = log_key(server_);
  command({"DEL", key});
  command({"XADD", key, "*", "their", "entry"});
  EXPECT_EQ(code_of(read(*log, Cursor::at(first))), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "y")), Errc::lost_history);
  EXPECT_EQ(error_of_open().code, Errc::refused);
  EXPECT_EQ(command({"XLEN", key}), "1");
}

TEST_F(RedisKeys, AHashOfAnotherProgramIsRefused) {
  command({"HSET", kMetaKey, "their", "field"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
}

TEST_F(RedisKeys, ARenamedPoolIsRefusedByItsName) {
  {
    ASSERT_TRUE(append(*open(), "x"));
  }
  command({"RENAME", kMetaKey, "tenure:{other}:meta"});
  const auto other = try_open(server_.url(), "other");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::refused);
  EXPECT_NE(other.error().context.find("'default'"), std::string::npos) << other.error().message();
}

TEST_F(RedisKeys, AnotherFormatIsRefusedByItsVersion) {
  {
    ASSERT_TRUE(append(*open(), "x"));
  }
  for (const std::string format : {"2", "4"}) {
    command({"HSET", kMetaKey, "format", format});
    EXPECT_EQ(error_of_open().code, Errc::version);
  }
}

TEST_F(RedisKeys, AnEntryOfAnotherProgramIsCorruptToReaders) {
  const auto log = open();
  const Entry first = put(*log, "x");
  command({"XADD", log_key(server_), "*", "their", "entry"});
  EXPECT_EQ(code_of(read(*log, Cursor::at(first))), Errc::corrupt);
  EXPECT_EQ(error_of_open().code, Errc::refused);
}

// The ids of what is there do not show it; the server remembers.
TEST_F(RedisKeys, AHoleIsCorruptToThoseWhoOpenTheLog) {
  const auto log = open();
  const Entry first = put(*log, "0");
  const Entry second = put(*log, "1", Cursor::at(first));
  const Entry third = put(*log, "2", Cursor::at(second));
  command({"XDEL", log_key(server_), redis::id_of(second.position)});
  EXPECT_EQ(error_of_open().code, Errc::corrupt);
  ASSERT_TRUE(append(*log, "3"));  // a reader of that entry continues
  EXPECT_EQ(code_of(read(*log, {})), Errc::lost_history);
}

// The connection does not break, but the stream has fewer entries than its reader has seen. New entries are read at
// once; with the next read the reader gets the error.
TEST_F(RedisKeys, AnOlderCopyOfTheStreamIsNoticedUnderALivingConnection) {
  const auto log = open();
  const Entry kept = put(*log, "kept");
  const std::string key = log_key(server_);
  command({"COPY", key, "copy"});
  const Entry lost = put(*log, "lost", Cursor::at(kept));
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(lost), waiting.callback());
  command({"COPY", "copy", key, "REPLACE"});
  const auto other = open();
  ASSERT_TRUE(append(*other, "by another"));
  auto run = waiting.get();
  if (run)
    run = read(*log, Cursor::at(run->back()));
  else
    EXPECT_EQ(code_of(run), Errc::lost_history);
  while (run) run = read(*log, Cursor::at(run->back()));
  EXPECT_EQ(code_of(run), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "too early")), Errc::lost_history);
}

// A clock that was set back by an hour, and many entries since: the count must not run over.
TEST_F(RedisKeys, TheCountBehindAMillisecondDoesNotRunOver) {
  const auto log = open();
  const Entry first = put(*log, "x");
  constexpr Position kHalf = Position{1} << 21;
  const std::int64_t later_ms = first.time_ms + 3'600'000;
  command({"XSETID", log_key(server_), std::to_string(later_ms) + "-" + std::to_string(kHalf - 2)});
  const Entry below = put(*log, "below", Cursor::at(first));
  EXPECT_EQ(below.time_ms, later_ms);
  const Entry half = put(*log, "half", Cursor::at(below));
  EXPECT_EQ(half.time_ms, later_ms);
  const Entry next = put(*log, "next", Cursor::at(half));
  EXPECT_EQ(next.time_ms, later_ms + 1);
  EXPECT_GT(next.position, half.position);
  EXPECT_EQ(put(*log, "on", Cursor::at(next)).time_ms, later_ms + 1);
}

// Nobody's cursor is left, and no snapshot covers what is gone.
TEST_F(RedisKeys, AStreamThatAnotherProgramTrimmedIsCorruptToThoseWhoNeedItsBeginning) {
  const auto log = open();
  const Entry first = put(*log, "0");
  const Entry second = put(*log, "1", Cursor::at(first));
  command({"XTRIM", log_key(server_), "MAXLEN", "1"});
  EXPECT_EQ(error_of_open().code, Errc::corrupt);
  // Readers of these entries cannot know any more whether they have read all.
  EXPECT_EQ(code_of(read(*log, Cursor::at(second))), Errc::lost_history);
}

TEST_F(RedisKeys, ADeletedStreamIsLostHistory) {
  const auto log = open();
  put(*log, "x");
  const auto other = open();  // has read nothing, but knows that there was something
  const std::string key = log_key(server_);
  command({"DEL", key});
  for (Log* handle : {log.get(), other.get()}) {
    EXPECT_EQ(code_of(append(*handle, "y")), Errc::lost_history);
    EXPECT_TRUE(load_snapshot(*handle));
  }
  EXPECT_EQ(command({"EXISTS", key}), "0");
  EXPECT_TRUE(append(*log, "anew"));
  EXPECT_EQ(command({"XLEN", log_key(server_)}), "1");
}

TEST_F(RedisKeys, ADeletedStreamThatASnapshotStandsOnIsCorrupt) {
  const auto log = open();
  const Entry first = put(*log, "x");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  command({"DEL", log_key(server_)});
  EXPECT_EQ(code_of(append(*log, "y")), Errc::lost_history);
  EXPECT_EQ(code_of(load_snapshot(*log)), Errc::corrupt);
  EXPECT_EQ(error_of_open().code, Errc::corrupt);
}

// The reader waits for an entry that will never come, and nothing wakes it but its own doubt.
TEST_F(RedisKeys, AFlushedDatabaseIsLostHistoryToAWaitingReader) {
  const auto log = open();
  const Entry first = put(*log, "x");
  Answer<Result<std::vector<Entry>>> waiting;
  log->read(Cursor::at(first), waiting.callback());
  command({"FLUSHALL"});
  EXPECT_EQ(code_of(waiting.get()), Errc::lost_history);
  EXPECT_EQ(code_of(append(*log, "y")), Errc::lost_history);
}

// Also for a handle that has not read anything, and when another handle has created the log again meanwhile.
TEST_F(RedisKeys, AFlushedDatabaseTakesNoAppendOfThoseWhoKnewIt) {
  const auto one = open();
  const auto other = open();
  ASSERT_TRUE(append(*one, "x"));
  command({"FLUSHALL"});
  const auto newcomer = open();
  ASSERT_TRUE(append(*newcomer, "new"));
  for (const Lane lane : {Lane::data, Lane::beat}) EXPECT_EQ(code_of(append(*one, "y", lane)), Errc::lost_history);
  EXPECT_EQ(code_of(append(*other, "y", Lane::beat)), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*one));
  ASSERT_TRUE(append(*one, "again"));
  Cursor cursor;
  const auto run = read_on(*one, cursor, 2);
  ASSERT_TRUE(run) << run.error().message();
  EXPECT_EQ(run->at(0).data, "new");
  EXPECT_EQ(run->at(1).data, "again");
}

// But for a note that it was removed on purpose, which expires. Members that were cut off rely on it.
TEST_F(RedisKeys, ARemovedPoolLeavesNothingBehind) {
  const auto log = open();
  const Entry first = put(*log, "x");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(command({"KEYS", "*"}), "tenure:{default}:removed");
  EXPECT_GT(std::stoi(command({"TTL", "tenure:{default}:removed"})), 0);
}

TEST_F(RedisKeys, OldSnapshotsGo) {
  const auto log = open();
  Entry entry = put(*log, "x");
  for (int i = 0; i < 5; ++i) {
    entry = put(*log, "x", Cursor::at(entry));
    ASSERT_TRUE(store_snapshot(*log, Cursor::at(entry), {"state", "more"}));
  }
  const std::string keys = command({"KEYS", "tenure:{default}:snapshot:*"});
  EXPECT_EQ(std::count(keys.begin(), keys.end(), ' '), 1) << keys;  // the newest, and the one before it
  EXPECT_EQ(command({"PTTL", keys.substr(0, keys.find(' '))}), "-1");
  ASSERT_TRUE(store_snapshot(*log, {1, 1}, {"older"}));
  EXPECT_EQ(command({"KEYS", "tenure:{default}:snapshot:*"}), keys);
}

TEST_F(RedisKeys, ATrimLeavesNoMoreThanItShould) {
  const auto log = open();
  std::vector<Answer<Result<Position>>> answers(6000);
  for (auto& answer : answers) log->append(Lane::data, "x", answer.callback());
  for (auto& answer : answers) ASSERT_TRUE(answer.get());
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 6000);
  ASSERT_TRUE(entries) << entries.error().message();
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(entries->at(5989)), {"state"}));
  ASSERT_TRUE(trim(*log, UINT64_MAX));
  EXPECT_EQ(command({"XLEN", log_key(server_)}), "11");
}

// Names that could reach another pool's keys, or end the hash tag.
TEST_F(RedisKeys, EveryNameHasKeysOfItsOwn) {
  for (const std::string pool : {"a}b", "*", "a b", "{", "}", "ü", "a:log"}) {
    const auto log = try_open(server_.url(), pool);
    ASSERT_TRUE(log) << log.error().message();
    ASSERT_TRUE(append(**log, pool));
    const auto run = read(**log, {});
    ASSERT_TRUE(run) << run.error().message();
    EXPECT_EQ(run->front().data, pool);
  }
}

}  // namespace
}  // namespace tenure::conformance
