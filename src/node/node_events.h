#pragma once

// The events of a node or a client for its owner, and the pool's effects for watchers.

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "machine/machine.h"
#include "node/tickets.h"

namespace tenure {

enum class FenceReason : std::uint8_t {
  lease_lost,    // no beat was confirmed in time
  expired,       // others declared this session dead
  history_lost,  // the log lost entries that were applied, or this node is too far behind to tell
  diverged,      // the others' state differs from this node's
  broken,        // the log cannot be read any more
  host_lost,     // the process that ran the handlers is gone
};

// For people.
std::string_view to_string(FenceReason reason);

// The events that nodes and clients share.
class ClientEvents : public TicketEvents {
 public:
  // The log accepts nothing now, or returns nothing; and it works again.
  virtual void log_delayed(const Error&) {}
  virtual void log_resumed() {}
  // Requests had been refused because too much was waiting to be sent. There is room again.
  virtual void room_for_requests() {}
  // The node or client has stopped for good. Nothing of it runs any more.
  virtual void broken(const Error&) {}
};

// For people: a restoration has begun, or has ended.
std::string to_string(const Restored& it, bool ended);

class NodeEvents : public ClientEvents {
 public:
  // The log has been read up to its end at the time of the node's start.
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
  // Once, if the pool was created with other options than this node was given.
  virtual void options_differ(const PoolConfig& /*pool*/) {}
  virtual void closed() {}
  // The user's function that chooses workers failed or is missing. The error says what happens instead.
  virtual void choice_failed(const Error&) {}
  // A warning of the engine: nothing fails yet. On a thread of the engine.
  virtual void log_warned(const Error&) {}
  // The pool has ended.
  virtual void pool_gone() {}
  // The log lost everything, and a member puts back what it remembers; and it has done so.
  virtual void restoring(const Restored&) {}
  virtual void restored(const Restored&) {}
  // The log lost what this node had applied, and the node changes nothing by itself.
  virtual void not_restored(std::string_view /*why*/) {}
};

// Watches a pool through a node: gets all effects of the machine, before the node acts on them, and may read the state
// after each entry.
class PoolWatcher : public Effects {
 public:
  virtual void applied(const Machine&) {}
};

// Passes events to several listeners, in the order in which they were added. The listeners must outlive it.
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
  void options_differ(const PoolConfig& pool) override { each(&NodeEvents::options_differ, pool); }
  void closed() override { each(&NodeEvents::closed); }
  void choice_failed(const Error& error) override { each(&NodeEvents::choice_failed, error); }
  void log_warned(const Error& error) override { each(&NodeEvents::log_warned, error); }
  void pool_gone() override { each(&NodeEvents::pool_gone); }
  void restoring(const Restored& it) override { each(&NodeEvents::restoring, it); }
  void restored(const Restored& it) override { each(&NodeEvents::restored, it); }
  void not_restored(std::string_view why) override { each(&NodeEvents::not_restored, why); }

 private:
  template <class Owner, class... Said, class... Given>
  void each(void (Owner::*what)(Said...), const Given&... given) {
    for (NodeEvents* listener : listeners_) (listener->*what)(given...);
  }

  std::vector<NodeEvents*> listeners_;
};

}  // namespace tenure
