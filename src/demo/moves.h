#pragma once

// Counts how many keys had to move between two settled moments of a pool. Pure.

#include <cstdint>
#include <map>
#include <string>

namespace tenure::demo {

// Holders are sessions, not names: a worker that was fenced and came back has lost its keys once.
using Holders = std::map<std::string, std::uint64_t>;

// A key had to move if its holder is gone, or if its new holder has joined. A key that went from one surviving worker
// to another did not have to move, whatever the assignment decided.
std::uint64_t moves_needed(const Holders& before, const Holders& after);

}  // namespace tenure::demo
