#pragma once

// The guard process: starts a worker's programs, and ends them in time. It is small and single-threaded, so that a
// start is cheap. It waits for its descriptors only, so that no program, log or disk can delay it.
//
//   worker lives, lease renewed    programs run
//   lease passes unrenewed         the session's programs are ended; nothing is reported: the worker is not gone, and
//                                  may be frozen or cut off
//   socket closes                  all programs are ended; if the worker process is gone too, the guard writes its
//                                  sessions' ends to the log; then it removes the worker's folder and ends
//   guard dies                     its keepers end their programs (keeper.h); the worker sees the socket close
//
// Guard (guard.h) starts it with four descriptors. Its command line has no secrets: URLs come in messages.

#include "guard/endings.h"

namespace tenure::guard {

constexpr int kGuardSocket = 3;
constexpr int kGuardPage = 4;
constexpr int kGuardWorker = 5;  // a pidfd of the worker
constexpr int kGuardLife = 6;    // closes when guard and keepers are gone

// The argument that asks for GuardOptions::apart.
constexpr const char* kApartFlag = "--apart";

// The main function of `tenure-guard`, and of `tenure guard-main`. Returns the exit code. `apart`: the guard is a child
// of the process that was started, which ends at once.
int guard_main(ReportEndings report, bool apart = false);

}  // namespace tenure::guard
