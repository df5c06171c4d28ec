#pragma once

// A hold on one worker of a checkout pool. Letting it go, by any way out of its scope, is the checkin.
//
//     auto connection = pool.checkout();
//     if (!connection) return connection.error();
//     if (!(*connection)->ping()) connection->discard("no answer");
//
// Move-only; not thread-safe, though it may be let go on another thread than it came from. A lease may outlive its
// pool: the worker is then destroyed when the lease is let go.

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
  // NOLINTNEXTLINE(google-explicit-constructor): a claim is nothing else than a lease to come.
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
  // There must be one.
  Worker* get() const { return static_cast<Worker*>(claim_.slot->worker); }
  Worker& operator*() const { return *get(); }
  Worker* operator->() const { return get(); }

  // Gives the worker back. A second time is nothing.
  void checkin() noexcept {
    if (claim_.slot != nullptr) detail::checkin(std::exchange(claim_, {}));
  }
  // Gives it back as broken: it is destroyed, and replaced.
  void discard(std::string_view reason = {}) noexcept {
    if (claim_.slot != nullptr) detail::discard(std::exchange(claim_, {}), reason);
  }

  // False once the worker's alarm has said that it is dead; it is replaced at the checkin.
  bool alive() const noexcept { return claim_.slot != nullptr && detail::alive(claim_); }
  // Called once, on the thread that sets off the alarm, if that happens while this lease holds the worker; at once, on
  // this thread, if it has said so already. It may still run when the lease has been let go.
  void on_death(std::function<void(std::string)> call) {
    if (claim_.slot != nullptr) detail::watch(claim_, std::move(call));
  }
  // The worker's number in its pool, never used twice; as in events.
  std::uint64_t worker_number() const noexcept { return claim_.slot != nullptr ? detail::number(claim_) : 0; }

 private:
  detail::CheckoutClaim claim_{};
};

namespace detail {

// What all refusals of overloaded pools share.
extern const Error kCheckoutOverloaded;

}  // namespace detail

// As any Result, but small: the error lies elsewhere. So a checkout that succeeds is done in registers, and one that is
// refused by an overloaded pool makes no Error until somebody wants to change it.
template <class Worker>
class Result<CheckoutLease<Worker>> {
 public:
  using value_type = CheckoutLease<Worker>;

  Result() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): so that a function returns a lease, or fail(…).
  Result(value_type lease) noexcept : lease_(std::move(lease)) {}
  // NOLINTNEXTLINE(google-explicit-constructor): likewise.
  Result(Failure failure) : error_(new Error(std::move(failure).take())) {}
  // NOLINTNEXTLINE(google-explicit-constructor): an answer is nothing else.
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
  // What it is moved from has no lease any more, or another error.
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

  // The lease; throws BadResult where there is none.
  value_type& value() & { return checked().lease_; }
  const value_type& value() const& { return checked().lease_; }
  value_type value() && { return std::move(checked().lease_); }

  // The lease, which must be there.
  value_type& operator*() & { return lease_; }
  const value_type& operator*() const& { return lease_; }
  value_type operator*() && { return std::move(lease_); }
  value_type* operator->() { return &lease_; }
  const value_type* operator->() const { return &lease_; }

  // The error, which must be there.
  Error& error() & { return own_error(); }
  const Error& error() const& { return *error_; }
  Error&& error() && { return std::move(own_error()); }

 private:
  bool owned() const { return error_ != nullptr && error_ != &detail::kCheckoutOverloaded; }
  Error& own_error() {
    if (!owned()) error_ = new Error(*error_);
    return const_cast<Error&>(*error_);  // it was made by new, and is nobody else's
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
