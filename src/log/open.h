#pragma once

// Opens a log by URL. The scheme names the engine (engines.h).
//
//   memory:NAME          in this process only; every opener of NAME shares one log
//   sqlite:PATH[?sync=full|normal|off]   a file on this host, shared by processes (FULL by default)
//   redis://HOST[:PORT][/DB], rediss://, redis+sentinel://, redis+unix:   a server, shared by hosts (redis/settings.h)

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/shard.h"
#include "log/log.h"

namespace tenure {

struct LogOptions {
  std::string pool = "default";  // an opener with another pool name than the log's is refused; on Redis each pool
                                 // has a log of its own
  bool read_only = false;        // appends, snapshots and trims are refused; a missing log is not created
  // Which log of the pool's. The pool has as many as it was created with, and an opener that believes otherwise is
  // refused; a count of zero takes what there is, and one for a pool that is created here.
  Shard shard{};
  // Told, on a thread of the engine's, of what people should know though nothing fails of it. Must be quick.
  std::function<void(const Error&)> warn{};
};

Result<std::unique_ptr<Log>> open_log(std::string_view url, const LogOptions& options);

// The file that the log is, where it is one on this host: what all its openers on the host can meet at.
std::optional<std::string> log_file(std::string_view url, std::uint32_t shard = 0);

// What an engine tells an opener that believes in another number of shards.
std::string other_count(std::uint32_t found, std::uint32_t wanted);

}  // namespace tenure
