#pragma once

// What one can wait for of a ticket, and a user's callback that waits for it.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"

namespace tenure {

enum class Stage : std::uint8_t { accepted, started, done };

// Kept as the user gave it: whatever wrapped it would be memory of its own, and there may be hundreds of thousands. Or
// none at all.
class TicketCallback {
 public:
  using OnStep = std::function<void(Status)>;
  using OnDone = std::function<void(Result<std::string>)>;

  TicketCallback() = default;
  static TicketCallback on_accepted(OnStep call) { return TicketCallback(std::in_place_index<1>, std::move(call)); }
  static TicketCallback on_started(OnStep call) { return TicketCallback(std::in_place_index<2>, std::move(call)); }
  static TicketCallback on_done(OnDone call) { return TicketCallback(std::in_place_index<3>, std::move(call)); }

  // Leaves none behind.
  TicketCallback take() { return std::exchange(*this, {}); }

  bool empty() const { return call_.index() == 0; }
  // The others are for one that is there.
  Stage stage() const { return static_cast<Stage>(call_.index() - 1); }
  void run(Status outcome) const {
    (stage() == Stage::accepted ? std::get<1>(call_) : std::get<2>(call_))(std::move(outcome));
  }
  void run(Result<std::string> result) const { std::get<3>(call_)(std::move(result)); }

 private:
  template <std::size_t Index, class Call>
  TicketCallback(std::in_place_index_t<Index> index, Call call) : call_(index, std::move(call)) {}

  std::variant<std::monostate, OnStep, OnStep, OnDone> call_;  // which of them it is tells the stage
};

}  // namespace tenure
