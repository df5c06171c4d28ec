#pragma once

// The result of a handler. A handler may return or throw each of these. Any other exception counts as a failure with
// the exception's text.
//
//     return "sent";                             // done, with a result for the dispatcher
//     return tenure::Requeue{5s, "rate limit"};  // run it again in five seconds; does not count as an attempt
//     throw tenure::NoRetry{"no such address"};  // make it a dead letter at once
//     throw std::runtime_error("timeout");       // failed; the pool retries it if any attempts are left

#include <chrono>
#include <string>
#include <tenure/result.hpp>
#include <utility>

namespace tenure {

struct Requeue {
  std::chrono::milliseconds delay{0};
  std::string reason{};
};

struct NoRetry {
  std::string error{};
};

// A plain value. Not thread-safe.
class Outcome {
 public:
  enum class Kind : std::uint8_t { done, failed, requeue, no_retry };

  Outcome() = default;  // done, without a result
  // NOLINTBEGIN(google-explicit-constructor): so that a handler returns any of these.
  Outcome(std::string result) : text_(std::move(result)) {}
  Outcome(const char* result) : text_(result) {}
  Outcome(Requeue requeue) : kind_(Kind::requeue), delay_(requeue.delay), text_(std::move(requeue.reason)) {}
  Outcome(NoRetry no_retry) : kind_(Kind::no_retry), text_(std::move(no_retry.error)) {}
  Outcome(const Failure& failure) : kind_(Kind::failed), text_(failure.error().message()) {}
  Outcome(const Status& status) {
    if (!status) *this = Outcome(Failure(status.error()));
  }
  Outcome(Result<std::string> result) {
    *this = result ? Outcome(*std::move(result)) : Outcome(Failure(result.error()));
  }
  // NOLINTEND(google-explicit-constructor)

  // A failure. The pool retries the job by its rules.
  static Outcome failed(std::string error) {
    Outcome outcome;
    outcome.kind_ = Kind::failed;
    outcome.text_ = std::move(error);
    return outcome;
  }

  Kind kind() const { return kind_; }
  // The result if done, otherwise the error.
  const std::string& text() const { return text_; }
  std::string take_text() && { return std::move(text_); }
  std::chrono::milliseconds delay() const { return delay_; }

 private:
  Kind kind_ = Kind::done;
  std::chrono::milliseconds delay_{0};
  std::string text_{};
};

}  // namespace tenure
