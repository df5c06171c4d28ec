#pragma once

// One run of one pool: starts it, lets clients send requests and faults happen as planned, heals everything, waits for
// the pool to settle, and has the history judged.

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "machine/rules.h"
#include "node/keys/own_workers.h"
#include "sim/checker/checker.h"
#include "sim/checker/placing.h"
#include "sim/pool/caller.h"
#include "sim/pool/crash_reports.h"
#include "sim/pool/run_context.h"
#include "sim/pool/weights.h"
#include "sim/world/sim_clock.h"

namespace tenure::sim {

struct Outcome {
  std::vector<Violation> violations;
  std::uint64_t trace = 0;  // over every event of the run
  Time simulated = 0;
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  std::uint64_t tickets = 0;
  std::array<std::uint64_t, kFaults> faults{};
  std::uint64_t wire_faults = 0;
  std::uint64_t upgrades = 0;
  std::uint64_t shutdowns = 0;
  std::uint64_t switched = 0;  // whether the pool has switched to the newer version
  Time recovered_in = 0;       // from when all healed to when every resident job ran
  Time recovery_allowed = 1;
};

class PoolRun {
 public:
  explicit PoolRun(const Plan& plan);
  ~PoolRun();

  Outcome run();
  Recorder& recorder() { return recorder_; }

 private:
  // A place where a process lives, dies and is started again.
  struct Seat {
    std::string name;
    std::uint32_t number = 0;
    enum class Kind : std::uint8_t { worker, asker, visitor } kind = Kind::worker;
    std::unique_ptr<SimClock> clock;
    Link link;
    Process* process = nullptr;
    Caller* caller = nullptr;  // owned by the process
    bool leaving = false;
    std::uint32_t speaks = 0;  // the machine version of the program that is installed there
    std::uint32_t lives = 0;
  };

  // pool_run.cc
  void add_seat(std::string name, Seat::Kind kind);
  std::shared_ptr<Caller> make_caller(Seat& seat);
  void start(Seat& seat);
  void started_again(Seat& seat, Time after);
  void gone(Seat& seat);
  void heal();
  bool settled();
  bool comes_back() const;
  bool all_held() const;
  void run_until(Time until, const std::function<bool()>& stop);
  std::uint64_t snapshot_bytes() const;
  Expectations expectations() const;

  // pool_faults.cc
  void plan_fault(Fault fault);
  void strike(Fault fault);
  Seat* victim(bool workers_only);
  void pause(Seat& seat, Time span);
  void cut(Seat& seat, bool to_server, bool to_host, Time span);
  void fail_over();
  void order_the_end();
  void throw_junk();
  void plan_upgrade();
  void replace_program(Seat& seat);
  Time short_or_past_lease();

  // pool_end.cc
  void plan_shutdown();
  void shut_down();
  void end_last();
  void put_off_tasks();
  bool ends_now() const;
  bool any_member() const;
  void plan_serve();
  void begin_service(const Seat& seat, const Bytes& worker, const Bytes& key);
  void end_service();
  bool all_placed();

  // pool_ring.cc
  Ring present_ring() const;
  NodeWorker ranked_worker(const Seat& seat);
  void plan_resize();
  void resize();
  bool all_with_primaries() const;

  // pool_work.cc
  void plan_request(std::uint32_t client);
  void request(const Seat& seat);
  void send(const Seat& seat, Ask ask);
  Bytes some_key(Ask ask);

  Plan plan_;
  World world_;
  LogServer server_;
  Wires wires_;
  Recorder recorder_;
  Onlooker onlooker_;
  Store store_;
  Work work_;  // the plan's until all heals, then a calm one
  Dice dice_;
  Dice versions_;
  Dice types_;
  Dice ends_;
  Dice ring_;
  Placing placing_;
  std::size_t placed_ = 0;  // events of the history that placing_ has seen
  RunContext run_;
  CrashReports reports_;
  std::vector<std::unique_ptr<Seat>> seats_;  // workers first, then clients
  bool healed_ = false;
  std::vector<std::pair<Bytes, Bytes>> served_;  // worker and key, as far as asked for; the latest last
  Time serves_until_ = 0;                        // workers begin and end to serve keys a little longer than faults last
  Outcome outcome_;
};

}  // namespace tenure::sim
