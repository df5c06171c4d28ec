#pragma once

// Opens a log by URL. The scheme names the engine (engines.h).
//
//   memory:NAME          in this process only; every opener of NAME shares one log
//   sqlite:PATH[?sync=full|normal|off]   a file on this host, shared by processes (FULL by default)
//   redis://HOST[:PORT][/DB], rediss://, redis+sentinel://, redis+unix:   a server, shared by hosts (redis/settings.h)
//   kafka://HOST[:PORT], kafkas://   a cluster, shared by hosts (kafka/settings.h)

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "base/shard.h"
#include "log/log.h"

namespace tenure {

struct LogOptions {
  std::string pool = "default";  // each pool has a log of its own at the URL
  bool read_only = false;        // appends, snapshots and trims are refused; a missing log is not created
  bool create = true;            // false: opening fails with Errc::no_such_pool if there is no log
  // Which log of the pool. Opening fails if the count differs from the number of logs that the pool was created with. A
  // count of zero accepts any number, and creates a new pool with one log.
  Shard shard{};
  // Called on a thread of the engine with warnings: errors that people should know but that fail nothing. Must be
  // quick.
  std::function<void(const Error&)> warn{};
};

Result<std::unique_ptr<Log>> open_log(std::string_view url, const LogOptions& options);

// The log's file, if the log is a file on this host. All its openers on the host can share things beside it.
std::optional<std::string> log_file(std::string_view url, std::string_view pool, std::uint32_t shard = 0);

// The error text for an opener that expects another number of shards.
std::string other_count(std::uint32_t found, std::uint32_t wanted);

}  // namespace tenure
