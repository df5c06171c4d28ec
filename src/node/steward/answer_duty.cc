#include "node/steward/answer_duty.h"

#include "machine/answers/answer_state.h"
#include "tenure/v1/record.pb.h"

namespace tenure {

void AnswerDuty::serve(const Machine& machine) {
  const auto& order = machine.answer_order();
  for (auto at = order.upper_bound(answered_); at != order.end(); ++at) {
    const DueAnswer& due = machine.answers().at(at->second);
    v1::Record record;
    v1::Answer& answer = *record.mutable_answer();
    answer.set_ticket(at->second);
    answer.set_state(answer_state(due.state));
    answer.set_code(static_cast<std::uint32_t>(due.code));
    answer.set_error(due.text);
    answer.set_worker(due.worker);
    answer.set_epoch(due.epoch);
    appender_.offer(record);
    answered_ = at->first;
  }
}

}  // namespace tenure
