#pragma once

// The turn to write: one process at a time, roughly in order of asking. SQLite's own busy handler sleeps and retries,
// so that several writing processes are idle and starve at the same time. A process with the turn never meets it.
//
// The turn is an flock on the wake file, which the kernel releases when a process dies. A blocking flock has no timeout
// and cannot be interrupted, so the turn is only tried, and waiting is done on the futex word `releases`. A holder that
// died wakes nobody, so waiters look again every kLookAgain.

#include <atomic>
#include <memory>

#include "base/clock.h"
#include "base/result.h"
#include "log/sqlite/wake_file.h"

namespace tenure::sqlite {

// How long to wait for the turn.
struct TurnPatience {
  Nanos stuck;  // how long one holder may keep it; longer means that it was stopped
  Nanos total;  // how long all earlier waiters together may take
};

// acquire() and release() are for one thread at a time; interrupt() is for any thread.
class WriteTurn {
 public:
  // A process that was stopped inside its commit keeps the turn; appends behind it fail after two seconds. A moving
  // queue may take longer: hundreds of processes may start at once.
  static constexpr TurnPatience kPatience{std::chrono::seconds(2), std::chrono::seconds(60)};

  explicit WriteTurn(WakeFile& wake) : wake_(wake) {}
  ~WriteTurn();
  WriteTurn(const WriteTurn&) = delete;
  WriteTurn& operator=(const WriteTurn&) = delete;

  // Errc::unavailable with the holder's name after `patience`; Errc::closed when interrupted. Creates the wake file
  // again if it is gone.
  Status acquire(TurnPatience patience = kPatience);
  void release();
  // Makes acquire() fail now and forever.
  void interrupt();

 private:
  void let_pass();
  Error blocked(const WakeWords& words, bool moves) const;

  WakeFile& wake_;
  const BootClock clock_;
  std::atomic<bool> interrupted_ = false;
  std::shared_ptr<WakeMap> held_;  // set while this process has the turn
  // Set if the last release woke another process, which may go first.
  std::shared_ptr<WakeMap> owes_pass_;
  std::uint32_t turns_at_release_ = 0;
};

}  // namespace tenure::sqlite
