#include "machine/answers/answers.h"

#include "machine/answers/answer_state.h"
#include "machine/context.h"
#include "machine/limits.h"
#include "machine/load.h"
#include "tenure/v1/answers.pb.h"

namespace tenure {

void Answers::settle(const Settlement& settlement, bool in_log) {
  context_.note(settlement.ticket ^ static_cast<std::uint64_t>(settlement.state));
  context_.effects().settled(context_.at(), settlement);
  if (in_log) keep(settlement);
}

// The answer is due until it is in the log.
void Answers::keep(const Settlement& settlement) {
  const auto [found, added] = state_.by_ticket.try_emplace(settlement.ticket);
  DueAnswer& due = found->second;
  if (!added) state_.by_order.erase(due.order);
  due = {.order = ++state_.orders,
         .state = settlement.state,
         .code = settlement.code,
         .epoch = settlement.epoch,
         .worker = Bytes(settlement.worker),
         .text = Bytes(settlement.text)};
  state_.by_order.emplace(due.order, settlement.ticket);
  if (state_.by_ticket.size() > kUnansweredMax) {
    state_.by_ticket.erase(state_.by_order.begin()->second);
    state_.by_order.erase(state_.by_order.begin());
  }
  context_.effects().answer_due(context_.at(), settlement);
}

void Answers::refuse(std::uint64_t ticket, bool in_log, Errc code, BytesView why) {
  context_.refuse_record();
  settle({.ticket = ticket, .state = TicketState::refused, .code = code, .epoch = 0, .worker = {}, .text = why},
         in_log);
}

void Answers::forget(std::uint64_t ticket) {
  const auto due = state_.by_ticket.find(ticket);
  if (due == state_.by_ticket.end()) return;
  state_.by_order.erase(due->second.order);
  state_.by_ticket.erase(due);
}

void Answers::repeat() {
  for (const auto& [order, ticket] : state_.by_order) {
    const DueAnswer& due = state_.by_ticket.at(ticket);
    context_.effects().answer_due(context_.at(), {ticket, due.state, due.code, due.epoch, due.worker, due.text});
  }
}

void Answers::on(const v1::Answer& record) {
  const auto found = state_.by_ticket.find(record.ticket());
  if (found == state_.by_ticket.end() || record.state() != answer_state(found->second.state)) {
    return context_.refuse_record();
  }
  state_.by_order.erase(found->second.order);
  state_.by_ticket.erase(found);
}

void save_answers(const AnswersState& answers, v1::AnswersState& into) {
  for (const auto& [ticket, due] : answers.by_ticket) {
    v1::AnswerState& answer = *into.add_answers();
    answer.set_ticket(ticket);
    answer.set_order(due.order);
    answer.set_state(static_cast<std::uint32_t>(due.state));
    answer.set_code(static_cast<std::uint32_t>(due.code));
    answer.set_epoch(due.epoch);
    answer.set_worker(due.worker);
    answer.set_text(due.text);
  }
  into.set_orders(answers.orders);
}

bool load_answers(const v1::AnswersState& from, AnswersState& into) {
  for (const v1::AnswerState& answer : from.answers()) {
    const auto [found, added] = into.by_ticket.try_emplace(answer.ticket());
    if (!added || !into.by_order.emplace(answer.order(), answer.ticket()).second) return false;
    DueAnswer& due = found->second;
    due = {.order = answer.order(),
           .state = TicketState::accepted,
           .code = static_cast<Errc>(answer.code()),
           .epoch = answer.epoch(),
           .worker = answer.worker(),
           .text = answer.text()};
    if (!load_enum(answer.state(), TicketState::stopped, due.state)) return false;
  }
  into.orders = from.orders();
  return true;
}

bool answers_are_sound(const AnswersState& answers) {
  return answers.by_ticket.size() <= kUnansweredMax && answers.orders < kCountMax &&
         (answers.by_order.empty() || answers.by_order.rbegin()->first <= answers.orders);
}

}  // namespace tenure
