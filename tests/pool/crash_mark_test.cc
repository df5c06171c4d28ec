// A process that is brought down by a handler notes which tenure it was, and how; and then dies as it would have. Each
// test crashes a child process and reads what it has noted in the page that they share.

#include "pool/crash_mark.h"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csetjmp>
#include <csignal>
#include <cstring>
#include <functional>
#include <stdexcept>
#include <thread>

#include "guard/lease_page.h"

namespace tenure {
namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

constexpr std::uint64_t kSession = 11;
constexpr std::uint64_t kEpoch = 22;

struct End {
  int status = 0;
  std::optional<guard::Crash> crash;
};

class CrashMarks : public testing::Test {
 protected:
  // `before` runs before the library's handlers are there, `deed` under the mark.
  End end_of(const std::function<void(guard::CrashNote&)>& deed, const std::function<void()>& before = [] {}) {
    auto page = guard::LeasePage::create();
    guard::CrashNote& note = page->end().crash;
    const pid_t child = fork();
    if (child == 0) {
      const rlimit none{0, 0};
      setrlimit(RLIMIT_CORE, &none);
      fclose(stderr);
      // A sanitizer's own handlers would write a report first, which can take a minute, and end the process in their
      // way.
      if (kSanitized) {
        for (const int number : {SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL}) (void)signal(number, SIG_DFL);
      }
      before();
      note_crashes();
      deed(note);
      _exit(0);
    }
    End end;
    EXPECT_EQ(waitpid(child, &end.status, 0), child);
    end.crash = guard::read_crash(note);
    return end;
  }

