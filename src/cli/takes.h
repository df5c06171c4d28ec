#pragma once

// What `work --takes` says: the kinds and types of jobs that the workers take.

#include <string_view>

#include "base/result.h"
#include "machine/takes.h"

namespace tenure::cli {

// "KIND[:TYPE],…", where KIND is resident, task or any. "task:" is tasks without a type.
Result<Takes> read_takes(std::string_view text);

}  // namespace tenure::cli
