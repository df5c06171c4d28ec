#pragma once

// How the hosts of programs divide the rest of a lease.

#include <algorithm>
#include <chrono>

#include "base/clock.h"

namespace tenure::exec {

// How long before the heart's own deadline the guard ends programs: enough time for the kernel.
inline Nanos guard_margin(Nanos lease) { return lease / 40; }
// How long a guard may take to end everything, before it is killed itself.
inline Nanos kill_patience(Nanos lease) { return std::max<Nanos>(lease / 40, std::chrono::milliseconds(20)); }
constexpr Nanos kGonePatience = std::chrono::seconds(2);
// The minimum time between two looks, before tasks, for what dead workers have left.
constexpr Nanos kSweepEvery = std::chrono::milliseconds(20);
// Time for the kernel to end killed processes, before the next look.
constexpr Nanos kNetPatience = std::chrono::milliseconds(100);

}  // namespace tenure::exec
