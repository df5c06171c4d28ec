#pragma once

// Reads the simulated log at the moment of each append, applies it to a machine of its own, and writes down what the
// machine says. What it writes is judged by the checker, which knows the promises and not the machine; and every
// node's digest must be the onlooker's at the same entry.

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <unordered_map>
#include <vector>

#include "machine/machine.h"
#include "sim/history.h"
#include "sim/log_server.h"

namespace tenure::sim {

class Onlooker final : private Effects {
 public:
  using Record = std::function<void(What)>;

  // `record` writes into the history at the present true time.
  Onlooker(LogServer& server, Record record);
  ~Onlooker() override;

  const Machine& machine() const { return *machine_; }
  // A process has applied the entry, read from the log at this position with these bytes, and has this digest.
  void applied(ProcessNumber process, Position position, std::uint64_t digest);
  // The buried jobs by their number in the machine, with their tickets and keys.
  struct Grave {
    std::uint64_t ticket;
    std::string key;
  };
  const std::map<std::uint64_t, Grave>& graves() const { return graves_; }

 private:
  void take(const LogServer::Stored& stored);
  void write_blobs(const LogServer::Stored& stored);
  void rebuild(Position kept);

  void granted(const Grant& grant) override;
  void ended(const TenureRef& tenure, TenureEnd why) override;
  void buried(BytesView key, std::uint64_t dead_id, bool quarantined) override;
  void settled(const Settlement& settlement) override;

  LogServer& server_;
  Record record_;
  std::unique_ptr<Machine> machine_;
  bool silent_ = false;  // applying again what was written down before
  std::uint64_t failed_last_ = 0;
  std::map<std::uint64_t, Grave> graves_;
  struct Known {
    std::uint64_t order;
    std::uint64_t digest;
  };
  std::unordered_map<Position, std::vector<Known>> known_;  // several after a loss, if positions come again
};

}  // namespace tenure::sim
