#pragma once

// The guards of a run's processes, as far as the pool hears of them: each reports the death of its process, with the
// evidence that it left behind, as long as the host can reach the server.

#include <cstdint>
#include <vector>

#include "sim/pool/onlooker.h"
#include "sim/pool/weights.h"
#include "sim/world/process.h"
#include "sim/world/wires.h"

namespace tenure::sim {

class CrashReports {
 public:
  CrashReports(World& world, Wires& wires, const Onlooker& onlooker, const Plan& plan);

  // At the moment of death.
  void died(const Process& process, std::uint64_t session, const Link& link);

 private:
  struct Report {
    std::uint64_t session;
    std::vector<std::uint64_t> culprits;
  };
  void say(const Report& report, const Link& link);
  std::uint64_t other_tenure(std::uint64_t session);

  World& world_;
  Wires& wires_;
  const Onlooker& onlooker_;
  const Plan& plan_;
  Dice dice_;
};

}  // namespace tenure::sim
