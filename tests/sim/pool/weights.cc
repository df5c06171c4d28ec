#include "sim/pool/weights.h"

#include <algorithm>

namespace tenure::sim {

namespace {

constexpr std::array<std::string_view, kFaults> kNames{
    "crash",     "crash_inside", "pause",      "stall",     "cut",   "cut_one_way", "outage", "slow_reader", "trim",
    "lost_tail", "junk",         "clock_rate", "wall_step", "leave", "replaced",    "wiped",  "ended"};

// Those that a run draws its faults from; the others are drawn apart.
constexpr std::size_t kDrawn = 15;

// The faults of the wires, which a run has or has not like the others.
constexpr std::size_t kWireFaults = 7;

void add_wire_fault(Plan& plan, std::size_t which, Dice& dice) {
  const double rate = static_cast<double>(dice.between(2, 100)) / 1000;
  switch (which) {
    case 0: plan.wires.request_lost = rate; break;
    case 1: plan.wires.answer_lost = rate; break;
    case 2: plan.wires.held = rate; break;
    case 3: plan.wires.duplicated = rate; break;
    case 4: plan.wires.split_reads = rate * 10; break;
    case 5: plan.wires.snapshot_commit_fails = rate * 10; break;
    default: plan.wires.snapshot_load_fails = rate * 5; break;
  }
}

void choose_blame(Plan& plan, Dice& dice) {
  plan.quarantine_after = dice.chance(0.5) ? 3 : static_cast<std::uint32_t>(dice.between(0, 4));
  plan.isolates = dice.chance(0.2);
  plan.guards = dice.chance(0.3) ? 0 : 1;
  plan.evidence = dice.chance(0.3) ? 0.5 : 1;
  plan.false_evidence = dice.chance(0.3) ? 0.3 : 0;
  // A poisonous job that nobody reports kills for as long as the run goes on.
  if (!plan.isolates && dice.chance(0.3)) plan.work.poison = 0.05;
}

// Narrow windows, so that tasks wait for workers, and workers that help.
void choose_helpers(Plan& plan) {
  Dice dice(plan.seed, "helpers");
  if (!dice.chance(0.25)) return;
  plan.window = static_cast<std::uint32_t>(dice.between(1, 3));
  plan.helpers = dice.chance(0.8);
}

void choose_pool(Plan& plan, Dice& dice) {
  plan.nodes = static_cast<std::uint32_t>(dice.between(3, 7));
  plan.workers_per_node = static_cast<std::uint32_t>(dice.between(1, 2));
  plan.clients = static_cast<std::uint32_t>(dice.between(1, 3));
  constexpr std::array<Time, 9> kLeases{kSecond / 2, 1 * kSecond, 1 * kSecond,  2 * kSecond, 2 * kSecond,
                                        5 * kSecond, 5 * kSecond, 10 * kSecond, 60 * kSecond};
  plan.lease = kLeases[dice.below(kLeases.size())];
  plan.busy = dice.between(10 * kSecond, 40 * kSecond);
  // Two clocks that are 1 % off each are within what the margin, a twentieth of the lease, has to cover.
  plan.ppm_max = dice.chance(0.2) ? 10'000 : 200;
  plan.queue_bound = dice.chance(0.3) ? static_cast<std::uint32_t>(dice.between(1, 12)) : 1000;
  plan.max_attempts = static_cast<std::uint32_t>(dice.between(1, 4));
  choose_blame(plan, dice);
  plan.snapshot_bytes_min = static_cast<std::uint64_t>(dice.magnitude(1024, 65536));
  plan.server.numbering = static_cast<Numbering>(dice.below(3));
  plan.server.ppm = dice.between(-200, 200);
  plan.shard.count = 1 + static_cast<std::uint32_t>(plan.seed / 4 % 4);
  plan.shard.index = static_cast<std::uint32_t>(plan.seed % plan.shard.count);
}

void choose_wires(Plan& plan, Dice& dice) {
  plan.wires.latency_min = dice.magnitude(20 * kMicro, 2 * kMilli);
  plan.wires.latency_max = plan.wires.latency_min * dice.between(2, 20);
  plan.wires.data_extra_max = dice.chance(0.3) ? dice.magnitude(kMilli, 500 * kMilli) : 0;
  plan.wires.timeout = dice.magnitude(200 * kMilli, 5 * kSecond);
  plan.wires.late_max = dice.between(plan.lease, 4 * plan.lease);
  // What an engine's thread brings while the node is at an entry.
  if (dice.chance(0.5)) {
    plan.look_every = static_cast<std::uint32_t>(dice.between(1, 3));
    plan.wires.answered_meanwhile = static_cast<double>(dice.between(1, 10)) / 10;
  }
}

void choose_work(Plan& plan, Dice& dice) {
  Work& work = plan.work;
  work.resident_keys = static_cast<std::uint32_t>(dice.between(1, 12));
  work.task_keys = static_cast<std::uint32_t>(dice.between(1, 6));
  work.pace = dice.magnitude(50 * kMilli, kSecond);
  for (std::uint32_t& weight : work.weights) weight = static_cast<std::uint32_t>(dice.between(0, 5));
  work.weights[dice.below(2)] += 3;
  work.payload_bytes_max = static_cast<std::uint32_t>(dice.magnitude(16, 4096));
  work.task_max = dice.magnitude(kMilli, 3 * kSecond);
  work.start_max = dice.magnitude(kMilli, kSecond);
  work.stop_max = dice.magnitude(kMilli, kSecond);
  work.checkpoints = static_cast<double>(dice.between(0, 20)) / 10;
  if (dice.chance(0.4)) work.start_fails = work.start_requeues = work.task_fails = work.finishes = 0;
  if (dice.chance(0.6)) work.ignores_stop = 0;
}

// With dice of their own, so that the seeds of before meet what they met before.
void choose_bounds(Plan& plan) {
  Dice dice(plan.seed, "bounds");
  if (dice.chance(0.3)) plan.delayed_bound = static_cast<std::uint32_t>(dice.between(1, 4));
  if (dice.chance(0.3)) plan.work.delayed = 0.5;
  // No less than a start takes once all faults are over: where every start times out, workers stay unfit.
  if (dice.chance(0.2)) {
    plan.start_patience = std::max(5 * kMilli, dice.between(plan.work.start_max / 2, 2 * plan.work.start_max));
  }
  if (dice.chance(0.5)) plan.work.refuses_messages = 0.2;
}

// Residents with sources, in half of the runs.
void choose_emits(Plan& plan) {
  Dice dice(plan.seed, "emits");
  if (dice.chance(0.5)) plan.work.emits = static_cast<double>(dice.between(1, 8)) / 10;
}

// Each node has one primary, and there may be a partition more, which has only secondaries.
void choose_ring(Plan& plan) {
  Dice dice(plan.seed, "ring");
  // A partition is started again and again: where starts time out, it does not come to rest.
  const bool patient = plan.start_patience == Plan().start_patience;
  if (!patient || !dice.chance(0.4)) return;
  plan.shard = {};
  const auto more = static_cast<std::uint32_t>(dice.below(2));
  plan.ring.partitions = plan.nodes + more;
  plan.ring.secondaries = static_cast<std::uint32_t>(dice.between(1, 2));
  plan.ring.anyone = dice.chance(0.3);
  if (dice.chance(0.4)) plan.ring.settle_ms = dice.between(1, 5'000);
  if (more == 0 && dice.chance(0.3)) plan.ring.secondaries = 0;
  if (dice.chance(0.4)) plan.resize_every = dice.magnitude(2 * kSecond, 20 * kSecond);
}

// Partitions in parts, which go to idle workers when their backlog is high.
void choose_surge(Plan& plan) {
  Dice dice(plan.seed, "surge");
  if (plan.ring.partitions == 0 || !dice.chance(0.4)) return;
  plan.ring.cuts = static_cast<std::uint32_t>(dice.between(2, 3));
  plan.ring.surge = kBehind;
  plan.work.backlogs = true;
  plan.work.behind = static_cast<double>(dice.between(1, 5)) / 10;
}

// A new pool or log has the default bounds until its first worker joins.
void use_default_bounds(Plan& plan) {
  plan.queue_bound = 1000;
  plan.delayed_bound = 100'000;
}

// Out of dice of its own, so that the rest of a plan is what it was without.
void choose_ends(Plan& plan) {
  Dice dice(plan.seed, "ends");
  if (dice.chance(0.35)) {
    plan.assignment = Assignment::chosen;
    plan.choice = {.any = true, .fails = dice.chance(0.5)};
    plan.some_cannot_choose = dice.chance(0.3);
  } else if (dice.chance(0.1)) {
    plan.assignment = Assignment::jump;
  }
  if (dice.chance(0.35)) plan.serve_every = dice.magnitude(200 * kMilli, 5 * kSecond);
  if (dice.chance(0.3)) plan.work.delay_max = 30 * kSecond;
  if (!dice.chance(0.25)) return;
  if (dice.chance(0.6)) plan.shutdown_every = dice.magnitude(2 * kSecond, 20 * kSecond);
  plan.ends_last = plan.shutdown_every == 0 || dice.chance(0.5);
  plan.ends_alone = dice.chance(0.6);
  plan.drains_first = plan.ends_last && dice.chance(0.3);
  if (!plan.drains_first && dice.chance(0.7)) plan.kills_caller = 0.6;
  use_default_bounds(plan);
}

void choose_wipes(Plan& plan) {
  Dice dice(plan.seed, "wipes");
  plan.restore_part_bytes = static_cast<std::size_t>(dice.magnitude(64, 1U << 17));
  const auto every = [&](Fault fault) -> Time& { return plan.every[static_cast<std::size_t>(fault)]; };
  if (dice.chance(0.05)) {
    // Some are cut off meanwhile, and must not bring the pool back.
    every(Fault::ended) = dice.magnitude(5 * kSecond, 40 * kSecond);
    every(Fault::cut) = dice.magnitude(kSecond, 5 * kSecond);
    use_default_bounds(plan);
  }
  if (!dice.chance(0.15)) return;
  every(Fault::wiped) = dice.magnitude(2 * kSecond, 30 * kSecond);
  use_default_bounds(plan);
}

}  // namespace

std::string_view to_string(Fault fault) { return kNames[static_cast<std::size_t>(fault)]; }

std::optional<Fault> fault_named(std::string_view name) {
  const auto found = std::find(kNames.begin(), kNames.end(), name);
  if (found == kNames.end()) return std::nullopt;
  return static_cast<Fault>(found - kNames.begin());
}

bool Plan::calm() const {
  const bool wires_calm = wires.request_lost + wires.answer_lost + wires.held + wires.duplicated + wires.split_reads +
                              wires.snapshot_commit_fails + wires.snapshot_load_fails ==
                          0;
  return wires_calm && work.poison == 0 && upgrade_every == 0 && resize_every == 0 && kills_caller == 0 &&
         !ends_alone && std::all_of(every.begin(), every.end(), [](Time span) { return span == 0; });
}

Plan plan_for(std::uint64_t seed, bool wipes) {
  Dice dice(seed, "plan");
  Plan plan;
  plan.seed = seed;
  choose_pool(plan, dice);
  choose_wires(plan, dice);
  choose_work(plan, dice);
  choose_bounds(plan);
  choose_ends(plan);
  choose_emits(plan);
  choose_helpers(plan);
  Dice versions(seed, "versions");
  if (versions.chance(0.2)) plan.upgrade_every = versions.magnitude(kSecond, 10 * kSecond);
  // To the version that is the newest, or to the one that will be.
  if (plan.upgrade_every != 0 && versions.chance(0.6)) plan.older = kMachineVersion - 1;
  Dice tastes(seed, "tastes");
  plan.choosy = tastes.chance(plan.older < kMachineVersion ? 0.7 : 0.4);
  if (plan.choosy || tastes.chance(0.2)) plan.types = static_cast<std::uint32_t>(tastes.between(0, 3));
  // Those who are left may not take what is left.
  if (plan.choosy) plan.ends_alone = false;
  // One worker takes them. It must not stay unfit because all its starts time out.
  const bool patient = plan.start_patience == Plan().start_patience;
  plan.own_types = plan.choosy && patient && Dice(plan.seed, "own types").chance(0.5);

  choose_ring(plan);
  choose_surge(plan);
  Dice programs(seed, "programs");
  if (programs.chance(0.25)) plan.work.bad_programs = static_cast<double>(programs.between(1, 9)) / 10;

  const std::uint64_t style = dice.below(20);
  if (style == 0) {  // no fault at all
    plan.resize_every = 0;
    // Only such a run can tell whether delays last too long, and only with a long lease might they.
    if (Dice(seed, "delays").chance(0.5)) {
      plan.lease = 60 * kSecond;
      plan.work.delay_max = 30 * kSecond;
    }
    return plan;
  }
  if (wipes) choose_wipes(plan);
  const auto add = [&](std::size_t kind) {
    if (kind < kDrawn) {
      plan.every[kind] = dice.magnitude(kSecond, 20 * kSecond);
    } else {
      add_wire_fault(plan, kind - kDrawn, dice);
    }
  };
  if (style <= 4) {
    add(dice.below(kDrawn + kWireFaults));
    return plan;
  }
  const double share = static_cast<double>(dice.between(10, 80)) / 100;
  for (std::size_t kind = 0; kind < kDrawn + kWireFaults; ++kind) {
    if (dice.chance(share)) add(kind);
  }
  // Losing history makes every node start over, which hides much else: each kind of loss is in a quarter of the runs at
  // most.
  for (const Fault loss : {Fault::lost_tail, Fault::replaced}) {
    if (dice.chance(0.7)) plan.every[static_cast<std::size_t>(loss)] = 0;
  }
  if (plan.interval(Fault::replaced) != 0) use_default_bounds(plan);
  return plan;
}

void add_fault(Plan& plan, Fault fault) {
  plan.every[static_cast<std::size_t>(fault)] = Dice(plan.seed, "often").magnitude(2 * kSecond, 20 * kSecond);
  use_default_bounds(plan);
}

}  // namespace tenure::sim
