#pragma once

// The options of a checkout pool, with their defaults. A span of zero turns off what it belongs to.

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <tenure/checkout_state.hpp>

namespace tenure {

// When an extra worker is looked at: first so long after it started, then again and again. One value means both.
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

  std::string name{};                  // found by it in this process; no registration where empty
  std::uint32_t default_workers = 20;  // started at once, and kept
  std::uint32_t max_workers = 25;      // reached on demand; at least default_workers
  std::int64_t max_queue = 0;          // checkouts that may wait for a worker: none, up to N, or, with -1, any number
  bool hibernate_when_free = false;    // gives memory back to the system when no worker is held, once a second at most
  // An extra worker leaves if there are more than default_workers, and more than a fifth of these are free.
  ShrinkTimeout shrink_timeout{};

  // Starts. One that fails, or a worker that dies within its first second, delays the next one: twice as long each
  // time, with jitter. While starts fail they are tried one at a time.
  std::uint32_t parallel_starts = 4;
  Millis start_backoff{100};
  Millis start_backoff_max{30'000};
  // The pool gives up, and is down, after more failures than this within that span. Zero: it never gives up.
  std::uint32_t start_failures_max = 0;
  Millis start_failures_within{60'000};

  Millis max_lifetime{0};        // of a worker; it is replaced when it is next free
  double lifetime_jitter = 0.1;  // each worker's lifetime is shortened by up to this share, at random
  // A worker that is free for so long leaves, unless no more than min_idle are free; the pool may then have fewer
  // than default_workers, until they are wanted again.
  Millis idle_timeout{0};
  std::uint32_t min_idle = 0;
  Millis leak_after{0};  // a worker held for longer is reported, with the place of its checkout

  // Sheds load: once the queue has not been empty for shed_interval, who has waited longer than shed_target is told
  // `overloaded` when his turn comes. force_enqueue is exempt.
  Millis shed_target{0};
  Millis shed_interval{100};

  // Called on a thread of the pool's, one event after the other, with no lock held.
  std::function<void(const CheckoutEvent&)> on_event{};
};

}  // namespace tenure
