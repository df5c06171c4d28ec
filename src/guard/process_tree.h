#pragma once

// What descends from a process: who it is, what it uses, and its end.

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

namespace tenure::guard {

// The children of a process, of all its threads. What is born or dies meanwhile may be missed.
std::vector<pid_t> children_of(pid_t process);

// Resident, of a process and all below it, in bytes; zero if it is gone.
std::uint64_t tree_memory(pid_t process);

// SIGKILL to every descendant of the calling process; `spared` children, and what is below them, are left alone.
// The caller must be a subreaper: whatever leaves its parent, its process group or its session then still hangs below
// the caller, and cannot hide. Returns how many were met. What is born meanwhile may escape one pass; a killed process
// has no further children, so that passes until nobody is met come to an end.
std::size_t kill_descendants(const std::set<pid_t>& spared = {});

}  // namespace tenure::guard
