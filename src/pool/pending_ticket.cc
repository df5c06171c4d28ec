#include "pool/pending_ticket.h"

#include <array>
#include <condition_variable>
#include <mutex>

namespace tenure {
namespace {

// Hundreds of thousands of tickets may be open at a time, and few are waited for. So they share some guards. A waiter
// is also woken by other tickets of its guard, and checks again. Several threads use the guards at once, so no two
// share a cache line.
struct alignas(64) TicketLock {
  std::mutex mutex;
  int waiters = 0;
  int early = 0;  // of them, waiters for an earlier stage than the last
  std::condition_variable changed;
};

TicketLock& guard_of(const PendingTicket* ticket) {
  static auto* const guards =
      new std::array<TicketLock, 64>;  // never destroyed: tickets may outlive static destructors
  return (*guards)[(reinterpret_cast<std::uintptr_t>(ticket) >> 7) % guards->size()];  // tickets are 128 bytes apart
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
  TicketLock& guard = guard_of(this);
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

// With the guard held.
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

// With the guard held, or after the caller has seen with it that the ticket is final. Then nothing changes any more.
Result<std::string> PendingTicket::final_result() const {
  if (!heard_) return std::string();
  if (heard_->error) return Failure(*heard_->error);
  return heard_->text;
}

bool PendingTicket::advanced(const std::shared_ptr<OpenTicket>& self, const Settlement& step, bool known) {
  if (!known) {
    // Changes by threads that have dropped the ticket are visible from here on. A callback for the end does not need
    // earlier steps.
    std::atomic_thread_fence(std::memory_order_acquire);
    const std::uint8_t awaited = awaited_.load(std::memory_order_relaxed);
    if (awaited >= kDone) return awaited == kDone;
  }
  const Stage stage = step.state == TicketState::started ? Stage::started : Stage::accepted;
  Callbacks::Call call{};
  {
    TicketLock& guard = guard_of(this);
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
  const std::shared_ptr<Callbacks> callbacks = callbacks_;  // they may have dropped the ticket already
  if (finish(std::move(self), [&] { heard().error = std::make_unique<Error>(error); })) callbacks->wake();
}

// True if the callbacks' thread must be woken. Due callbacks are queued with the guard held, so that later callbacks of
// the ticket come after them. The ticket may be gone as soon as the guard is released.
template <class Learn>
bool PendingTicket::finish(std::shared_ptr<OpenTicket> self, const Learn& learn) {
  Callbacks::Call call{};
  {
    TicketLock& guard = guard_of(this);
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

// With the guard held, like all functions that record something.
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
    case TicketState::stopped:  // of a stop: how many tasks were dropped
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

// With the guard held.
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
  // Queued alone: callbacks that were due before it, even of other tickets, run first.
  ticket->callbacks_->post([ticket, call = std::move(call)] { ticket->run(call); });
}

// One call for each stage that was reached. Callbacks for a later stage get their own call, even if that stage has been
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

// Releases what each callback captured before the next one runs.
void PendingTicket::run_due(Stage stage) {
  TicketCalls::Taken taken = [&] {
    std::lock_guard lock(guard_of(this).mutex);
    return calls_.take(stage);
  }();
  if (!taken.first.empty()) run(taken.first.take());
  for (TicketCallback& call : taken.further) run(call.take());
}

// It is due. If the last stage was reached, that was seen with the guard held, and nothing changes any more.
void PendingTicket::run(const TicketCallback& call) const {
  callbacks_->guard([&] {
    if (call.stage() == Stage::done) return call.run(final_result());
    call.run(outcome(call.stage()));
  });
}

}  // namespace tenure
