#pragma once

// The engine `sqlite:PATH[?sync=full|normal|off]`: a log in one file on this host, shared by all handles and processes.
// SQLite's PATH-wal and PATH-shm are beside PATH, and so is PATH-wake (wake_file.h). Further pools with the same URL
// have files of their own beside it (whereabouts.h).
//
// To restore a backup, stop every process of the pool and remove PATH-wal and PATH-shm with the old PATH.

#include <memory>
#include <string_view>

#include "log/log.h"
#include "log/open.h"

namespace tenure {

Result<std::unique_ptr<Log>> open_sqlite_log(std::string_view location, const LogOptions& options);

}  // namespace tenure
