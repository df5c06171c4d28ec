#pragma once

// Whether bytes are text, and how those that are not travel in JSON.

#include <optional>

#include "base/bytes.h"

namespace tenure::exec {

bool is_utf8(BytesView bytes);
Bytes to_base64(BytesView bytes);
// With or without padding at the end; nothing for what is no base64.
std::optional<Bytes> from_base64(BytesView text);

}  // namespace tenure::exec
