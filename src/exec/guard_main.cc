#include "exec/guard_main.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/stat.h>

#include <csignal>

#include "base/output.h"
#include "exec/guard_process.h"

namespace tenure::exec {
namespace {

bool started_by_a_worker() {
  for (const int number : {kGuardSocket, kGuardPage, kGuardWorker, kGuardLife}) {
    if (fcntl(number, F_SETFD, FD_CLOEXEC) != 0) return false;
  }
  struct stat socket{};
  return fstat(kGuardSocket, &socket) == 0 && S_ISSOCK(socket.st_mode);
}

// Who ends a service or presses Ctrl-C means the worker; the guard stays until the worker is done.
void quiet_signals() {
  for (const int number : {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGPIPE}) ::signal(number, SIG_IGN);
  sigset_t blocked;
  sigemptyset(&blocked);
  for (const int number : {SIGCHLD, kStopSignal, kEndSignal}) sigaddset(&blocked, number);
  sigprocmask(SIG_SETMASK, &blocked, nullptr);
}

}  // namespace

int guard_main() {
  if (!started_by_a_worker()) {
    warn_line("tenure-guard: is started by a worker, not by hand");
    return 2;
  }
  prctl(PR_SET_NAME, "tenure-guard");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  quiet_signals();
  auto page = LeasePage::adopt(Descriptor(kGuardPage));
  if (!page) {
    warn_line("tenure-guard: " + page.error().message());
    return 1;
  }
  GuardProcess guard(std::move(*page));
  return guard.run();
}

}  // namespace tenure::exec
