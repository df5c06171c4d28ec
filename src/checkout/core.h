#pragma once

// The rules of a checkout pool, for workers of any type. The typed API is include/tenure/checkout.hpp.
//
// There are two paths. While there are enough workers, a checkout is one compare-and-swap on a slot that no other
// thread uses, a checkin is one plain store, and the only shared word is one that nobody writes. Everything else takes
// the mutex: queueing, starts, deaths, timers, control. The fast path is in include/tenure/checkout_fast.hpp, so that
// it is inlined. The shared word is `attention`:
//
//     kSlow        checkins end in the mutex; each slot has a mark that says the same
//     kGate        checkouts begin in the mutex: a caller is already waiting, or none may be served
//     kOverloaded  checkouts are refused at once
//
// The danger is a caller that finds no free slot and goes to sleep while another thread frees one and sees no sleeper.
// A checkin does
//
//     word = free; light_fence(); if the slot is marked, take the mutex and look after it
//
// and a caller that is about to wait does, with the mutex held,
//
//     mark every slot; heavy_fence(); look at every slot; join the queue
//
// Because of the pair of fences, one of them sees the other. While kSlow is set, every checkin takes the mutex before
// or after it frees its slot, so everything done with the mutex is in order. The heavy fence costs microseconds, so
// kSlow is cleared only after kCalm checkins in a row that found no waiter; and never if the kernel has no such fence.
// The same reasoning holds for removing a worker that may be held: the slot is marked, then comes the heavy fence, then
// the attempt to claim the slot. If that fails, the holder's checkin sees the mark. models/checkout.pml checks the
// handover.
//
// First in, first out: a caller that comes while another waits finds kGate set and queues. A checkin that finds a
// waiter hands its slot over without freeing it, so nobody can overtake. A caller may have missed the gate and claimed
// a slot; if the gate is set by then, it gives the slot back and queues. The claim is a compare-and-swap and so a full
// fence, and the store of the gate is followed by one (set_attention). So either the thread that sets the gate and then
// looks at the slots sees the claim, or the caller sees the gate. Therefore no slot is held that was claimed after
// suspend() or drain() have looked.
//
// A full fence, or a read-modify-write, in every checkout would be simpler. It was rejected because it halves the speed
// of the fast path (bench/checkout_bench.cc). A shared count of free workers was rejected for the same reason.
//
// A held slot belongs to its holder; see slot.h. A lease needs the pool's memory, not the pool: after close() the core
// keeps itself alive until the last lease is gone, and ThreadMark covers the moment after that.
//
// Thread-safe. No callback, factory or destructor of the user runs with the mutex held.

#include <atomic>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>
#include <source_location>
#include <string>
#include <tenure/checkout.hpp>
#include <vector>

#include "base/loop.h"
#include "checkout/brief_mutex.h"
#include "checkout/counters.h"
#include "checkout/executor.h"
#include "checkout/outbox.h"
#include "checkout/slot_table.h"
#include "checkout/start_book.h"
#include "checkout/thread_mark.h"
#include "checkout/waiter.h"

namespace tenure {

class BlockingWaiter;

// The time, threads and randomness of a core. Tests pass their own.
struct CheckoutSurroundings {
  std::shared_ptr<const Clock> clock;  // the loop's; it is read without the mutex, so it outlives the loop
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Entropy> entropy;

  static CheckoutSurroundings real(const CheckoutOptions& options);
};

class CheckoutCore : public detail::CheckoutDoor, public std::enable_shared_from_this<CheckoutCore> {
 public:
  using Answer = detail::CheckoutAnswer;
  using Slot = detail::CheckoutSlot;

  // The result for a caller that took the mutex.
  enum class Entry : std::uint8_t { claimed, queued, overloaded, down };
  struct Claim {
    Slot* slot = nullptr;
    std::uint64_t generation = 0;
  };

  // The options must have been checked (check_options.h).
  CheckoutCore(CheckoutOptions options, detail::AnyFactory factory, detail::AnyCheck validate,
               CheckoutSurroundings surroundings);
  ~CheckoutCore();
  // Starts the first workers. Call it once.
  void begin();

  // core.cc: the continuation of the fast path, and blocking callers.
  // A checkout that left the fast path: at its beginning, or after the claim.
  Answer checkout_attended(Nanos timeout, bool force, std::source_location where);
  Answer checkout_claimed(Nanos timeout, bool force, std::source_location where, Claim claim);
  static void checkin(Claim claim) noexcept { detail::checkin({claim.slot, claim.generation}); }
  // A checkin that left the fast path: before or after it freed the slot.
  void checkin_attended(Claim claim) noexcept;
  void checkin_late(Slot& slot) noexcept;
  void discard(Claim claim, std::string_view reason);
  void watch(Claim claim, std::function<void(std::string)> on_death);
  // The fast path alone. `queued` means that the mutex is needed.
  Entry quick(bool force, std::source_location where, Claim& claim);
  // True if the worker may be used. Otherwise it has been taken away and is replaced.
  bool usable(Claim claim);

  // core_queue.cc. `again`: the waiter has waited before and keeps its place.
  Entry enter(Waiter& waiter, bool again, Claim& claim);
  void leave(Waiter& waiter);

  // core_workers.cc.
  void died(Slot& slot, std::uint64_t number, std::string_view reason);
  void wear_out(Slot& slot, std::uint64_t number, std::string_view reason);

  // core_control.cc.
  void suspend();
  void resume();
  Status drain(Nanos timeout);
  Status resize(std::uint32_t default_workers, std::uint32_t max_workers);
  void close();

