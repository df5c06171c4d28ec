#pragma once

// The callbacks of one ticket that have not run yet. Usually there is one, which is stored inline.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "pool/ticket_callback.h"

namespace tenure {

// Not thread-safe: the ticket's guard protects it.
class TicketCalls {
 public:
  // In the order in which they were added.
  struct Taken {
    TicketCallback first;  // may be empty
    std::vector<TicketCallback> further{};
  };

  void add(TicketCallback call) {
    if (first_.empty() && !further_) {
      first_ = std::move(call);
      return;
    }
    if (!further_) further_ = std::make_unique<std::vector<TicketCallback>>();
    further_->push_back(std::move(call));
  }

  // The earliest later stage that any of them waits for.
  std::optional<Stage> next_after(Stage stage) const {
    std::optional<Stage> next;
    const auto look = [&](const TicketCallback& call) {
      if (call.empty() || call.stage() <= stage) return;
      next = std::min(next.value_or(Stage::done), call.stage());
    };
    look(first_);
    if (further_) std::for_each(further_->begin(), further_->end(), look);
    return next;
  }

  // Takes those that wait for this stage or an earlier one.
  Taken take(Stage stage) {
    const bool first_too = !first_.empty() && first_.stage() <= stage;
    Taken taken{first_too ? first_.take() : TicketCallback()};
    if (!further_) return taken;
    for (TicketCallback& call : *further_) {
      if (call.stage() <= stage) taken.further.push_back(call.take());
    }
    std::erase_if(*further_, [](const TicketCallback& call) { return call.empty(); });
    if (further_->empty()) further_.reset();
    return taken;
  }

 private:
  std::unique_ptr<std::vector<TicketCallback>> further_;  // null if there are none
  TicketCallback first_;
};

}  // namespace tenure
