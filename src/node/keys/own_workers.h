#pragma once

// This process's workers: which ones should be in the pool, and what the pool has answered for each under the current
// session. Workers are members under a session. After a fence they are offered again under the next one.

#include <map>
#include <vector>

#include "base/loop.h"
#include "machine/machine.h"
#include "node/appender.h"
#include "node/node_events.h"

namespace tenure {

struct NodeWorker {
  Bytes id;
  std::uint32_t weight = kWeightDefault;
  std::uint32_t window = kWindowDefault;
  Bytes replaces{};
  std::vector<Bytes> serves{};
  Takes takes{};
  bool isolates = false;  // its jobs run in processes of their own
  bool helps = false;     // it also gets tasks that wait for another worker whose window is full
  Ring ring{};            // of a worker that holds partitions
  std::uint32_t ordinal = kNoOrdinal;

  // The oldest machine version whose pools can have it.
  std::uint32_t version() const {
    if (ring.partitions != 0) return version_of(Rule::ranks);
    return takes.everything() ? 1 : version_of(Rule::takes);
  }
};

// Belongs to the node's loop.
class OwnWorkers final : public KeyEffects, public PoolEffects {
 public:
  // `retry_after`: when to offer a worker again if another living worker has its id.
  OwnWorkers(Loop& loop, Appender& appender, NodeEvents& events, Nanos retry_after);

  void add(NodeWorker worker);
  // The worker hands over its keys, and leaves.
  void remove(BytesView id);
  void serve(BytesView id, std::vector<Bytes> add, std::vector<Bytes> remove);
  bool empty() const { return workers_.empty(); }
  bool removing() const;

  // The node is a member under this session from now on. The pool has this machine version, and these partitions.
  void begin(std::uint64_t session, std::uint32_t version, const Ring& ring);
  // The session is over, or is being fenced.
  void end();
  // Nothing of the last session runs any more. Workers that were being removed are gone.
  void drop_removed();
  // The node is closing: no worker is offered any more, and a worker on its way to the pool is drained.
  void close() { closing_ = true; }
  void drain_all();
  // Takes workers that are being removed out of the pool, as soon as they hold nothing. True while a worker of this
  // session holds keys, or may still get some.
  bool holding(const Machine& machine);

  void worker_added(const At& at, std::uint64_t session, BytesView worker) override;
  void worker_refused(const At& at, std::uint64_t session, BytesView worker, Errc why) override;
  void worker_removed(const At& at, std::uint64_t session, BytesView worker) override;
  void worker_unfit(const At& /*at*/, std::uint64_t session, BytesView worker, BytesView error) override {
    if (present(session)) events_.worker_unfit(worker, error);
  }
  void worker_fit(const At& /*at*/, std::uint64_t session, BytesView worker) override {
    if (present(session)) events_.worker_fit(worker);
  }
  void partitions_set(const At& at, const Ring& ring) override;
  void version_switched(const At& at, std::uint32_t version) override;

 private:
  struct OwnWorker {
    NodeWorker options;
    bool added = false;  // in the pool, under the current session
    bool ever_added = false;
    bool refused = false;   // refused for good in the current session
    bool removing = false;  // this process wants to remove it
    bool removal_sent = false;
  };

  bool present(std::uint64_t session) const { return session_ != 0 && session == session_; }
  void offer_all();
  void follow(const Ring& ring);
  void offer(const NodeWorker& worker);
  void drain(BytesView id);

  Loop& loop_;
  Appender& appender_;
  NodeEvents& events_;
  const Nanos retry_after_;
  std::uint64_t session_ = 0;  // zero: the node is not a member
  std::uint32_t version_ = 0;  // of the pool's machine
  bool closing_ = false;
  std::map<Bytes, OwnWorker, std::less<>> workers_;
  Timer retry_;
};

}  // namespace tenure
