#pragma once

// The events of a worker for orders, in the words of coordination: claimed (granted), committed (begun), yielded
// (released without having been done), completed, failed, dead.
//
// `claimed` and `committed` are what this process does. The ends of a tenure are printed as the log has them, so that
// `completed` means that nobody will do the order again.

#include <map>
#include <mutex>
#include <string>

#include "cli/work_events.h"

namespace tenure::cli {

// Its effects are called on the node's loop. One log: orders are not cut into shards.
class OrderEvents final : public WorkEvents, public PoolWatcher {
 public:
  // `instance`: empty if the worker has no number.
  OrderEvents(bool json, std::string instance) : WorkEvents(json), instance_(std::move(instance)) {}

  void write(const Event& event) override;
  // How many of its orders are done or have failed.
  std::uint64_t over() const {
    const std::lock_guard lock(mutex_);
    return over_;
  }

 private:
  void tenure_failed(const At&, const TenureRef& ref, BytesView error) override;
  void ended(const At&, const TenureRef& ref, TenureEnd why) override;
  void applied(const Machine&) override { failed_epoch_ = 0; }
  void buried(const At&, BytesView key, std::uint64_t dead_id, bool quarantined) override;

  void say(std::string_view name, BytesView order, std::uint64_t epoch, std::string_view reason);

  const std::string instance_;
  mutable std::mutex mutex_;
  // Guarded by mutex_.
  std::map<std::uint64_t, Bytes> own_;  // the tenures of this process, by epoch, with their last error
  std::uint64_t over_ = 0;
  // The loop's: of the entry that is being applied, the tenure that has failed last.
  std::uint64_t failed_epoch_ = 0;
  Bytes failed_key_;
};

}  // namespace tenure::cli
