#include "checkout/outbox.h"

#include <atomic>
#include <chrono>
#include <thread>

#include "checkout/pending_checkout.h"

namespace tenure {
namespace {

constexpr std::chrono::milliseconds kSlowEnd{5};
constexpr std::size_t kEndThreadsMax = 16;

// Destroys workers one after the other while that is fast. Slow ones, such as processes that need time to end, must not
// wait for each other: closing a large pool would take minutes.
void destroy_all(std::vector<detail::WorkerPtr>& workers) {
  std::atomic<std::size_t> next{0};
  const auto work = [&] {
    for (std::size_t i = next++; i < workers.size(); i = next++) workers[i].reset();
  };
  while (next < workers.size()) {
    const auto begun = std::chrono::steady_clock::now();
    workers[next++].reset();
    if (std::chrono::steady_clock::now() - begun > kSlowEnd) break;
  }
  if (next >= workers.size()) return workers.clear();
  std::vector<std::jthread> helpers;
  for (std::size_t i = next; i < workers.size() && helpers.size() < kEndThreadsMax; ++i) {
    try {
      helpers.emplace_back(work);
    } catch (const std::system_error&) {
      break;  // no more threads: the existing ones do it, with this one
    }
  }
  work();
  helpers.clear();
  workers.clear();
}

}  // namespace

void Outbox::flush() {
  if (first_word_ != nullptr) unpark(std::exchange(first_word_, nullptr));
  for (const ParkWord* word : words_) unpark(word);
  words_.clear();
  if (first_pending_) detail::PendingCheckout::deliver(std::move(first_pending_));
  // A delivery may fill other outboxes, never this one.
  for (detail::PendingPtr& pending : pending_) detail::PendingCheckout::deliver(std::move(pending));
  pending_.clear();
  for (const auto& call : calls_) call();
  calls_.clear();
  if (!workers_.empty()) destroy_all(workers_);
  owners_.clear();
}

}  // namespace tenure
