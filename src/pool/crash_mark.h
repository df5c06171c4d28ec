#pragma once

// Which tenure's handler a thread runs, so that a fatal signal can be put down to it: the signal handler notes the
// tenure in the page that the guard reads (guard/crash_note.h), and then lets the process die as it would have.

#include <atomic>
#include <cstdint>

#include "guard/crash_note.h"

namespace tenure {

class Job;

// For a span in which the calling thread runs users' code. Marks may be nested. Costs a few stores.
class CrashMark {
 public:
  // `note` is null where nobody would read it.
  CrashMark(guard::CrashNote* note, std::uint64_t session, std::uint64_t epoch);
  // For a thread of the job's own.
  explicit CrashMark(const Job& job);
  ~CrashMark();
  CrashMark(const CrashMark&) = delete;
  CrashMark& operator=(const CrashMark&) = delete;

  struct Running {
    guard::CrashNote* note = nullptr;
    std::uint64_t session = 0;
    std::uint64_t epoch = 0;
    bool noted = false;  // a signal was noted, and its handler has not returned
  };

 private:
  const Running before_;
};

// From then on a fatal signal (SIGSEGV, SIGABRT, SIGBUS, SIGFPE, SIGILL) and an uncaught exception are noted. What
// handled them before still does, afterwards. Once for each process, for good.
void note_crashes();

}  // namespace tenure
