#pragma once

// A checkout that does not block, for event loops. The one who asks is told by a callback:
//
//     overloaded                  no worker, and no room in the queue: it is over
//     enqueued ─▶ worker          a worker is offered; confirm() makes it a lease
//                 worker          the same, without having had to wait
//                 pool_down       the pool was closed or has given up: it is over
//
// A worker that dies after it was offered and before it was confirmed is replaced by another offer: confirm() answers
// Errc::worker_died, the request is first in the queue again, and `enqueued` and `worker` come anew.
//
// The callback runs where the news arises: within checkout_async() itself, or on a thread that gives a worker back,
// always without a lock; or, if an executor is given, wherever that runs what it is handed. The calls for one request
// come one after the other. Requests wait in the same queue as threads do, and cost some memory each, no thread.
//
// A request may be destroyed at any moment, also within its callback. It is then cancelled, a worker on its way to it
// goes back to the pool, and no call begins any more; one that is running on another thread is waited for. Confirming
// or cancelling twice, or after the end, does nothing but say so. Thread-safe.

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
  // Runs what it is handed, once, some time; empty: at once, on the thread that has the news.
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

// What a callback is given. May be copied and kept; it does not keep the request from being cancelled.
template <class Worker>
class CheckoutNews {
 public:
  CheckoutNews(CheckoutNewsKind kind, detail::PendingPtr pending) : kind_(kind), pending_(std::move(pending)) {}

  CheckoutNewsKind kind() const { return kind_; }
  // As the request's own.
  Result<CheckoutLease<Worker>> confirm() const {
    auto claim = detail::confirm(*pending_);
    if (!claim) return Failure(std::move(claim).error());
    return CheckoutLease<Worker>(*claim);
  }
  void cancel() const { detail::cancel(*pending_); }
  // With the reason, after pool_down.
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

  // Takes the worker that was offered. Errc::busy: none is offered yet. Errc::worker_died: see above. Errc::invalid:
  // confirmed before. Errc::closed: cancelled, refused, or the pool is down.
  Result<CheckoutLease<Worker>> confirm() {
    if (!pending_) return Failure(Error{Errc::closed, "confirm", "no request"});
    return CheckoutNews<Worker>(CheckoutNewsKind::worker, pending_).confirm();
  }
  // Gives the place in the queue up, or the worker that was offered back. After confirm() it does nothing.
  void cancel() {
    if (pending_) detail::cancel(*pending_);
  }
  // As the destructor.
  void reset() {
    if (pending_) detail::abandon(*std::exchange(pending_, nullptr));
  }

 private:
  detail::PendingPtr pending_;
};

}  // namespace tenure
