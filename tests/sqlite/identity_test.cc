// A beat proves the log (log.h, promise 7). The database and the files beside it are removed, renamed, replaced,
// emptied or replaced by an older copy, under members that wait, beat, or are busy. Afterwards there is one log: either
// the member's beats are refused, or newcomers get the member's log. No process dies. Newcomers are separate processes,
// because the connections of one process share their open files.

#include <array>
#include <thread>

#include "log_conformance/child.h"
#include "log_conformance/member.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

enum class File : std::uint8_t { database, wal, shm, wake, all_beside, all };
enum class Deed : std::uint8_t { removed, renamed_away, replaced, emptied, older_copy, older_copy_in_place };

struct Case {
  File file;
  Deed deed;
  Life life;
  bool second = false;  // another pool came first, and has the file of the URL
};

std::string name_of(const testing::TestParamInfo<Case>& info) {
  static constexpr std::array<const char*, 6> kFiles{"database", "wal", "shm", "wake", "all_beside", "all"};
  static constexpr std::array<const char*, 6> kDeeds{"removed", "renamed_away", "replaced",
                                                     "emptied", "older_copy",   "older_copy_in_place"};
  return std::string(kFiles.at(static_cast<std::size_t>(info.param.file))) + "_" +
         kDeeds.at(static_cast<std::size_t>(info.param.deed)) + "_under_" + name_of(info.param.life) +
         (info.param.second ? "_of_a_second_pool" : "");
}

std::vector<Case> all_cases() {
  std::vector<Case> cases;
  for (const File file : {File::database, File::wal, File::shm, File::wake, File::all_beside, File::all}) {
    for (const Deed deed : {Deed::removed, Deed::renamed_away, Deed::replaced, Deed::emptied, Deed::older_copy,
                            Deed::older_copy_in_place}) {
      for (const Life life : {Life::idle, Life::beating, Life::busy}) cases.push_back({file, deed, life});
      cases.push_back({file, deed, Life::beating, true});
    }
  }
  return cases;
}

class SqliteIdentity : public SqliteFile, public testing::WithParamInterface<Case> {
 protected:
  void SetUp() override {
    if (!GetParam().second) return;
    auto log = open_log("sqlite:" + path(), {.pool = "first"});
    ASSERT_TRUE(log) << log.error().message();
    first_ = *std::move(log);
    ASSERT_TRUE(append(*first_, "of the first"));
  }
  void TearDown() override {
    if (!first_) return;
    EXPECT_TRUE(append(*first_, "still of the first")) << "the other pool was harmed";
  }

  std::vector<std::string> files() const {
    const std::string database = GetParam().second ? path() + "-pool-default.db" : path();
    switch (GetParam().file) {
      case File::database: return {database};
      case File::wal: return {database + "-wal"};
      case File::shm: return {database + "-shm"};
      case File::wake: return {database + "-wake"};
      case File::all_beside: return {database + "-wal", database + "-shm", database + "-wake"};
      case File::all: return {database, database + "-wal", database + "-shm", database + "-wake"};
    }
    return {};
  }

  // Not by C++'s streams or copy_file() on the path itself: a descriptor that this process closes takes SQLite's locks
  // with it. A program of its own does it, as it would be in life.
  static void run(const std::string& command) { ASSERT_EQ(std::system(command.c_str()), 0) << command; }

  void copy_for_later() const {
    for (const std::string& file : files()) run("cp " + file + " " + file + ".older");
  }

  void tamper() const {
    for (const std::string& file : files()) {
      switch (GetParam().deed) {
        case Deed::removed: run("rm " + file); break;
        case Deed::renamed_away: run("mv " + file + " " + file + ".away"); break;
        case Deed::replaced: run(": > " + file + ".new && mv " + file + ".new " + file); break;
        case Deed::emptied: run(": > " + file); break;
        case Deed::older_copy: run("mv " + file + ".older " + file); break;
        case Deed::older_copy_in_place: run("cp " + file + ".older " + file); break;
      }
    }
  }

  // What another process says that opens the log now: the code, or "ok" and then each entry that it reads.
  std::unique_ptr<Child> newcomer() const {
    return std::make_unique<Child>(TENURE_SQLITE_ACTOR, std::vector<std::string>{"join", "sqlite:" + path()});
  }

 private:
  std::unique_ptr<Log> first_;  // another pool at the same URL
};

bool finds(Child& newcomer, const std::string& data) {
  const auto deadline = std::chrono::steady_clock::now() + 2s;
  while (std::chrono::steady_clock::now() < deadline) {
    const auto line = newcomer.line();
    if (!line || *line == "read " + data) return line.has_value();
    if (!line->starts_with("read ")) return false;
  }
  return false;
}

TEST_P(SqliteIdentity, LeavesOneLog) {
  auto log = open("?sync=off");
  const Entry first = put(*log, "first");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  copy_for_later();
  const Entry last = put(*log, "last", Cursor::at(first));
  auto member = std::make_unique<Member>(std::move(log), Cursor::at(last), GetParam().life);
  ASSERT_TRUE(GetParam().life == Life::idle || soon(5s, [&] { return member->has_read("beat 2"); }));
  tamper();

  // A newcomer gets a log, or is refused. The member reads what a newcomer appends, or learns of the loss.
  const auto other = newcomer();
  const auto answer = other->line();
  ASSERT_TRUE(answer);
  if (*answer == "ok") {
    EXPECT_TRUE(soon(3s, [&] { return member->lost() || member->has_read("by the newcomer"); }))
        << "the newcomer got another log, and the member lives on in its own";
  }
  // As long as the member's beats are taken, newcomers get its log, or none.
  if (!append(member->log(), "proof", Lane::beat)) return;
  const auto last_one = newcomer();
  const auto opened = last_one->line();
  ASSERT_TRUE(opened);
  EXPECT_TRUE(*opened != "ok" || finds(*last_one, "proof")) << "a beat was taken by a log that newcomers do not get";
}

