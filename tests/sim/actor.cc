#include "sim/actor.h"

#include <array>

#include "sim/sim_clock.h"

namespace tenure::sim {

namespace {

Step step_of(TicketState state) {
  switch (state) {
    case TicketState::accepted: return Step::accepted;
    case TicketState::refused: return Step::refused;
    case TicketState::started: return Step::started;
    case TicketState::done: return Step::done;
    case TicketState::failed: return Step::failed;
    case TicketState::stopped: return Step::stopped;
  }
  return Step::refused;
}

}  // namespace

Actor::Actor(const Stage& stage, Process& process, Link& link, Options options)
    : stage_(stage),
      process_(process),
      options_(std::move(options)),
      node_loop_(process.add_loop("node")),
      heart_loop_(process.add_loop("heart")),
      entropy_(stage.world.fork(process.name() + "/entropy")),
      log_(stage.wires.connect(process, link)) {
  if (!options_.workers.empty()) {
    host_ = std::make_unique<SimHost>(SimHost::Parts{process, stage.recorder, stage.store, stage.work, nullptr, {}},
                                      stage.world.fork(process.name() + "/host"));
  }
  NodeEvents& events = *this;
  node_ = std::make_unique<Node>(NodeWorld{*log_, node_loop_, heart_loop_, process.clock(), entropy_, host_.get()},
                                 options_.node, events);
  if (host_) {
    host_->set_reports(node_->reports());
    host_->set_lease([this] { return node_->lease_until(); });
  }
}

Actor::~Actor() {
  node_.reset();
  host_.reset();
  log_->close();
}

void Actor::start() {
  stage_.recorder.note([&] { return process_.name() + " starts"; });
  ask([this](Node& node) {
    node.start();
    for (const WorkerOptions& worker : options_.workers) node.add_worker(worker);
  });
}

void Actor::ask(std::function<void(Node&)> work) {
  node_loop_.post([this, work = std::move(work)] { work(*node_); });
}

void Actor::leave() {
  ask([](Node& node) { node.close(); });
}

void Actor::settled(const Settlement& settlement) {
  stage_.recorder.add(process_,
                      Answered{process_.number(), settlement.ticket, step_of(settlement.state), settlement.code});
}

void Actor::applied(const Machine& machine) {
  if (process_.alive()) stage_.onlooker.applied(process_.number(), machine.position(), machine.digest());
}

void Actor::lease_until(std::uint64_t session, Instant until) {
  lease_session_ = session;
  lease_until_ = until;
  tell_lease();
}

void Actor::tell_lease() {
  if (lease_session_ == 0) return;
  stage_.recorder.add(process_, Leased{process_.number(), lease_session_, process_.clock().true_time(lease_until_)});
}

void Actor::fenced(std::uint64_t session, FenceReason reason) {
  static constexpr std::array<const char*, 5> kWhy{"lease lost", "expired", "history lost", "diverged", "broken"};
  stage_.recorder.note([&] {
    return process_.name() + " fenced: " + kWhy[static_cast<std::size_t>(reason)] + ", session " + to_hex(session);
  });
}

void Actor::closed() {
  if (on_closed) on_closed();
}

void Actor::broken(const Error& error) {
  stage_.recorder.add(process_, NodeBroke{process_.number(), error.message()});
  if (on_broken) on_broken(error);
}

}  // namespace tenure::sim
