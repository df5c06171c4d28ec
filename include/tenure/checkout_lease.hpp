#pragma once

// A lease: exclusive use of one worker of a checkout pool. Destroying the lease checks the worker in.
//
//     auto connection = pool.checkout();
//     if (!connection) return connection.error();
//     if (!(*connection)->ping()) connection->discard("no answer");
//
// Not thread-safe, but it may be moved to another thread and destroyed there. Move-only. A lease may outlive its pool;
// the worker is then destroyed with the lease.

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <tenure/checkout_fast.hpp>
#include <tenure/result.hpp>
#include <utility>

namespace tenure {

namespace detail {

void discard(CheckoutClaim claim, std::string_view reason) noexcept;
bool alive(CheckoutClaim claim) noexcept;
std::uint64_t number(CheckoutClaim claim) noexcept;
void watch(CheckoutClaim claim, std::function<void(std::string)> on_death);

}  // namespace detail

template <class Worker>
class CheckoutLease {
 public:
  CheckoutLease() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): a lease is a claim with a type.
  CheckoutLease(detail::CheckoutClaim claim) : claim_(claim) {}
  ~CheckoutLease() {
    if (claim_.slot != nullptr) detail::checkin(claim_);
  }
  CheckoutLease(CheckoutLease&& other) noexcept : claim_(std::exchange(other.claim_, {})) {}
  CheckoutLease& operator=(CheckoutLease&& other) noexcept {
    if (this != &other) {
      checkin();
      claim_ = std::exchange(other.claim_, {});
    }
    return *this;
  }
  CheckoutLease(const CheckoutLease&) = delete;
  CheckoutLease& operator=(const CheckoutLease&) = delete;

  explicit operator bool() const { return claim_.slot != nullptr; }
  // The worker. The lease must not be empty.
  Worker* get() const { return static_cast<Worker*>(claim_.slot->worker); }
  Worker& operator*() const { return *get(); }
  Worker* operator->() const { return get(); }

  // Gives the worker back now. A second call has no effect.
  void checkin() noexcept {
    if (claim_.slot != nullptr) detail::checkin(std::exchange(claim_, {}));
  }
  // Gives the worker back as broken. The pool destroys and replaces it.
  void discard(std::string_view reason = {}) noexcept {
    if (claim_.slot != nullptr) detail::discard(std::exchange(claim_, {}), reason);
  }

  // False once the worker's alarm has reported its death. The pool replaces the worker at the checkin.
  bool alive() const noexcept { return claim_.slot != nullptr && detail::alive(claim_); }
  // Registers a callback for the worker's death. It runs once, on the thread that calls the alarm, if the worker dies
  // while this lease holds it. If the worker is already dead, the callback runs at once, on this thread. It may still
  // be running after the lease has ended.
  void on_death(std::function<void(std::string)> call) {
    if (claim_.slot != nullptr) detail::watch(claim_, std::move(call));
  }
  // The worker's number in its pool, as in events. Numbers are never reused.
  std::uint64_t worker_number() const noexcept { return claim_.slot != nullptr ? detail::number(claim_) : 0; }

 private:
  detail::CheckoutClaim claim_{};
};

namespace detail {

// The error that all refusals by overloaded pools share.
extern const Error kCheckoutOverloaded;

}  // namespace detail

// A Result like any other, but small: it stores a pointer to the error. A successful checkout therefore stays in
// registers, and a refusal by an overloaded pool allocates no Error until the caller asks for a mutable one.
template <class Worker>
class Result<CheckoutLease<Worker>> {
 public:
  using value_type = CheckoutLease<Worker>;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a function returns a lease, or fail(…).
  Result(value_type lease) noexcept : lease_(std::move(lease)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise.
  Result(Failure failure) : error_(new Error(std::move(failure).take())) {}
  // NOLINTNEXTLINE(google-explicit-constructor): an answer is a lease or an error.
  Result(detail::CheckoutAnswer answer) noexcept
      : lease_(answer.slot != nullptr ? detail::CheckoutClaim{answer.slot, answer.generation}
                                      : detail::CheckoutClaim{}),
        error_(answer.slot != nullptr    ? nullptr
               : answer.error != nullptr ? answer.error
                                         : &detail::kCheckoutOverloaded) {}
  ~Result() {
    if (owned()) [[unlikely]]
      delete error_;
  }
  // Leaves `other` without a lease, or with the shared error.
  Result(Result&& other) noexcept : lease_(std::move(other.lease_)), error_(other.error_) {
    if (error_ != nullptr) other.error_ = &detail::kCheckoutOverloaded;
  }
  Result& operator=(Result&& other) noexcept {
    lease_ = std::move(other.lease_);
    std::swap(error_, other.error_);
    return *this;
  }
  Result(const Result&) = delete;
  Result& operator=(const Result&) = delete;

  bool has_value() const { return error_ == nullptr; }
  explicit operator bool() const { return has_value(); }

  // The lease; throws BadResult if there is none.
  value_type& value() & { return checked().lease_; }
  const value_type& value() const& { return checked().lease_; }
  value_type value() && { return std::move(checked().lease_); }

  // The lease. There must be one.
  value_type& operator*() & { return lease_; }
  const value_type& operator*() const& { return lease_; }
  value_type operator*() && { return std::move(lease_); }
  value_type* operator->() { return &lease_; }
  const value_type* operator->() const { return &lease_; }

  // The error. There must be one.
  Error& error() & { return own_error(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(own_error()); }

 private:
  bool owned() const { return error_ != nullptr && error_ != &detail::kCheckoutOverloaded; }
  Error& own_error() {
    if (!owned()) error_ = new Error(*error_);
    return const_cast<Error&>(*error_);  // allocated by this Result, which owns it
  }
  const Result& checked() const {
    if (error_ != nullptr) throw BadResult(*error_);
    return *this;
  }
  Result& checked() {
    if (error_ != nullptr) throw BadResult(*error_);
    return *this;
  }

  value_type lease_;
  const Error* error_ = nullptr;
};

}  // namespace tenure
