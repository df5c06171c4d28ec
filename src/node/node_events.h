#pragma once

// What a node, or a client, says of itself to those who own it, and what the log does to the pool to those who watch.

#include <cstdint>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "machine/machine.h"
#include "node/tickets.h"

namespace tenure {

enum class FenceReason : std::uint8_t {
  lease_lost,    // no beat was confirmed in time
  expired,       // others declared this session dead
  history_lost,  // the log lost what had been applied, or this node fell too far behind to tell
  diverged,      // the others' state differs from this node's
  broken,        // the log cannot be followed any more
  host_lost,     // what the handlers ran in is gone
};

// For people.
std::string_view to_string(FenceReason reason);

// What node and client have in common.
class ClientEvents : public TicketEvents {
 public:
  // The log takes nothing now, or gives nothing; and it does again.
  virtual void log_delayed(const Error&) {}
  virtual void log_resumed() {}
  // The way to the log was full when requests were to be sent, and is not any more.
  virtual void room_for_requests() {}
  // The node or client has stopped for good; nothing of it runs any more.
  virtual void broken(const Error&) {}
};

class NodeEvents : public ClientEvents {
 public:
  // The log has been read up to where it stood when the node was started.
  virtual void caught_up() {}
  virtual void joined(std::uint64_t /*session*/) {}
  virtual void worker_added(BytesView /*worker*/) {}
  virtual void worker_refused(BytesView /*worker*/, Errc) {}
  virtual void worker_removed(BytesView /*worker*/) {}
  // The pool gives the worker no more keys, since its starts keep failing; and it does again.
  virtual void worker_unfit(BytesView /*worker*/, BytesView /*error*/) {}
  virtual void worker_fit(BytesView /*worker*/) {}
  virtual void fenced(std::uint64_t /*session*/, FenceReason) {}
  // After each entry.
  virtual void applied(const Machine&) {}
  // On the heart's loop.
  virtual void lease_until(std::uint64_t /*session*/, Instant /*until*/) {}
  virtual void closed() {}
  // Nothing fails yet, but people should know. On a thread of the engine's.
  virtual void log_warned(const Error&) {}
  virtual void pool_gone() {}
  // History was lost while the pool was ending, to a node that only looks on: it may be the end. True: the listener
  // finds out, and calls close() or reload(). Otherwise the node reloads, and so makes a log that is gone anew.
  virtual bool finds_out_the_end() { return false; }
};

// Watches a pool through a node: hears everything that the machine says, before the node acts on it, and may read the
// state after each entry.
class PoolWatcher : public Effects {
 public:
  virtual void applied(const Machine&) {}
};

// Tells several listeners, in the order in which they were added. They must outlive it.
class NodeEventsTee final : public NodeEvents {
 public:
  void add(NodeEvents& listener) { listeners_.push_back(&listener); }

  void settled(const Settlement& settlement) override { each(&NodeEvents::settled, settlement); }
  void ticket_lost(std::uint64_t ticket) override { each(&NodeEvents::ticket_lost, ticket); }
  void log_delayed(const Error& error) override { each(&NodeEvents::log_delayed, error); }
  void log_resumed() override { each(&NodeEvents::log_resumed); }
  void room_for_requests() override { each(&NodeEvents::room_for_requests); }
  void broken(const Error& error) override { each(&NodeEvents::broken, error); }
  void caught_up() override { each(&NodeEvents::caught_up); }
  void joined(std::uint64_t session) override { each(&NodeEvents::joined, session); }
  void worker_added(BytesView worker) override { each(&NodeEvents::worker_added, worker); }
  void worker_refused(BytesView worker, Errc why) override { each(&NodeEvents::worker_refused, worker, why); }
  void worker_removed(BytesView worker) override { each(&NodeEvents::worker_removed, worker); }
  void worker_unfit(BytesView worker, BytesView error) override { each(&NodeEvents::worker_unfit, worker, error); }
  void worker_fit(BytesView worker) override { each(&NodeEvents::worker_fit, worker); }
  void fenced(std::uint64_t session, FenceReason reason) override { each(&NodeEvents::fenced, session, reason); }
  void applied(const Machine& machine) override { each(&NodeEvents::applied, machine); }
  void lease_until(std::uint64_t session, Instant until) override { each(&NodeEvents::lease_until, session, until); }
  void closed() override { each(&NodeEvents::closed); }
  void log_warned(const Error& error) override { each(&NodeEvents::log_warned, error); }
  void pool_gone() override { each(&NodeEvents::pool_gone); }
  // The first who finds out does it for all.
  bool finds_out_the_end() override {
    for (NodeEvents* listener : listeners_) {
      if (listener->finds_out_the_end()) return true;
    }
    return false;
  }

 private:
  template <class Owner, class... Said, class... Given>
  void each(void (Owner::*what)(Said...), const Given&... given) {
    for (NodeEvents* listener : listeners_) (listener->*what)(given...);
  }

  std::vector<NodeEvents*> listeners_;
};

}  // namespace tenure
