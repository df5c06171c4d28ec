#pragma once

// For a pass over many objects that lie scattered: what is needed soon is fetched from memory while something else is
// worked on.

#include <cstddef>

namespace tenure {

// All that lies in these bytes, to be written to. Any address will do.
inline void fetch_ahead(const void* object, std::size_t bytes) {
  constexpr std::size_t kCacheLineBytes = 64;
  const char* const begin = static_cast<const char*>(object);
  for (std::size_t at = 0; at < bytes; at += kCacheLineBytes) __builtin_prefetch(begin + at, 1);
  if (bytes != 0) __builtin_prefetch(begin + bytes - 1, 1);
}

}  // namespace tenure
