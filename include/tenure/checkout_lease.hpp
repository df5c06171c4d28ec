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
#include <utility>

namespace tenure {

namespace detail {

// What a lease sees of a worker's place in its pool.
struct CheckoutSlotHead {
  void* worker = nullptr;
};

// A lease without its type: which slot, in which of its generations. A claim of an earlier generation does nothing.
// Two words, so that it is passed in registers.
struct CheckoutClaim {
  CheckoutSlotHead* slot = nullptr;
  std::uint64_t generation = 0;
};

void checkin(CheckoutClaim claim) noexcept;
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

}  // namespace tenure
