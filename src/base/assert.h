#pragma once

// ASSERT states what can only be false through a bug of ours. It stays on in release builds: a node whose
// invariant is broken must stop rather than go on and hand a key to two holders. It is never used for input,
// peers or disks; those fail with a Result.

namespace tenure {

[[noreturn]] void assert_failed(const char* expression, const char* file, int line);

}  // namespace tenure

#define ASSERT(expression)                                      \
  do {                                                          \
    if (!(expression)) [[unlikely]] {                           \
      ::tenure::assert_failed(#expression, __FILE__, __LINE__); \
    }                                                           \
  } while (false)
