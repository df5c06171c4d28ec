#pragma once

// One log kept in memory: what every handle of the same name shares.

#include <deque>
#include <mutex>
#include <string>
#include <vector>

#include "base/clock.h"
#include "log/log.h"

namespace tenure::memory {

// Thread-safe: one mutex guards it all, and every call is short (a read copies a bounded run). Positions are dense
// from 1, so that the entry at a position is found by subtraction and a first position above 1 tells of a trim.
class Store {
 public:
  // A reader that found nothing new. It is called once, by the append that ends its wait, under the store's lock:
  // it may only hand the news to its own thread.
  class Waiter {
   public:
    virtual ~Waiter() = default;
    virtual void entries_ready() = 0;
  };

  Store(std::string pool, std::uint32_t shards);

  const std::string& pool() const { return pool_; }
  std::uint32_t shards() const { return shards_; }

  Result<Position> append(Bytes data);
  // A bounded run of the entries after the cursor. Where there is none yet, `waiter` is registered.
  Result<std::vector<Entry>> read(const Cursor& after, Waiter& waiter);
  void forget(Waiter& waiter);

  Result<Snapshot> snapshot() const;
  Status store_snapshot(Snapshot snapshot);
  Status trim(Position before);
  // From here on every call says that history was lost.
  void remove();
  bool removed() const;

 private:
  Status check_cursor(const Cursor& after) const;
  Status check_present() const;
  void wake_waiters();

  const std::string pool_;
  const std::uint32_t shards_;
  const BootClock clock_;
  const std::int64_t time_offset_ms_;

  mutable std::mutex mutex_;
  // All below is guarded by mutex_.
  std::deque<Entry> entries_;
  Position first_ = 1;  // the position of entries_.front(), or of the next entry where there is none
  std::int64_t last_time_ms_ = 0;
  std::size_t bytes_ = 0;
  Snapshot snapshot_;
  std::vector<Waiter*> waiters_;
  bool removed_ = false;
};

}  // namespace tenure::memory
