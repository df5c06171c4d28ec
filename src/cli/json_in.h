#pragma once

// The lines of `dispatch --from`. The only file here that knows the JSON library is json_in.cc: it is slow to compile.

#include <string_view>

#include "base/result.h"
#include "node/request.h"

namespace tenure::cli {

// {"key":…,"payload":…} or payload_base64, with "task", "delay_ms" and "max_attempts" where a line differs from the
// flags. Fills in what the line says.
Status read_job_line(std::string_view line, Request& into);

}  // namespace tenure::cli
