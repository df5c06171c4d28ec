#pragma once

// The tenants' job: a resident that ticks. Each tick is a write to the ledger, with the epoch of the hold.

#include <condition_variable>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <tenure/handler.hpp>
#include <thread>

#include "base/clock.h"
#include "demo/ledger.h"

namespace tenure::demo {

constexpr Nanos kTickPeriod = std::chrono::milliseconds(100);

// Thread-safe. One thread ticks for all tenants of the worker, so that a pass is one transaction.
class Ticker final : public Handler {
 public:
  Ticker(std::unique_ptr<Ledger> ledger, std::string worker);
  ~Ticker() override;

  Outcome start(Job& job) override;
  // Still writes a tick that is due by then. After a freeze past the lease, this is the late write that the ledger has
  // to refuse.
  std::optional<std::string> stop(Job& job) override;

 private:
  struct Resident {
    std::string key;
    std::uint64_t ticks = 0;
    Instant due;
  };

  void run();
  void tick_due(std::uint64_t only_epoch);

  const BootClock clock_;
  const std::string worker_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::unique_ptr<Ledger> ledger_;               // guarded by mutex_, as all below
  std::map<std::uint64_t, Resident> residents_;  // by epoch
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace tenure::demo