  static void expect_crash(const End& end, int number, const std::string& evidence) {
    ASSERT_TRUE(end.crash);
    EXPECT_EQ(end.crash->session, kSession);
    EXPECT_EQ(end.crash->epoch, kEpoch);
    EXPECT_EQ(end.crash->evidence, evidence);
    EXPECT_TRUE(WIFSIGNALED(end.status));
    EXPECT_EQ(WTERMSIG(end.status), number);
  }
};

// Not null, of which a sanitizer would write a report.
volatile int* volatile nowhere = reinterpret_cast<int*>(4096);  // NOLINT(performance-no-int-to-ptr)

// In truth it has an end, which no stack is deep enough for.
int deeper(volatile const char* above, std::uint64_t left) {  // NOLINT(misc-no-recursion)
  volatile char here[4096];                                   // NOLINT(modernize-avoid-c-arrays)
  here[0] = above != nullptr ? *above : '\0';
  return left == 0 ? 0 : deeper(static_cast<const volatile char*>(here), left - 1) + here[0];
}

TEST_F(CrashMarks, AFaultIsNotedAndTheProcessDiesOfIt) {
  expect_crash(end_of([](guard::CrashNote& note) {
                 const CrashMark mark(&note, kSession, kEpoch);
                 *nowhere = 1;
               }),
               SIGSEGV, "SIGSEGV");
}

TEST_F(CrashMarks, AnAbortIsNoted) {
  expect_crash(end_of([](guard::CrashNote& note) {
                 const CrashMark mark(&note, kSession, kEpoch);
                 std::abort();
               }),
               SIGABRT, "SIGABRT");
}

TEST_F(CrashMarks, ASignalThatIsRaisedIsNoted) {
  for (const int number : {SIGFPE, SIGILL, SIGBUS}) {
    expect_crash(end_of([number](guard::CrashNote& note) {
                   const CrashMark mark(&note, kSession, kEpoch);
                   (void)raise(number);
                 }),
                 number, std::string("SIG") + sigabbrev_np(number));
  }
}

TEST_F(CrashMarks, AnUncaughtExceptionIsNotedWithItsText) {
  expect_crash(end_of([](guard::CrashNote& note) {
                 std::thread([&note] {
                   const CrashMark mark(&note, kSession, kEpoch);
                   throw std::runtime_error("no such account");
                 }).join();
               }),
               SIGABRT, "SIGABRT: uncaught exception: no such account");
}

TEST_F(CrashMarks, AHandlerWithoutAnyStackLeftIsNoted) {
  if (kSanitized) GTEST_SKIP() << "sanitizers have signal stacks of their own";
  expect_crash(end_of([](guard::CrashNote& note) {
                 std::thread([&note] {
                   const CrashMark mark(&note, kSession, kEpoch);
                   (void)deeper(nullptr, UINT64_MAX);
                 }).join();
               }),
               SIGSEGV, "SIGSEGV");
}

TEST_F(CrashMarks, NothingIsNotedOfAThreadThatRunsNoHandler) {
  const End end = end_of([](guard::CrashNote& note) {
    {
      const CrashMark over(&note, kSession, kEpoch);
    }
    const CrashMark elsewhere(&note, kSession, kEpoch);
    std::thread([] { *nowhere = 1; }).join();
  });
  EXPECT_FALSE(end.crash);
  EXPECT_FALSE(WIFEXITED(end.status) && WEXITSTATUS(end.status) == 0);
}

// A service manager's watchdog sends SIGABRT, and a person kill -SEGV: that is no job's doing.
TEST_F(CrashMarks, NothingIsNotedOfASignalFromOutside) {
  for (const int number : {SIGABRT, SIGSEGV}) {
    const End end = end_of([number](guard::CrashNote& note) {
      const CrashMark mark(&note, kSession, kEpoch);
      const pid_t target = getpid();
      std::array<int, 2> ready{};
      if (pipe(ready.data()) != 0) _exit(1);
      char byte = 0;
      const pid_t sender = fork();
      if (sender == 0) {
        // Sanitizers hold locks during fork(), and a signal that came then would wait for them for ever.
        if (read(ready[0], &byte, 1) == 1) ::kill(target, number);
        _exit(0);
      }
      if (write(ready[1], &byte, 1) != 1) _exit(1);
      waitpid(sender, nullptr, 0);
      for (;;) pause();
    });
    EXPECT_FALSE(end.crash);
    EXPECT_TRUE(WIFSIGNALED(end.status));
  }
}

// Runtimes that make use of faults, as Java's does: their handler returns, or leaves by a jump.
sigjmp_buf back;

TEST_F(CrashMarks, WhatAnotherHandlerHasDealtWithIsNotNoted) {
  if (kSanitized) GTEST_SKIP() << "sanitizers see the fault first";
  const auto jump = [] {
    struct sigaction own{};
    own.sa_handler = [](int) { siglongjmp(back, 1); };
    sigaction(SIGSEGV, &own, nullptr);
  };
  const End jumped = end_of(
      [](guard::CrashNote& note) {
        const CrashMark mark(&note, kSession, kEpoch);
        if (sigsetjmp(back, 1) == 0) *nowhere = 1;
      },
      jump);
  EXPECT_FALSE(jumped.crash);
  EXPECT_TRUE(WIFEXITED(jumped.status));

  const auto count = [] {
    struct sigaction own{};
    own.sa_flags = SA_SIGINFO;
    own.sa_sigaction = [](int, siginfo_t*, void*) {};
    sigaction(SIGFPE, &own, nullptr);
  };
  const End returned = end_of(
      [](guard::CrashNote& note) {
        const CrashMark mark(&note, kSession, kEpoch);
        (void)raise(SIGFPE);
      },
      count);
  EXPECT_FALSE(returned.crash);
  EXPECT_TRUE(WIFEXITED(returned.status));
}

// One that ends the process itself still does, with the crash noted.
TEST_F(CrashMarks, AUsersOwnHandlerIsCalledAsBefore) {
  const End end = end_of(
      [](guard::CrashNote& note) {
        const CrashMark mark(&note, kSession, kEpoch);
        *nowhere = 1;
      },
      [] {
        struct sigaction own{};
        own.sa_handler = [](int) { _exit(42); };
        sigaction(SIGSEGV, &own, nullptr);
      });
  ASSERT_TRUE(end.crash);
  EXPECT_EQ(end.crash->evidence, "SIGSEGV");
  EXPECT_TRUE(WIFEXITED(end.status));
  EXPECT_EQ(WEXITSTATUS(end.status), 42);
}

TEST_F(CrashMarks, MarksMayBeNested) {
  expect_crash(end_of([](guard::CrashNote& note) {
                 const CrashMark outer(&note, kSession, kEpoch);
                 {
                   const CrashMark inner(&note, 1, 2);
                 }
                 *nowhere = 1;
               }),
               SIGSEGV, "SIGSEGV");
}

}  // namespace
}  // namespace tenure
