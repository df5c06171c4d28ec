#include "pool/pending_ticket.h"

#include <array>
#include <condition_variable>
#include <mutex>

namespace tenure {
namespace {

// Hundreds of thousands of tickets may be open at a time, and few are waited for: they share a few guards instead of
// having one each. Whoever waits is woken by other tickets of the same guard too, and looks again. Several threads are
// at them at once: no two share a cache line.
struct alignas(64) Guard {
  std::mutex mutex;
  int waiters = 0;
  int early = 0;  // of them, those who wait for less than the last stage
  std::condition_variable changed;
};

Guard& guard_of(const PendingTicket* ticket) {
  static auto* const guards = new std::array<Guard, 64>;  // never destroyed: tickets may outlive static destruction
  return (*guards)[(reinterpret_cast<std::uintptr_t>(ticket) >> 7) % guards->size()];  // they lie 128 bytes apart
}

}  // namespace

PendingTicket::PendingTicket(const char* operation, std::shared_ptr<Callbacks> callbacks)
    : operation_(operation), callbacks_(std::move(callbacks)) {}

bool PendingTicket::reached(Stage stage) const {
  switch (stage) {
    case Stage::accepted: return final_ || state_;
    case Stage::started: return final_ || started_;
    case Stage::done: return final_;
  }
  return final_;
}

bool PendingTicket::wait(Stage stage, std::chrono::steady_clock::time_point deadline) const {
  Guard& guard = guard_of(this);
  std::unique_lock lock(guard.mutex);
  const int early = stage == Stage::done ? 0 : 1;
  ++guard.waiters;
  guard.early += early;
  const bool in_time = guard.changed.wait_until(lock, deadline, [&] { return reached(stage); });
  guard.early -= early;
  --guard.waiters;
  return in_time;
}

PendingTicket::View PendingTicket::view() const {
  std::lock_guard lock(guard_of(this).mutex);
  View view;
  view.state = state_;
  view.started = started_;
  if (!heard_) return view;
  view.number = heard_->number;
  if (heard_->error) view.error = *heard_->error;
  view.epoch = heard_->epoch;
  view.worker = heard_->worker;
  view.text = heard_->text;
  return view;
}

Status PendingTicket::outcome(Stage stage) const {
  std::lock_guard lock(guard_of(this).mutex);
  return outcome_of(stage);
}

// Under the guard.
Status PendingTicket::outcome_of(Stage stage) const {
  if (stage == Stage::accepted && state_ && state_ != TicketState::refused) return {};
  if (heard_ && heard_->error) return Failure(*heard_->error);
  if (stage == Stage::started && state_ == TicketState::stopped && !started_) {
    return fail(Errc::no_such_key, operation_, "the job was stopped before it had started");
  }
  return {};
}

Result<std::string> PendingTicket::result() const {
  std::lock_guard lock(guard_of(this).mutex);
  return final_result();
}

// Under the guard, or by one who has seen there that it is final: nothing changes any more.
Result<std::string> PendingTicket::final_result() const {
  if (!heard_) return std::string();
  if (heard_->error) return Failure(*heard_->error);
  return heard_->text;
}

bool PendingTicket::advanced(const std::shared_ptr<OpenTicket>& self, const Settlement& step, bool known) {
  if (!known) {
    // What others did before they let go of the ticket is seen from here on. What waits for the end alone has no use
    // for the steps before it.
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint8_t awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited >= kDone) return awaited == kDone;
  }
  const Stage stage = step.state == TicketState::started ? Stage::started : Stage::accepted;
  Callbacks::Call call{};
  {
    Guard& guard = guard_of(this);
    std::lock_guard lock(guard.mutex);
    if (final_) return false;
    state_ = step.state;
    started_ = started_ || stage == Stage::started;
    if (known) note(step);
    if (guard.early != 0) guard.changed.notify_all();
    const std::uint8_t awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited > static_cast<std::uint8_t>(stage)) return awaited != kNothing;
    await(calls_.next_after(stage));
    call = due(self, stage);
    if (callbacks_->take_asleep(call)) return true;
  }
  run_due(stage);
  return true;
}

void PendingTicket::ended(std::shared_ptr<OpenTicket> self, const Settlement& end, bool known) {
  finish(std::move(self), [&] {
    state_ = end.state;
    if (known) note(end);
    if (known || awaited_.load(std::memory_order_relaxed) != kNothing) note_end(end);
  });
}

