// Several pools with one URL. Each has its own files, finds them again whatever becomes of the others, and there is one
// log for each name.

#include <algorithm>
#include <set>
#include <thread>

#include "log/sqlite/wake_file.h"
#include "log_conformance/child.h"
#include "log_conformance/member.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

class SqliteSharing : public SqliteFile {
 protected:
  std::unique_ptr<Log> open_pool(const std::string& name, Shard shard = {}) const {
    auto log = open_log("sqlite:" + path(), {.pool = name, .shard = shard});
    EXPECT_TRUE(log) << log.error().message();
    return log ? *std::move(log) : nullptr;
  }
  std::string own_path(const std::string& name) const { return path() + "-pool-" + name + ".db"; }
  std::vector<std::string> databases() const {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(directory())) {
      const std::string name = entry.path().filename().string();
      const bool beside = name.ends_with("-wal") || name.ends_with("-shm") || name.ends_with("-wake");
      if (!beside) names.push_back(name);
    }
    std::sort(names.begin(), names.end());
    return names;
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(directory()), fs::directory_iterator()));
  }
  static std::vector<Bytes> all(Log& log) {
    std::vector<Bytes> entries;
    const auto end = append(log, "the end");
    Cursor cursor;
    while (end && cursor.position < *end) {
      const auto run = read(log, cursor);
      if (!run) break;
      for (const Entry& entry : *run) entries.push_back(entry.data);
      cursor = Cursor::at(run->back());
    }
    if (!entries.empty()) entries.pop_back();
    return entries;
  }
  using Names = std::vector<std::string>;
  using Entries = std::vector<Bytes>;
};

TEST_F(SqliteSharing, EachPoolHasAFileThatCanBeRecognised) {
  const auto first = open_pool("orders");
  const auto second = open_pool("bills");
  ASSERT_TRUE(append(*first, "an order"));
  ASSERT_TRUE(append(*second, "a bill"));
  EXPECT_EQ(databases(), (Names{"pool.db", "pool.db-pool-bills.db"}));
  EXPECT_EQ(all(*open_pool("orders")), Entries{"an order"});
  EXPECT_EQ(all(*open_pool("bills")), Entries{"a bill"});
}

// No name can be that of a file beside another pool's, and none is too long.
TEST_F(SqliteSharing, AnyNameHasAFileOfItsOwn) {
  const Names names = {"a",
                       "a-wal",
                       "a.db-wal",
                       "a.db",
                       "../a",
                       "A",
                       "a/b",
                       "\xff\n",
                       std::string(255, 'x'),
                       std::string(254, 'x') + "y"};
  std::vector<std::unique_ptr<Log>> logs;
  for (const std::string& name : names) {
    logs.push_back(open_pool(name));
    ASSERT_TRUE(logs.back());
    ASSERT_TRUE(append(*logs.back(), name));
  }
  EXPECT_EQ(databases().size(), names.size());
  logs.clear();
  for (const std::string& name : names) EXPECT_EQ(all(*open_pool(name)), Entries{name});
}

TEST_F(SqliteSharing, ThePoolThatCameFirstCanGo) {
  const auto first = open_pool("first");
  const auto second = open_pool("second");
  ASSERT_TRUE(append(*second, "one"));
  ASSERT_TRUE(remove(*first));
  EXPECT_EQ(databases(), Names{"pool.db-pool-second.db"});
  ASSERT_TRUE(append(*second, "two"));
  EXPECT_EQ(all(*open_pool("second")), (Entries{"one", "two"}));
  // The name in the URL is free again, and the second pool stays where it is.
  const auto third = open_pool("third");
  ASSERT_TRUE(append(*third, "three"));
  EXPECT_EQ(databases(), (Names{"pool.db", "pool.db-pool-second.db"}));
  ASSERT_TRUE(append(*second, "four"));
  EXPECT_EQ(all(*open_pool("second")), (Entries{"one", "two", "the end", "four"}));
  ASSERT_TRUE(remove(*second));
  ASSERT_TRUE(remove(*third));
  EXPECT_EQ(files(), 0U) << "something is left";
}

TEST_F(SqliteSharing, ThePoolThatCameSecondCanGo) {
  const auto first = open_pool("first");
  auto second = open_pool("second");
  ASSERT_TRUE(append(*first, "one"));
  ASSERT_TRUE(remove(*second));
  EXPECT_EQ(databases(), Names{"pool.db"});
  ASSERT_TRUE(append(*first, "two"));
  second = open_pool("second");
  EXPECT_EQ(all(*second), Entries());
  EXPECT_EQ(all(*open_pool("first")), (Entries{"one", "two"}));
}

TEST_F(SqliteSharing, LookingForAPoolCreatesNone) {
  const auto first = open_pool("first");
  const std::size_t before = files();
  EXPECT_EQ(code_of(open_log("sqlite:" + path(), {.pool = "second", .create = false})), Errc::no_such_pool);
  EXPECT_EQ(code_of(open_log("sqlite:" + path(), {.pool = "second", .read_only = true})), Errc::no_such_pool);
  EXPECT_EQ(files(), before);
  const auto second = open_pool("second");
  ASSERT_TRUE(append(*second, "x"));
  EXPECT_TRUE(open_log("sqlite:" + path(), {.pool = "second", .create = false}));
  const auto reader = open_log("sqlite:" + path(), {.pool = "second", .read_only = true});
  ASSERT_TRUE(reader) << reader.error().message();
  EXPECT_TRUE(read(**reader, {}));
}

