#pragma once

// The options of a checkout pool, with their defaults. A duration of zero turns its feature off.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <tenure/checkout_state.hpp>

namespace tenure {

// When the pool checks whether an extra worker should leave: `first` after the worker started, then every `later`.
// A single value sets both.
struct ShrinkTimeout {
  std::chrono::milliseconds first{5'000};
  std::chrono::milliseconds later{10'000};

  ShrinkTimeout() = default;
  template <class Rep, class Period>
  // NOLINTNEXTLINE(google-explicit-constructor): `options.shrink_timeout = 5s`.
  ShrinkTimeout(std::chrono::duration<Rep, Period> both) : first(both), later(both) {}
  ShrinkTimeout(std::chrono::milliseconds at_first, std::chrono::milliseconds then) : first(at_first), later(then) {}
};

struct CheckoutOptions {
  using Millis = std::chrono::milliseconds;

  static constexpr std::uint32_t kMaxWorkers = 4096;    // of one pool
  static constexpr std::int64_t kMaxWaiters = 1 << 20;  // of one pool, also with force_enqueue or an unbounded queue

  std::string name{};                  // for CheckoutRef::find() in this process; an empty name is not registered
  std::uint32_t default_workers = 20;  // started at once, and kept
  std::uint32_t max_workers = 25;      // reached on demand; at least default_workers
  std::int64_t max_queue = 0;          // how many checkouts may wait; 0: none, -1: up to kMaxWaiters
  bool hibernate_when_free = false;    // returns memory to the system when no worker is held, at most once a second
  // An extra worker leaves if there are more than default_workers, and more than a fifth of these are free.
  ShrinkTimeout shrink_timeout{};

  // Starts. After a failed start, or the death of a worker within its first second, the next start is delayed. The
  // delay doubles with each failure, with jitter. While starts fail, the pool tries one at a time.
  std::uint32_t parallel_starts = 4;
  Millis start_backoff{100};
  Millis start_backoff_max{30'000};
  // The pool gives up and goes down after more than start_failures_max failures within start_failures_within.
  // Zero: it never gives up.
  std::uint32_t start_failures_max = 0;
  Millis start_failures_within{60'000};

  Millis max_lifetime{0};        // an older worker is replaced when it is next free
  double lifetime_jitter = 0.1;  // shortens each worker's lifetime by a random share, up to this one
  // A worker that stays free for this long leaves, as long as more than min_idle workers are free. The pool may then
  // have fewer than default_workers until callers need them again.
  Millis idle_timeout{0};
  std::uint32_t min_idle = 0;
  Millis leak_after{0};  // reports a worker that is held for longer, with the source location of its checkout

  // Load shedding. If the queue has not been empty for shed_interval, a caller that has waited longer than shed_target
  // gets `overloaded` when its turn comes. Callers with force_enqueue are exempt.
  Millis shed_target{0};
  Millis shed_interval{100};

  // Called on a thread of the pool, for one event at a time, with no lock held.
  std::function<void(const CheckoutEvent&)> on_event{};
};

}  // namespace tenure
