// What is told to dispatchers. One that holds a replica hears of its ticket as its node applies the log. One that
// keeps no state reads the log only: for it the eldest node says in the log what cannot be seen there.

#include "machine/answers/answer_state.h"
#include "machine/machine.h"

namespace tenure {

void Machine::tell(std::uint64_t ticket, bool say, const Settlement& settlement) {
  note(ticket ^ static_cast<std::uint64_t>(settlement.state));
  effects_->settled(at(), settlement);
  if (!say) return;

  const auto [found, added] = answers_.try_emplace(ticket);
  DueAnswer& due = found->second;
  if (!added) answer_order_.erase(due.order);
  due = {++answer_orders_, settlement.state,         settlement.code,
         settlement.epoch, Bytes(settlement.worker), Bytes(settlement.text)};
  answer_order_.emplace(due.order, ticket);
  if (answers_.size() > kUnansweredMax) {
    answers_.erase(answer_order_.begin()->second);
    answer_order_.erase(answer_order_.begin());
  }
  effects_->answer_due(at(), settlement);
}

void Machine::accept(std::uint64_t ticket, bool say, SlotId slot) {
  const WorkerIx holder = table_.placed[slot].holder;
  tell(ticket, say,
       {ticket,
        TicketState::accepted,
        Errc{},
        table_.slots[slot].epoch,
        holder == kNone ? BytesView() : BytesView(workers_[holder].id),
        {}});
}

void Machine::refuse(std::uint64_t ticket, bool say, Errc code) {
  refuse_record();
  tell(ticket, say, {ticket, TicketState::refused, code, 0, {}, {}});
}

// Whose turn it is to speak has changed.
void Machine::repeat_answers() {
  for (const auto& [order, ticket] : answer_order_) {
    const DueAnswer& due = answers_.at(ticket);
    effects_->answer_due(at(), {ticket, due.state, due.code, due.epoch, due.worker, due.text});
  }
}

void Machine::tell_failed(const KeptJob& job, std::uint64_t epoch, BytesView error) {
  tell(job.ticket, job.say, {job.ticket, TicketState::failed, Errc::job_failed, epoch, {}, error});
}

// It has been said. A newer state of the same ticket is still to be said.
void Machine::on(const v1::Answer& record) {
  const auto found = answers_.find(record.ticket());
  if (found == answers_.end() || record.state() != answer_state(found->second.state)) {
    return refuse_record();
  }
  answer_order_.erase(found->second.order);
  answers_.erase(found);
}

}  // namespace tenure
