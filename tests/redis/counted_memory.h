#pragma once

// Counts what a test program has from `new`. A program that links counted_memory.cc has its operators replaced.

#include <cstddef>

namespace tenure::test {

// In bytes, of all threads.
std::size_t memory_in_use();
// The most that was in use since forget_peak().
std::size_t memory_peak();
void forget_peak();

}  // namespace tenure::test
