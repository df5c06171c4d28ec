#include "log/sqlite/remove.h"

#include <unistd.h>

#include <cerrno>

#include "log/sqlite/errors.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

// The database goes first: after a crash in between, SQLite itself deletes a WAL without a database. The wake file goes
// last: an opener takes the write turn on it, and so waits until the rest is gone.
Result<bool> Remove::step(Connection& connection) {
  const std::string& path = connection.path();
  for (const std::string& file : {path, path + "-wal", path + "-shm", WakeFile::path_for(path)}) {
    if (unlink(file.c_str()) != 0 && errno != ENOENT) return Failure(system_error(errno, "remove", file));
  }
  return true;
}

}  // namespace tenure::sqlite
