// What another program, or a person, can do to a pool's keys; and what the engine says then.

#include "log_conformance/redis_place.h"

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
  command({"SET", kLogKey, "theirs"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
  EXPECT_EQ(command({"GET", kLogKey}), "theirs");
  EXPECT_EQ(command({"EXISTS", kMetaKey}), "0");
}

TEST_F(RedisKeys, AStreamOfAnotherProgramIsRefusedAndLeftAsItWas) {
  command({"XADD", kLogKey, "*", "their", "entry"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
  EXPECT_EQ(command({"XLEN", kLogKey}), "1");
}

TEST_F(RedisKeys, AnEmptyStreamOfAnotherProgramIsRefused) {
  command({"XGROUP", "CREATE", kLogKey, "theirs", "$", "MKSTREAM"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
}

TEST_F(RedisKeys, AHashOfAnotherProgramIsRefused) {
  command({"HSET", kMetaKey, "their", "field"});
  EXPECT_EQ(error_of_open().code, Errc::refused);
}

TEST_F(RedisKeys, ARenamedPoolIsRefusedByItsName) {
  {
    ASSERT_TRUE(append(*open(), "x"));
  }
  for (const std::string name : {"log", "meta"}) {
    command({"RENAME", "tenure:{default}:" + name, "tenure:{other}:" + name});
  }
  const auto other = try_open(server_.url(), "other");
  ASSERT_FALSE(other);
  EXPECT_EQ(other.error().code, Errc::refused);
  EXPECT_NE(other.error().context.find("'default'"), std::string::npos) << other.error().message();
}

TEST_F(RedisKeys, ANewerFormatIsRefusedByItsVersion) {
  {
    ASSERT_TRUE(append(*open(), "x"));
  }
  command({"HSET", kMetaKey, "format", "2"});
  EXPECT_EQ(error_of_open().code, Errc::version);
}

// Their ids follow the clock and lie far behind ours, so that nothing can be appended after them.
TEST_F(RedisKeys, AnEntryOfAnotherProgramIsCorruptToReadersAndAppenders) {
  const auto log = open();
  const Entry first = put(*log, "x");
  command({"XADD", kLogKey, "*", "their", "entry"});
  EXPECT_EQ(code_of(read(*log, Cursor::at(first))), Errc::corrupt);
  EXPECT_EQ(code_of(append(*log, "y")), Errc::corrupt);
}

TEST_F(RedisKeys, AHoleIsCorrupt) {
  const auto log = open();
  Entry entry = put(*log, "0");
  for (const char* data : {"1", "2"}) ASSERT_TRUE(append(*log, data));
  const std::string id = command({"XRANGE", kLogKey, "2", "2"});
  command({"XDEL", kLogKey, id.substr(0, id.find(' '))});
  EXPECT_EQ(code_of(read(*open(), {})), Errc{});  // what lies before it
  EXPECT_EQ(code_of(read(*log, Cursor::at(entry))), Errc::corrupt);
}

// Nobody's cursor is left, and no snapshot covers what is gone.
TEST_F(RedisKeys, AStreamThatAnotherProgramTrimmedIsCorruptToThoseWhoNeedItsBeginning) {
  const auto log = open();
  const Entry first = put(*log, "0");
  const Entry second = put(*log, "1", Cursor::at(first));
  command({"XTRIM", kLogKey, "MAXLEN", "1"});
  EXPECT_EQ(error_of_open().code, Errc::corrupt);
  ASSERT_TRUE(append(*log, "2"));  // whoever has applied it all goes on
  EXPECT_TRUE(read(*log, Cursor::at(second)));
}

TEST_F(RedisKeys, ADeletedStreamIsLostHistory) {
  const auto log = open();
  put(*log, "x");
  const auto other = open();  // has read nothing, but knows that there was something
  command({"DEL", kLogKey});
  for (Log* handle : {log.get(), other.get()}) {
    EXPECT_EQ(code_of(append(*handle, "y")), Errc::lost_history);
    EXPECT_TRUE(load_snapshot(*handle));
  }
  EXPECT_EQ(command({"EXISTS", kLogKey}), "0");
  EXPECT_TRUE(append(*log, "anew"));
}

TEST_F(RedisKeys, ADeletedStreamThatASnapshotStandsOnIsCorrupt) {
  const auto log = open();
  const Entry first = put(*log, "x");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  command({"DEL", kLogKey});
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

// Also to a handle that has not read anything, and also when another handle has created the log anew meanwhile.
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

TEST_F(RedisKeys, ARemovedPoolLeavesNothingBehind) {
  const auto log = open();
  const Entry first = put(*log, "x");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  ASSERT_TRUE(remove(*log));
  EXPECT_EQ(command({"KEYS", "*"}), "");
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
  EXPECT_EQ(command({"XLEN", kLogKey}), "11");
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
