#include "sim/pool/visitor.h"

#include "sim/world/sim_clock.h"

namespace tenure::sim {

Visitor::Visitor(const RunContext& run, Process& process, Link& link, std::uint32_t speaks)
    : Caller(process),
      run_(run),
      speaks_(speaks),
      loop_(process.add_loop("client")),
      entropy_(run.world.fork(process.name() + "/entropy")),
      log_(run.wires.connect(process, link)) {
  ClientEvents& events = *this;
  client_ = std::make_unique<Client>(*log_, loop_, process.clock(), entropy_, events, std::chrono::seconds(1), speaks);
}

Visitor::~Visitor() {
  client_.reset();
  log_->close();
}

void Visitor::ask(const Request& request, std::function<void(std::uint64_t)> asked) {
  loop_.post([this, request = request.asked(), asked = std::move(asked)] {
    const Result<std::uint64_t> ticket = client_->ask(request);
    if (ticket) asked(*ticket);
  });
}

void Visitor::settled(const Settlement& settlement) { write_settled(run_.recorder, settlement); }

void Visitor::ticket_lost(std::uint64_t ticket) {
  run_.recorder.add(process(), TicketLost{process().number(), ticket});
}

void Visitor::broken(const Error& error) {
  if (is_too_old(error, speaks_, run_.onlooker)) return on_too_old();
  run_.recorder.add(process(), NodeBroke{process().number(), error.message()});
  if (on_broken) on_broken();
}

}  // namespace tenure::sim
