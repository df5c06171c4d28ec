// How entries share a row.

#include <gtest/gtest.h>

#include "log/sqlite/entry_run.h"
#include "log_conformance/sqlite_place.h"

namespace tenure::conformance {
namespace {

TEST(SqliteRun, ComesApartAsItWasPacked) {
  sqlite::RunPacker packer;
  const std::vector<Bytes> entries = {"one", "", Bytes(70'000, 'x'), Bytes("\0\xff", 2)};
  for (const Bytes& entry : entries) packer.add(entry);
  EXPECT_EQ(packer.count(), 4);
  const Bytes data(packer.pack());
  EXPECT_EQ(packer.count(), 0);
  const auto apart = sqlite::unpack_run(data, 4);
  ASSERT_TRUE(apart);
  EXPECT_EQ(std::vector<Bytes>(apart->begin(), apart->end()), entries);
}

// Cut off anywhere, or said to be more or fewer than they are: never taken for entries, and never read beyond the end.
TEST(SqliteRun, WhatIsDamagedDoesNotComeApart) {
  sqlite::RunPacker packer;
  for (const char* entry : {"one", "two", "three"}) packer.add(entry);
  const Bytes data(packer.pack());
  for (std::size_t size = 0; size < data.size(); ++size) {
    EXPECT_FALSE(sqlite::unpack_run(data.substr(0, size), 3)) << size;
  }
  EXPECT_FALSE(sqlite::unpack_run(data + "x", 3));
  for (const std::int64_t count : {-1LL, 0LL, 1LL, 2LL, 4LL, 1LL << 62}) {
    EXPECT_FALSE(sqlite::unpack_run(data, count)) << count;
  }
}

class SqliteRuns : public SqliteFile {};

TEST_F(SqliteRuns, ADamagedOneIsCorruptToTheReader) {
  make_pool(3);
  tamper("UPDATE runs SET count=count+1 WHERE first=2");
  const auto log = open();
  EXPECT_EQ(code_of(read(*log, {})), Errc::corrupt);
}

TEST_F(SqliteRuns, AnOlderFormatIsRefusedByItsVersion) {
  make_pool(1);
  tamper("PRAGMA user_version=1");
  EXPECT_EQ(code_of_open(), Errc::version);
}

}  // namespace
}  // namespace tenure::conformance
