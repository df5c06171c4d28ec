#pragma once

// A SQLite pool in its own directory, and a raw connection to tamper with its file.

#include <gtest/gtest.h>
#include <sqlite3.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "log/open.h"
#include "log_conformance/temporary_directory.h"
#include "log_conformance/waiting.h"

namespace tenure::conformance {

class SqliteFile : public testing::Test {
 protected:
  const std::string& directory() const { return directory_.path(); }
  std::string path() const { return directory_.path() + "/pool.db"; }

  Result<std::unique_ptr<Log>> try_open(const std::string& options = "") const {
    return open_log("sqlite:" + path() + options, {});
  }
  std::unique_ptr<Log> open(const std::string& options = "") const {
    auto log = try_open(options);
    EXPECT_TRUE(log) << log.error().message();
    return log ? std::move(*log) : nullptr;
  }

  // What opening says, as a code; the message must name the file.
  Errc code_of_open() const {
    const auto log = try_open();
    if (log) return Errc{};
    EXPECT_NE(log.error().context.find(path()), std::string::npos) << log.error().message();
    return log.error().code;
  }

  // As any other program would, without a word to the engine.
  void tamper(const std::string& sql) const {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open(path().c_str(), &db), SQLITE_OK);
    sqlite3_busy_timeout(db, 1000);
    EXPECT_EQ(sqlite3_exec(db, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK) << sqlite3_errmsg(db);
    sqlite3_close(db);
  }

  // Some entries, and everything closed again.
  void make_pool(int entries = 3) const {
    const auto log = open();
    for (int i = 0; i < entries; ++i) EXPECT_TRUE(append(*log, "entry" + std::to_string(i)));
  }

  void write_file(const std::string& content) const { std::ofstream(path(), std::ios::binary) << content; }

 private:
  const TemporaryDirectory directory_;
};

}  // namespace tenure::conformance
