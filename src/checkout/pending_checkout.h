#pragma once

// An asynchronous checkout, from the request to the lease or the end.
//
//     waiting ──grant──▶ offered ──confirm──▶ taken
//        ▲  │               │ │
//        │  │               │ └──the worker is dead──▶ waiting, first in the queue
//        │  └────cancel─────┴──────────▶ over
//
// The state is one atomic word. The thread that moves it away from `offered` owns the offered worker. Another word has
// the news as bits, and a bit for their delivery: a thread that adds news delivers them itself unless another thread is
// already delivering. So the callbacks of one request never overlap.

#include <atomic>
#include <functional>
#include <memory>
#include <thread>

#include "checkout/core.h"
#include "checkout/waiter.h"

namespace tenure::detail {

class PendingCheckout final : public Waiter, public std::enable_shared_from_this<PendingCheckout> {
 public:
  PendingCheckout(std::shared_ptr<CheckoutCore> core, TellCheckout tell, AsyncCheckoutOptions options,
                  std::source_location place);
  ~PendingCheckout() override;

  // Call it once, first.
  void begin();
  Result<CheckoutClaim> confirm();
  void cancel();
  // Cancels. Afterwards no callback starts, and none is running on another thread.
  void abandon();
  Error down_reason() const { return core_->down_error("checkout"); }

  bool grant(const Grant& grant, Outbox& out) override;
  void refuse(Errc code, Outbox& out) override;
  void hold() override;
  void release(Outbox& out) override { out.drop(std::move(self_)); }

  // Delivers the news, here or through the executor. Only for the thread that owns the delivery.
  static void deliver(PendingPtr pending);

 private:
  enum class State : std::uint8_t { waiting, offered, taken, over };

  // The news, in the order of delivery, and the state of the delivery.
  static constexpr std::uint32_t kOverloaded = 1;
  static constexpr std::uint32_t kEnqueued = 2;
  static constexpr std::uint32_t kWorker = 4;
  static constexpr std::uint32_t kDown = 8;
  static constexpr std::uint32_t kNews = 15;
  static constexpr std::uint32_t kOwned = 16;    // somebody delivers, or has asked the executor to
  static constexpr std::uint32_t kCalling = 32;  // a callback is running
  static constexpr std::uint32_t kGone = 64;     // the request is abandoned

  void enter(bool again);
  bool post(std::uint32_t news) { return (news_.fetch_or(news | kOwned) & kOwned) == 0; }
  static void call_all(const PendingPtr& pending);
  void call(std::uint32_t news, const PendingPtr& self);

  const std::shared_ptr<CheckoutCore> core_;
  const TellCheckout tell_;
  const std::function<void(std::function<void()>)> executor_;
  CheckoutCore::Claim claim_;  // owned by the thread that moved the state to or from `offered`
  std::atomic<State> state_{State::waiting};
  std::atomic<std::uint32_t> news_{0};
  std::atomic<std::thread::id> caller_{};
  std::shared_ptr<PendingCheckout> self_;  // while it is in the queue; guarded by the pool's mutex
};

}  // namespace tenure::detail
