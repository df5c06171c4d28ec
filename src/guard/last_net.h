#pragma once

// What a program leaves behind when it kills its keeper and its guard hangs below the worker then, if the worker is a
// subreaper. The worker ends it before it takes its tenures for released.
//
// For processes whose only children are guards: everything else that appears below them is killed.

#include <sys/types.h>

#include <set>

namespace tenure::guard {

// Thread-safe.
class LastNet {
 public:
  // Makes this process a subreaper. Children that it has already are left alone.
  LastNet();

  // Kills what hangs below this process, and reaps all but `guard`. True once nobody is left. For when the guard is
  // dead: until then it is the guard's to do.
  bool sweep(pid_t guard) const;

 private:
  const std::set<pid_t> spared_;
};

}  // namespace tenure::guard
