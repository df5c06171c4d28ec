#pragma once

// How many keys had to move between two settled moments of a pool. Pure.

#include <cstdint>
#include <map>
#include <string>

namespace tenure::demo {

// Who held which key. Holders are sessions, not names: a worker that was fenced and came back has lost its keys once.
using Holders = std::map<std::string, std::uint64_t>;

// A key had to move if its holder is gone, or if its new holder is one that came. A key that went from one survivor
// to another need not have moved, whatever the assignment thought: it counts for nothing here.
std::uint64_t moves_needed(const Holders& before, const Holders& after);

}  // namespace tenure::demo
