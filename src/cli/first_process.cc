#include "cli/first_process.h"

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <ctime>
#include <optional>

namespace tenure::cli {
namespace {

using std::chrono::steady_clock;

// How long a guard may take after its worker has died: the engine may be away.
constexpr std::chrono::seconds kGuardPatience{10};
constexpr int kSignalled = 128;  // as shells do

int exit_code_of(int status) { return WIFEXITED(status) ? WEXITSTATUS(status) : kSignalled + WTERMSIG(status); }

int tend(pid_t worker, const sigset_t& watched) {
  std::optional<int> code;
  steady_clock::time_point deadline{};
  while (true) {
    int status = 0;
    pid_t ended = 0;
    while ((ended = waitpid(-1, &status, WNOHANG)) > 0) {
      if (ended != worker) continue;
      code = exit_code_of(status);
      deadline = steady_clock::now() + kGuardPatience;
    }
    const bool alone = ended < 0;
    if (code && (alone || steady_clock::now() >= deadline)) return *code;
    const timespec second{1, 0};
    siginfo_t info{};
    const int signal = sigtimedwait(&watched, &info, &second);
    // The terminal sends its signals to the worker as well.
    const bool sent_here = info.si_code != SI_KERNEL;
    if ((signal == SIGTERM || signal == SIGINT) && sent_here && !code) kill(worker, signal);
  }
}

}  // namespace

void split_first_process() {
  if (getpid() != 1) return;
  sigset_t watched;
  sigset_t before;
  sigemptyset(&watched);
  for (const int signal : {SIGTERM, SIGINT, SIGCHLD}) sigaddset(&watched, signal);
  sigprocmask(SIG_BLOCK, &watched, &before);
  const pid_t worker = fork();
  if (worker > 0) _exit(tend(worker, watched));
  // The worker, or the first process if there can be no other.
  sigprocmask(SIG_SETMASK, &before, nullptr);
}

}  // namespace tenure::cli
