#pragma once

// What is recorded of an order that was done: the result of its task.

#include <cstdint>
#include <optional>
#include <string>

#include "base/bytes.h"

namespace tenure::orders {

struct RunResult {
  std::string form{};  // command, container or handler
  int exit_code = 0;
  std::int64_t duration_ms = 0;
  Bytes output{};                  // its beginning
  std::uint64_t output_bytes = 0;  // there were
};

// {"form","exit_code","duration_ms","output","output_bytes"}; output that is no text is in "output_base64".
std::string to_json(const RunResult& result);
// Nothing if it is not such a result.
std::optional<RunResult> read_run_result(BytesView json);

}  // namespace tenure::orders
