// The errors for files, URLs and versions that a SQLite pool cannot use.

#include <unistd.h>

#include "log_conformance/child.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

using SqliteOpen = SqliteFile;

TEST_F(SqliteOpen, AFileThatIsNoDatabaseIsCorrupt) {
  write_file(std::string(10'000, 'x'));
  EXPECT_EQ(code_of_open(), Errc::corrupt);
}

TEST_F(SqliteOpen, ATruncatedDatabaseIsCorrupt) {
  make_pool();
  std::filesystem::resize_file(path(), std::filesystem::file_size(path()) / 2);
  EXPECT_EQ(code_of_open(), Errc::corrupt);
}

// The damage lies in the page of the entries: opening does not read all of the file, reading does.
TEST_F(SqliteOpen, ADamagedPageIsCorruptToTheReader) {
  {
    const auto log = open();
    for (int i = 0; i < 20; ++i) ASSERT_TRUE(append(*log, Bytes(3'000, 'x')));
  }
  std::fstream file(path(), std::ios::in | std::ios::out | std::ios::binary);
  constexpr std::size_t kPageBytes = 8192;
  for (const auto size = std::filesystem::file_size(path()); auto page : {8UL, 9UL, 10UL}) {
    ASSERT_LT(page * kPageBytes, size);
    file.seekp(static_cast<std::streamoff>(page * kPageBytes));
    file << std::string(kPageBytes, '\xff');
  }
  file.close();
  const auto log = open();
  EXPECT_EQ(code_of(read(*log, {})), Errc::corrupt);
}

TEST_F(SqliteOpen, ADatabaseOfAnotherProgramIsRefusedAndLeftAsItWas) {
  tamper("CREATE TABLE theirs(x)");
  EXPECT_EQ(code_of_open(), Errc::refused);
  EXPECT_FALSE(std::filesystem::exists(path() + "-wal"));
}

TEST_F(SqliteOpen, ANewerFormatIsRefusedByItsVersion) {
  make_pool();
  tamper("PRAGMA user_version=99");
  EXPECT_EQ(code_of_open(), Errc::version);
}

TEST_F(SqliteOpen, PlacesWhereNoFileCanBeAreRefused) {
  EXPECT_EQ(code_of(open_log("sqlite:" + directory(), {})), Errc::refused);
  EXPECT_EQ(code_of(open_log("sqlite:" + directory() + "/missing/pool.db", {})), Errc::refused);
  EXPECT_FALSE(std::filesystem::exists(directory() + "/missing"));
}

TEST_F(SqliteOpen, BadUrlsAreInvalid) {
  for (const std::string url : {"sqlite:", "sqlite:?sync=full", "pool.db", "nosuch:pool"}) {
    EXPECT_EQ(code_of(open_log(url, {})), Errc::invalid) << url;
  }
  for (const std::string options : {"?sync=maybe", "?sync", "?color=red", "?sync=full&x=1"}) {
    EXPECT_EQ(code_of(try_open(options)), Errc::invalid) << options;
  }
  EXPECT_FALSE(std::filesystem::exists(path()));
}

TEST_F(SqliteOpen, AReadOnlyOpenerDoesNotCreateAPool) {
  EXPECT_EQ(code_of(open_log("sqlite:" + path(), {.pool = "default", .read_only = true})), Errc::refused);
  EXPECT_TRUE(std::filesystem::is_empty(directory()));
}

// Permissions do not bind root, so another user tries.
TEST_F(SqliteOpen, AFileThatMayNotBeWrittenIsRefused) {
  if (getuid() != 0) GTEST_SKIP() << "only root can become another user";
  make_pool();
  std::filesystem::permissions(directory(), std::filesystem::perms(0777));
  std::filesystem::permissions(path(), std::filesystem::perms(0444));
  std::filesystem::permissions(path() + "-wake", std::filesystem::perms(0666));
  Child child(TENURE_SQLITE_ACTOR, {"open-as", "65534", "sqlite:" + path()});
  const auto line = child.line();
  ASSERT_TRUE(line);
  EXPECT_TRUE(line->starts_with("refused ")) << *line;
  EXPECT_NE(line->find("not writable"), std::string::npos) << *line;
}

// Two names of one file are one pool, with one writer.
TEST_F(SqliteOpen, ASymbolicLinkLeadsToTheSamePool) {
  const auto log = open();
  const std::string link = directory() + "/link.db";
  std::filesystem::create_symlink(path(), link);
  const auto other = open_log("sqlite:" + link, {});
  ASSERT_TRUE(other) << other.error().message();
  ASSERT_TRUE(append(**other, "x"));
  EXPECT_TRUE(read(*log, {}));
  EXPECT_FALSE(std::filesystem::exists(link + "-wake"));
}

}  // namespace
}  // namespace tenure::conformance
