#pragma once

// Decides when a pool may start workers, from the results of earlier starts.
//
// Starts run in parallel, so they also fail in parallel. Of the starts that were begun before the last failure was
// known, only the first failure counts. After a failure the pool starts nothing for a while, longer each time, and then
// only one worker until a start succeeds. A worker that dies within its first second counts as a failed start.
// Otherwise a pool whose workers start well and die at once would be busy forever.
//
// Guarded by the pool's mutex.

#include <cstdint>
#include <deque>
#include <string>
#include <tenure/checkout_options.hpp>

#include "base/backoff.h"

namespace tenure {

class StartBook {
 public:
  static constexpr Nanos kYoung = std::chrono::seconds(1);
  // After this time without a failure, the next one counts as the first again.
  static constexpr Nanos kForgotten = std::chrono::seconds(10);

  StartBook(const CheckoutOptions& options, Entropy& entropy)
      : failures_max_(options.start_failures_max),
        failures_within_(options.start_failures_within),
        backoff_(options.start_backoff, options.start_backoff_max, entropy) {}

  bool may_start(Instant now, std::size_t starting) const {
    return now >= retry_at_ && (failures_ == 0 || starting == 0);
  }
  // No start before this moment.
  Instant retry_at() const { return retry_at_; }
  std::uint64_t round() const { return round_; }
  // The number of failures since a worker last started.
  std::uint64_t failures() const { return failures_; }
  const std::string& last_error() const { return last_error_; }

  void succeeded() { failures_ = 0; }

  // Returns true if this was one failure too many.
  bool failed(std::uint64_t round, Instant now, std::string error) {
    last_error_ = std::move(error);
    ++failures_;
    if (round != round_) return false;
    ++round_;
    if (now - last_failure_ > kForgotten + last_delay_) backoff_.reset();
    last_failure_ = now;
    last_delay_ = backoff_.next();
    retry_at_ = now + last_delay_;
    if (failures_max_ == 0) return false;
    recent_.push_back(now);
    while (now - recent_.front() > failures_within_) recent_.pop_front();
    return recent_.size() > failures_max_;
  }

 private:
  const std::uint32_t failures_max_;
  const Nanos failures_within_;
  Backoff backoff_;
  std::uint64_t round_ = 1;
  std::uint64_t failures_ = 0;
  Instant retry_at_;
  Instant last_failure_;
  Nanos last_delay_{0};
  std::deque<Instant> recent_;  // at most failures_max_ + 1
  std::string last_error_;
};

}  // namespace tenure
