#pragma once

// Base64, for bytes that are not UTF-8 in JSON.

#include <optional>

#include "base/bytes.h"

namespace tenure {

Bytes to_base64(BytesView bytes);
// Accepts input with or without padding. Nothing if the text is not base64.
std::optional<Bytes> from_base64(BytesView text);

}  // namespace tenure
