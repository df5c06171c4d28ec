#pragma once

// The guard of a pool whose handlers run in threads. It starts no programs: it waits for this process to die, and then
// says so in the log, with what the process has noted about its death. So others take over at once on every engine, and
// the job that crashed the process is known.

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "guard/guard.h"

namespace tenure {

class PoolGuard {
 public:
  struct Options {
    std::string command;  // the program `tenure-guard`
    std::string url;
    std::string pool;
    std::vector<int> shared;  // descriptors whose locks say that this process lives (guard/death_watch.h)
    std::function<void(const std::string&)> warn;
  };
  static Result<std::unique_ptr<PoolGuard>> start(Options options);
  // Says nothing of the sessions: they have ended, or go on under their leases.
  ~PoolGuard();
  PoolGuard(const PoolGuard&) = delete;
  PoolGuard& operator=(const PoolGuard&) = delete;

  // As LeaseHolder has them; neither ever waits. Any thread.
  void lease_until(std::uint64_t session, Instant until) { guard_->renew(session, until, log_); }
  void lease_over(std::uint64_t session) { guard_->over(session); }
  guard::CrashNote& note() { return guard_->crash_note(); }

 private:
  PoolGuard(Options options, std::unique_ptr<guard::Guard> guard);
  void watch();

  const Options options_;
  std::unique_ptr<guard::Guard> guard_;
  std::uint32_t log_;
  const Descriptor wake_;  // readable once the watching thread is to end
  std::thread thread_;     // starts another guard when this one dies
};

// Where `tenure-guard` is: as TENURE_GUARD says, beside this program, where it was installed, or in PATH. Empty:
// nowhere.
std::string find_guard();

}  // namespace tenure
