#pragma once

// If a program kills its keeper and its guard, the processes that it leaves behind become children of the worker, if
// the worker is a subreaper. The worker ends them before it reports its tenures as released.
//
// For processes whose only children are guards: everything else that appears below them is killed.

#include <sys/types.h>

#include <set>

namespace tenure::guard {

// Thread-safe.
class LastNet {
 public:
  // Makes this process a subreaper. Existing children are left alone.
  LastNet();

  // Kills everything below this process, and reaps everything but `guard`. True once nothing is left. For use when the
  // guard is dead; until then the guard does it.
  bool sweep(pid_t guard) const;

 private:
  const std::set<pid_t> spared_;
};

}  // namespace tenure::guard
