#include "demo/ticker.h"

#include <algorithm>
#include <vector>

#include "base/output.h"

namespace tenure::demo {
namespace {

constexpr Nanos kPass = std::chrono::milliseconds(25);
constexpr std::uint64_t kAll = 0;

}  // namespace

Ticker::Ticker(std::unique_ptr<Ledger> ledger, std::string worker)
    : worker_(std::move(worker)), ledger_(std::move(ledger)), thread_([this] { run(); }) {}

Ticker::~Ticker() {
  {
    std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Outcome Ticker::start(Job& job) {
  const Instant began = clock_.now();
  std::lock_guard lock(mutex_);
  const Result<std::optional<std::uint64_t>> ticks = ledger_->begin(job.key(), job.epoch(), worker_, began);
  if (!ticks) return Requeue{std::chrono::milliseconds(100), ticks.error().message()};
  if (!*ticks) return Outcome::failed("the ledger knows a later holder");
  residents_[job.epoch()] = {job.key(), **ticks, began + kTickPeriod};
  return {};
}

std::optional<std::string> Ticker::stop(Job& job) {
  std::lock_guard lock(mutex_);
  tick_due(job.epoch());
  residents_.erase(job.epoch());
  return std::nullopt;
}

void Ticker::run() {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    tick_due(kAll);
    changed_.wait_for(lock, kPass, [this] { return stopping_; });
  }
}

// With the lock held, so that stop() returns only when nothing of its job is being written.
void Ticker::tick_due(std::uint64_t only_epoch) {
  const Instant now = clock_.now();
  std::vector<TickWrite> due;
  for (const auto& [epoch, resident] : residents_) {
    if (resident.due > now || (only_epoch != kAll && epoch != only_epoch)) continue;
    due.push_back({resident.key, epoch, resident.ticks + 1, false});
  }
  if (due.empty()) return;
  if (Status written = ledger_->write(due, worker_); !written) {
    // Nothing was written. The next pass tries again.
    warn_line(worker_ + ": " + written.error().message());
    return;
  }
  for (const TickWrite& tick : due) {
    const auto found = residents_.find(tick.epoch);
    if (!tick.taken) {
      residents_.erase(found);  // somebody else holds it
      continue;
    }
    ++found->second.ticks;
    found->second.due = std::max(found->second.due + kTickPeriod, now);
  }
}

}  // namespace tenure::demo
