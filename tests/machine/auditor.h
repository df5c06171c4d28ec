#pragma once

// Judges a machine by its effects and its whole state, entry by entry, against the promises alone. It keeps its own
// books and shares no code with the machine.

#include <map>
#include <set>
#include <string>
#include <vector>

#include "assign/jump.h"
#include "assign/rendezvous.h"
#include "machine/historian.h"
#include "machine/image.h"

namespace tenure::test {

class Auditor final : public Effects {
 public:
  // What was found wrong, in words; empty if nothing was.
  const std::vector<Bytes>& faults() const { return faults_; }

  void granted(const At&, const Grant& grant) override {
    const Bytes key(grant.tenure.key);
    check(!held_.contains(key), "granted twice: " + key);
    check(grant.tenure.epoch > last_epoch_, "an epoch that does not grow: " + key);
    check(grant.first == fresh_.contains(grant.ticket), "first is wrong: " + key);
    check(open_.contains(grant.ticket), "granted for a job that is over: " + key);
    last_epoch_ = grant.tenure.epoch;
    held_[key] = {grant.tenure.epoch, Bytes(grant.tenure.worker), grant.tenure.session, grant.ticket};
    fresh_.erase(grant.ticket);
  }
  void ended(const At&, const TenureRef& tenure, TenureEnd why) override {
    check_present(tenure, "ended");
    if (why == TenureEnd::failed) unbegun_.erase(held_[Bytes(tenure.key)].ticket);
    held_.erase(Bytes(tenure.key));
  }
  void started(const At&, const TenureRef& tenure) override {
    check_present(tenure, "started");
    unbegun_.erase(held_[Bytes(tenure.key)].ticket);
  }
  void stop_asked(const At&, const TenureRef& tenure, StopReason) override { check_present(tenure, "asked to stop"); }
  void message(const At&, const TenureRef& tenure, std::uint64_t, BytesView) override {
    check_present(tenure, "messaged");
  }

  void settled(const At&, const Settlement& settlement) override {
    if (use_of(settlement.ticket) != TicketUse::dispatch) return;
    const std::uint64_t ticket = settlement.ticket;
    switch (settlement.state) {
      case TicketState::accepted:
        check(known_.insert(ticket).second, "accepted after something else");
        open_.insert(ticket);
        fresh_.insert(ticket);
        unbegun_.insert(ticket);
        return;
      case TicketState::refused: check(known_.insert(ticket).second, "refused after something else"); return;
      case TicketState::started: check(open_.contains(ticket), "started but not open"); return;
      case TicketState::failed:
      case TicketState::done:
      case TicketState::stopped:
        check(open_.erase(ticket) == 1, "settled for good twice");
        fresh_.erase(ticket);
        unbegun_.erase(ticket);
        failed_ = settlement.state == TicketState::failed ? ticket : 0;
        return;
    }
  }
  // What is buried may be retried, or stopped, and is settled once more then.
  void buried(const At&, BytesView, std::uint64_t, bool) override {
    check(failed_ != 0, "buried without having failed");
    open_.insert(failed_);
  }

  void after_entry(Machine& machine) {
    const Image image = image_of(machine);
    check(machine.queued() + machine.delayed() == unbegun_.size(), "a job is counted, or not, against its progress");
    check_holders(machine, image);
    check_counters(image);
    check_queues(image);
    check_targets(image);
  }

 private:
  struct Holder {
    std::uint64_t epoch;
    Bytes worker;
    std::uint64_t session;
    std::uint64_t ticket;
  };

  void check(bool good, const Bytes& what) {
    if (!good) faults_.push_back(what);
  }
  void check_present(const TenureRef& tenure, const Bytes& what) {
    const auto found = held_.find(Bytes(tenure.key));
    check(found != held_.end() && found->second.epoch == tenure.epoch && found->second.worker == tenure.worker &&
              found->second.session == tenure.session,
          what + " without being held: " + Bytes(tenure.key));
  }

  void check_holders(const Machine& machine, const Image& image) {
    std::size_t held = 0;
    for (const auto& [key, state] : image.keys) {
      const v1::WorkerState* holder = image.holder(state);
      if (holder == nullptr) continue;
      ++held;
      const auto found = held_.find(key);
      check(found != held_.end() && found->second.epoch == state.epoch() && found->second.worker == holder->id(),
            "held, but that was not said: " + key);
      check(machine.sessions().find(holder->session()) != nullptr, "held by a session that has ended: " + key);
    }
    check(held == held_.size(), "said to be held, but is not");
  }

  static bool is(const v1::KeyState& key, JobState state) { return key.state() == static_cast<std::uint32_t>(state); }
  static bool task(const v1::KeyState& key) { return key.kind() == static_cast<std::uint32_t>(JobKind::task); }

  void check_counters(const Image& image) {
    for (const auto& [index, worker] : image.workers) {
      std::uint64_t keys = 0;
      std::uint32_t tasks = 0;
      std::uint32_t starting = 0;
      std::uint32_t moving = 0;
      for (const auto& [key, state] : image.keys) {
        if (state.holder() != index + 1) continue;
        ++keys;
        tasks += task(state) ? 1 : 0;
        starting += is(state, JobState::starting) ? 1 : 0;
        moving += is(state, JobState::moving) ? 1 : 0;
      }
      check(keys == worker.keys_held() && tasks == worker.tasks_held() && starting == worker.starting() &&
                moving == worker.moving(),
            "a worker's counters are wrong: " + worker.id());
    }
  }

