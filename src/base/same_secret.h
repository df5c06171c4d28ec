#pragma once

// Compares secrets in constant time.

#include "base/bytes.h"

namespace tenure {

inline bool same_secret(BytesView one, BytesView other) {
  unsigned char differs = one.size() == other.size() ? 0 : 1;
  for (std::size_t i = 0; i < one.size(); ++i) {
    const char against = other.empty() ? '\0' : other[i % other.size()];
    differs = static_cast<unsigned char>(differs | (one[i] ^ against));
  }
  return differs == 0;
}

}  // namespace tenure
