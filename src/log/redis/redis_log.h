#pragma once

// The engines redis:, rediss:, redis+sentinel: and unix: (settings.h): a log as a stream in Redis 7, shared by
// processes on any number of hosts.

#include <memory>
#include <string_view>

#include "log/log.h"
#include "log/open.h"

namespace tenure {

// `url` is the whole URL, with its scheme. Waits for the server, but not long.
Result<std::unique_ptr<Log>> open_redis_log(std::string_view url, const LogOptions& options);

}  // namespace tenure
