#include "sim/visitor.h"

#include "sim/sim_clock.h"
#include "tenure/v1/record.pb.h"

namespace tenure::sim {

namespace {

v1::Record record_of(const Request& request) {
  v1::Record record;
  switch (request.ask) {
    case Ask::resident:
    case Ask::task:
      record.mutable_dispatch()->set_kind(request.ask == Ask::task ? v1::TASK : v1::RESIDENT);
      record.mutable_dispatch()->set_key(request.key);
      record.mutable_dispatch()->set_payload(request.text);
      record.mutable_dispatch()->set_delay_ms(static_cast<std::uint64_t>(to_ms(request.delay)));
      break;
    case Ask::notify:
      record.mutable_notify()->set_key(request.key);
      record.mutable_notify()->set_message(request.text);
      break;
    case Ask::stop: record.mutable_stop()->set_key(request.key); break;
    case Ask::retry_dead: record.mutable_retry_dead()->set_id(request.grave); break;
    case Ask::drop_dead: record.mutable_drop_dead()->set_id(request.grave); break;
  }
  return record;
}

// Being accepted is all there is to hear of these.
bool single(Ask ask) { return ask == Ask::notify || ask == Ask::retry_dead || ask == Ask::drop_dead; }

}  // namespace

Visitor::Visitor(const Stage& stage, Process& process, Link& link)
    : Caller(process),
      stage_(stage),
      loop_(process.add_loop("client")),
      entropy_(stage.world.fork(process.name() + "/entropy")),
      log_(stage.wires.connect(process, link)) {
  ClientEvents& events = *this;
  client_ = std::make_unique<Client>(*log_, loop_, process.clock(), entropy_, events);
}

Visitor::~Visitor() {
  client_.reset();
  log_->close();
}

void Visitor::ask(const Request& request, std::function<void(std::uint64_t)> asked) {
  loop_.post([this, request, asked = std::move(asked)] {
    const Result<std::uint64_t> ticket = client_->send(record_of(request), single(request.ask));
    if (ticket) asked(*ticket);
  });
}

void Visitor::settled(const Settlement& settlement) { write_settled(stage_.recorder, settlement); }

void Visitor::ticket_lost(std::uint64_t ticket) {
  stage_.recorder.add(process(), TicketLost{process().number(), ticket});
}

void Visitor::broken(const Error& error) {
  stage_.recorder.add(process(), NodeBroke{process().number(), error.message()});
  if (on_broken) on_broken();
}

}  // namespace tenure::sim
