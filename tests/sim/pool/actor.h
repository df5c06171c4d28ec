#pragma once

// One life of a node's process: production code above the log port, with simulated log, loops, clock and handlers.

#include <functional>
#include <map>
#include <memory>

#include "node/node.h"
#include "sim/pool/caller.h"
#include "sim/pool/run_context.h"
#include "sim/pool/sim_host.h"
#include "sim/world/sim_log.h"

namespace tenure::sim {

class Actor final : public Caller, private NodeEvents {
 public:
  struct Options {
    NodeOptions node;
    std::vector<NodeWorker> workers;  // none: it only asks
  };

  Actor(const RunContext& run, Process& process, Link& link, Options options);
  ~Actor() override;

  void start() override;
  void ask(const Request& request, std::function<void(std::uint64_t)> asked) override;
  bool shut_down() override;
  void drain(const Bytes& worker) override;
  void serve(const Bytes& worker, const Bytes& key, bool serves) override;
  void leave() override;
  std::uint64_t session() const override { return lease_session_; }
  void clock_changed() override { tell_lease(); }

 private:
  void settled(const Settlement& settlement) override;
  void ticket_lost(std::uint64_t ticket) override;
  void applied(const Machine& machine) override;
  void lease_until(std::uint64_t session, Instant until) override;
  void not_restored(std::string_view why) override;
  void fenced(std::uint64_t session, FenceReason reason) override;
  void worker_added(BytesView worker) override;
  void worker_refused(BytesView worker, Errc why) override;
  void pool_gone() override;
  void closed() override;
  void broken(const Error& error) override;

  void emit(const ShardEmission& emission, const std::vector<SequenceTask>& tasks, SimEmits::Answered answered);
  void send_emit(Node& node, const ShardEmission& emission, const std::vector<SequenceTask>& tasks,
                 SimEmits::Answered answered);
  void tell_emit(std::uint64_t ticket, Result<std::string> answer);
  // Has work done on the node's loop, where everything of a node belongs.
  void on_node(std::function<void(Node&)> work);
  void tell_lease();

  RunContext run_;
  Options options_;
  SimLoop& node_loop_;
  SimLoop& heart_loop_;
  Dice entropy_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<SimHost> host_;
  std::unique_ptr<Node> node_;
  std::uint64_t lease_session_ = 0;
  Instant lease_until_;
  std::map<std::uint64_t, SimEmits::Answered> emits_;  // by ticket; on the node's loop
};

}  // namespace tenure::sim
