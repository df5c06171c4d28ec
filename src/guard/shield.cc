#include "guard/shield.h"

#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>

#include "guard/process_tree.h"
#include "guard/wake_timer.h"

namespace tenure::guard {
namespace {

void end_keeper(pid_t keeper) {
  ::kill(keeper, kEndSignal);
  ::kill(keeper, SIGCONT);  // it may be stopped
}

struct Gone {
  bool gone = false;
  bool killed = false;
};
Gone reap(pid_t keeper) {
  Gone found;
  for (;;) {
    int status = 0;
    const pid_t child = waitpid(-1, &status, WNOHANG | WUNTRACED);
    if (child <= 0) return found;
    if (WIFSTOPPED(status)) {
      ::kill(child, SIGCONT);
    } else if (child == keeper) {
      found = {true, WIFSIGNALED(status)};
    }
  }
}

}  // namespace

void shield(KeeperTask task, pid_t guard, int reports, const std::vector<int>& kept) {
  // A program that looks for its guard, by name or among the processes of its session, finds its shield.
  prctl(PR_SET_NAME, "tenure-guard");
  setsid();
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, kWakeSignal);
  if (getppid() != guard) _exit(0);
  sigset_t heard;
  sigemptyset(&heard);
  for (const int number : {SIGCHLD, kStopSignal, kEndSignal, kWakeSignal}) sigaddset(&heard, number);
  const Descriptor signals(signalfd(-1, &heard, SFD_CLOEXEC));
  const pid_t own = getpid();
  const pid_t keeper = signals ? fork() : -1;
  if (keeper == 0) keep(std::move(task), own, reports, kept);
  task.standard.clear();
  if (keeper < 0) _exit(1);
  std::vector<int> open = kept;
  open.push_back(signals.get());
  close_all_but(std::move(open));
  Gone found;
  while (!found.gone) {
    signalfd_siginfo signal{};
    if (::read(signals.get(), &signal, sizeof signal) != static_cast<ssize_t>(sizeof signal)) continue;
    if (signal.ssi_signo == static_cast<std::uint32_t>(kStopSignal)) ::kill(keeper, kStopSignal);
    if (signal.ssi_signo == static_cast<std::uint32_t>(kEndSignal) || getppid() != guard) end_keeper(keeper);
    found = reap(keeper);
  }
  // The tree of a killed keeper is below this process.
  while (kill_descendants() != 0) {
    poll(nullptr, 0, 1);
    reap(keeper);
  }
  _exit(found.killed ? 1 : 0);
}

}  // namespace tenure::guard
