#include "log/memory/store.h"

#include <algorithm>

#include "log/engine_time.h"

namespace tenure::memory {
namespace {

// A run for a reader ends at the first of these limits.
constexpr std::size_t kReadEntriesMax = 4096;
constexpr std::size_t kReadBytesMax = 1U << 20;

// A log that nobody trims fills up here, before it exhausts the process's memory.
constexpr std::size_t kStoreBytesMax = std::size_t{1} << 30;

std::int64_t first_offset_ms(const BootClock& clock) {
  return engine_time_offset_ms(0, clock.wall_ms(), to_ms(clock.now().since_boot));
}

}  // namespace

Store::Store(std::uint32_t shards) : shards_(shards), time_offset_ms_(first_offset_ms(clock_)) {}

Result<Position> Store::append(Bytes data) {
  std::lock_guard lock(mutex_);
  if (const Status present = check_present(); !present) return Failure(present.error());
  if (bytes_ + data.size() > kStoreBytesMax) {
    return fail(Errc::full, "memory append", "the log is full; store a snapshot and trim it");
  }
  last_time_ms_ = engine_time_ms(last_time_ms_, time_offset_ms_, to_ms(clock_.now().since_boot));
  bytes_ += data.size();
  const Position position = first_ + entries_.size();
  entries_.push_back({position, last_time_ms_, std::move(data)});
  wake_waiters();
  return position;
}

Result<std::vector<Entry>> Store::read(const Cursor& after, Waiter& waiter) {
  std::lock_guard lock(mutex_);
  if (const Status known = check_cursor(after); !known) return Failure(known.error());
  std::vector<Entry> run;
  std::size_t bytes = 0;
  for (std::size_t i = after.position + 1 - first_; i < entries_.size(); ++i) {
    bytes += entries_[i].data.size();
    if (!run.empty() && (bytes > kReadBytesMax || run.size() == kReadEntriesMax)) break;
    run.push_back(entries_[i]);
  }
  if (run.empty()) waiters_.push_back(&waiter);
  return run;
}

void Store::forget(Waiter& waiter) {
  std::lock_guard lock(mutex_);
  std::erase(waiters_, &waiter);
}

Result<Position> Store::end() const {
  std::lock_guard lock(mutex_);
  if (const Status present = check_present(); !present) return Failure(present.error());
  return first_ + entries_.size() - 1;
}

Result<Snapshot> Store::snapshot() const {
  std::lock_guard lock(mutex_);
  if (const Status present = check_present(); !present) return Failure(present.error());
  return snapshot_;
}

Status Store::store_snapshot(Snapshot snapshot) {
  std::lock_guard lock(mutex_);
  if (const Status present = check_present(); !present) return present;
  if (snapshot.cursor.position >= snapshot_.cursor.position) snapshot_ = std::move(snapshot);
  return {};
}

Status Store::trim(Position before) {
  std::lock_guard lock(mutex_);
  if (const Status present = check_present(); !present) return present;
  for (const Position end = std::min(before, snapshot_.cursor.position); first_ < end && !entries_.empty(); ++first_) {
    bytes_ -= entries_.front().data.size();
    entries_.pop_front();
  }
  return {};
}

void Store::remove() {
  std::lock_guard lock(mutex_);
  removed_ = true;
  entries_.clear();
  snapshot_ = {};
  wake_waiters();
}

bool Store::removed() const {
  std::lock_guard lock(mutex_);
  return removed_;
}

Status Store::check_cursor(const Cursor& after) const {
  if (const Status present = check_present(); !present) return present;
  const Position at = std::max<Position>(after.position, 1);
  if (at < first_) return fail(Errc::trimmed, "memory read", "the log starts at " + std::to_string(first_));
  if (after.position == 0) return {};
  const Position end = first_ + entries_.size();
  if (after.position >= end) return fail(Errc::lost_history, "memory read", "the cursor is beyond the last entry");
  const Entry& there = entries_[after.position - first_];
  if (!after.matches(there.data, there.time_ms)) {
    return fail(Errc::lost_history, "memory read", "another entry is at the cursor");
  }
  return {};
}

Status Store::check_present() const {
  if (removed_) return fail(Errc::lost_history, "memory log", "the pool was removed");
  return {};
}

void Store::wake_waiters() {
  for (Waiter* waiter : waiters_) waiter->entries_ready();
  waiters_.clear();
}

}  // namespace tenure::memory
