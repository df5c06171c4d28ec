#pragma once

// Opens a log by URL. The engine is chosen by the scheme; each engine is a build option.
//
//   memory:NAME          in this process only; every opener of NAME shares one log
//   sqlite:PATH[?sync=full|normal|off]   a file on this host, shared by processes (FULL by default)
//   redis://HOST[:PORT][/DB], rediss://, redis+sentinel://, redis+unix:   a server, shared by hosts (redis/settings.h)

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "log/log.h"

namespace tenure {

struct LogOptions {
  std::string pool = "default";  // an opener with another pool name than the log's is refused; on Redis each pool
                                 // has a log of its own
  bool read_only = false;        // appends, snapshots and trims are refused; a missing log is not created
};

Result<std::unique_ptr<Log>> open_log(std::string_view url, const LogOptions& options);

// The file that the log is, where it is one on this host: what all its openers on the host can meet at.
std::optional<std::string> log_file(std::string_view url);

}  // namespace tenure
