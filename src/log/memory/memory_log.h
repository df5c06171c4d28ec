#pragma once

// The engine `memory:NAME`: a log within this process. All openers of NAME share one log. It is gone when the last
// handle is closed.

#include <memory>
#include <string_view>
#include <vector>

#include "log/finding.h"
#include "log/log.h"
#include "log/open.h"

namespace tenure {

Result<std::unique_ptr<Log>> open_memory_log(std::string_view name, const LogOptions& options);

std::vector<Finding> inspect_memory_log();

}  // namespace tenure
