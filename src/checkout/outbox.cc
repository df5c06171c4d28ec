#include "checkout/outbox.h"

#include "checkout/pending_checkout.h"

namespace tenure {

void Outbox::flush() {
  if (first_word_ != nullptr) unpark(std::exchange(first_word_, nullptr));
  for (const ParkWord* word : words_) unpark(word);
  words_.clear();
  if (first_pending_) std::exchange(first_pending_, nullptr)->deliver();
  // What is delivered may fill other outboxes, never this one.
  for (const detail::PendingPtr& pending : pending_) pending->deliver();
  pending_.clear();
  for (const auto& call : calls_) call();
  calls_.clear();
  workers_.clear();
  owners_.clear();
}

}  // namespace tenure