// The way back of a member that is alone: it loads, and is in the log that newcomers get. Or it is refused, with a word
// on what to do.
TEST_P(SqliteIdentity, AMemberAloneComesBackOrIsToldWhatToDo) {
  auto log = open("?sync=off");
  const Entry first = put(*log, "first");
  ASSERT_TRUE(store_snapshot(*log, Cursor::at(first), {"state"}));
  copy_for_later();
  ASSERT_TRUE(append(*log, "last"));
  tamper();
  if (append(*log, "beat", Lane::beat)) return;  // the wake file alone
  const auto snapshot = load_snapshot(*log);
  if (!snapshot) {
    EXPECT_TRUE(snapshot.error().code == Errc::refused || snapshot.error().code == Errc::corrupt)
        << snapshot.error().message();
    EXPECT_NE(snapshot.error().context.find("restore a backup"), std::string::npos) << snapshot.error().message();
    return;
  }
  ASSERT_TRUE(append(*log, "anew", Lane::beat));
  const auto other = newcomer();
  EXPECT_EQ(other->line(), "ok");
  EXPECT_TRUE(finds(*other, "anew"));
}

INSTANTIATE_TEST_SUITE_P(Files, SqliteIdentity, testing::ValuesIn(all_cases()), name_of);

using SqliteLoss = SqliteFile;

// Members lose nothing where only the WAL was taken away: they save what they have of it before anybody else comes.
TEST_F(SqliteLoss, ARemovedWalLosesNothing) {
  const auto log = open();
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(append(*log, "entry" + std::to_string(i)));
  fs::remove(path() + "-wal");
  EXPECT_EQ(code_of(append(*log, "beat", Lane::beat)), Errc::lost_history);
  const auto loaded = load_snapshot(*log);
  ASSERT_TRUE(loaded) << loaded.error().message();
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 100);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->back().data, "entry99");
}

// The wake file is created again under its users: appends continue, and readers are woken through the new one.
TEST_F(SqliteLoss, AWakeFileThatIsGoneIsMadeAnew) {
  const auto log = open();
  for (const char* command : {": > ", "rm ", "chmod 666 ", "head -c 100 /dev/urandom > "}) {
    ASSERT_EQ(std::system((command + path() + "-wake").c_str()), 0);
    ASSERT_TRUE(append(*log, "beat", Lane::beat)) << command;
    EXPECT_TRUE(fs::exists(path() + "-wake"));
  }
}

// An empty file where nothing tells of a pool is the beginning of one: somebody has made it for us.
TEST_F(SqliteLoss, AnEmptyFileWithoutAPastIsANewPool) {
  write_file("");
  EXPECT_TRUE(try_open());
}

TEST_F(SqliteLoss, AnEmptiedDatabaseIsNoNewPool) {
  make_pool();
  fs::resize_file(path(), 0);
  EXPECT_EQ(code_of_open(), Errc::refused);
  const auto refused = try_open();
  ASSERT_FALSE(refused);
  EXPECT_NE(refused.error().context.find("restore a backup"), std::string::npos);
  for (const char* part : {"", "-wal", "-shm", "-wake"}) fs::remove(path() + part);
  EXPECT_TRUE(try_open());
}

// The WAL of a pool that was killed belongs to its database, and not to the backup that was put in its place.
TEST_F(SqliteLoss, ABackupIsNotMixedWithTheWalOfWhatItReplaces) {
  make_pool(2);
  fs::copy_file(path(), directory() + "/backup.db");
  {
    Child killed(TENURE_ACTOR, {"sqlite:" + path(), "lose-answer", "never told"});
    EXPECT_EQ(killed.wait(), -SIGKILL);
  }
  ASSERT_GT(fs::file_size(path() + "-wal"), 0U);
  fs::rename(directory() + "/backup.db", path());
  const auto log = open();
  ASSERT_TRUE(append(*log, "after the restore"));
  Cursor cursor;
  const auto entries = read_on(*log, cursor, 3);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->back().data, "after the restore");
}

// A copy of all files is another pool, and has all that the first one had.
TEST_F(SqliteLoss, ACopyOfAllFilesHasWhatItsWalHas) {
  make_pool(2);
  {
    Child killed(TENURE_ACTOR, {"sqlite:" + path(), "lose-answer", "never told"});
    EXPECT_EQ(killed.wait(), -SIGKILL);
  }
  fs::create_directory(directory() + "/copy");
  for (const char* part : {"", "-wal", "-shm", "-wake"}) {
    fs::copy_file(path() + part, directory() + "/copy/pool.db" + part);
  }
  const auto copied = open_log("sqlite:" + directory() + "/copy/pool.db", {});
  ASSERT_TRUE(copied) << copied.error().message();
  Cursor cursor;
  const auto entries = read_on(**copied, cursor, 3);
  ASSERT_TRUE(entries) << entries.error().message();
  EXPECT_EQ(entries->back().data, "never told");
}

}  // namespace
}  // namespace tenure::conformance
