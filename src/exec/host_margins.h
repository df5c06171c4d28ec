#pragma once

// How the hosts of programs share out what is left of a lease.

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tenure::exec {

// How much before the heart's own deadline the guard ends what runs: enough for the kernel to have done it.
inline Nanos guard_margin(Nanos lease) { return lease / 40; }
// How long a guard that was told to end everything is waited for, before it is ended itself.
inline Nanos kill_patience(Nanos lease) { return std::max<Nanos>(lease / 40, std::chrono::milliseconds(20)); }
constexpr Nanos kGonePatience = std::chrono::seconds(2);
// How often, at most, it is looked before a task for what dead workers have left.
constexpr Nanos kSweepEvery = std::chrono::milliseconds(20);
// For the kernel to end what was killed, before it is looked at again.
constexpr Nanos kNetPatience = std::chrono::milliseconds(100);

}  // namespace tenure::exec