  // Whatever wants a holder waits in the queue of its target, and only if that one has no room for it; whatever is
  // held by another than its target is on its way. The histories are too small to fill the portions.
  void check_queues(const Image& image) {
    for (const auto& entry : image.keys) {
      const Bytes& key = entry.first;
      const v1::KeyState& state = entry.second;
      const v1::WorkerState* target = image.target(state);
      const bool resident = !task(state);
      if (is(state, JobState::running) && resident && state.target() != state.holder()) {
        check(target == nullptr ? some_unfit(image) : room(*target, target->starting() + target->arriving()) == 0,
              "a move is due: " + key);
      }
      if (!is(state, JobState::queued) || target == nullptr) continue;
      check(!target->draining(), "waits for one that drains: " + key);
      check(!target->fitness().unfit() || target->fitness().probe() == state.slot() + 1,
            "waits for an unfit one: " + key);
      const auto waits_in = [&](const v1::QueueState& queue) {
        for (int i = 0; i < queue.slots_size(); ++i) {
          if (queue.slots(i) == state.slot() && queue.stamps(i) == state.stamp()) return true;
        }
        return false;
      };
      const bool full = target->tasks_held() >= target->window();
      const bool watched = room(*target, target->starting()) == 0;
      check((waits_in(target->tasks()) && full) || (waits_in(target->residents()) && watched),
            "a grant is due: " + key);
    }
  }
  // How many more the worker is trusted to start.
  static std::uint32_t room(const v1::WorkerState& worker, std::uint32_t taken) {
    const v1::FitnessState& fitness = worker.fitness();
    if (fitness.unfit()) return fitness.probe() != 0 && taken == 0 ? 1 : 0;
    const std::uint32_t used = taken + static_cast<std::uint32_t>(fitness.tentative().slots_size());
    return used < fitness.window() ? fitness.window() - used : 0;
  }
  static bool some_unfit(const Image& image) {
    return std::any_of(image.workers.begin(), image.workers.end(),
                       [](const auto& entry) { return entry.second.fitness().unfit() && !entry.second.draining(); });
  }
  // What the worker said, against the job that the key waits with or is held for.
  static bool takes(const Image& image, std::uint32_t worker, const v1::KeyState& key) {
    Bytes type;
    for (const v1::TypeState& named : image.global.keys().types()) {
      if (key.head() != 0 && image.jobs.at(key.head()).type() == named.number()) type = named.name();
    }
    const auto& said = image.workers.at(worker).takes();
    return said.empty() || std::any_of(said.begin(), said.end(), [&](const v1::Takes& one) {
             return (one.kind_plus_one() == 0 || one.kind_plus_one() == key.kind() + 1) &&
                    (!one.typed() || one.type() == type);
           });
  }

  // What runs on an unfit worker stays there.
  static bool stays(const Image& image, const v1::KeyState& state) {
    const v1::WorkerState* holder = image.holder(state);
    return holder != nullptr && holder->fitness().unfit() && state.target() == state.holder();
  }

  // Every key's target is what a choice from scratch gives, whatever happened before; but for those that had to go
  // elsewhere because they failed to start there.
  void check_targets(const Image& image) {
    const auto assignment = image.global.frame().config().assignment();
    for (const auto& [key, state] : image.keys) {
      check(state.target() == 0 || takes(image, state.target() - 1, state),
            "goes to one that does not take it: " + key);
      check(state.holder() == 0 || takes(image, state.holder() - 1, state),
            "held by one that does not take it: " + key);
      if (state.diverted() || stays(image, state)) continue;
      std::vector<Place> places;
      std::vector<std::uint32_t> open;
      for (const v1::WorkerState& worker : image.global.keys().workers()) {
        if (!image.open(worker) || !takes(image, worker.index(), state)) continue;
        places.push_back({worker.seed(), worker.weight()});
        open.push_back(worker.index() + 1);
      }
      std::map<Bytes, std::uint32_t> served;
      for (const v1::ServedState& server : image.global.keys().served()) {
        for (const std::uint32_t ix : server.workers()) {
          if (image.open(image.workers.at(ix)) && takes(image, ix, state)) served[server.key()] = ix + 1;
        }
      }
      if (const auto found = served.find(key); found != served.end()) {
        check(state.target() == found->second, "does not go to its server: " + key);
      } else if (assignment == v1::Configure::CHOSEN) {
        check(state.target() == 0 || std::count(open.begin(), open.end(), state.target()) == 1, "a bad choice: " + key);
      } else if (open.empty()) {
        check(state.target() == 0, "goes to one that is not open: " + key);
      } else {
        const std::size_t best = assignment == v1::Configure::JUMP
                                     ? jump_choose(hash_bytes(key), static_cast<std::uint32_t>(open.size()))
                                     : rendezvous_choose(hash_bytes(key), places);
        check(state.target() == open[best], "goes to the wrong worker: " + key);
      }
    }
  }

  std::map<Bytes, Holder> held_;
  std::set<std::uint64_t> known_;
  std::set<std::uint64_t> open_;
  std::set<std::uint64_t> fresh_;    // never held
  std::set<std::uint64_t> unbegun_;  // by no handler
  std::uint64_t failed_ = 0;
  std::uint64_t last_epoch_ = 0;
  std::vector<Bytes> faults_;
};

}  // namespace tenure::test
