#pragma once

// The turn to write: one process at a time, in rough order of asking. SQLite's own busy handler sleeps and retries, so
// that several writing processes both idle and starve; a process that takes the turn first never meets it.
//
// The turn is an flock on the wake file, which the kernel takes back from a process that dies. Since a blocking flock
// can be neither bounded nor interrupted, it is only ever tried; waiting is done on the futex word `releases`. A holder
// that died wakes nobody, so a wait looks again every kLookAgain.

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

// What a wait for the turn is worth.
struct TurnPatience {
  Nanos stuck;  // how long one holder may keep it: longer means that it was stopped
  Nanos total;  // how long all of those who come first may take
};

// acquire() and release() belong to one thread at a time; interrupt() may be called from any.
class WriteTurn {
 public:
  // A holder that was stopped inside its commit keeps the turn; behind it an append fails after two seconds. A queue
  // that moves on is waited for, though: hundreds of processes may start at once.
  static constexpr TurnPatience kPatience{std::chrono::seconds(2), std::chrono::seconds(60)};

  explicit WriteTurn(WakeFile& wake) : wake_(wake) {}
  ~WriteTurn();
  WriteTurn(const WriteTurn&) = delete;
  WriteTurn& operator=(const WriteTurn&) = delete;

  // Errc::unavailable, naming the holder, when `patience` has run out; Errc::closed when interrupted. Makes the wake
  // file anew where it is gone.
  Status acquire(TurnPatience patience = kPatience);
  void release();
  // For good: acquire gives up now and ever after.
  void interrupt();

 private:
  void let_pass();
  Error blocked(const WakeWords& words, bool moves) const;

  WakeFile& wake_;
  const BootClock clock_;
  std::atomic<bool> interrupted_ = false;
  std::shared_ptr<WakeMap> held_;  // while this has the turn
  // Set when the last release woke another process: it may go first.
  std::shared_ptr<WakeMap> owes_pass_;
  std::uint32_t turns_at_release_ = 0;
};

}  // namespace tenure::sqlite
