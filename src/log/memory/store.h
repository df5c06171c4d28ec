#pragma once

// A log in memory, shared by all handles of the same name.

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "log/log.h"

namespace tenure::memory {

// Thread-safe. One mutex guards everything, and every call is short (a read copies a bounded run). Positions are dense
// from 1, so an entry is found by subtraction, and a first position above 1 means that the log was trimmed.
class Store {
 public:
  // A reader that found nothing new. The append that ends its wait calls it once, with the store's lock held: it may
  // only notify its own thread.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void entries_ready() = 0;
  };

  explicit Store(std::uint32_t shards);

  std::uint32_t shards() const { return shards_; }

  Result<Position> append(Bytes data);
  // A bounded run of the entries after the cursor. If there is none yet, registers `waiter`.
  Result<std::vector<Entry>> read(const Cursor& after, Waiter& waiter);
  void forget(Waiter& waiter);
  Result<Position> end() const;

  Result<Snapshot> snapshot() const;
  Status store_snapshot(Snapshot snapshot);
  Status trim(Position before);
  // From now on every call fails with lost_history.
  void remove();
  bool removed() const;

 private:
  Status check_cursor(const Cursor& after) const;
  Status check_present() const;
  void wake_waiters();

  const std::uint32_t shards_;
  const BootClock clock_;
  const std::int64_t time_offset_ms_;

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  std::deque<Entry> entries_;
  Position first_ = 1;  // position of entries_.front(), or of the next entry if it is empty
  std::int64_t last_time_ms_ = 0;
  std::size_t bytes_ = 0;
  Snapshot snapshot_;
  std::vector<Waiter*> waiters_;
  bool removed_ = false;
};

}  // namespace tenure::memory