void PendingTicket::given_up(std::shared_ptr<OpenTicket> self, const Error& error) {
  const std::shared_ptr<Callbacks> callbacks = callbacks_;  // they may have let go of the ticket already
  if (finish(std::move(self), [&] { heard().error = std::make_unique<Error>(error); })) callbacks->wake();
}

// Whether there is something to be woken for. What is due is put to the others under the guard, so that what the ticket
// is given from then on comes behind it. The ticket may be gone as soon as the guard is let go.
template <class Learn>
bool PendingTicket::finish(std::shared_ptr<OpenTicket> self, const Learn& learn) {
  Callbacks::Call call{};
  {
    Guard& guard = guard_of(this);
    std::lock_guard lock(guard.mutex);
    if (final_) return false;
    final_ = true;
    learn();
    if (guard.waiters != 0) guard.changed.notify_all();
    if (awaited_.load(std::memory_order_relaxed) == kNothing) return false;
    await(std::nullopt);
    call = due(std::move(self), Stage::done);
    if (callbacks_->take_asleep(call)) return true;
  }
  run_due(Stage::done);
  return false;
}

// Under the guard, like all that notes something.
void PendingTicket::note(const Settlement& settlement) {
  Heard& known = heard();
  known.number = settlement.ticket;
  if (settlement.epoch != 0) known.epoch = settlement.epoch;
  if (!settlement.worker.empty()) known.worker = settlement.worker;
}

void PendingTicket::note_end(const Settlement& end) {
  switch (end.state) {
    case TicketState::refused: note_error(end.code, end.text); break;
    case TicketState::failed: note_error(Errc::job_failed, end.text); break;
    case TicketState::done:
      if (!end.text.empty()) heard().text = end.text;
      break;
    default: break;
  }
}

void PendingTicket::note_error(Errc code, BytesView text) {
  heard().error = std::make_unique<Error>(Error{code, operation_, Bytes(text)});
}

PendingTicket::Heard& PendingTicket::heard() {
  if (!heard_) heard_ = std::make_unique<Heard>();
  return *heard_;
}

// Under the guard.
void PendingTicket::await(std::optional<Stage> stage) {
  awaited_.store(stage ? static_cast<std::uint8_t>(*stage) : kNothing, std::memory_order_relaxed);
}

void PendingTicket::when(const std::shared_ptr<PendingTicket>& ticket, TicketCallback call) {
  const Stage stage = call.stage();
  {
    std::lock_guard lock(guard_of(ticket.get()).mutex);
    if (!ticket->reached(stage)) {
      if (static_cast<std::uint8_t>(stage) < ticket->awaited_.load(std::memory_order_relaxed)) ticket->await(stage);
      return ticket->calls_.add(std::move(call));
    }
  }
  // By itself, since what became due before it goes first, be it another ticket's.
  ticket->callbacks_->post([ticket, call = std::move(call)] { ticket->run(call); });
}

// One for each time that a stage was reached: those that wait for a later one are due later, even if that has been
// reached by now.
Callbacks::Call PendingTicket::due(std::shared_ptr<OpenTicket> self, Stage stage) {
  switch (stage) {
    case Stage::accepted: return {std::move(self), run_due_of<Stage::accepted>};
    case Stage::started: return {std::move(self), run_due_of<Stage::started>};
    case Stage::done: break;
  }
  return {std::move(self), run_due_of<Stage::done>};
}

template <Stage ForStage>
void PendingTicket::run_due_of(void* self) {
  static_cast<PendingTicket*>(static_cast<OpenTicket*>(self))->run_due(ForStage);
}

// What each of them captured is released before the next one runs.
void PendingTicket::run_due(Stage stage) {
  TicketCalls::Taken taken = [&] {
    std::lock_guard lock(guard_of(this).mutex);
    return calls_.take(stage);
  }();
  if (!taken.first.empty()) run(taken.first.take());
  for (TicketCallback& call : taken.further) run(call.take());
}

// It is due. Who knows that the last stage was reached has learned it under the guard, and nothing changes any more.
void PendingTicket::run(const TicketCallback& call) const {
  if (call.stage() == Stage::done) return call.run(final_result());
  call.run(outcome(call.stage()));
}

}  // namespace tenure
