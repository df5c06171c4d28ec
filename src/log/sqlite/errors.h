#pragma once

// What SQLite's and the system's error codes mean to a pool, and what a person can do about them: in one place.

#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;

namespace tenure::sqlite {

// The error that `db` reported last. `operation` is ours ("append"), `path` the database's.
Error last_error(sqlite3* db, std::string_view operation, const std::string& path);

// As last_error, for a failed COMMIT: unless it is certain that nothing was committed, the code is Errc::unknown.
Error commit_error(sqlite3* db, std::string_view operation, const std::string& path);

// A failed system call on a file of the pool.
Error system_error(int error_number, std::string_view operation, const std::string& path);

}  // namespace tenure::sqlite
