#pragma once

// The plan of one run: the pool, its work, and how often it meets which faults. Swarm testing: a run does not have a
// little of everything. Some kinds of fault are on, with their own rates, and the others are off, so that combinations
// occur that an average would never reach. Some runs have no fault at all, some exactly one kind.

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <tenure/kinds.hpp>

#include "base/shard.h"
#include "machine/rules.h"
#include "sim/checker/choice.h"
#include "sim/world/log_server.h"
#include "sim/world/wires.h"

namespace tenure::sim {

// What befalls processes, hosts and the log, from time to time. The wires' own faults are in WireOptions.
enum class Fault : std::uint8_t {
  crash,         // a node's process dies between two steps, and is started again
  crash_inside,  // it dies in the middle of one, just before or after something left it
  pause,         // SIGSTOP or a frozen virtual machine, at times past the lease
  stall,         // one loop of a process is stuck
  cut,           // a host and the server cannot reach each other
  cut_one_way,   // requests or answers are lost
  outage,        // nobody reaches the server
  slow_reader,   // a host's reads take long
  trim,          // somebody trims as far as the port allows
  lost_tail,     // a failover loses what was acknowledged last
  junk,          // foreign or broken bytes in the log
  clock_rate,    // a host's CLOCK_BOOTTIME changes its rate
  wall_step,     // a host's wall clock jumps
  leave,         // a node leaves in good order, and another one comes
  replaced,      // newcomers get a new log, while the others continue in the old one
  wiped,         // the server has lost everything
  ended,         // somebody shuts the pool down, and other processes begin it anew
};
constexpr std::size_t kFaults = 17;
std::string_view to_string(Fault fault);

// What clients ask for, and how handlers behave. Weights are relative.
struct Work {
  std::uint32_t resident_keys = 8;
  std::uint32_t task_keys = 4;
  Time pace = 200 * kMilli;                                // between two requests of a client
  std::array<std::uint32_t, 6> weights{4, 4, 2, 1, 1, 1};  // by Ask
  std::uint32_t payload_bytes_max = 64;
  double delayed = 0.1;  // of the tasks
  Time delay_max = 3 * kSecond;
  Time task_max = kSecond;  // how long a task runs
  Time start_max = 100 * kMilli;
  Time stop_max = 100 * kMilli;
  double start_fails = 0.02;
  double start_requeues = 0.02;
  double bad_programs = 0;  // of the processes: they start nothing
  double task_fails = 0.1;
  double ignores_stop = 0.01;   // a handler that does not hear its stop token
  double child_process = 0.5;   // a handler that can be killed without its process
  double puts_off = 0;          // of the tasks: they ask for another try, much later
  double poison = 0;            // of the jobs: their handler kills its process
  double refuses_messages = 0;  // of those that it is given
  double finishes = 0.02;       // a resident job that ends by itself, per second
  double checkpoints = 0.5;     // per second and job
  double leaves_blob = 0.5;
  double emits = 0;  // steps with its source that a resident does, per second
  // Whether partitions report backlogs, and how many of the reports say that the partition is behind.
  bool backlogs = false;
  double behind = 0;
};

// The backlog from which a partition is behind.
constexpr std::int64_t kBehind = 100'000'000'000'000;

struct Plan {
  std::uint64_t seed = 0;
  std::uint32_t nodes = 3;
  std::uint32_t workers_per_node = 1;
  std::uint32_t clients = 2;
  Time lease = 5 * kSecond;
  Time busy = 30 * kSecond;  // the span of work and faults; then all heals
  std::int64_t ppm_max = 200;
  std::uint32_t queue_bound = 1000;
  std::uint32_t delayed_bound = 100'000;
  Time start_patience = 20 * kSecond;  // then a start has timed out
  Shard shard{};                       // the part of a larger pool that the run plays
  std::uint32_t max_attempts = 3;
  std::uint32_t quarantine_after = 0;  // crashes; zero: never
  double guards = 0;                   // of the deaths: a guard reports them at once
  double evidence = 0;                 // of these, with what the process left behind
  double false_evidence = 0;           // of the reports: they also name tenures that other processes have
  std::uint32_t window = 0;            // of tasks; zero: the default
  bool helpers = false;                // every other worker gets tasks that wait for others
  bool isolates = false;               // handlers are programs, which cannot crash their worker
  std::uint64_t snapshot_bytes_min = 4096;
  std::uint32_t look_every = 64;  // as NodeOptions has it
  bool choosy = false;            // some workers take only some jobs
  bool own_types = false;         // some residents have a type of the library itself
  std::uint32_t types = 0;        // of the jobs, beside the empty one
  Ring ring{};                    // each node has a worker that holds partitions, too
  Time resize_every = 0;          // their number changes
  std::size_t restore_part_bytes = 1U << 17;
  ServerOptions server;
  WireOptions wires;
  Work work;
  // Who chooses which worker a key belongs to, and how often a worker begins to serve a key, or ends.
  Assignment assignment = Assignment::rendezvous;
  Choice choice{};
  bool some_cannot_choose = false;  // every third node has no function
  Time serve_every = 0;
  // Shutdowns: one every so often, by a caller that may be killed in the middle; and one when all is healed.
  Time shutdown_every = 0;
  double kills_caller = 0;
  bool ends_last = false;
  bool ends_alone = false;    // members that have gone since are not started again until the pool is gone
  bool drains_first = false;  // every worker is drained just before
  // A rolling upgrade: programs that speak one machine version are replaced by programs that speak the next, one by
  // one, and now and then by the older ones again. The mean span between two replacements; zero: all speak the older
  // one.
  std::uint32_t older = kMachineVersion;
  Time upgrade_every = 0;
  std::array<Time, kFaults> every{};  // the mean span between two of a kind; zero: never

  Time interval(Fault fault) const { return every[static_cast<std::size_t>(fault)]; }
  bool calm() const;  // nothing can go wrong in it
};

// `wipes`: some of the runs lose the whole log, or end the pool.
Plan plan_for(std::uint64_t seed, bool wipes = false);
// A fault that happens in this run whatever its seed says.
void add_fault(Plan& plan, Fault fault);
std::optional<Fault> fault_named(std::string_view name);

}  // namespace tenure::sim
