#pragma once

// A thread sleeps on a word until another thread changes it. The waking thread needs only the address of the word: the
// sleeper may have returned meanwhile, and its stack may be gone. (A semaphore or a condition variable would be
// accessed after that.)

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenure {

using ParkWord = std::atomic<std::uint32_t>;
using SteadyTime = std::chrono::steady_clock::time_point;

// Sleeps while the word is zero, at most until the deadline. Returns the word.
std::uint32_t park(const ParkWord& word, SteadyTime deadline);

// Wakes the thread that sleeps on the word. Never reads the word.
void unpark(const ParkWord* word);

}  // namespace tenure
