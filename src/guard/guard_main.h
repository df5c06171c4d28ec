#pragma once

// The guard's process: starts a worker's programs, and ends them in time. It is small and single-threaded, so that a
// start is cheap, and waits for nothing but its descriptors, so that no program, log or disk can hold it up.
//
//   worker lives, lease renewed    programs run
//   lease passes unrenewed         the session's programs are ended; nothing is said: the worker is not gone, and may
//                                  be frozen or cut off
//   socket closes                  all programs are ended; if the worker process is gone too, the guard says its
//                                  sessions' ends in the log; then it removes the worker's folder and ends
//   guard dies                     its keepers end their programs (keeper.h); the worker sees the socket close
//
// It is started by Guard (guard.h) with four descriptors. No secret is on its command line: URLs come by messages.

#include "guard/endings.h"

namespace tenure::guard {

constexpr int kGuardSocket = 3;
constexpr int kGuardPage = 4;
constexpr int kGuardWorker = 5;  // a pidfd of the worker
constexpr int kGuardLife = 6;    // closes when guard and keepers are gone

// The main function of `tenure-guard`, and of `tenure guard-main`. Returns the exit code.
int guard_main(ReportEndings report);

}  // namespace tenure::guard
