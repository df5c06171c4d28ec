#pragma once

// A checkout that does not block, for event loops. A callback receives the progress of the request:
//
//     overloaded                  no worker is available and the queue is full; the request has ended
//     enqueued ─▶ worker          the pool offers a worker; confirm() turns the offer into a lease
//                 worker          the same, if a worker was free at once
//                 pool_down       the pool was closed or has given up; the request has ended
//
// If a worker dies between the offer and its confirmation, confirm() returns Errc::worker_died, the request goes back
// to the head of the queue, and the callback receives `enqueued` and `worker` again.
//
// Without an executor the callback runs on the thread that causes the event: within checkout_async(), or on a thread
// that gives a worker back. With an executor it runs there. No lock is held. The calls for one request never overlap.
// Requests and blocked threads wait in one queue. A waiting request uses memory but no thread.
//
// You may destroy a request at any time, also within its callback. This cancels it and returns an offered worker to the
// pool. No further call begins; if one is running on another thread, the destructor waits for it. Confirming or
// cancelling a second time, or after the request has ended, has no effect; confirm() then returns an error.
// Thread-safe.

#include <cstdint>
#include <functional>
#include <memory>
#include <source_location>
#include <tenure/checkout_lease.hpp>
#include <tenure/result.hpp>
#include <utility>

namespace tenure {

enum class CheckoutNewsKind : std::uint8_t { overloaded, enqueued, worker, pool_down };

struct AsyncCheckoutOptions {
  bool force_enqueue = false;
  // Must run each function exactly once, at any time. Empty: callbacks run on the thread that causes the event.
  std::function<void(std::function<void()>)> executor{};
};

namespace detail {

class PendingCheckout;

using PendingPtr = std::shared_ptr<PendingCheckout>;
using TellCheckout = std::function<void(CheckoutNewsKind, const PendingPtr&)>;

PendingPtr checkout_async(const std::shared_ptr<CheckoutDoor>& door, TellCheckout tell, AsyncCheckoutOptions options,
                          std::source_location where);
Result<CheckoutClaim> confirm(PendingCheckout& pending);
void cancel(PendingCheckout& pending) noexcept;
void abandon(PendingCheckout& pending) noexcept;
Error down_reason(const PendingCheckout& pending);

}  // namespace detail

// The argument of the callback. It can be copied and kept. Keeping it does not keep the request alive. Thread-safe.
template <class Worker>
class CheckoutNews {
 public:
  CheckoutNews(CheckoutNewsKind kind, detail::PendingPtr pending) : kind_(kind), pending_(std::move(pending)) {}

  CheckoutNewsKind kind() const { return kind_; }
  // The same as CheckoutRequest::confirm() and cancel().
  Result<CheckoutLease<Worker>> confirm() const {
    auto claim = detail::confirm(*pending_);
    if (!claim) return Failure(std::move(claim).error());
    return CheckoutLease<Worker>(*claim);
  }
  void cancel() const { detail::cancel(*pending_); }
  // After pool_down: the reason.
  Error error() const { return detail::down_reason(*pending_); }

 private:
  CheckoutNewsKind kind_;
  detail::PendingPtr pending_;
};

template <class Worker>
class CheckoutRequest {
 public:
  CheckoutRequest() = default;
  explicit CheckoutRequest(detail::PendingPtr pending) : pending_(std::move(pending)) {}
  ~CheckoutRequest() { reset(); }
  CheckoutRequest(CheckoutRequest&& other) noexcept = default;
  CheckoutRequest& operator=(CheckoutRequest&& other) noexcept {
    if (this != &other) {
      reset();
      pending_ = std::move(other.pending_);
    }
    return *this;
  }
  CheckoutRequest(const CheckoutRequest&) = delete;
  CheckoutRequest& operator=(const CheckoutRequest&) = delete;

  explicit operator bool() const { return pending_ != nullptr; }

  // Takes the offered worker. Errc::busy: no worker has been offered yet. Errc::worker_died: see above. Errc::invalid:
  // already confirmed. Errc::closed: the request was cancelled or refused, or the pool is down.
  Result<CheckoutLease<Worker>> confirm() {
    if (!pending_) return Failure(Error{Errc::closed, "confirm", "no request"});
    return CheckoutNews<Worker>(CheckoutNewsKind::worker, pending_).confirm();
  }
  // Leaves the queue, or returns the offered worker. Has no effect after confirm().
  void cancel() {
    if (pending_) detail::cancel(*pending_);
  }
  // The same as destroying the request.
  void reset() {
    if (pending_) detail::abandon(*std::exchange(pending_, nullptr));
  }

 private:
  detail::PendingPtr pending_;
};

}  // namespace tenure
