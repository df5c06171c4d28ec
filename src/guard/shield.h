#pragma once

// A shield stands between the guard and one keeper, and takes the guard's place for a program that may have killed a
// guard. A program that kills the guard above its keeper then kills its own shield. The others continue, and the guard
// knows which program it was:
//
//   worker ── guard ─┬─ shield ── keeper ── program
//                    └─ shield ── keeper ── program
//
// It passes the guard's signals on to the keeper, and ends when the keeper's tree is gone. For the guard it looks like
// the program's keeper.

#include <sys/types.h>

#include <vector>

#include "guard/keeper.h"

namespace tenure::guard {

// Like keep(), which runs in a fork of the shield.
[[noreturn]] void shield(KeeperTask task, pid_t guard, int reports, const std::vector<int>& kept);

}  // namespace tenure::guard
