#pragma once

// A keeper stands between the guard and one program. It is a fork of the guard that runs no program itself. It is the
// program's parent and the subreaper of its tree, and ends when nothing of that tree is left:
//
//   worker ── guard ─┬─ keeper ── program ─┬─ …        processes that leave the program's group, session or parent
//                    └─ keeper ── program  └─ …        stay below its own keeper
//
// If the guard alone were subreaper, a process that left its parent would become the guard's child, and nobody could
// tell which program it came from: it would have to be left alive, or every program killed. With keepers the kernel
// keeps track.
//
// The guard sends signals to a keeper (its child, so its process id is certain). A keeper sends reports to the guard
// through a pipe that all keepers share.
//
// A program runs as the same user as its keeper, so it can stop or kill it. Three things follow:
//
//   - A keeper does not rely on the guard. It watches the lease by itself, and ends its tree when the lease passes or
//     when the guard dies.
//   - Both moments come as SIGCONT, from a kernel timer and from PR_SET_PDEATHSIG. SIGCONT also resumes a process that
//     was stopped, so a stopped keeper still acts in time.
//   - A keeper that is killed leaves its tree to the guard, which ends it (guard_process.h).

#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/descriptor.h"
#include "guard/message.h"

namespace tenure::guard {

constexpr int kStopSignal = SIGUSR2;  // to a keeper: SIGTERM to the program's group
constexpr int kEndSignal = SIGUSR1;   // to a keeper: end the tree

// Written in one call, and shorter than PIPE_BUF, so reports of several keepers do not mix.
struct KeeperReport {
  std::uint64_t number;
  std::int64_t value;  // as in the message of that kind
  std::int32_t step;
  MessageKind kind;  // started, refused or ended
};

struct KeeperTask {
  std::uint64_t number = 0;
  std::string folder;
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // all of it
  std::vector<Descriptor> standard;      // 0, 1 and 2
  std::function<bool()> may_run;         // called last before the program is executed
  // The end of the time in which the tree may run (CLOCK_BOOTTIME, ns). It moves while the program runs. Empty: no
  // limit.
  std::function<std::int64_t()> runs_until{};
};

// Runs in a fork of the guard, with the guard's signals blocked, and ends the process. `kept` stays open in it: the
// pipe for reports, and what tells others that this tree is not gone yet.
[[noreturn]] void keep(KeeperTask task, pid_t guard, int reports, const std::vector<int>& kept);

// Closes all descriptors but 0, 1, 2 and these.
void close_all_but(std::vector<int> kept);

}  // namespace tenure::guard
