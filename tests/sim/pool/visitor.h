#pragma once

// A process that only dispatches and keeps no state: production code of the client above the log port.

#include <memory>

#include "node/client/client.h"
#include "sim/pool/caller.h"
#include "sim/pool/run_context.h"

namespace tenure::sim {

class Visitor final : public Caller, private ClientEvents {
 public:
  // `speaks`: the machine version of its program.
  Visitor(const RunContext& run, Process& process, Link& link, std::uint32_t speaks);
  ~Visitor() override;

  void start() override {}
  void ask(const Request& request, std::function<void(std::uint64_t)> asked) override;

 private:
  void settled(const Settlement& settlement) override;
  void ticket_lost(std::uint64_t ticket) override;
  void broken(const Error& error) override;

  RunContext run_;
  std::uint32_t speaks_;
  SimLoop& loop_;
  Dice entropy_;
  std::unique_ptr<Log> log_;
  std::unique_ptr<Client> client_;
};

}  // namespace tenure::sim
