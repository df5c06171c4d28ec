#pragma once

// The engine `memory:NAME`: a log within this process. Every opener of NAME shares one log for as long as any handle
// of it is open; it is gone with the last.

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
