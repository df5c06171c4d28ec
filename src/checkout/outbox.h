#pragma once

// Work to do after the pool's mutex is released: threads to wake, callbacks to call, workers to destroy. Declare it
// before the lock, so that its destructor does the work after the unlock.

#include <functional>
#include <memory>
#include <tenure/checkout_request.hpp>
#include <tenure/checkout_worker.hpp>
#include <utility>
#include <vector>

#include "checkout/parking.h"

namespace tenure {

class Outbox {
 public:
  Outbox() = default;
  ~Outbox() { flush(); }
  Outbox(const Outbox&) = delete;
  Outbox& operator=(const Outbox&) = delete;

  void wake(const ParkWord& word) { (first_word_ == nullptr ? first_word_ : words_.emplace_back()) = &word; }
  // The request has news that nobody is delivering yet.
  void tell(detail::PendingPtr pending) {
    (first_pending_ == nullptr ? first_pending_ : pending_.emplace_back()) = std::move(pending);
  }
  // Must not throw.
  void call(std::function<void()> call) { calls_.push_back(std::move(call)); }
  void destroy(detail::WorkerPtr worker) { workers_.push_back(std::move(worker)); }
  // Releases the pool itself, or a waiter.
  void drop(std::shared_ptr<void> owner) {
    if (owner) owners_.push_back(std::move(owner));
  }

  void flush();

 private:
  // Usually there is only one, and nothing is allocated.
  const ParkWord* first_word_ = nullptr;
  detail::PendingPtr first_pending_;
  std::vector<const ParkWord*> words_;
  std::vector<detail::PendingPtr> pending_;
  std::vector<std::function<void()>> calls_;
  std::vector<detail::WorkerPtr> workers_;
  std::vector<std::shared_ptr<void>> owners_;
};

}  // namespace tenure
