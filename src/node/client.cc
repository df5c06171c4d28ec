#include "node/client.h"

#include <algorithm>
#include <vector>

#include "machine/limits.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr Nanos kRetry = std::chrono::milliseconds(20);

TicketState ticket_state(v1::Answer::State state) {
  switch (state) {
    case v1::Answer::REFUSED: return TicketState::refused;
    case v1::Answer::FAILED: return TicketState::failed;
    case v1::Answer::STOPPED: return TicketState::stopped;
    default: return TicketState::accepted;
  }
}

// Puts the ticket into the record and asks for the outcome to be said; false for a record that asks for nothing.
bool mark(v1::Record& record, std::uint64_t ticket) {
  const auto set = [ticket](auto* request) {
    request->set_ticket(ticket);
    request->set_say(true);
    return true;
  };
  switch (record.kind_case()) {
    case v1::Record::kDispatch: return set(record.mutable_dispatch());
    case v1::Record::kNotify: return set(record.mutable_notify());
    case v1::Record::kStop: return set(record.mutable_stop());
    case v1::Record::kRetryDead: return set(record.mutable_retry_dead());
    case v1::Record::kDropDead: return set(record.mutable_drop_dead());
    default: return false;
  }
}

}  // namespace

Client::Client(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, ClientEvents& events, Nanos patience)
    : log_(log),
      loop_(loop),
      entropy_(entropy),
      events_(events),
      patience_(patience),
      appender_(log, loop, clock, entropy, *this),
      impatience_(loop),
      retry_(loop) {}

Client::~Client() = default;

Result<std::uint64_t> Client::send(v1::Record record, bool single) {
  const std::uint64_t ticket = entropy_.id();
  if (!mark(record, ticket)) return fail(Errc::invalid, "send", "this record asks for nothing");
  if (Status room = appender_.has_room(); !room) return tl::unexpected(room.error());
  tickets_[ticket].single = single;
  appender_.offer(record, {nullptr, [this, ticket](Position at) {
                             if (const auto found = tickets_.find(ticket); found != tickets_.end()) {
                               found->second.at = at;
                             }
                             if (!replica_ && !cursor_) follow({at, 0});
                           }});
  if (!impatience_.armed()) impatience_.arm(loop_.now() + patience_, [this] { fold(); });
  return ticket;
}

void Client::follow(const Cursor& from) {
  cursor_ = from;
  shaken_.clear();
  if (!reading_) read();
}

