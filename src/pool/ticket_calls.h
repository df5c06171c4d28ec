#pragma once

// The callbacks that one ticket was given and that have not run yet. Usually it is one, which lies right here.

#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "pool/ticket_callback.h"

namespace tenure {

// Not thread-safe: a ticket has them under its guard.
class TicketCalls {
 public:
  // In the order in which they were given.
  struct Taken {
    TicketCallback first;  // may be none
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

  // The earliest stage beyond this one that any waits for.
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

  // Those that wait for this stage or an earlier one.
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
  std::unique_ptr<std::vector<TicketCallback>> further_;  // null: none
  TicketCallback first_;
};

}  // namespace tenure
