#include "guard/last_net.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "guard/process_tree.h"

namespace tenure::guard {
namespace {

std::set<pid_t> own_children() {
  const auto found = children_of(getpid());
  return {found.begin(), found.end()};
}

// Its owner reaps it.
bool is_zombie(pid_t child) {
  siginfo_t found{};
  return waitid(P_PID, static_cast<id_t>(child), &found, WEXITED | WNOHANG | WNOWAIT) == 0 && found.si_pid == child;
}

}  // namespace

LastNet::LastNet() : spared_(own_children()) { prctl(PR_SET_CHILD_SUBREAPER, 1); }

bool LastNet::sweep(pid_t guard) const {
  kill_descendants(spared_);
  bool empty = true;
  for (const pid_t child : children_of(getpid())) {
    if (spared_.contains(child)) continue;
    // When a child is a zombie, its descendants are already below this process, and may be missing in this list. Only a
    // list without children counts.
    if (child != guard) {
      waitpid(child, nullptr, WNOHANG);
      empty = false;
    } else if (!is_zombie(guard)) {
      empty = false;
    }
  }
  return empty;
}

}  // namespace tenure::guard
