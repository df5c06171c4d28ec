#pragma once

// The rules of a checkout pool, for workers of any type. The typed front is include/tenure/checkout.hpp.
//
// There are two ways through it. While workers suffice, a checkout is one compare-and-swap on a slot that no other
// thread is at, a checkin is one plain store, and nothing is shared but a word that nobody writes. Everything else
// takes the mutex: queueing, starts, deaths, timers, control. The fast way is in include/tenure/checkout_fast.hpp, so
// that it is inlined. The word between the two is `attention`:
//
//     kSlow        checkins end in the mutex; each slot has a mark that says the same
//     kGate        checkouts begin in the mutex: somebody waits already, or nobody may be served
//     kOverloaded  checkouts are refused without a further look
//
// What must not happen is that a caller finds no free slot and goes to sleep while another frees one and sees nobody
// asleep. A checkin is
//
//     word = free; light_fence(); if the slot is marked, take the mutex and look after it
//
// and one who is about to wait does, with the mutex,
//
//     mark every slot; heavy_fence(); look at every slot; join the queue
//
// By the pair of fences one of them sees the other. From then on, while kSlow stands, every checkin takes the mutex
// after its slot is free, or before that, so that what is done with the mutex is simply in order. The heavy fence costs
// microseconds, and so kSlow is left only after kCalm checkins in a row that found nobody waiting; never where the
// kernel has no such fence. The same reasoning holds for a worker that is to leave while it may be held: the slot is
// marked, then comes the heavy fence, then the attempt to claim the slot; if that fails, the holder's checkin sees the
// mark. models/checkout.pml checks the handover.
//
// First in, first out: who comes when somebody waits finds kGate set and queues. A checkin that finds somebody waiting
// hands its slot over without making it free, so that nobody can overtake. One who saw no gate, and has claimed a slot
// when it is there, gives the slot back and queues: the claim is a compare-and-swap and so a full fence, the gate's
// store is followed by one (set_attention), and either the claim is seen by who shuts the gate and then looks at the
// slots, or it sees the gate. So nothing is held that was claimed after suspend() or drain() have looked.
//
// A full fence, or a read-modify-write, in every checkin would be simpler, and was rejected: it takes half of what the
// fast way can do (bench/checkout_bench.cc). Counting the free workers in one word was rejected for the same reason.
//
// A slot that is held belongs to its holder; see slot.h. A lease needs the pool's memory, not the pool: after close()
// the core keeps itself alive until the last lease is gone, and ThreadMark covers the moment after that.
//
// Thread-safe. No callback, factory or destructor of the user's runs with the mutex held.

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

// Where a core's time, threads and randomness come from. Tests bring their own.
struct CheckoutSurroundings {
  std::shared_ptr<const Clock> clock;  // the loop's; it is read without the mutex, and so outlives the loop
  std::unique_ptr<Loop> loop;
  std::unique_ptr<Executor> executor;
  std::unique_ptr<Entropy> entropy;

  static CheckoutSurroundings real(const CheckoutOptions& options);
};

class CheckoutCore : public detail::CheckoutDoor, public std::enable_shared_from_this<CheckoutCore> {
 public:
  using Answer = detail::CheckoutAnswer;
  using Slot = detail::CheckoutSlot;

  // What became of one who came to the mutex.
  enum class Entry : std::uint8_t { claimed, queued, overloaded, down };
  struct Claim {
    Slot* slot = nullptr;
    std::uint64_t generation = 0;
  };

  // The options must have been checked (check_options.h).
  CheckoutCore(CheckoutOptions options, detail::AnyFactory factory, detail::AnyCheck validate,
               CheckoutSurroundings surroundings);
  ~CheckoutCore();
  // Starts the first workers. Once.
  void begin();

  // core.cc: where the fast way goes on, and what a blocking caller does.
  // A checkout that did not go the fast way: from its beginning, or after the claim.
  Answer checkout_attended(Nanos timeout, bool force, std::source_location where);
  Answer checkout_claimed(Nanos timeout, bool force, std::source_location where, Claim claim);
  static void checkin(Claim claim) noexcept { detail::checkin({claim.slot, claim.generation}); }
  // Likewise a checkin: before, or after the slot was made free.
  void checkin_attended(Claim claim) noexcept;
  void checkin_late(Slot& slot) noexcept;
  void discard(Claim claim, std::string_view reason);
  void watch(Claim claim, std::function<void(std::string)> on_death);
  // The fast way alone: `queued` means that the mutex is needed.
  Entry quick(bool force, std::source_location where, Claim& claim);
  // Whether the worker may be used; if not, it has been taken away and is replaced.
  bool usable(Claim claim);

  // core_queue.cc. `again`: it has waited before, and keeps its place.
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
  void run_start(Slot& slot);  // without the mutex
  Result<detail::WorkerPtr> make_worker(Slot& slot, std::uint64_t number) noexcept;
  void start_succeeded(Slot& slot, detail::WorkerPtr worker, Outbox& out);
  void start_failed(Slot& slot, std::string error, Outbox& out);
  void note_failure(std::uint64_t round, std::string error, Outbox& out);
  void retire(Slot& slot, Outbox& out);
  void run_stop(Slot& slot);  // without the mutex
  void forget_watcher(Slot& slot, Outbox& out);
  std::size_t total() const { return live_ + starting_ + stopping_; }

  // core_care.cc
  void tick();  // without the mutex, on the loop
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

  Instant now() const { return clock_->now(); }  // without the mutex, too, and better so: it takes longer than most

  const std::string name_;
  const detail::AnyCheck validate_;
  const std::shared_ptr<const Clock> clock_;
  SlotTable slots_{this};

  alignas(128) StripedCounter refused_fast_;
  StripedCounter offered_;  // workers, to asynchronous requests; what is not settled is in transit
  StripedCounter settled_;
  std::atomic<std::uint64_t> callback_errors_{0};
  std::atomic<std::uint32_t> pending_events_{0};
  const detail::AnyFactory factory_;

  alignas(128) mutable BriefMutex mutex_;
  std::condition_variable_any quiet_;  // something came back while draining
  // All below is guarded by mutex_.
  CheckoutOptions options_;
  std::unique_ptr<Entropy> entropy_;
  StartBook starts_;
  WaitQueue queue_;
  Instant queue_since_;  // it is not empty
  std::uint32_t calm_ = 0;
  std::size_t live_ = 0;
  std::size_t starting_ = 0;
  std::size_t stopping_ = 0;
  std::size_t target_ = 0;             // workers to have without being asked; default_workers, or fewer by idle_timeout
  std::vector<Instant> shrink_looks_;  // one for each extra worker
  std::uint64_t last_number_ = 0;
  std::uint64_t own_claims_ = 0;  // generations that were no checkouts
  std::uint64_t hibernated_at_ = 0;
  Instant next_sweep_;
  Instant armed_ = kNever;
  TimerId timer_ = 0;  // belongs to the loop
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
