// Shutdowns of a run's pool, whose callers may be killed at any step, and workers that serve keys.

#include "sim/pool/pool_run.h"

namespace tenure::sim {

void PoolRun::plan_shutdown() {
  if (plan_.shutdown_every == 0) return;
  world_.after(ends_.between(plan_.shutdown_every / 2, 2 * plan_.shutdown_every), [this] {
    if (healed_) return;
    shut_down();
    plan_shutdown();
  });
}

// By a client or by a worker's process, whichever comes first from a seat left to chance.
void PoolRun::shut_down() {
  if (!onlooker_.machine().configured()) return;
  const std::size_t first = ends_.below(seats_.size());
  for (std::size_t i = 0; i < seats_.size(); ++i) {
    Seat& seat = *seats_[(first + i) % seats_.size()];
    if (seat.process == nullptr || seat.process->paused() || seat.leaving || seat.kind == Seat::Kind::visitor) continue;
    if (healed_ && plan_.drains_first) {
      const WorkerTable& workers = onlooker_.machine().workers();
      for (const WorkerIx ix : workers.by_age) seat.caller->drain(workers[ix].id);
    }
    if (!seat.caller->shut_down()) continue;
    ++outcome_.shutdowns;
    if (ends_.chance(plan_.kills_caller)) seat.process->doom();
    return;
  }
}

// All faults are over, but for the deaths of some members around the shutdown.
void PoolRun::end_last() {
  put_off_tasks();
  shut_down();
  if (!plan_.ends_alone || plan_.drains_first) return;
  for (std::uint32_t i = 1; i < plan_.nodes; ++i) {
    if (!ends_.chance(0.3)) continue;
    world_.after(ends_.magnitude(kMilli, kSecond), [this, i] {
      if (ends_now() && seats_[i]->process != nullptr) seats_[i]->process->crash();
    });
  }
}

// While the pool is shutting down, tasks do not want to end.
void PoolRun::put_off_tasks() {
  work_.puts_off = 0.9;
  world_.after(500 * kMilli, [this] {
    if (onlooker_.machine().shutting_down()) return put_off_tasks();
    work_.puts_off = 0;
  });
}

// The pool is on its way out, and has to do with those that are in it.
bool PoolRun::ends_now() const { return plan_.ends_alone && healed_ && onlooker_.machine().shutting_down(); }

bool PoolRun::any_member() const {
  for (std::uint32_t i = 0; i < plan_.nodes; ++i) {
    if (seats_[i]->process != nullptr) return true;
  }
  return false;
}

void PoolRun::begin_service(const Seat& seat, const Bytes& worker, const Bytes& key) {
  if (seat.process == nullptr) return;
  seat.caller->serve(worker, key, true);
  served_.emplace_back(worker, key);
}

// Of the latest, while it may still be on its way.
void PoolRun::end_service() {
  const auto [worker, key] = served_.back();
  served_.pop_back();
  const Bytes node = worker.substr(0, worker.find('.'));
  for (const auto& seat : seats_) {
    if (seat->name == node && seat->process != nullptr) seat->caller->serve(worker, key, false);
  }
}

void PoolRun::plan_serve() {
  if (plan_.serve_every == 0) return;
  world_.after(ends_.between(0, 2 * plan_.serve_every), [this] {
    if (healed_ && world_.now() >= serves_until_) return;
    const Seat& seat = *seats_[ends_.below(plan_.nodes)];
    const Bytes worker = seat.name + "." + std::to_string(ends_.below(plan_.workers_per_node));
    const Bytes key = "key-" + std::to_string(ends_.below(work_.resident_keys));
    const bool ends = !served_.empty() && ends_.chance(0.5);
    ends ? end_service() : begin_service(seat, worker, key);
    plan_serve();
  });
}

// Every key is held where it belongs.
bool PoolRun::all_placed() {
  if (plan_.choosy) return true;  // the function is given only the workers that take the job
  const History& history = recorder_.history();
  while (placed_ < history.size()) placing_.apply(history[placed_++]);
  bool placed = true;
  onlooker_.machine().each_job(0, [&](const JobInfo& job) {
    placed = job.kind == JobKind::task || job.worker.empty() || placing_.fits(Bytes(job.key), Bytes(job.worker));
    return placed;
  });
  return placed;
}

}  // namespace tenure::sim
