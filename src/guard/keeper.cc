#include "guard/keeper.h"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>

#include "base/clock.h"
#include "guard/process_tree.h"
#include "guard/wake_timer.h"

namespace tenure::guard {
namespace {

struct Trouble {
  int error_number;
  StartStep step;
};

std::vector<char*> pointers(std::vector<std::string>& words) {
  std::vector<char*> found;
  found.reserve(words.size() + 1);
  for (std::string& word : words) found.push_back(word.data());
  found.push_back(nullptr);
  return found;
}

[[noreturn]] void give_up(int trouble, StartStep step) {
  const Trouble said{errno, step};
  (void)!::write(trouble, &said, sizeof said);
  _exit(127);
}

// Between fork and exec.
[[noreturn]] void become_program(KeeperTask& task, pid_t keeper, int trouble) {
  // The kernel kills the program with its keeper. A keeper that died before this line is noticed by the second.
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != keeper) _exit(127);
  setpgid(0, 0);
  for (int number = 1; number < NSIG; ++number) ::signal(number, SIG_DFL);
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, nullptr);
  for (int number = 0; number < 3; ++number) {
    if (dup2(task.standard[static_cast<std::size_t>(number)].get(), number) < 0) give_up(trouble, StartStep::fork);
  }
  close_range(3, ~0U, CLOSE_RANGE_CLOEXEC);
  if (!task.folder.empty() && chdir(task.folder.c_str()) != 0) give_up(trouble, StartStep::folder);
  std::vector<char*> arguments = pointers(task.arguments);
  std::vector<char*> environment = pointers(task.environment);
  // If the machine stood still for a while, the forks up to here may have taken longer than the lease.
  if (!task.may_run()) {
    errno = ECANCELED;
    give_up(trouble, StartStep::lease);
  }
  execvpe(arguments[0], arguments.data(), environment.data());
  give_up(trouble, StartStep::program);
}

class Keeper {
 public:
  Keeper(std::uint64_t number, pid_t guard, int reports) : number_(number), guard_(guard), reports_(reports) {}

  [[noreturn]] void run(KeeperTask task) {
    // A stop that arrives before the program is executed stays pending until then, instead of being ignored.
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, nullptr);
    sigset_t heard;
    sigemptyset(&heard);
    for (const int number : {SIGCHLD, kStopSignal, kEndSignal, kWakeSignal}) sigaddset(&heard, number);
    signals_ = Descriptor(signalfd(-1, &heard, SFD_CLOEXEC | SFD_NONBLOCK));
    runs_until_ = std::move(task.runs_until);
    if (!signals_ || !start(std::move(task))) _exit(0);
    check_lease();
    while (!over_) look();
    report(MessageKind::ended, status_);
    _exit(0);
  }

 private:
  bool start(KeeperTask task) {
    std::array<int, 2> ends{};
    if (pipe2(ends.data(), O_CLOEXEC) != 0) return refuse({errno, StartStep::fork});
    trouble_ = Descriptor(ends[0]);
    Descriptor theirs(ends[1]);
    const pid_t keeper = getpid();
    program_ = fork();
    if (program_ < 0) return refuse({errno, StartStep::fork});
    if (program_ == 0) become_program(task, keeper, theirs.get());
    setpgid(program_, program_);  // both sides do it, so that a stop finds the group whichever runs first
    return true;
  }

  bool refuse(const Trouble& trouble) {
    report(MessageKind::refused, trouble.error_number, trouble.step);
    return false;
  }

  // Waits for an event. While the tree is being ended it does not wait long, because a pass may have missed a process.
  void look() {
    std::array<pollfd, 2> waited{{{.fd = signals_.get(), .events = POLLIN, .revents = 0},
                                  {.fd = trouble_.get(), .events = POLLIN, .revents = 0}}};
    poll(waited.data(), waited.size(), ending_ ? pass_ms_ : -1);
    if (waited[1].revents != 0) hear_of_start();
    signalfd_siginfo heard{};
    while (::read(signals_.get(), &heard, sizeof heard) == static_cast<ssize_t>(sizeof heard)) {
      if (heard.ssi_signo == static_cast<std::uint32_t>(kEndSignal)) ending_ = true;
      if (heard.ssi_signo == static_cast<std::uint32_t>(kStopSignal) && !reaped_) ::kill(-program_, SIGTERM);
      if (heard.ssi_signo == static_cast<std::uint32_t>(kWakeSignal)) check_lease();
    }
    if (getppid() != guard_) ending_ = true;
    reap();
    if (!ending_ || over_) return;
    kill_descendants();
    reap();
    pass_ms_ = std::min(pass_ms_ * 2, 64);
  }

  // The worker moves the deadline without a message. The timer fires at the last deadline that was read here: once a
  // lease.
  void check_lease() {
    if (ending_ || !runs_until_) return;
    const std::int64_t until = runs_until_();
    if (until <= BootClock().now().since_boot.count()) {
      ending_ = true;
    } else {
      timer_.set(until);
    }
  }

  // The pipe closes when the program has been executed. Any bytes in it mean that it could not be.
  void hear_of_start() {
    Trouble trouble{};
    const bool failed = ::read(trouble_.get(), &trouble, sizeof trouble) == static_cast<ssize_t>(sizeof trouble);
    trouble_.close();
    if (!failed) return report(MessageKind::started, program_);
    int ignored = 0;
    waitpid(program_, &ignored, 0);
    refuse(trouble);
    _exit(0);
  }

  void reap() {
    for (;;) {
      int status = 0;
      const pid_t child = waitpid(-1, &status, WNOHANG);
      if (child == 0) return;
      if (child < 0) {
        over_ = errno == ECHILD;
        return;
      }
      if (child != program_) continue;
      reaped_ = true;
      status_ = status;
      // The tenure ends with the program, so processes that it left running end too.
      ending_ = true;
      if (trouble_) hear_of_start();
    }
  }

  void report(MessageKind kind, std::int64_t value, StartStep step = StartStep::lease) const {
    const KeeperReport said{number_, value, static_cast<std::int32_t>(step), kind};
    (void)!::write(reports_, &said, sizeof said);
  }

  const std::uint64_t number_;
  const pid_t guard_;
  const int reports_;
  std::function<std::int64_t()> runs_until_;
  WakeTimer timer_;
  Descriptor signals_;
  Descriptor trouble_;  // open until the program runs
  pid_t program_ = -1;
  int status_ = 0;
  int pass_ms_ = 1;
  bool reaped_ = false;
  bool ending_ = false;
  bool over_ = false;  // no process is left
};

}  // namespace

void close_all_but(std::vector<int> kept) {
  std::sort(kept.begin(), kept.end());
  unsigned first = 3;
  for (const int number : kept) {
    const auto here = static_cast<unsigned>(number);
    if (here > first) close_range(first, here - 1, 0);
    first = std::max(first, here + 1);
  }
  close_range(first, ~0U, 0);
}

void keep(KeeperTask task, pid_t guard, int reports, const std::vector<int>& kept) {
  prctl(PR_SET_NAME, "tenure-keeper");
  prctl(PR_SET_CHILD_SUBREAPER, 1);
  prctl(PR_SET_PDEATHSIG, kWakeSignal);
  if (getppid() != guard) _exit(0);
  std::vector<int> open = kept;
  for (const Descriptor& standard : task.standard) open.push_back(standard.get());
  close_all_but(std::move(open));
  Keeper(task.number, guard, reports).run(std::move(task));
}

}  // namespace tenure::guard
