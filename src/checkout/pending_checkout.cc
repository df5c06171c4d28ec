#include "checkout/pending_checkout.h"

#include <utility>
#include <vector>

#include "base/result.h"

namespace tenure::detail {
namespace {

// A callback often gives a worker back or requests one, which is news for others. Nested delivery would use a stack
// frame per waiter, so the outermost delivery of a thread calls them one after the other.
thread_local std::vector<PendingPtr>* told_later = nullptr;

}  // namespace

PendingCheckout::PendingCheckout(std::shared_ptr<CheckoutCore> core, TellCheckout tell, AsyncCheckoutOptions options,
                                 std::source_location place)
    : core_(std::move(core)), tell_(std::move(tell)), executor_(std::move(options.executor)) {
  forced = options.force_enqueue;
  where = place;
}

PendingCheckout::~PendingCheckout() { cancel(); }

void PendingCheckout::begin() {
  const CheckoutCore::Entry entry = core_->quick(forced, where, claim_);
  if (entry == CheckoutCore::Entry::queued) return enter(false);
  std::uint32_t news = 0;
  if (entry == CheckoutCore::Entry::claimed) {
    state_.store(State::offered);
    core_->note_offered();
    news = kWorker;
  } else {
    state_.store(State::over);
    news = kOverloaded;
  }
  if (post(news)) deliver(shared_from_this());
}

// Takes the mutex. The state is `waiting`.
void PendingCheckout::enter(bool again) {
  CheckoutCore::Claim claim;
  std::uint32_t news = 0;
  switch (core_->enter(*this, again, claim)) {
    case CheckoutCore::Entry::claimed: {
      State expected = State::waiting;
      claim_ = claim;
      core_->note_offered();
      if (state_.compare_exchange_strong(expected, State::offered)) {
        news = kWorker;
        break;
      }
      core_->note_settled();
      CheckoutCore::checkin(claim);
      return;
    }
    case CheckoutCore::Entry::queued:
      // A cancel before the request was queued did not find it in the queue.
      if (state_.load() == State::over) core_->leave(*this);
      break;  // hold() has noted this news, so it comes before news of a worker
    case CheckoutCore::Entry::overloaded:
      state_.store(State::over);
      news = kOverloaded;
      break;
    case CheckoutCore::Entry::down:
      state_.store(State::over);
      news = kDown;
      break;
  }
  if (post(news)) deliver(shared_from_this());
}

void PendingCheckout::hold() {
  self_ = shared_from_this();
  news_.fetch_or(kEnqueued);
}

bool PendingCheckout::grant(const Grant& grant, Outbox& out) {
  PendingPtr self = std::move(self_);
  State expected = State::waiting;
  claim_ = {grant.slot, grant.generation};
  core_->note_offered();
  const bool wanted = state_.compare_exchange_strong(expected, State::offered);
  if (!wanted) core_->note_settled();
  if (wanted && post(kWorker)) {
    out.tell(std::move(self));
  } else {
    out.drop(std::move(self));
  }
  return wanted;
}

void PendingCheckout::refuse(Errc code, Outbox& out) {
  PendingPtr self = std::move(self_);
  State expected = State::waiting;
  const bool wanted = state_.compare_exchange_strong(expected, State::over);
  if (wanted && post(code == Errc::overloaded ? kOverloaded : kDown)) {
    out.tell(std::move(self));
  } else {
    out.drop(std::move(self));
  }
}

Result<CheckoutClaim> PendingCheckout::confirm() {
  State expected = State::offered;
  if (!state_.compare_exchange_strong(expected, State::taken)) {
    switch (expected) {
      case State::waiting: return fail(Errc::busy, "confirm", "no worker is offered");
      case State::taken: return fail(Errc::invalid, "confirm", "confirmed before");
      default: return fail(Errc::closed, "confirm", "cancelled or refused");
    }
  }
  const CheckoutCore::Claim claim = claim_;
  core_->note_settled();
  if (core_->usable(claim)) return CheckoutClaim{claim.slot, claim.generation};
  state_.store(State::waiting);
  enter(true);
  return fail(Errc::worker_died, "confirm", "another worker will be offered");
}

void PendingCheckout::cancel() {
  for (State seen = state_.load();;) {
    if (seen == State::taken || seen == State::over) return;
    if (!state_.compare_exchange_weak(seen, State::over)) continue;
    if (seen == State::waiting) return core_->leave(*this);
    core_->note_settled();
    return CheckoutCore::checkin(claim_);
  }
}

void PendingCheckout::abandon() {
  cancel();
  std::uint32_t seen = news_.fetch_or(kGone) | kGone;
  while ((seen & kCalling) != 0 && caller_.load() != std::this_thread::get_id()) {
    news_.wait(seen);
    seen = news_.load();
  }
}

void PendingCheckout::deliver(PendingPtr pending) {
  if (pending->executor_) {
    const PendingPtr self = pending;
    try {
      self->executor_([pending = std::move(pending)] { call_all(pending); });
    } catch (...) {
      self->core_->note_callback_error();
    }
    return;
  }
  if (told_later != nullptr) {
    told_later->push_back(std::move(pending));
    return;
  }
  std::vector<PendingPtr> later;
  std::vector<PendingPtr> now;
  told_later = &later;
  call_all(pending);
  pending.reset();
  while (!later.empty()) {
    now.swap(later);
    for (PendingPtr& next : now) call_all(std::exchange(next, nullptr));
    now.clear();
  }
  told_later = nullptr;
}

void PendingCheckout::call_all(const PendingPtr& pending) {
  PendingCheckout& self = *pending;
  self.caller_.store(std::this_thread::get_id());
  std::uint32_t seen = self.news_.fetch_or(kCalling) | kCalling;
  for (;;) {
    if ((seen & kGone) == 0 && (seen & kNews) != 0) {
      const std::uint32_t first = seen & (~seen + 1);
      self.news_.fetch_and(~first);
      self.call(first, pending);
      seen = self.news_.load();
    } else if (self.news_.compare_exchange_weak(seen, seen & ~(kOwned | kCalling))) {
      break;
    }
  }
  if ((seen & kGone) != 0) self.news_.notify_all();
}

void PendingCheckout::call(std::uint32_t news, const PendingPtr& self) {
  CheckoutNewsKind kind = CheckoutNewsKind::pool_down;
  if (news == kOverloaded) kind = CheckoutNewsKind::overloaded;
  if (news == kEnqueued) kind = CheckoutNewsKind::enqueued;
  if (news == kWorker) kind = CheckoutNewsKind::worker;
  try {
    tell_(kind, self);
  } catch (...) {
    core_->note_callback_error();
  }
}

}  // namespace tenure::detail
