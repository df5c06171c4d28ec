#pragma once

// Translates SQLite's and the system's error codes into errors of a pool, with a hint at what to do.

#include <string>
#include <string_view>

#include "base/result.h"

struct sqlite3;

namespace tenure::sqlite {

// The last error of `db`. `operation` is ours ("append"), `path` the database's.
Error last_error(sqlite3* db, std::string_view operation, const std::string& path);

// Like last_error, for a failed COMMIT. The code is Errc::unknown unless it is certain that nothing was committed.
Error commit_error(sqlite3* db, std::string_view operation, const std::string& path);

// The error of a failed system call on a file of the pool.
Error system_error(int error_number, std::string_view operation, const std::string& path);

}  // namespace tenure::sqlite
