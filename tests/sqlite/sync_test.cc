// The `sync` option, observed in SQLite's system calls. This program defines fsync and fdatasync itself, in front of
// the C library's, and counts them.

#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>

#include "log_conformance/sqlite_place.h"

namespace {
std::atomic<int> syncs = 0;
}

extern "C" int fsync(int descriptor) {
  ++syncs;
  return static_cast<int>(syscall(SYS_fsync, descriptor));
}

extern "C" int fdatasync(int descriptor) {
  ++syncs;
  return static_cast<int>(syscall(SYS_fdatasync, descriptor));
}

namespace tenure::conformance {
namespace {

constexpr int kCommits = 10;

class SqliteSync : public SqliteFile {
 protected:
  // The syncs during some commits, one after the other. The first appends set the file up.
  static int syncs_of(Log& log) {
    EXPECT_TRUE(append(log, "x"));
    const int before = syncs;
    for (int i = 0; i < kCommits; ++i) EXPECT_TRUE(append(log, "x"));
    return syncs - before;
  }
};

TEST_F(SqliteSync, FullIsTheDefaultAndSyncsEveryCommit) { EXPECT_GE(syncs_of(*open()), kCommits); }

TEST_F(SqliteSync, NormalAndOffDoNotSyncCommits) {
  EXPECT_EQ(syncs_of(*open("?sync=normal")), 0);
  EXPECT_EQ(syncs_of(*open("?sync=off")), 0);
}

TEST_F(SqliteSync, TheStrictestOpenerOfAProcessDecides) {
  const auto lax = open("?sync=off");
  EXPECT_EQ(syncs_of(*lax), 0);
  const auto strict = open("?sync=full");
  EXPECT_GE(syncs_of(*lax), kCommits);
}

}  // namespace
}  // namespace tenure::conformance
