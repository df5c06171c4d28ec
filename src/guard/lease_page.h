#pragma once

// How long each session of a worker process may run programs: a page that the worker writes and its guard reads. It is
// shared memory and not a message, because a frozen or stuck worker sends none. The guard always reads the latest
// value.
//
// A slot is given to a session when its lease is first known, and taken back only when no program of the session is
// left. So the guard never reads one session's time as another's.

#include <array>
#include <atomic>
#include <cstdint>

#include "base/clock.h"
#include "base/descriptor.h"
#include "base/result.h"
#include "base/shard.h"
#include "guard/crash_note.h"

namespace tenure::guard {

constexpr std::uint32_t kNoLog = UINT32_MAX;

struct LeaseSlot {
  std::atomic<std::uint64_t> session;  // zero: free
  std::atomic<std::int64_t> end_at;    // CLOCK_BOOTTIME, ns: nothing of the session may run from then on
  std::atomic<std::uint32_t> log;      // where to report the session's end; kNoLog: nowhere
  std::atomic<std::uint32_t> fenced;   // start nothing more for the session
  std::array<std::uint32_t, 2> unused;
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && sizeof(LeaseSlot) == 32);

constexpr std::size_t kLeaseSlots = 512;  // sessions of one process: one for each shard, and those that are ending
static_assert(kLeaseSlots >= std::size_t{2} * kShardsMax);

// What lies behind the slots.
struct LeasePageEnd {
  CrashNote crash;
  std::atomic<std::int32_t> guard;  // the process, where it is not the worker's child
};

class LeasePage {
 public:
  static Result<LeasePage> create();
  // Maps the page of an inherited descriptor.
  static Result<LeasePage> adopt(Descriptor memory);
  LeasePage(LeasePage&& other) noexcept;
  LeasePage& operator=(LeasePage&&) = delete;
  ~LeasePage();

  LeaseSlot& operator[](std::size_t index) const { return slots_[index]; }
  LeasePageEnd& end() const { return *reinterpret_cast<LeasePageEnd*>(slots_ + kLeaseSlots); }
  int descriptor() const { return memory_.get(); }

 private:
  LeasePage(Descriptor memory, LeaseSlot* slots) : memory_(std::move(memory)), slots_(slots) {}

  Descriptor memory_;
  LeaseSlot* slots_;
};

// The worker's side. Lock-free: hearts write here, and must not wait for anybody.
class Leases {
 public:
  explicit Leases(LeasePage page) : page_(std::move(page)) {}

  // For the session's heart; a process has one for each shard. False if there are kLeaseSlots sessions already.
  bool renew(std::uint64_t session, Instant end_at, std::uint32_t log);
  void fence(std::uint64_t session);
  void over(std::uint64_t session);

  // The session's slot for one of its programs, held until it is released. None if there is none.
  int acquire(std::uint64_t session);
  void release(int slot) { users_.at(static_cast<std::size_t>(slot)).fetch_sub(1); }
  int descriptor() const { return page_.descriptor(); }
  LeasePageEnd& page_end() const { return page_.end(); }

 private:
  int find(std::uint64_t session) const;
  int take_free(Instant now);

  LeasePage page_;
  std::array<std::atomic<int>, kLeaseSlots> users_{};
};

}  // namespace tenure::guard
