#pragma once

// The engine `sqlite:PATH[?sync=full|normal|off]`: a log in one file of this host, shared by the handles of a process
// and by processes. Beside PATH lie SQLite's PATH-wal and PATH-shm, and PATH-wake (wake_file.h).
//
// To restore a backup, stop every process of the pool and remove PATH-wal and PATH-shm with the old PATH.

#include <memory>
#include <string_view>

#include "log/log.h"
#include "log/open.h"

namespace tenure {

Result<std::unique_ptr<Log>> open_sqlite_log(std::string_view location, const LogOptions& options);

}  // namespace tenure
