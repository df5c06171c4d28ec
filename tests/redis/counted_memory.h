#pragma once

// Counts the memory that a test program allocates with `new`. Linking counted_memory.cc replaces the operators.

#include <cstddef>

namespace tenure::test {

// In bytes, of all threads.
std::size_t memory_in_use();
// The most that was in use since forget_peak().
std::size_t memory_peak();
void forget_peak();

}  // namespace tenure::test
