#include "pool/pending_ticket.h"

#include <array>
#include <condition_variable>
#include <mutex>

namespace tenure {
namespace {

// Hundreds of thousands of tickets may be open at a time, and few are waited for: they share a few guards instead of
// having one each. Whoever waits is woken by other tickets of the same guard too, and looks again.
struct Guard {
  std::mutex mutex;
  std::condition_variable changed;
  int waiters = 0;
};

Guard& guard_of(const PendingTicket* ticket) {
  static auto* const guards = new std::array<Guard, 64>;  // never destroyed: tickets may outlive static destruction
  return (*guards)[(reinterpret_cast<std::uintptr_t>(ticket) >> 6) % guards->size()];
}

}  // namespace

PendingTicket::PendingTicket(const char* operation, bool single, std::shared_ptr<Callbacks> callbacks)
    : operation_(operation), single_(single), callbacks_(std::move(callbacks)) {}

bool PendingTicket::reached(Stage stage) const {
  switch (stage) {
    case Stage::accepted: return final_ || view_.state;
    case Stage::started: return final_ || view_.started;
    case Stage::done: return final_;
  }
  return final_;
}

bool PendingTicket::wait(Stage stage, std::chrono::steady_clock::time_point deadline) const {
  Guard& guard = guard_of(this);
  std::unique_lock lock(guard.mutex);
  ++guard.waiters;
  const bool in_time = guard.changed.wait_until(lock, deadline, [&] { return reached(stage); });
  --guard.waiters;
  return in_time;
}

void PendingTicket::when(Stage stage, std::function<void()> call) {
  {
    std::lock_guard lock(guard_of(this).mutex);
    if (!reached(stage)) {
      waiting_.push_back({stage, std::move(call)});
      return;
    }
  }
  callbacks_->post(std::move(call));
}

PendingTicket::View PendingTicket::view() const {
  std::lock_guard lock(guard_of(this).mutex);
  return view_;
}

Status PendingTicket::outcome(Stage stage) const {
  std::lock_guard lock(guard_of(this).mutex);
  if (stage == Stage::accepted && view_.state && view_.state != TicketState::refused) return {};
  if (view_.error) return Failure(*view_.error);
  if (stage == Stage::started && view_.state == TicketState::stopped && !view_.started) {
    return fail(Errc::no_such_key, operation_, "the job was stopped before it had started");
  }
  return {};
}

bool PendingTicket::settle(const Settlement& settlement) {
  Guard& guard = guard_of(this);
  std::unique_lock lock(guard.mutex);
  if (final_) return false;
  view_.number = settlement.ticket;
  view_.state = settlement.state;
  if (settlement.epoch != 0) view_.epoch = settlement.epoch;
  if (!settlement.worker.empty()) view_.worker = settlement.worker;
  switch (settlement.state) {
    case TicketState::accepted: final_ = single_; break;
    case TicketState::started: view_.started = true; break;
    case TicketState::refused:
      final_ = true;
      view_.error = Error{settlement.code, operation_, Bytes(settlement.text)};
      break;
    case TicketState::failed:
      final_ = true;
      view_.error = Error{Errc::job_failed, operation_, Bytes(settlement.text)};
      break;
    case TicketState::done: view_.text = settlement.text; [[fallthrough]];
    case TicketState::stopped: final_ = true; break;
  }
  if (guard.waiters != 0) guard.changed.notify_all();
  const bool going_on = !final_;
  if (waiting_.empty()) return going_on;
  std::vector<Waiting> ready = take_ready();
  lock.unlock();
  for (Waiting& waiting : ready) callbacks_->post(std::move(waiting.call));
  return going_on;
}

bool PendingTicket::has_callbacks() const {
  std::lock_guard lock(guard_of(this).mutex);
  return !waiting_.empty();
}

void PendingTicket::give_up(Error error) {
  Guard& guard = guard_of(this);
  std::unique_lock lock(guard.mutex);
  if (final_) return;
  final_ = true;
  view_.error = std::move(error);
  if (guard.waiters != 0) guard.changed.notify_all();
  std::vector<Waiting> ready = take_ready();
  lock.unlock();
  for (Waiting& waiting : ready) callbacks_->post(std::move(waiting.call));
}

std::vector<PendingTicket::Waiting> PendingTicket::take_ready() {
  std::vector<Waiting> ready;
  std::vector<Waiting> rest;
  for (Waiting& waiting : waiting_) (reached(waiting.stage) ? ready : rest).push_back(std::move(waiting));
  waiting_ = std::move(rest);
  return ready;
}

}  // namespace tenure
