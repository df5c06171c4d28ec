#pragma once

// The descendants of a process: finds them, measures their memory, and ends them.

#include <sys/types.h>

#include <cstdint>
#include <set>
#include <vector>

namespace tenure::guard {

// The children of a process, of all its threads. May miss children that are born or die meanwhile.
std::vector<pid_t> children_of(pid_t process);

// Resident memory of a process and its descendants, in bytes. Zero if it is gone.
std::uint64_t tree_memory(pid_t process);

// Sends SIGKILL to every descendant of the calling process, except `spared` children and their descendants. The caller
// must be a subreaper: then processes that leave their parent, group or session stay below the caller and cannot hide.
// Returns how many it found. A process that is born meanwhile may escape one pass. Killed processes have no further
// children, so repeated passes end when none is found.
std::size_t kill_descendants(const std::set<pid_t>& spared = {});

}  // namespace tenure::guard
