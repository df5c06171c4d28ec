#pragma once

// A shield stands between the guard and one keeper, and takes the guard's place for a program that may have killed a
// guard. A program that kills the guard above its keeper then kills its shield. The others go on, and the guard knows
// which program it was:
//
//   worker ── guard ─┬─ shield ── keeper ── program
//                    └─ shield ── keeper ── program
//
// It passes the guard's signals on to the keeper, and ends when the keeper's tree is gone. To the guard its process is
// the program's keeper.

#include <sys/types.h>

#include <vector>

#include "guard/keeper.h"

namespace tenure::guard {

// As keep(), which runs in a fork of the shield.
[[noreturn]] void shield(KeeperTask task, pid_t guard, int reports, const std::vector<int>& kept);

}  // namespace tenure::guard