void Client::read() {
  reading_ = true;
  auto done = token_.guard([this](Result<std::vector<Entry>> entries) { take(std::move(entries)); });
  log_.read(*cursor_, [loop = &loop_, done = std::move(done)](Result<std::vector<Entry>> entries) mutable {
    loop->post([done = std::move(done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
  });
}

void Client::take(Result<std::vector<Entry>> entries) {
  reading_ = false;
  if (!entries) {
    if (entries.error().code == Errc::closed) return;
    if (entries.error().code == Errc::unavailable) {
      retry_.arm(loop_.now() + kRetry, [this] { read(); });
      return;
    }
    cursor_.reset();
    return fold();
  }
  for (const Entry& entry : *entries) {
    if (const v1::Batch* batch = decoder_.decode(entry.data)) look(*batch);
    cursor_ = Cursor::at(entry);
  }
  if (fold_until_ != 0) {  // it was decided meanwhile to fold, and the one read that is allowed has come back
    cursor_.reset();
    return fold();
  }
  // With nobody waiting there is nothing to follow: the next ticket begins at its own entry.
  if (tickets_.empty()) {
    cursor_.reset();
    impatience_.cancel();
    return;
  }
  read();
}

void Client::look(const v1::Batch& batch) {
  for (const v1::Record& record : batch.records()) {
    switch (record.kind_case()) {
      case v1::Record::kAnswer:
        tell({record.answer().ticket(), ticket_state(record.answer().state()),
              static_cast<Errc>(record.answer().code()), record.answer().epoch(), record.answer().worker(),
              record.answer().error()});
        break;
      case v1::Record::kStarted:
        if (!doubtful(record.started().session())) {
          tell({record.started().ticket(), TicketState::started, Errc{}, record.started().epoch(), {}, {}});
        }
        break;
      case v1::Record::kDone:
        if (tickets_.contains(record.done().ticket()) && doubtful(record.done().session())) return fold();
        tell({record.done().ticket(), TicketState::done, Errc{}, record.done().epoch(), {}, record.done().result()});
        break;
      case v1::Record::kExpire: shaken_.insert(record.expire().session()); break;
      case v1::Record::kEnd: shaken_.insert(record.end().session()); break;
      case v1::Record::kRemoveWorker: shaken_.insert(record.remove_worker().session()); break;
      default: break;
    }
  }
}

void Client::tell(const Settlement& settlement) {
  const auto found = tickets_.find(settlement.ticket);
  if (found == tickets_.end()) return;
  const bool accepted = settlement.state == TicketState::accepted;
  const bool going_on = settlement.state == TicketState::started || (accepted && !found->second.single);
  if (accepted && found->second.accepted) return;  // said twice
  found->second.accepted = true;
  if (!going_on) tickets_.erase(found);
  events_.settled(settlement);
}

// From here on the client is a replica. It stays one: whoever waits long may wait for more.
void Client::fold() {
  const bool impatient =
      std::any_of(tickets_.begin(), tickets_.end(), [](const auto& entry) { return !entry.second.accepted; });
  if (replica_ || tickets_.empty() || (!impatient && cursor_)) return;
  if (fold_until_ == 0) {
    fold_until_ = 1;
    v1::Record record;
    record.mutable_tick();
    appender_.offer(record, {nullptr, [this](Position end) {
                               fold_until_ = end;
                               if (replica_ && replica_->position() >= end) find_lost();
                             }});
  }
  // One read is outstanding at most: the marker's own entry will bring it back.
  if (reading_) return;
  cursor_.reset();
  impatience_.cancel();
  ReplicaOptions options;
  options.snapshots = false;
  replica_ = std::make_unique<Replica>(log_, loop_, entropy_, options, static_cast<ReplicaEvents&>(*this));
  replica_->start();
}

void Client::applied() {
  if (fold_until_ > 1 && replica_->position() >= fold_until_) find_lost();
}

// The log has been folded up to its end, and some tickets are nowhere: settled and forgotten before the snapshot.
void Client::find_lost() {
  const Position end = std::exchange(fold_until_, 1);
  std::set<std::uint64_t> there;
  replica_->machine().each_ticket([&](std::uint64_t ticket) { there.insert(ticket); });
  std::vector<std::uint64_t> lost;
  std::vector<std::uint64_t> accepted;
  for (const auto& [ticket, waiting] : tickets_) {
    if (!waiting.at || *waiting.at > end) continue;
    if (!there.contains(ticket)) lost.push_back(ticket);
    if (there.contains(ticket) && !waiting.accepted) accepted.push_back(ticket);
  }
  for (const std::uint64_t ticket : accepted) tell({ticket, TicketState::accepted, Errc{}, 0, {}, {}});
  for (const std::uint64_t ticket : lost) {
    tickets_.erase(ticket);
    events_.ticket_lost(ticket);
  }
}

void Client::history_lost() {
  replica_->resume();
  fold_until_ = 0;
  v1::Record record;
  record.mutable_tick();
  appender_.offer(record, {nullptr, [this](Position end) { fold_until_ = end; }});
}

void Client::append_gave_up() {
  const std::map<std::uint64_t, Waiting> waiting = std::exchange(tickets_, {});
  for (const auto& [ticket, state] : waiting) events_.ticket_lost(ticket);
}

}  // namespace tenure
