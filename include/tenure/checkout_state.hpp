#pragma once

// The state, the counters and the events of a checkout pool. All are plain values; not thread-safe.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

enum class CheckoutHealth : std::uint8_t {
  starting,   // no worker has started yet, and no start has failed
  ready,      //
  degraded,   // there are workers, but starts fail
  failing,    // there are no workers, and starts fail; the pool keeps trying
  suspended,  // no worker is handed out until resume()
  draining,   // new checkouts are refused
  down,       // closed or given up; final
};

struct CheckoutState {
  CheckoutHealth health = CheckoutHealth::starting;
  std::string reason{};  // why the pool is down, or why the last start failed
  // The number of workers in each state.
  std::uint32_t free = 0;
  std::uint32_t held = 0;
  std::uint32_t in_transit = 0;  // the part of `held` that is offered to a request and not yet confirmed
  std::uint32_t starting = 0;
  std::uint32_t stopping = 0;
  std::uint64_t waiting = 0;  // checkouts in the queue
  bool overloaded = false;
  // The present limits (see resize()).
  std::uint32_t default_workers = 0;
  std::uint32_t max_workers = 0;
  std::int64_t max_queue = 0;

  std::uint32_t active() const { return free + held; }
};

// Counters since the pool was opened.
struct CheckoutMetrics {
  std::uint64_t checkouts = 0;        // that got a worker, or an offer that was not confirmed
  std::uint64_t overloaded = 0;       // checkouts refused as overloaded
  std::uint64_t waited = 0;           // the part of `checkouts` that had to wait
  std::uint64_t timed_out = 0;        // checkouts that waited until their timeout
  std::uint64_t cancelled = 0;        // asynchronous requests cancelled while they waited
  std::uint64_t shed = 0;             // checkouts refused by load shedding after they had waited
  std::uint64_t starts = 0;           // successful starts
  std::uint64_t start_failures = 0;   //
  std::uint64_t deaths = 0;           // workers reported dead by an alarm
  std::uint64_t discarded = 0;        // workers discarded by their holders
  std::uint64_t invalid = 0;          // workers that failed validation at a checkout
  std::uint64_t expired = 0;          // workers that reached max_lifetime or were retired by an alarm
  std::uint64_t idled_out = 0;        // workers that reached idle_timeout
  std::uint64_t shrunk = 0;           // extra workers that left
  std::uint64_t leaks = 0;            // workers held for longer than leak_after
  std::uint64_t stale_checkins = 0;   // checkins of workers that were no longer held; ignored
  std::uint64_t hibernations = 0;     //
  std::uint64_t callback_errors = 0;  // exceptions thrown by callbacks
  std::uint64_t events_lost = 0;      // events dropped because on_event was too slow
  std::chrono::nanoseconds wait_total{0};
  std::chrono::nanoseconds wait_max{0};
};

struct CheckoutEvent {
  enum class Kind : std::uint8_t {
    started,       // a worker started
    start_failed,  // text: the error
    died,          // an alarm reported a worker dead; text: its reason
    discarded,     // a holder discarded a worker; text: its reason
    invalid,       // a worker failed validation at a checkout
    expired,       // a worker reached its lifetime or was retired; text: why
    idled_out,     // a worker was free for longer than idle_timeout
    shrunk,        // an extra worker left
    leaked,        // a worker is held for longer than leak_after; text: the source location of the checkout
    health,        // the pool's health changed; text: why
  };

  Kind kind = Kind::started;
  CheckoutHealth health = CheckoutHealth::starting;  // of the pool, after the event
  std::uint64_t worker = 0;                          // the worker's number, or zero
  std::string text{};
};

std::string_view to_string(CheckoutHealth health);
std::string_view to_string(CheckoutEvent::Kind kind);

}  // namespace tenure
