// Access rights of a pool's files: only their owner, or a group that the URL names, under any umask. Another user's
// lock stops nobody.

#include <fcntl.h>
#include <grp.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <map>

#include "log_conformance/child.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

namespace fs = std::filesystem;

constexpr const char* kNobody = "65534";

class SqliteRights : public SqliteFile {
 protected:
  SqliteRights() : umask_(umask(0)) {}
  ~SqliteRights() override { umask(umask_); }

  // Of each of the pool's files while the pool is in use.
  std::map<std::string, mode_t> modes() const {
    std::map<std::string, mode_t> found;
    for (const auto& file : fs::directory_iterator(directory())) {
      struct stat facts{};
      EXPECT_EQ(stat(file.path().c_str(), &facts), 0);
      found[file.path().filename().string()] = facts.st_mode & 07777;
    }
    return found;
  }
  static std::map<std::string, mode_t> all(mode_t mode) {
    return {{"pool.db", mode}, {"pool.db-wal", mode}, {"pool.db-shm", mode}, {"pool.db-wake", mode}};
  }
  // What another user who opens the pool is told.
  std::string answer_to(const char* user, const std::string& options = "") const {
    Child child(TENURE_SQLITE_ACTOR, {"open-as", user, "sqlite:" + path() + options});
    return child.line().value_or("nothing");
  }

 private:
  const mode_t umask_;
};

TEST_F(SqliteRights, FilesAreTheirOwnersAloneWhateverTheUmask) {
  for (const mode_t mask : {0000U, 0022U, 0777U}) {
    umask(mask);
    {
      const auto log = open();
      ASSERT_TRUE(log);
      ASSERT_TRUE(append(*log, "x"));
      EXPECT_EQ(modes(), all(0600)) << "umask " << mask;
      ASSERT_TRUE(remove(*log));
    }
    umask(0);
  }
}

TEST_F(SqliteRights, AGroupThatTheUrlNamesMayUseThePool) {
  if (getuid() != 0) GTEST_SKIP() << "only root can give files to any group";
  const struct group* const entry = getgrgid(65534);
  if (entry == nullptr) GTEST_SKIP() << "this host has no group 65534";
  const std::string options = std::string("?group=") + entry->gr_name;
  umask(0077);
  fs::permissions(directory(), fs::perms(0770));
  ASSERT_EQ(chown(directory().c_str(), 0, 65534), 0);
  {
    const auto log = open(options);
    ASSERT_TRUE(log);
    ASSERT_TRUE(append(*log, "x"));
    EXPECT_EQ(modes(), all(0660));
    for (const auto& [name, mode] : modes()) {
      struct stat facts{};
      ASSERT_EQ(stat((directory() + "/" + name).c_str(), &facts), 0);
      EXPECT_EQ(facts.st_gid, 65534U) << name;
    }
    // Another user of the group opens the pool while the owner uses it.
    EXPECT_EQ(answer_to(kNobody, options), "ok ");
  }
  EXPECT_EQ(code_of(try_open("?group=no-such-group")), Errc::invalid);
}

TEST_F(SqliteRights, AnotherUserIsRefused) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  fs::permissions(directory(), fs::perms(0755));
  const auto log = open();
  ASSERT_TRUE(append(*log, "x"));
  EXPECT_TRUE(answer_to(kNobody).starts_with("refused ")) << answer_to(kNobody);
}

// The side file was open to all, as older programs made it, and somebody who opened it then holds its lock for ever.
TEST_F(SqliteRights, ALockOnASideFileThatWasReadableStopsNobody) {
  make_pool(1);
  const std::string wake = path() + "-wake";
  fs::permissions(wake, fs::perms(0644));
  const int theirs = ::open(wake.c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_GE(theirs, 0);
  ASSERT_EQ(flock(theirs, LOCK_EX), 0);
  const auto log = open();
  ASSERT_TRUE(log);
  EXPECT_TRUE(append(*log, "beat", Lane::beat));
  EXPECT_EQ(modes().at("pool.db-wake"), 0600U);
  close(theirs);
}

}  // namespace
}  // namespace tenure::conformance
