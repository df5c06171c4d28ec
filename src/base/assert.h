#pragma once

// ASSERT checks conditions that only a bug of ours can break. It stays on in release builds: a node with a broken
// invariant must stop before it gives a key to two holders. It is never used for input, peers or disks; those fail with
// a Result.

namespace tenure {

[[noreturn]] void assert_failed(const char* expression, const char* file, int line);

}  // namespace tenure

#define ASSERT(expression)                                      \
  do {                                                          \
    if (!(expression)) [[unlikely]] {                           \
      ::tenure::assert_failed(#expression, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
