#pragma once

// Bytes as text: how bytes that are not UTF-8 travel in JSON.

#include <optional>

#include "base/bytes.h"

namespace tenure {

Bytes to_base64(BytesView bytes);
// With or without padding at the end; nothing for what is no base64.
std::optional<Bytes> from_base64(BytesView text);

}  // namespace tenure
