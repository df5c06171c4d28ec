// What a core does on its loop: sends what was submitted, and passes on what the node or the client says.

#include <algorithm>

#include "pool/pool_core.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr Nanos kRoomRetry = std::chrono::milliseconds(1);

}  // namespace

Result<TicketPtr> PoolCore::submit(Request request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  auto ticket = std::make_shared<PendingTicket>(request.operation(), request.single(), callbacks_);
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return fail(heard_.failure->code, request.operation(), heard_.failure->context);
    if (submitted_bytes_ > kSubmittedBytesMax) {
      return fail(Errc::busy, request.operation(), "too much is waiting to be sent; try again shortly");
    }
    submitted_bytes_ += request.bytes();
    ++unanswered_;
    submitted_.push_back({std::move(request), ticket});
    if (std::exchange(sending_, true)) return ticket;
  }
  loop_.post([this] { send_submitted(); });
  return ticket;
}

// One turn of the loop sends whatever has come together since the last: under load, hundreds at a time.
void PoolCore::send_submitted() {
  std::vector<Submission> taken;
  {
    std::lock_guard lock(mutex_);
    taken.swap(submitted_);
    sending_ = false;
  }
  std::move(taken.begin(), taken.end(), std::back_inserter(held_back_));
  std::size_t sent = 0;
  std::size_t bytes = 0;
  bool room = true;
  for (Submission& next : held_back_) {
    const Result<std::uint64_t> number = send(next.request);
    if (!number && number.error().code == Errc::busy) {
      room = false;
      break;
    }
    ++sent;
    bytes += next.request.bytes();
    if (number) {
      book_.open(*number, std::move(next.ticket));
    } else {
      next.ticket->give_up(number.error());
      count_answers(1);
    }
  }
  held_back_.erase(held_back_.begin(), held_back_.begin() + static_cast<std::ptrdiff_t>(sent));
  {
    std::lock_guard lock(mutex_);
    submitted_bytes_ -= bytes;
    if (!room) sending_ = true;
  }
  if (!room) room_->arm(loop_.now() + kRoomRetry, [this] { send_submitted(); });
}

Result<std::uint64_t> PoolCore::send(const Request& request) {
  if (client_) return client_->send(request.record(), request.single());
  if (!node_) return fail(Errc::closed, request.operation(), "the pool was closed");
  switch (request.kind) {
    case Request::Kind::dispatch:
      return node_->dispatch({request.key, request.text, request.job, request.delay, request.max_attempts});
    case Request::Kind::notify: return node_->notify(request.key, request.text);
    case Request::Kind::stop: return node_->stop(request.key);
    case Request::Kind::retry_dead: return node_->retry_dead(request.dead_id);
    case Request::Kind::drop_dead: return node_->drop_dead(request.dead_id);
  }
  return fail(Errc::invalid, request.operation(), "no such request");
}

void PoolCore::count_answers(std::size_t count) {
  if (count == 0 || unanswered_.fetch_sub(count) != count) return;
  hear([](Heard&) {});
}

void PoolCore::settled(const Settlement& settlement) {
  const std::size_t before = book_.unanswered();
  const bool going_on = book_.settled(settlement);
  if (!going_on && client_) client_->forget(settlement.ticket);
  if (!going_on && node_) node_->forget(settlement.ticket);
  count_answers(before - book_.unanswered());
  if (listener_ != nullptr) listener_->settled(settlement);
}

void PoolCore::ticket_lost(std::uint64_t ticket) {
  const std::size_t before = book_.unanswered();
  book_.lost(ticket, {Errc::lost_history, "wait", "the log has lost it, or nobody can say what became of it"});
  count_answers(before - book_.unanswered());
  if (listener_ != nullptr) listener_->ticket_lost(ticket);
}

// The first time, or again after history was lost: the last member removes the log, and one who merely looks on may
// find it gone before having read how it ended.
void PoolCore::caught_up() {
  const Machine& machine = node_->machine();
  const bool empty = machine.roster().sessions.empty() && machine.keys() == 0;
  const bool ended = saw_shutdown_ ? !machine.shutting_down() : shutting_down_ && empty;
  bool looks_on = false;
  hear([&](Heard& heard) {
    heard.caught_up = true;
    looks_on = heard.workers.empty();
  });
  if (ended && looks_on) end({Errc::shutting_down, "wait", "the pool was shut down"});
  if (listener_ != nullptr) listener_->caught_up();
}

void PoolCore::joined(std::uint64_t session) {
  if (listener_ != nullptr) listener_->joined(session);
}

void PoolCore::worker_added(BytesView worker) {
  hear([&](Heard& heard) {
    const auto found = heard.workers.find(std::string(worker));
    if (found != heard.workers.end()) found->second.added = true;
  });
  if (listener_ != nullptr) listener_->worker_added(worker);
}

void PoolCore::worker_refused(BytesView worker, Errc why) {
  hear([&](Heard& heard) {
    const auto found = heard.workers.find(std::string(worker));
    if (found != heard.workers.end()) found->second.refused = why;
  });
  if (listener_ != nullptr) listener_->worker_refused(worker, why);
}

void PoolCore::worker_removed(BytesView worker) {
  hear([&](Heard& heard) { heard.workers.erase(std::string(worker)); });
  if (listener_ != nullptr) listener_->worker_removed(worker);
}

void PoolCore::fenced(std::uint64_t session, FenceReason reason) {
  if (listener_ != nullptr) listener_->fenced(session, reason);
}

void PoolCore::applied(const Machine& machine) {
  has_members_ = !machine.roster().sessions.empty();
  saw_shutdown_ = machine.shutting_down();
  if (listener_ != nullptr) listener_->applied(machine);
}

void PoolCore::lease_until(std::uint64_t session, Instant until) {
  if (listener_ != nullptr) listener_->lease_until(session, until);
}

void PoolCore::closed() {
  // The state itself may be gone by now, if another was the last to leave.
  if (saw_shutdown_ || node_->machine().shutting_down()) {
    end({Errc::shutting_down, "wait", "the pool was shut down"});
  } else {
    end({Errc::closed, "wait", "the pool was closed"});
  }
  if (listener_ != nullptr) listener_->closed();
}

void PoolCore::broken(const Error& error) {
  end(error);
  if (listener_ != nullptr) listener_->broken(error);
}

// The last member to leave removes the data; where there was none, whoever asked for the end does.
void PoolCore::pool_gone() {
  end({Errc::shutting_down, "wait", "the pool was shut down"});
  if (shutting_down_ && !has_members_) log_->remove([](const Status&) {});
  if (listener_ != nullptr) listener_->pool_gone();
}

void PoolCore::end(const Error& error) {
  std::vector<Submission> unsent = std::exchange(held_back_, {});
  {
    std::lock_guard lock(mutex_);
    if (!heard_.failure) heard_.failure = error;
    std::move(submitted_.begin(), submitted_.end(), std::back_inserter(unsent));
    submitted_.clear();
    submitted_bytes_ = 0;
  }
  for (const Submission& one : unsent) one.ticket->give_up(error);
  book_.give_up_all(error);
  unanswered_ = 0;
  hear([](Heard&) {});
}

}  // namespace tenure
