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
  int early = 0;  // of them, those who wait for less than the last stage
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

void PendingTicket::when(Stage stage, std::function<void()> call) {
  {
    std::lock_guard lock(guard_of(this).mutex);
    if (!reached(stage)) {
      waiting_.push_back({stage, std::move(call)});
      return;
    }
  }
  callbacks_->post({std::move(call), shared_from_this()});
}

PendingTicket::View PendingTicket::view() const {
  std::lock_guard lock(guard_of(this).mutex);
  return {number_, state_, error_ ? std::optional(*error_) : std::nullopt, started_, epoch_, worker_, text_};
}

Status PendingTicket::outcome(Stage stage) const {
  std::lock_guard lock(guard_of(this).mutex);
  return outcome_of(stage);
}

Result<std::string> PendingTicket::result() const {
  std::lock_guard lock(guard_of(this).mutex);
  if (Status done = outcome_of(Stage::done); !done) return Failure(done.error());
  return text_;
}

// Under the guard.
Status PendingTicket::outcome_of(Stage stage) const {
  if (stage == Stage::accepted && state_ && state_ != TicketState::refused) return {};
  if (error_) return Failure(*error_);
  if (stage == Stage::started && state_ == TicketState::stopped && !started_) {
    return fail(Errc::no_such_key, operation_, "the job was stopped before it had started");
  }
  return {};
}

bool PendingTicket::settled(const Settlement& settlement) {
  std::vector<Waiting> ready;
  bool more = false;
  {
    Guard& guard = guard_of(this);
    std::lock_guard lock(guard.mutex);
    if (final_) return false;
    learn(settlement);
    if ((final_ ? guard.waiters : guard.early) != 0) guard.changed.notify_all();
    ready = take_ready();
    more = !waiting_.empty();
  }
  for (Waiting& waiting : ready) callbacks_->post_asleep({std::move(waiting.call), shared_from_this()});
  return more;
}

// Under the guard.
void PendingTicket::learn(const Settlement& settlement) {
  number_ = settlement.ticket;
  state_ = settlement.state;
  if (settlement.epoch != 0) epoch_ = settlement.epoch;
  if (!settlement.worker.empty()) worker_ = settlement.worker;
  switch (settlement.state) {
    case TicketState::accepted: final_ = single_; break;
    case TicketState::started: started_ = true; break;
    case TicketState::refused:
      final_ = true;
      error_ = std::make_unique<Error>(Error{settlement.code, operation_, Bytes(settlement.text)});
      break;
    case TicketState::failed:
      final_ = true;
      error_ = std::make_unique<Error>(Error{Errc::job_failed, operation_, Bytes(settlement.text)});
      break;
    case TicketState::done: text_ = settlement.text; [[fallthrough]];
    case TicketState::stopped: final_ = true; break;
  }
}

void PendingTicket::given_up(const Error& error) {
  std::vector<Waiting> ready;
  {
    Guard& guard = guard_of(this);
    std::lock_guard lock(guard.mutex);
    if (final_) return;
    final_ = true;
    error_ = std::make_unique<Error>(error);
    if (guard.waiters != 0) guard.changed.notify_all();
    ready = take_ready();
  }
  for (Waiting& waiting : ready) callbacks_->post({std::move(waiting.call), shared_from_this()});
}

// Under the guard. All that waits is usually one callback, for the last step.
std::vector<PendingTicket::Waiting> PendingTicket::take_ready() {
  if (final_) return std::exchange(waiting_, {});
  std::vector<Waiting> ready;
  for (Waiting& waiting : waiting_) {
    if (reached(waiting.stage)) ready.push_back(std::move(waiting));
  }
  std::erase_if(waiting_, [this](const Waiting& waiting) { return reached(waiting.stage); });
  return ready;
}

}  // namespace tenure
