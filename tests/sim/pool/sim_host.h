#pragma once

// The users' handlers of one simulated process. They only pretend to work: they start, write to a store under their
// epoch, make checkpoints, get messages, end, fail, and sometimes ignore a stop. Events that matter to the checker are
// recorded when they happen.

#include <cstdint>
#include <functional>
#include <map>
#include <set>

#include "node/keys/host.h"
#include "sim/pool/recorder.h"
#include "sim/pool/sim_emits.h"
#include "sim/pool/weights.h"

namespace tenure::sim {

class SimHost final : public Host {
 public:
  struct Parts {
    Process& process;
    Recorder& recorder;
    Store& store;
    const Work& work;  // read again at each decision, because the run may become calm
    HoldReports* reports = nullptr;
    std::function<std::int64_t()> lease_until;
  };

  SimHost(Parts parts, Dice dice, Dice emit_dice);

  void set_reports(HoldReports& reports) { parts_.reports = &reports; }
  void set_lease(std::function<std::int64_t()> lease_until) { parts_.lease_until = std::move(lease_until); }

  SimEmits& emits() { return emits_; }

  void start(HeldJob job) override;
  void stop(const tenure::Hold& hold, StopReason reason, Instant deadline) override;
  void message(const tenure::Hold& hold, std::uint64_t number, BytesView text) override;
  void give_back_waiting(std::uint64_t session) override;
  void fence(std::uint64_t session) override;
  void kill(std::uint64_t session) override;

 private:
  struct Run {
    HeldJob job;
    SimLoop* thread = nullptr;
    bool begun = false;
    bool started = false;
    bool stopping = false;  // its stop token is tripped
    bool deaf = false;      // and it does not listen, for long
    bool child = false;     // a process of its own, which can be killed
    std::uint64_t handled = 0;
    bool caught_up = false;  // a partition that has said so, when all of them do
  };
  using RunMap = std::map<std::uint64_t, Run>;

  // Runs on the handler's thread after a span, if the run is still there.
  void later(Run& run, Time span, void (SimHost::*step)(Run&));
  void begin(Run& run);
  void run_task(Run& run);
  void become_started(Run& run);
  void live(Run& run);
  void report_backlog(Run& run, double seconds);
  void trip(Run& run);
  void end_stopped(Run& run);
  void give_back(Run& run);
  void end_hold(Run& run);
  void forget(std::uint64_t epoch) {
    emits_.forget(epoch);
    runs_.erase(epoch);
  }
  bool is_past_lease() const;

  Parts parts_;
  Dice dice_;
  std::vector<SimLoop*> threads_;
  RunMap runs_;  // by epoch
  Dice surge_dice_;
  Dice emit_dice_;
  SimEmits emits_;
};

}  // namespace tenure::sim
