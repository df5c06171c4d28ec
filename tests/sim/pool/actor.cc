#include "sim/pool/actor.h"

#include <array>

#include "sim/world/sim_clock.h"

namespace tenure::sim {

Actor::Actor(const RunContext& run, Process& process, Link& link, Options options)
    : Caller(process),
      run_(run),
      options_(std::move(options)),
      node_loop_(process.add_loop("node")),
      heart_loop_(process.add_loop("heart")),
      entropy_(run.world.fork(process.name() + "/entropy")),
      log_(run.wires.connect(process, link)) {
  if (!options_.workers.empty()) {
    host_ =
        std::make_unique<SimHost>(SimHost::Parts{process, run.recorder, run.store, run.work, nullptr, {}},
                                  run.world.fork(process.name() + "/host"), run.world.fork(process.name() + "/emits"));
  }
  NodeEvents& events = *this;
  node_ = std::make_unique<Node>(NodeWorld{*log_, node_loop_, heart_loop_, process.clock(), entropy_, host_.get()},
                                 options_.node, events);
  if (host_) {
    host_->set_reports(node_->reports());
    host_->emits().set_way([this](const ShardEmission& emission, const std::vector<SequenceTask>& tasks,
                                  SimEmits::Answered answered) { emit(emission, tasks, std::move(answered)); });
    host_->set_lease([this] { return node_->lease_until(); });
  }
}

Actor::~Actor() {
  node_.reset();
  host_.reset();
  log_->close();
}

void Actor::start() {
  run_.recorder.note([&] { return process().name() + " starts"; });
  on_node([this](Node& node) {
    node.start();
    for (const NodeWorker& worker : options_.workers) node.add_worker(worker);
  });
}

void Actor::on_node(std::function<void(Node&)> work) {
  node_loop_.post([this, work = std::move(work)] { work(*node_); });
}

void Actor::leave() {
  on_node([](Node& node) { node.close(); });
}

bool Actor::shut_down() {
  on_node([](Node& node) { node.shut_down_and_see(); });
  return true;
}

void Actor::drain(const Bytes& worker) {
  on_node([worker](Node& node) { node.drain(worker); });
}

void Actor::serve(const Bytes& worker, const Bytes& key, bool serves) {
  on_node([this, worker, key, serves](Node& node) {
    run_.recorder.add(process(), Serves{process().number(), worker, key, serves});
    serves ? node.serve(worker, {key}, {}) : node.serve(worker, {}, {key});
  });
}

void Actor::worker_added(BytesView worker) {
  run_.recorder.add(process(), WorkerReady{process().number(), Bytes(worker)});
}

void Actor::worker_refused(BytesView /*worker*/, Errc why) {
  if (why == Errc::invalid && process().alive()) node_loop_.post([this] { on_misfit(); });
}

// As for the library's core, all is over then.
void Actor::pool_gone() {
  node_loop_.post([this] { closed(); });
}

void Actor::ask(const Request& request, std::function<void(std::uint64_t)> asked) {
  on_node([request = request.asked(), asked = std::move(asked)](Node& node) {
    const Result<std::uint64_t> ticket = node.ask(request);
    if (ticket) asked(*ticket);
  });
}

void Actor::emit(const ShardEmission& emission, const std::vector<SequenceTask>& tasks, SimEmits::Answered answered) {
  on_node([this, emission, tasks, answered = std::move(answered)](Node& node) mutable {
    send_emit(node, emission, tasks, std::move(answered));
  });
}

// The payload of a task names its request, as for any other.
void Actor::send_emit(Node& node, const ShardEmission& emission, const std::vector<SequenceTask>& tasks,
                      SimEmits::Answered answered) {
  if (node.machine().version() < version_of(Rule::sources)) {
    return answered(fail(Errc::version, "emit", "the pool knows no sources"));
  }
  auto filled = std::make_shared<ShardEmission>(emission);
  std::vector<std::uint64_t> numbers;
  for (EmitTask& task : filled->tasks) {
    numbers.push_back(run_.recorder.new_number());
    task.payload = Recorder::bytes_with(numbers.back(), 16);
  }
  tenure::Request request;
  request.kind = tenure::Request::Kind::emit;
  request.emission = filled;
  const Result<std::uint64_t> ticket = node.ask(request);
  if (!ticket) return answered(Failure(ticket.error()));
  run_.recorder.add(Asked{
      .process = process().number(), .ticket = *ticket, .ask = Ask::emit, .key = emission.key, .tasks = tasks.size()});
  for (std::size_t i = 0; i < tasks.size(); ++i) {
    const std::uint64_t of_task = tenure::Request::task_ticket(*ticket, i);
    run_.recorder.number_is(numbers[i], of_task);
    run_.recorder.add(Asked{.process = process().number(),
                            .ticket = of_task,
                            .ask = Ask::task,
                            .key = tasks[i].key,
                            .source = source_of_part(emission.source),
                            .event = tasks[i].event,
                            .index = tasks[i].index});
  }
  emits_[*ticket] = std::move(answered);
}

void Actor::tell_emit(std::uint64_t ticket, Result<std::string> answer) {
  const auto found = emits_.find(ticket);
  if (found == emits_.end()) return;
  const SimEmits::Answered answered = std::move(found->second);
  emits_.erase(found);
  answered(std::move(answer));
}

void Actor::settled(const Settlement& settlement) {
  write_settled(run_.recorder, settlement);
  if (settlement.state == TicketState::done) return tell_emit(settlement.ticket, Bytes(settlement.text));
  if (settlement.state != TicketState::refused) return;
  tell_emit(settlement.ticket, fail(settlement.code, "emit", Bytes(settlement.text)));
}

void Actor::ticket_lost(std::uint64_t ticket) {
  run_.recorder.add(process(), TicketLost{process().number(), ticket});
  tell_emit(ticket, fail(Errc::lost_history, "emit", "lost"));
}

void Actor::applied(const Machine& machine) {
  if (process().alive()) run_.onlooker.applied(process().number(), machine.position(), machine.digest());
}

void Actor::lease_until(std::uint64_t session, Instant until) {
  lease_session_ = session;
  lease_until_ = until;
  tell_lease();
}

void Actor::tell_lease() {
  if (lease_session_ == 0) return;
  run_.recorder.add(process(), Leased{process().number(), lease_session_, process().clock().true_time(lease_until_)});
}

void Actor::fenced(std::uint64_t session, FenceReason reason) {
  if (reason == FenceReason::history_lost) {
    run_.recorder.add(process(), NoticedLoss{process().number(), session});
  }
  static constexpr std::array<const char*, 5> kWhy{"lease lost", "expired", "history lost", "diverged", "broken"};
  run_.recorder.note([&] {
    return process().name() + " fenced: " + kWhy[static_cast<std::size_t>(reason)] + ", session " + to_hex(session);
  });
}

void Actor::not_restored(std::string_view why) {
  run_.recorder.note([&] { return process().name() + " puts nothing back: " + std::string(why); });
}

void Actor::closed() {
  if (on_closed) on_closed();
}

void Actor::broken(const Error& error) {
  if (is_too_old(error, options_.node.speaks, run_.onlooker)) return on_too_old();
  run_.recorder.add(process(), NodeBroke{process().number(), error.message()});
  if (on_broken) on_broken();
}

}  // namespace tenure::sim
