#pragma once

// The sessions that a host runs programs for: how many jobs of each have not ended, and whether its lease still allows
// them to run.

#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <set>

#include "base/clock.h"

namespace tenure::exec {

// Thread-safe.
class HostSessions {
 public:
  // A job of the session was taken, or has ended.
  void begin(std::uint64_t session);
  void end(std::uint64_t session);
  // False if a job of it had not ended after `patience`.
  bool wait_ended(std::uint64_t session, Nanos patience);

  // The guard ends the session's programs at this moment.
  void lease_until(std::uint64_t session, Instant guarded);
  void lease_over(std::uint64_t session);
  void fence(std::uint64_t session);
  bool is_fenced(std::uint64_t session);
  // True if it was fenced, or if the guard has ended its programs because the lease was not renewed.
  bool is_ending(std::uint64_t session);

 private:
  std::mutex mutex_;
  std::condition_variable emptier_;
  // Guarded by mutex_.
  std::map<std::uint64_t, std::size_t> live_;  // session -> jobs that have not ended
  std::set<std::uint64_t> fenced_;
  std::map<std::uint64_t, Instant> guarded_until_;
};

}  // namespace tenure::exec
