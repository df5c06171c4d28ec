#include "guard/guard_main.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>

#include "base/output.h"
#include "guard/guard_process.h"

namespace tenure::guard {
namespace {

bool started_by_a_worker() {
  for (const int number : {kGuardSocket, kGuardPage, kGuardWorker, kGuardLife}) {
    if (fcntl(number, F_SETFD, FD_CLOEXEC) != 0) return false;
  }
  struct stat socket{};
  return fstat(kGuardSocket, &socket) == 0 && S_ISSOCK(socket.st_mode);
}

// A signal to end (from a service manager, or Ctrl-C) is meant for the worker. The guard stays until the worker is
// done. All signals are blocked, so only SIGKILL and SIGSTOP from outside have an effect.
void quiet_signals() {
  ::signal(SIGPIPE, SIG_IGN);
  sigset_t all;
  sigfillset(&all);
  sigprocmask(SIG_SETMASK, &all, nullptr);
}

}  // namespace

int guard_main(ReportEndings report, bool apart) {
  if (!started_by_a_worker()) {
    warn_line("tenure-guard: only a worker starts this program");
    return 2;
  }
  auto page = LeasePage::adopt(Descriptor(kGuardPage));
  if (!page) {
    warn_line("tenure-guard: " + page.error().message());
    return 1;
  }
  if (apart) {
    const pid_t guard = fork();
    if (guard != 0) {
      page->end().guard = guard;
      _exit(guard > 0 ? 0 : 1);
    }
  }
  prctl(PR_SET_NAME, "tenure-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  // Programs of the same user cannot trace this process or its keepers (except with CAP_SYS_PTRACE). Keepers inherit it
  // by fork. A program does not: exec sets it back.
  prctl(PR_SET_DUMPABLE, 0);
  quiet_signals();
  GuardProcess guard(std::move(*page), report);
  return guard.run();
}

}  // namespace tenure::guard
