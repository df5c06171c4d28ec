#include "pool/crash_mark.h"

#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <mutex>

#include "pool/live_job.h"

namespace tenure {
namespace {

constexpr std::array kSignals{SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL};
// Users' handlers run there, too, and some of them write a backtrace. Memory that is not touched costs nothing.
constexpr long kSignalStackBytes = 256L << 10;

// Read by the signal handler: in memory that each thread has from its beginning, so that nothing is allocated.
// NOLINTNEXTLINE(cppcoreguidelines-avoid-non-const-global-variables)
[[gnu::tls_model("initial-exec")]] thread_local constinit CrashMark::Running running_here;

std::array<struct sigaction, kSignals.size()> former_actions;  // as it was when note_crashes() was called
std::terminate_handler terminate_before = nullptr;

// A handler that has run out of stack leaves none for the signal handler.
class SignalStack {
 public:
  SignalStack() {
    stack_t present{};
    if (sigaltstack(nullptr, &present) != 0 || (present.ss_flags & SS_DISABLE) == 0) return;
    size_ = static_cast<std::size_t>(std::max(sysconf(_SC_SIGSTKSZ), kSignalStackBytes));
    memory_ = mmap(nullptr, size_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
    if (memory_ == MAP_FAILED) return;
    const stack_t own{.ss_sp = memory_, .ss_flags = 0, .ss_size = size_};
    sigaltstack(&own, nullptr);
  }
  ~SignalStack() {
    if (memory_ == MAP_FAILED) return;
    stack_t present{};
    if (sigaltstack(nullptr, &present) == 0 && present.ss_sp == memory_) {
      const stack_t none{.ss_sp = nullptr, .ss_flags = SS_DISABLE, .ss_size = 0};
      sigaltstack(&none, nullptr);
    }
    munmap(memory_, size_);
  }
  SignalStack(const SignalStack&) = delete;
  SignalStack& operator=(const SignalStack&) = delete;

 private:
  void* memory_ = MAP_FAILED;
  std::size_t size_ = 0;
};

void give_thread_a_signal_stack() { thread_local const SignalStack stack; }

bool note(int number, const char* text) {
  if (running_here.note == nullptr || !running_here.note->write(number, running_here.session, running_here.epoch, text))
    return false;
  running_here.noted = true;
  return true;
}

void take_back() {
  running_here.note->clear();
  running_here.noted = false;
}

// The thread's own doing, and not a signal that somebody has sent to the process.
bool is_own(const siginfo_t& info) { return info.si_code > 0 || (info.si_code == SI_TKILL && info.si_pid == getpid()); }

// Async-signal-safe.
void on_signal(int number, siginfo_t* info, void* context) {
  const int error_number = errno;
  const auto index = static_cast<std::size_t>(std::find(kSignals.begin(), kSignals.end(), number) - kSignals.begin());
  const struct sigaction& next = former_actions.at(index);
  const bool noted = is_own(*info) && note(number, nullptr);
  const bool detailed = (next.sa_flags & SA_SIGINFO) != 0;
  if (!detailed && next.sa_handler == SIG_DFL) {
    // The process dies when this returns: a fault happens again, and a signal that was raised is raised again.
    sigaction(number, &next, nullptr);
    if (info->si_code <= 0) syscall(SYS_tgkill, getpid(), syscall(SYS_gettid), number);
  } else {
    if (detailed) {
      next.sa_sigaction(number, info, context);
    } else if (next.sa_handler != SIG_IGN) {
      next.sa_handler(number);
    }
    if (noted) take_back();  // it has dealt with it
  }
  errno = error_number;
}

[[noreturn]] void on_terminate() {
  std::array<char, guard::CrashNote::kTextMax> text{"uncaught exception"};
  try {
    if (const std::exception_ptr thrown = std::current_exception()) std::rethrow_exception(thrown);
    text[0] = '\0';
  } catch (const std::exception& exception) {
    (void)std::snprintf(text.data(), text.size(), "uncaught exception: %s", exception.what());
  } catch (...) {
  }
  note(SIGABRT, text.data());
  if (terminate_before != nullptr) terminate_before();
  std::abort();
}

}  // namespace

CrashMark::CrashMark(guard::CrashNote* note, std::uint64_t session, std::uint64_t epoch) : before_(running_here) {
  if (note != nullptr) give_thread_a_signal_stack();
  running_here = {note, session, epoch, false};
  std::atomic_signal_fence(std::memory_order_seq_cst);
}

CrashMark::CrashMark(const Job& job)
    : CrashMark(job.live_->door->note, job.live_->held.session, job.live_->held.hold.epoch) {}

CrashMark::~CrashMark() {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  if (running_here.noted) take_back();  // a signal's handler has left it by a jump
  running_here = before_;
}

void note_crashes() {
  static std::once_flag once;
  std::call_once(once, [] {
    for (std::size_t i = 0; i < kSignals.size(); ++i) {
      if (sigaction(kSignals.at(i), nullptr, &former_actions.at(i)) != 0) continue;
      struct sigaction own{};
      own.sa_sigaction = on_signal;
      own.sa_mask = former_actions.at(i).sa_mask;
      own.sa_flags = SA_SIGINFO | SA_ONSTACK | (former_actions.at(i).sa_flags & (SA_NODEFER | SA_RESTART));
      sigaction(kSignals.at(i), &own, nullptr);
    }
    terminate_before = std::set_terminate(on_terminate);
  });
}

}  // namespace tenure