  // core_view.cc.
  CheckoutState state() const;
  CheckoutMetrics metrics() const;
  std::uint64_t number(const Slot& slot) const;
  Error down_error(std::string_view operation) const;

  void note_offered() { offered_.add(ThreadMark::mine().number()); }
  void note_settled() { settled_.add(ThreadMark::mine().number()); }
  void note_callback_error() { callback_errors_.fetch_add(1, std::memory_order_relaxed); }
  const std::string& name() const { return name_; }

 private:
  using EventKind = CheckoutEvent::Kind;

  static constexpr std::uint32_t kCalm = 256;
  static constexpr std::uint32_t kMaxPendingEvents = 4096;
  static constexpr Instant kNever{Nanos::max()};
  static constexpr Nanos kHibernateEvery = std::chrono::seconds(1);

  // core.cc
  Answer checkout_slow(Nanos timeout, bool force, std::source_location where);
  std::optional<Error> wait_for_answer(BlockingWaiter& waiter, SteadyTime deadline);
  template <class End>
  void end_hold(Claim claim, const End& end);

  // All below with mutex_ held.
  // core_queue.cc
  Entry enter(Waiter& waiter, bool again, Claim& claim, Instant time, Outbox& out);
  bool claim_free(std::source_location where, Claim& claim, Outbox& out);
  bool has_room(bool forced) const;
  void give(Slot& slot, std::uint64_t generation, Instant time, Outbox& out);
  bool hand_over(Slot& slot, std::uint64_t& generation, Instant time, Outbox& out);
  void serve(Outbox& out);
  Waiter* next_waiter(Instant time, Outbox& out);
  void unqueue(Waiter& waiter, Outbox& out);
  void dequeue(Waiter& waiter);
  void refuse_all(Errc code, Outbox& out);
  void slow_down();
  void calm_down();
  void mark_slow(bool on);
  void set_attention(std::uint32_t bit, bool on);
  void update_gate() { set_attention(kGate, down_ || draining_ || suspended_ || !queue_.empty()); }

  // core_workers.cc
  void reconcile(std::size_t waiting);
  void reconcile() { reconcile(queue_.size()); }
  void begin_start();
  void run_start(Slot& slot);  // without mutex_
  Result<detail::WorkerPtr> make_worker(Slot& slot, std::uint64_t number) noexcept;
  void start_succeeded(Slot& slot, detail::WorkerPtr worker, Outbox& out);
  void start_failed(Slot& slot, std::string error, Outbox& out);
  void note_failure(std::uint64_t round, std::string error, Outbox& out);
  void retire(Slot& slot, Outbox& out);
  void run_stop(Slot& slot);  // without mutex_
  void forget_watcher(Slot& slot, Outbox& out);
  std::size_t total() const { return live_ + starting_ + stopping_; }

  // core_care.cc
  void tick();  // without mutex_, on the loop
  void want_tick(Instant when);
  Instant care(Instant now, Outbox& out);
  Instant sweep(Instant now, Outbox& out);
  Instant expire(Instant now, Outbox& out);
  Instant shrink(Instant now, Outbox& out);
  void look_at(Slot& slot, Instant now, std::size_t& free, Outbox& out);
  void hibernate(std::size_t free);
  Nanos sweep_period() const;
  std::size_t count_free() const;
  bool retire_a_free_one(Outbox& out);
  void retire_marked(const std::vector<Slot*>& slots, Outbox& out);

  // core_control.cc
  void go_down(std::string reason, Outbox& out);
  void retire_free(Outbox& out);
  void bury(Outbox& out);

  // core_view.cc
  CheckoutHealth health() const;
  void note_health();
  void emit(EventKind kind, std::uint64_t worker, std::string text);
  void call_hook(const CheckoutEvent& event);
  std::string shortage() const;

  Instant now() const { return clock_->now(); }  // works without mutex_, which is better, because reading takes long

  const std::string name_;
  const detail::AnyCheck validate_;
  const std::shared_ptr<const Clock> clock_;
  SlotTable slots_{this};

  alignas(128) StripedCounter refused_fast_;
  StripedCounter offered_;  // workers offered to asynchronous requests; offered minus settled are in transit
  StripedCounter settled_;
  std::atomic<std::uint64_t> callback_errors_{0};
  std::atomic<std::uint32_t> pending_events_{0};
  const detail::AnyFactory factory_;

  alignas(128) mutable BriefMutex mutex_;
  std::condition_variable_any quiet_;  // a worker came back while draining
  // All below is guarded by mutex_.
  CheckoutOptions options_;
  std::unique_ptr<Entropy> entropy_;
  StartBook starts_;
  WaitQueue queue_;
  Instant queue_since_;  // since when it is not empty
  std::uint32_t calm_ = 0;
  std::size_t live_ = 0;
  std::size_t starting_ = 0;
  std::size_t stopping_ = 0;
  std::size_t target_ = 0;             // workers to keep without demand; default_workers, or fewer
  std::vector<Instant> shrink_looks_;  // one per extra worker
  std::uint64_t last_number_ = 0;
  std::uint64_t own_claims_ = 0;  // generations that were not checkouts
  std::uint64_t hibernated_at_ = 0;
  Instant next_sweep_;
  Instant armed_ = kNever;
  TimerId timer_ = 0;  // used by the loop
  bool suspended_ = false;
  bool draining_ = false;
  bool down_ = false;
  bool started_once_ = false;
  std::string down_reason_;
  CheckoutHealth told_health_ = CheckoutHealth::starting;
  CheckoutMetrics counts_;
  std::shared_ptr<CheckoutCore> self_;  // after close(), while leases are out
  // Gone after close(). Their threads use all of the above.
  std::unique_ptr<Executor> executor_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace tenure
