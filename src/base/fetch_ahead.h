#pragma once

// Prefetches objects that are scattered in memory, during other work.

#include <cstddef>

namespace tenure {

// Prefetches these bytes for writing. Any address is allowed.
inline void fetch_ahead(const void* object, std::size_t bytes) {
  constexpr std::size_t kCacheLineBytes = 64;
  const char* const begin = static_cast<const char*>(object);
  for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(begin + at, 1);
  if (bytes != 0) __builtin_prefetch(begin + bytes - 1, 1);
}

}  // namespace tenure
