#include "node/client/client.h"

#include <optional>
#include <utility>
#include <vector>

#include "machine/limits.h"
#include "node/records.h"
#include "tenure/v1/record.pb.h"

namespace tenure {
namespace {

constexpr Nanos kRetry = std::chrono::milliseconds(20);

TicketState ticket_state(v1::Answer::State state) {
  switch (state) {
    case v1::Answer::REFUSED: return TicketState::refused;
    case v1::Answer::FAILED: return TicketState::failed;
    case v1::Answer::STOPPED: return TicketState::stopped;
    case v1::Answer::DONE: return TicketState::done;
    default: return TicketState::accepted;
  }
}

}  // namespace

Client::Client(Log& log, Loop& loop, const Clock& clock, Entropy& entropy, ClientEvents& events, Nanos patience,
               std::uint32_t speaks)
    : log_(log),
      loop_(loop),
      entropy_(entropy),
      events_(events),
      patience_(patience),
      speaks_(speaks),
      appender_(log, loop, clock, entropy, *this),
      tickets_(appender_, events),
      impatience_(loop),
      retry_(loop) {
  effects_.add_tickets(tickets_);
}

Client::~Client() = default;

Result<std::uint64_t> Client::ask(const Request& request) {
  if (Status sound = request.check(); !sound) return Failure(sound.error());
  const std::uint64_t ticket = entropy_.id();
  Bytes record;
  request.encode(ticket, true, record);
  if (Status sent = send({ticket, request.single(), record}, nullptr); !sent) return Failure(sent.error());
  return ticket;
}

Status Client::send(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
  if (!appender_.has_room()) return busy();
  take_in(request, std::move(ticket));
  return {};
}

Status Client::send(SealedRequests& requests) {
  if (!appender_.has_room()) return busy();
  std::size_t bytes = 0;
  for (SealedRequests::Asked& asked : requests.asked) {
    const BytesView record = BytesView(requests.records).substr(bytes, asked.bytes);
    take_in({.ticket = asked.number, .single = asked.single, .record = record}, std::move(asked.ticket));
    bytes += asked.bytes;
  }
  return {};
}

void Client::take_in(const SealedRequest& request, std::shared_ptr<OpenTicket> ticket) {
  if (const auto options = std::exchange(options_, std::nullopt)) appender_.offer(options_record(*options));
  tickets_.add(request.ticket, request.single, loop_.now(), std::move(ticket));
  const auto appended = [this, number = request.ticket](Position at) { request_appended(number, at); };
  appender_.offer_request(request.record, {.sent = nullptr, .appended = appended});
  if (load_wanted_) load_state();
  if (!impatience_.armed()) watch_patience();
}

void Client::request_appended(std::uint64_t ticket, Position at) {
  if (replica_) return;
  // The answer may have come before this copy of the request.
  if (!cursor_ && appender_.resent()) return load_state();
  if (!cursor_) follow({at, 0});
  if (*cursor_ == Cursor{at, 0}) tickets_.meet(ticket);
}

std::uint64_t Client::inquire(v1::Ask ask, std::function<void(v1::Told)> told) {
  const std::uint64_t question = entropy_.id();
  ask.set_question(question);
  v1::Record record;
  *record.mutable_ask() = std::move(ask);
  questions_.emplace(question, std::move(told));
  appender_.offer(record, {nullptr, [this](Position at) {
                             if (!replica_ && !cursor_ && !load_wanted_) follow({at, 0});
                           }});
  return question;
}

void Client::follow(const Cursor& from) {
  cursor_ = from;
  shaken_.clear();
  if (!reading_) read();
}

void Client::read() {
  reading_ = true;
  auto done = token_.guard([this](const Result<std::vector<Entry>>& entries) { take(entries); });
  log_.read(*cursor_, [loop = &loop_, done = std::move(done)](Result<std::vector<Entry>> entries) mutable {
    loop->post([done = std::move(done), entries = std::move(entries)]() mutable { done(std::move(entries)); });
  });
}

void Client::take(const Result<std::vector<Entry>>& entries) {
  reading_ = false;
  if (!entries && entries.error().code == Errc::closed) return;
  if (!entries && entries.error().code == Errc::unavailable && !load_wanted_) {
    retry_.arm(loop_.now() + kRetry, [this] { read(); });
    return;
  }
  // If the log cannot be followed any more, the state must be loaded: now, or when somebody waits.
  if (!entries) return load_state();
  for (const Entry& entry : *entries) {
    if (const v1::Batch* batch = decoder_.decode(entry.data)) look(*batch);
    cursor_ = Cursor::at(entry);
  }
  if (load_wanted_) return load_state();
  // Without tickets there is nothing to follow: the next ticket starts at its own entry.
  if (tickets_.empty() && questions_.empty()) {
    cursor_.reset();
    impatience_.cancel();
    return;
  }
  read();
}

void Client::look(const v1::Batch& batch) {
  for (const v1::Record& record : batch.records()) {
    switch (record.kind_case()) {
      case v1::Record::kDispatch: tickets_.meet(record.dispatch().ticket()); break;
      case v1::Record::kNotify: tickets_.meet(record.notify().ticket()); break;
      case v1::Record::kStop: tickets_.meet(record.stop().ticket()); break;
      case v1::Record::kRetryDead: tickets_.meet(record.retry_dead().ticket()); break;
      case v1::Record::kDropDead: tickets_.meet(record.drop_dead().ticket()); break;
      case v1::Record::kSetPartitions: tickets_.meet(record.set_partitions().ticket()); break;
      case v1::Record::kForgetSource: tickets_.meet(record.forget_source().ticket()); break;
      case v1::Record::kAnswer:
        hear(
            {record.answer().ticket(), ticket_state(record.answer().state()), static_cast<Errc>(record.answer().code()),
             record.answer().epoch(), record.answer().worker(), record.answer().error()},
            0);
        break;
      case v1::Record::kStarted:
        hear({record.started().ticket(),
              TicketState::started,
              Errc{},
              record.started().epoch(),
              record.started().worker(),
              {}},
             record.started().session());
        break;
      case v1::Record::kDone:
        hear({record.done().ticket(), TicketState::done, Errc{}, record.done().epoch(), {}, record.done().result()},
             record.done().session());
        break;
      case v1::Record::kTold:
        if (auto asked = questions_.extract(record.told().question())) asked.mapped()(record.told());
        break;
      case v1::Record::kExpire: shaken_.insert(record.expire().session()); break;
      case v1::Record::kEnd: shaken_.insert(record.end().session()); break;
      case v1::Record::kRemoveWorker: shaken_.insert(record.remove_worker().session()); break;
      default: break;
    }
  }
}

// News about a ticket are accepted unless the machine may decide otherwise: the session that reports may have ended, or
// the log may have lost the request.
void Client::hear(const Settlement& settlement, std::uint64_t session) {
  if (load_wanted_ || !tickets_.has(settlement.ticket)) return;
  if (shaken_.contains(session) || !tickets_.met(settlement.ticket)) {
    load_wanted_ = true;
    return;
  }
  tickets_.tell(settlement);
}

// If no member answers within the client's patience, the client loads the state.
void Client::watch_patience() {
  if (replica_) return impatience_.cancel();
  std::optional<Instant> eldest = tickets_.eldest_unanswered();
  if (!eldest) return impatience_.cancel();
  if (*eldest + patience_ <= loop_.now()) {
    eldest = loop_.now();  // it may take a while until the load begins; then it is wanted again
    load_state();
  }
  if (!replica_) impatience_.arm(*eldest + patience_, [this] { watch_patience(); });
}

// From now on the client is a replica. It stays one, because a caller that waits long may wait for more.
void Client::load_state() {
  load_wanted_ = true;
  if (replica_ || tickets_.empty()) return cursor_.reset();
  if (reading_) return nudge();
  retry_.cancel();
  impatience_.cancel();
  cursor_.reset();
  ReplicaOptions options;
  options.snapshots = false;
  replica_ = std::make_unique<ReplicaOf<Machine>>(log_, loop_, entropy_, options, speaks_, effects_,
                                                  static_cast<ReplicaEvents&>(*this));
  replica_->start();
}

// At most one read is outstanding. An own entry ends it, if nothing else does.
void Client::nudge() {
  v1::Record record;
  record.mutable_tick();
  appender_.offer(record);
}

void Client::applied() {
  const std::uint64_t met = replica_->machine().last_sequence(appender_.sender());
  if (!appender_.all_met(replica_->position(), met)) tickets_.in_doubt();
  tickets_.applied(replica_->position(), replica_->machine());
}

void Client::reloaded() {
  appender_.reader_reloaded();
  tickets_.in_doubt();
}

}  // namespace tenure
