#pragma once

// The part `answers`: the answers that dispatchers get.
//
// A dispatcher that follows the log learns the state of its ticket from the effects of its own machine. A dispatcher
// without a state only reads the log. For it the eldest node writes an Answer for everything that other records do not
// show. This part remembers the answers that are still to be written, so that the next eldest node writes them if the
// first one dies.

#include <cstdint>
#include <map>

#include "base/bytes.h"
#include "machine/effects.h"

namespace tenure {

namespace v1 {
class Answer;
class AnswersState;
}  // namespace v1

class Context;

// An answer that is still to be written.
struct DueAnswer {
  std::uint64_t order = 0;
  TicketState state = TicketState::accepted;
  Errc code{};
  std::uint64_t epoch = 0;
  Bytes worker;
  Bytes text;
};

struct AnswersState {
  std::map<std::uint64_t, DueAnswer> by_ticket;
  std::map<std::uint64_t, std::uint64_t> by_order;  // order -> ticket
  std::uint64_t orders = 0;                         // the last order
};

class Answers {
 public:
  Answers(AnswersState& state, Context& context) : state_(state), context_(context) {}

  // The answer is in the log. If the ticket has a newer state, that one is still to be written.
  void on(const v1::Answer& record);

  // `in_log`: the dispatcher keeps no state.
  void settle(const Settlement& settlement, bool in_log);
  void refuse(std::uint64_t ticket, bool in_log, Errc code, BytesView why = {});
  // A holder's record has already reported the state.
  void forget(std::uint64_t ticket);
  // Another node became the eldest: report all answers that are still to be written.
  void repeat();

 private:
  void keep(const Settlement& settlement);

  AnswersState& state_;
  Context& context_;
};

// For snapshots.
void save_answers(const AnswersState& answers, v1::AnswersState& into);
bool load_answers(const v1::AnswersState& from, AnswersState& into);
bool answers_are_sound(const AnswersState& answers);

}  // namespace tenure
