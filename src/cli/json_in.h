#pragma once

// Parses the lines of `dispatch --from`. Only json_in.cc includes the JSON library, because it is slow to compile.

#include <string_view>

#include "base/result.h"
#include "node/request.h"

namespace tenure::cli {

// A line is {"key":…,"payload":…} (or payload_base64), with "type", "task", "delay_ms" and "max_attempts" if they
// differ from the flags. Overwrites only the fields that the line has.
Status read_job_line(std::string_view line, Request& into);

}  // namespace tenure::cli
