#pragma once

// A thread sleeps on a word until somebody changes it. The one who wakes it up needs the word's address and not the
// word: the sleeper may have returned meanwhile, and its stack with it. (A semaphore or a condition variable would be
// touched after that.)

#include <atomic>
#include <chrono>
#include <cstdint>

namespace tenure {

using ParkWord = std::atomic<std::uint32_t>;
using SteadyTime = std::chrono::steady_clock::time_point;

// Now and so long; kNever if that is beyond what the clock can say.
SteadyTime deadline_after(std::chrono::nanoseconds timeout);

// Sleeps while the word is zero, until the deadline at most. Gives the word.
std::uint32_t park(const ParkWord& word, SteadyTime deadline);

// Wakes who sleeps on the word. Never reads it.
void unpark(const ParkWord* word);

}  // namespace tenure
