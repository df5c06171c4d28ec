#pragma once

// What a checkout pool says about itself: its state and its counters as values, and events as they happen.

#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenure {

enum class CheckoutHealth : std::uint8_t {
  starting,   // no worker has started yet, and none has failed to
  ready,      //
  degraded,   // there are workers, but starts fail
  failing,    // there are no workers, and starts fail; they are tried again
  suspended,  // nothing is handed out until resume()
  draining,   // new checkouts are refused
  down,       // closed, or given up; for good
};

struct CheckoutState {
  CheckoutHealth health = CheckoutHealth::starting;
  std::string reason{};  // why it is down, or why the last start failed
  // Workers, by what they are at.
  std::uint32_t free = 0;
  std::uint32_t held = 0;
  std::uint32_t in_transit = 0;  // of those held: offered to an asynchronous request that has not confirmed yet
  std::uint32_t starting = 0;
  std::uint32_t stopping = 0;
  std::uint64_t waiting = 0;  // checkouts in the queue
  bool overloaded = false;
  // The limits as they are now.
  std::uint32_t default_workers = 0;
  std::uint32_t max_workers = 0;
  std::int64_t max_queue = 0;

  std::uint32_t active() const { return free + held; }
};

// Counters since the pool was opened.
struct CheckoutMetrics {
  std::uint64_t checkouts = 0;        // that got a worker, also those it was offered to in vain
  std::uint64_t overloaded = 0;       // refused
  std::uint64_t waited = 0;           // of the checkouts, those that had to wait
  std::uint64_t timed_out = 0;        // gave up waiting
  std::uint64_t cancelled = 0;        // asynchronous requests that were cancelled while they waited
  std::uint64_t shed = 0;             // refused after having waited
  std::uint64_t starts = 0;           // that succeeded
  std::uint64_t start_failures = 0;   //
  std::uint64_t deaths = 0;           // reported by an alarm
  std::uint64_t discarded = 0;        // by their holders
  std::uint64_t invalid = 0;          // found so when they were borrowed
  std::uint64_t expired = 0;          // by max_lifetime, or retired by their alarms
  std::uint64_t idled_out = 0;        // by idle_timeout
  std::uint64_t shrunk = 0;           // extra workers that left
  std::uint64_t leaks = 0;            // held for longer than leak_after
  std::uint64_t stale_checkins = 0;   // of something that was not held any more; ignored
  std::uint64_t hibernations = 0;     //
  std::uint64_t callback_errors = 0;  // exceptions that callbacks let out
  std::uint64_t events_lost = 0;      // because on_event fell behind
  std::chrono::nanoseconds wait_total{0};
  std::chrono::nanoseconds wait_max{0};
};

struct CheckoutEvent {
  enum class Kind : std::uint8_t {
    started,       // a worker
    start_failed,  // text: why
    died,          // a worker; text: what its alarm said
    discarded,     // a worker, by its holder; text: what it said
    invalid,       // a worker, found so when it was borrowed
    expired,       // a worker reached its lifetime, or was retired; text: why
    idled_out,     // a worker was free for too long
    shrunk,        // an extra worker left
    leaked,        // a worker is held for longer than leak_after; text: the place of the checkout
    health,        // changed; text: why
  };

  Kind kind = Kind::started;
  CheckoutHealth health = CheckoutHealth::starting;  // of the pool, after it
  std::uint64_t worker = 0;                          // its number, or zero
  std::string text{};
};

std::string_view to_string(CheckoutHealth health);
std::string_view to_string(CheckoutEvent::Kind kind);

}  // namespace tenure
