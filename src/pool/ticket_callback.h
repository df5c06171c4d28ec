#pragma once

// The stages of a ticket that a user can wait for, and a user's callback for one of them.

#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

#include "base/result.h"

namespace tenure {

enum class Stage : std::uint8_t { accepted, started, done };

// Stored as the user passed it, because a wrapper would need its own memory, and there may be hundreds of thousands.
// May be empty.
class TicketCallback {
 public:
  using OnStep = std::function<void(Status)>;
  using OnDone = std::function<void(Result<std::string>)>;

  TicketCallback() = default;
  static TicketCallback on_accepted(OnStep call) { return TicketCallback(std::in_place_index<1>, std::move(call)); }
  static TicketCallback on_started(OnStep call) { return TicketCallback(std::in_place_index<2>, std::move(call)); }
  static TicketCallback on_done(OnDone call) { return TicketCallback(std::in_place_index<3>, std::move(call)); }

  // Leaves it empty.
  TicketCallback take() { return std::exchange(*this, {}); }

  bool empty() const { return call_.index() == 0; }
  // The functions below need a callback.
  Stage stage() const { return static_cast<Stage>(call_.index() - 1); }
  void run(Status outcome) const {
    (stage() == Stage::accepted ? std::get<1>(call_) : std::get<2>(call_))(std::move(outcome));
  }
  void run(Result<std::string> result) const { std::get<3>(call_)(std::move(result)); }

 private:
  template <std::size_t Index, class Call>
  TicketCallback(std::in_place_index_t<Index> index, Call call) : call_(index, std::move(call)) {}

  std::variant<std::monostate, OnStep, OnStep, OnDone> call_;  // the alternative determines the stage
};

}  // namespace tenure
