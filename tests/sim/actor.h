#pragma once

// One life of a node's process: production code from the log port up, with simulated log, loops, clock and handlers.

#include <functional>
#include <memory>

#include "node/node.h"
#include "sim/onlooker.h"
#include "sim/sim_host.h"
#include "sim/sim_log.h"

namespace tenure::sim {

// What all actors of a run share.
struct Stage {
  World& world;
  Wires& wires;
  Onlooker& onlooker;
  Recorder& recorder;
  Store& store;
  const Work& work;
};

class Actor final : private NodeEvents {
 public:
  struct Options {
    NodeOptions node;
    std::vector<WorkerOptions> workers;  // none: it only asks
  };

  Actor(const Stage& stage, Process& process, Link& link, Options options);
  ~Actor() override;

  void start();
  Node& node() { return *node_; }
  Process& process() { return process_; }
  SimLoop& node_loop() { return node_loop_; }
  bool caught_up() const { return caught_up_; }

  // Has work done on the node's loop, where everything of a node belongs.
  void ask(std::function<void(Node&)> work);
  void leave();
  // The clock's rate has changed, and with it the true time of the node's deadline.
  void tell_lease();

  std::function<void()> on_closed;
  std::function<void(const Error&)> on_broken;

 private:
  void caught_up() override { caught_up_ = true; }
  void settled(const Settlement& settlement) override;
  void applied(const Machine& machine) override;
  void lease_until(std::uint64_t session, Instant until) override;
  void fenced(std::uint64_t session, FenceReason reason) override;
  void closed() override;
  void broken(const Error& error) override;

  Stage stage_;
  Process& process_;
  Options options_;
  SimLoop& node_loop_;
  SimLoop& heart_loop_;
  Dice entropy_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<SimHost> host_;
  std::unique_ptr<Node> node_;
  bool caught_up_ = false;
  std::uint64_t lease_session_ = 0;
  Instant lease_until_;
};

}  // namespace tenure::sim
