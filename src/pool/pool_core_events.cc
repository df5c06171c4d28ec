// What a core does on its loop: sends what was submitted, and passes on what the node or the client says.

#include <algorithm>

#include "log/open.h"
#include "pool/pool_core.h"

namespace tenure {
namespace {

constexpr Nanos kRoomRetry = std::chrono::milliseconds(1);

}  // namespace

Result<TicketPtr> PoolCore::submit(const Request& request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  auto ticket = std::make_shared<PendingTicket>(request.operation(), callbacks_);
  const std::uint64_t number = next_ticket();
  static thread_local Bytes record;  // its memory is used again
  record.clear();
  request.encode(number, options_.client_only, record);
  bool alone = false;
  {
    std::lock_guard lock(mutex_);
    if (heard_.failure) return fail(heard_.failure->code, request.operation(), heard_.failure->context);
    if (submitted_bytes_ > kSubmittedBytesMax) {
      return fail(Errc::busy, request.operation(), "too much is waiting to be sent; try again shortly");
    }
    submitted_bytes_ += RequestOutbox::cost(1, record.size());
    alone = ++unanswered_ == 1;
    submitted_.push({number, request.single(), record}, ticket);
    if (std::exchange(sending_, true)) return ticket;
  }
  // The only one is sent by this thread, if the loop is idle. Where there are more, the loop has them go together.
  if (alone) {
    loop_.run_or_post([this] { send_submitted(); });
  } else {
    loop_.post([this] { send_submitted(); });
  }
  return ticket;
}

// Counted from a random start: two cores give out the same number even more seldom than if each were random, and those
// that are given out together are found close together.
std::uint64_t PoolCore::next_ticket() {
  const std::uint64_t number = tickets_.fetch_add(1, std::memory_order_relaxed);
  return number != 0 ? number : next_ticket();
}

// One turn of the loop sends whatever has come together since the last: under load, hundreds at a time.
void PoolCore::send_submitted() {
  if (outgoing_.empty()) {
    std::lock_guard lock(mutex_);
    std::swap(outgoing_, submitted_);
  }
  const std::size_t sent_bytes = send_outgoing();
  const bool room = outgoing_.empty();
  {
    std::lock_guard lock(mutex_);
    submitted_bytes_ -= sent_bytes;
    sending_ = !room || !submitted_.empty();
    if (!sending_) return;
  }
  if (room) return loop_.post([this] { send_submitted(); });
  room_->arm(loop_.now() + kRoomRetry, [this] { send_submitted(); });
}

// As much as there is room for; a client takes some of a block where there is none for all. Returns what it had cost to
// keep them.
std::size_t PoolCore::send_outgoing() {
  std::size_t cost = 0;
  while (!outgoing_.empty()) {
    SealedRequests& requests = outgoing_.first();
    const std::size_t count = requests.asked.size();
    const std::size_t bytes = requests.records.size();
    const Status sent = send(requests);
    if (!sent && sent.error().code == Errc::busy) {
      sent_unanswered_ += count - requests.asked.size();
      return cost + RequestOutbox::cost(count - requests.asked.size(), bytes - requests.records.size());
    }
    cost += RequestOutbox::cost(count, bytes);
    if (sent) {
      sent_unanswered_ += count;
    } else {
      give_up(requests, saw_shutdown_ ? Error{Errc::shutting_down, "append", "the pool was shut down"} : sent.error());
    }
    outgoing_.pop();
  }
  return cost;
}

Status PoolCore::send(SealedRequests& requests) {
  if (client_) return client_->send(requests);
  if (node_) return node_->send(requests);
  return fail(Errc::closed, "append", "the pool was closed");
}

void PoolCore::give_up(SealedRequests& requests, const Error& error) {
  for (SealedRequests::Asked& asked : requests.asked) {
    const auto ticket = std::static_pointer_cast<PendingTicket>(std::move(asked.ticket));
    ticket->given_up(ticket, {error.code, ticket->operation(), error.context});
  }
  unanswered_ -= requests.asked.size();
  hear([](Heard&) {});
}

void PoolCore::settled(const Settlement& /*settlement*/) { heard_of_tickets(); }

void PoolCore::ticket_lost(std::uint64_t /*ticket*/) { heard_of_tickets(); }

// An entry may settle hundreds of tickets: those who wait for any are woken once, when the turn is over.
void PoolCore::heard_of_tickets() {
  if (std::exchange(turn_posted_, true)) return;
  loop_.post([this] {
    turn_posted_ = false;
    callbacks_->wake();
    count_answers();
  });
}

void PoolCore::count_answers() {
  const std::size_t left = node_ ? node_->unanswered() : client_ ? client_->unanswered() : 0;
  const std::size_t answered = sent_unanswered_ - left;
  sent_unanswered_ = left;
  if (answered != 0 && unanswered_.fetch_sub(answered) == answered) hear([](Heard&) {});
}

// The first time, or again after history was lost: the last member removes the log, and one who merely looks on may
// find it gone before having read how it ended.
void PoolCore::caught_up() {
  const Machine& machine = node_->machine();
  const bool empty = machine.sessions().all.empty() && machine.keys() == 0;
  const bool ended = saw_shutdown_ ? !machine.shutting_down() : shutting_down_ && empty;
  bool looks_on = false;
  hear([&](Heard& heard) {
    heard.caught_up = true;
    looks_on = heard.workers.empty();
  });
  if (ended && looks_on) end({Errc::shutting_down, "wait", "the pool was shut down"});
}

void PoolCore::worker_added(BytesView worker) {
  hear([&](Heard& heard) {
    const auto found = heard.workers.find(std::string(worker));
    if (found != heard.workers.end()) found->second.added = true;
  });
}

void PoolCore::worker_refused(BytesView worker, Errc why) {
  hear([&](Heard& heard) {
    const auto found = heard.workers.find(std::string(worker));
    if (found != heard.workers.end()) found->second.refused = why;
  });
}

void PoolCore::worker_removed(BytesView worker) {
  hear([&](Heard& heard) { heard.workers.erase(std::string(worker)); });
}

void PoolCore::applied(const Machine& machine) {
  has_members_ = !machine.sessions().all.empty();
  // A state that is empty again is what the last member leaves behind.
  const bool seen =
      std::exchange(saw_shutdown_, machine.shutting_down() || (saw_shutdown_ && !has_members_ && machine.keys() == 0));
  if (saw_shutdown_ && !seen && shutdown_seen_) shutdown_seen_();
}

void PoolCore::closed() {
  // The state itself may be gone by now, if another was the last to leave.
  if (saw_shutdown_ || node_->machine().shutting_down()) {
    end({Errc::shutting_down, "wait", "the pool was shut down"});
  } else {
    end({Errc::closed, "wait", "the pool was closed"});
  }
}

void PoolCore::log_delayed(const Error& error) {
  hear([&](Heard& heard) { heard.delay = error; });
}

void PoolCore::log_resumed() {
  hear([](Heard& heard) { heard.delay.reset(); });
}

void PoolCore::broken(const Error& error) { end(error); }

// The last member to leave removes the data; where there was none, whoever asked for the end does.
void PoolCore::pool_gone() {
  end({Errc::shutting_down, "wait", "the pool was shut down"});
  if (shutting_down_ && !has_members_) node_->remove_log([] {});
  on_loop([](Node& node) { node.close(); });  // it would find its log gone, and make another
}

// On the callbacks' thread, since to open a log takes its time. One that only reads does not make it anew.
bool PoolCore::finds_out_the_end() {
  const Shard shard{options_.shard.index, options_.shard.index == 0 ? 0 : shards()};
  callbacks_->post([life = life_, url = options_.url, options = LogOptions{options_.pool, true, shard}] {
    const auto log = open_log(url, options);
    const bool gone = !log && log.error().code == Errc::refused;
    std::lock_guard lock(life->mutex);
    if (life->core == nullptr) return;
    life->core->on_loop([core = life->core, gone](Node& node) { gone ? core->pool_gone() : node.reload(); });
  });
  return true;
}

void PoolCore::end(const Error& error) {
  RequestOutbox submitted;
  {
    std::lock_guard lock(mutex_);
    if (!heard_.failure) heard_.failure = error;
    std::swap(submitted, submitted_);
    submitted_bytes_ = 0;
  }
  if (auto tell = std::exchange(ended_, nullptr)) tell();
  for (RequestOutbox* unsent : {&outgoing_, &submitted}) {
    for (; !unsent->empty(); unsent->pop()) give_up(unsent->first(), error);
  }
  if (node_) node_->give_up_tickets(error);
  if (client_) client_->give_up_tickets(error);
  sent_unanswered_ = 0;
  unanswered_ = 0;
  hear([](Heard&) {});
}

}  // namespace tenure