// The shards of a pool are together.
TEST_F(SqliteSharing, ShardsStayWithTheirPool) {
  const auto first = open_pool("first");
  std::vector<std::unique_ptr<Log>> shards;
  for (std::uint32_t index = 0; index < 3; ++index) shards.push_back(open_pool("second", {.index = index, .count = 3}));
  EXPECT_EQ(databases(), (Names{"pool.db", "pool.db-pool-second.db", "pool.db-pool-second.db-shard-1",
                                "pool.db-pool-second.db-shard-2"}));
  ASSERT_TRUE(remove(*first));
  ASSERT_TRUE(append(*shards[2], "x"));
  EXPECT_EQ(all(*open_pool("second", {.index = 2, .count = 3})), Entries{"x"});
}

// A newcomer would open the other file. So the members do not go on in this one.
TEST_F(SqliteSharing, AMemberSeesThatNewcomersGoElsewhere) {
  const auto log = open();
  ASSERT_TRUE(append(*log, "one"));
  ASSERT_EQ(std::system(("sqlite3 " + path() + " '.backup " + own_path("default") + "'").c_str()), 0);
  EXPECT_EQ(code_of(append(*log, "two", Lane::beat)), Errc::lost_history);
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "three", Lane::beat));
  Child newcomer(TENURE_SQLITE_ACTOR, {"join", "sqlite:" + path()});
  EXPECT_EQ(newcomer.line(), "ok");
  EXPECT_EQ(newcomer.line(), "read one");
  EXPECT_EQ(newcomer.line(), "read three");
}

// Its file was lost, and the one of the URL is free: its members and newcomers meet there.
TEST_F(SqliteSharing, AMemberWhoseFileIsLostMeetsTheNewcomers) {
  const auto first = open_pool("first");
  const auto log = open();
  ASSERT_TRUE(append(*log, "one"));
  ASSERT_TRUE(remove(*first));
  for (const char* part : {"", "-wal", "-shm", "-wake"}) fs::remove(own_path("default") + part);
  EXPECT_EQ(code_of(append(*log, "two", Lane::beat)), Errc::lost_history);
  Child newcomer(TENURE_SQLITE_ACTOR, {"join", "sqlite:" + path()});
  EXPECT_EQ(newcomer.line(), "ok");
  ASSERT_TRUE(load_snapshot(*log));
  ASSERT_TRUE(append(*log, "three", Lane::beat));
  EXPECT_EQ(newcomer.line(), "read by the newcomer");
  EXPECT_EQ(newcomer.line(), "read three");
  EXPECT_EQ(databases(), Names{"pool.db"});
}

// A process that was stopped while it wrote to one pool does not hold up the other.
TEST_F(SqliteSharing, AWriterThatHangsHoldsUpItsOwnPoolOnly) {
  const auto first = open_pool("first");
  const auto second = open_pool("second");
  for (const bool first_hangs : {true, false}) {
    Child hanging(TENURE_SQLITE_ACTOR, {"hold-turn", first_hangs ? path() : own_path("second")});
    ASSERT_EQ(hanging.line(), "held");
    EXPECT_TRUE(append(first_hangs ? *second : *first, "goes on"));
    EXPECT_TRUE(open_pool(first_hangs ? "second" : "first"));
  }
}

// An opener has seen that another pool is in its way, and that one goes before it creates a file of its own. Meanwhile
// somebody else has found the file of the URL free.
TEST_F(SqliteSharing, AnOpenerLooksAgainBeforeItCreatesAFile) {
  const auto first = open_pool("first");
  auto holder =
      std::make_unique<Child>(TENURE_SQLITE_ACTOR, std::vector<std::string>{"hold-turn", own_path("default")});
  ASSERT_EQ(holder->line(), "held");
  const auto wake = sqlite::WakeFile::open(path(), true);
  ASSERT_TRUE(wake);
  const sqlite::WakeWords& words = (*wake)->map()->words();
  const std::uint32_t turns = words.turns;
  Child late(TENURE_SQLITE_ACTOR, {"join", "sqlite:" + path()});
  ASSERT_TRUE(soon(5s, [&] { return words.turns != turns && words.holder_pid == 0; }));
  ASSERT_TRUE(remove(*first));
  const auto log = open();
  ASSERT_TRUE(append(*log, "one"));
  holder.reset();
  EXPECT_EQ(late.line(), "ok");
  EXPECT_EQ(late.line(), "read one");
  EXPECT_EQ(databases(), Names{"pool.db"});
}

// Processes open a pool while another one comes and goes at the same URL, so that now the one file is free and now the
// other. Whatever an opener was told to be in the log is in the log that the others get.
TEST_F(SqliteSharing, ThereIsOneLogForEachNameWhoeverComesAndGoes) {
  for (int round = 0; round < 12; ++round) {
    constexpr int kOpeners = 4;
    std::vector<std::unique_ptr<Child>> openers;
    for (int number = 0; number < kOpeners; ++number) {
      openers.push_back(std::make_unique<Child>(
          TENURE_ACTOR,
          std::vector<std::string>{"sqlite:" + path() + "?sync=off", "append", std::to_string(number), "20"}));
    }
    std::atomic<bool> over = false;
    std::thread others([&] {
      while (!over) {
        const auto log = open_log("sqlite:" + path() + "?sync=off", {.pool = "other"});
        if (log && append(**log, "x")) (void)remove(**log);
      }
    });
    for (const auto& opener : openers) EXPECT_EQ(opener->wait(), 0);
    over = true;
    others.join();
    const auto log = open("?sync=off");
    const Entries found = all(*log);
    const std::set<Bytes> once(found.begin(), found.end());
    EXPECT_EQ(found.size(), 20U * kOpeners) << "in round " << round;
    EXPECT_EQ(once.size(), 20U * kOpeners) << "in round " << round;
    ASSERT_TRUE(remove(*log));
    EXPECT_EQ(files(), 0U) << "something is left";
  }
}

}  // namespace
}  // namespace tenure::conformance
