// tenure-sim: runs pools from seeds and reports whether every promise was kept. For a violation it prints one command
// that shows the run again, event by event.

#include <sys/resource.h>
#include <unistd.h>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <optional>
#include <thread>

#include "base/mutant.h"
#include "sim/pool/narrator.h"
#include "sim/pool/pool_run.h"

namespace tenure::sim {
namespace {

constexpr const char* kUsage =
    "usage: tenure-sim [--seeds N] [--first-seed S] [--seconds-per-seed X] [--jobs N] [--twice] [--verbose]\n"
    "                  [--mutant NAME] [--until-caught] [--no-wipes] [--often FAULT]\n"
    "  --seeds N             how many runs, each from a seed of its own (100)\n"
    "  --first-seed S        the first seed (1)\n"
    "  --seconds-per-seed X  the simulated span of work and faults, instead of one drawn from the seed\n"
    "  --jobs N              threads (1)\n"
    "  --twice               run every seed twice; both must be the same event for event\n"
    "  --verbose             tell what happens\n"
    "  --no-wipes            in no run the log loses everything, so that no member puts the pool back\n"
    "  --often FAULT         every run has this fault, by the name that the summary gives it\n"
    "  --mutant NAME         switch a deliberate bug on\n"
    "  --until-caught        succeed at the first violation, fail if there is none\n";

struct Options {
  std::uint64_t seeds = 100;
  std::uint64_t first_seed = 1;
  double seconds = 0;
  unsigned jobs = 1;
  bool twice = false;
  bool verbose = false;
  bool until_caught = false;
  bool wipes = true;
  std::optional<Fault> often;
  Mutant mutant = Mutant::none;
};

struct Total {
  std::mutex mutex;
  std::uint64_t runs = 0;
  Time simulated = 0;
  std::uint64_t events = 0;
  std::uint64_t grants = 0;
  std::uint64_t tickets = 0;
  std::uint64_t wire_faults = 0;
  std::uint64_t upgrades = 0;
  std::uint64_t shutdowns = 0;
  std::uint64_t switched = 0;
  std::array<std::uint64_t, kFaults> faults{};
  std::uint64_t hash = 0;  // of all runs together, whatever order they ended in
  std::uint64_t failed = 0;
  double cpu_s = 0;
  double recovery_max = 0;  // of what was allowed
};

// How to see the run at hand again, for one that ends in a broken invariant instead of a verdict.
thread_local std::string current_replay;
bool caught_is_success = false;

void on_abort(int) {
  const auto size = static_cast<ssize_t>(current_replay.size());
  if (write(STDOUT_FILENO, current_replay.data(), current_replay.size()) != size) _exit(3);
  _exit(caught_is_success ? 0 : 1);
}

[[noreturn]] void usage() {
  std::fputs(kUsage, stderr);
  std::exit(2);
}

Options parse(int argc, char** argv) {
  Options options;
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    const auto value = [&]() -> const char* {
      if (i + 1 >= argc) usage();
      return argv[++i];
    };
    if (word == "--seeds") {
      options.seeds = std::strtoull(value(), nullptr, 10);
    } else if (word == "--first-seed") {
      options.first_seed = std::strtoull(value(), nullptr, 10);
    } else if (word == "--seconds-per-seed") {
      options.seconds = std::strtod(value(), nullptr);
    } else if (word == "--jobs") {
      options.jobs = static_cast<unsigned>(std::strtoul(value(), nullptr, 10));
    } else if (word == "--twice") {
      options.twice = true;
    } else if (word == "--verbose") {
      options.verbose = true;
    } else if (word == "--no-wipes") {
      options.wipes = false;
    } else if (word == "--often") {
      options.often = fault_named(value());
      if (!options.often) usage();
    } else if (word == "--until-caught") {
      options.until_caught = true;
    } else if (word == "--mutant") {
      const std::string_view name = value();
      const auto found = std::find(kMutantNames.begin(), kMutantNames.end(), name);
      if (found == kMutantNames.end()) usage();
      options.mutant = static_cast<Mutant>(found - kMutantNames.begin());
    } else {
      usage();
    }
  }
  if (options.jobs == 0) usage();
  return options;
}

Plan plan_of(const Options& options, std::uint64_t seed) {
  Plan plan = plan_for(seed, options.wipes);
  if (options.often) add_fault(plan, *options.often);
  if (options.seconds > 0) plan.busy = static_cast<Time>(options.seconds * 1e9);
  return plan;
}

Outcome run_once(const Options& options, std::uint64_t seed) {
  PoolRun run(plan_of(options, seed));
  if (options.verbose) narrate(plan_of(options, seed), run.recorder());
  return run.run();
}

std::string replay_command(const Options& options, std::uint64_t seed) {
  std::string command = "tenure-sim --seeds 1 --first-seed " + std::to_string(seed);
  if (options.seconds > 0) command += " --seconds-per-seed " + std::to_string(options.seconds);
  if (options.mutant != Mutant::none) {
    command += " --mutant " + std::string(kMutantNames[static_cast<std::size_t>(options.mutant)]);
  }
  if (!options.wipes) command += " --no-wipes";
  if (options.often) command += " --often " + std::string(to_string(*options.often));
  return command + " --verbose";
}

bool one_seed(const Options& options, std::uint64_t seed, Total& total) {
  current_replay = "to see it again: " + replay_command(options, seed) + "\n";
  const Outcome outcome = run_once(options, seed);
  const bool same = !options.twice || run_once(options, seed).trace == outcome.trace;
  const std::lock_guard lock(total.mutex);
  ++total.runs;
  total.simulated += outcome.simulated * (options.twice ? 2 : 1);
  total.events += outcome.events;
  total.grants += outcome.grants;
  total.tickets += outcome.tickets;
  total.wire_faults += outcome.wire_faults;
  total.upgrades += outcome.upgrades;
  total.shutdowns += outcome.shutdowns;
  total.switched += outcome.switched;
  for (std::size_t i = 0; i < kFaults; ++i) total.faults[i] += outcome.faults[i];
  total.hash += hash_mix(seed, outcome.trace);
  total.recovery_max = std::max(
      total.recovery_max, static_cast<double>(outcome.recovered_in) / static_cast<double>(outcome.recovery_allowed));
  if (same && outcome.violations.empty()) return true;
  ++total.failed;
  std::printf("seed %llu:\n", static_cast<unsigned long long>(seed));
  if (!same) std::printf("  the same seed did not give the same run\n");
  for (const Violation& violation : outcome.violations) std::printf("  %s\n", to_string(violation).c_str());
  std::printf("to see it again: %s\n", replay_command(options, seed).c_str());
  std::fflush(stdout);
  return false;
}

void print(const Total& total, double wall_s) {
  const double simulated_s = static_cast<double>(total.simulated) / 1e9;
  std::printf("%llu runs, %.2f hours simulated in %.1f s: %.0f times real time, %.0f per core\n",
              static_cast<unsigned long long>(total.runs), simulated_s / 3600, wall_s, simulated_s / wall_s,
              simulated_s / total.cpu_s);
  std::printf("%llu events, %llu requests, %llu grants, %llu faults of the wires",
              static_cast<unsigned long long>(total.events), static_cast<unsigned long long>(total.tickets),
              static_cast<unsigned long long>(total.grants), static_cast<unsigned long long>(total.wire_faults));
  for (std::size_t i = 0; i < kFaults; ++i) {
    std::printf(", %llu %s", static_cast<unsigned long long>(total.faults[i]),
                std::string(to_string(static_cast<Fault>(i))).c_str());
  }
  std::printf("\n%llu programs replaced by another version, %llu pools switched, %llu shut down",
              static_cast<unsigned long long>(total.upgrades), static_cast<unsigned long long>(total.switched),
              static_cast<unsigned long long>(total.shutdowns));
  std::printf("\nthe slowest recovery took %.0f %% of the time allowed\n", 100 * total.recovery_max);
  std::printf("%llu violated, hash %s\n", static_cast<unsigned long long>(total.failed), to_hex(total.hash).c_str());
}

int run_all(const Options& options) {
  caught_is_success = options.until_caught;
  std::signal(SIGABRT, on_abort);
  std::signal(SIGSEGV, on_abort);
  Total total;
  std::atomic<std::uint64_t> next{options.first_seed};
  std::atomic<bool> stop{false};
  const auto began = std::chrono::steady_clock::now();
  const auto work = [&] {
    active_mutant = options.mutant;
    for (;;) {
      const std::uint64_t seed = next.fetch_add(1);
      if (stop || seed >= options.first_seed + options.seeds) return;
      // A few failing seeds are enough to read.
      if (!one_seed(options, seed, total) && (options.until_caught || total.failed >= 10)) stop = true;
    }
  };
  std::vector<std::thread> threads;
  for (unsigned i = 1; i < options.jobs; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  rusage used{};
  getrusage(RUSAGE_SELF, &used);
  total.cpu_s = static_cast<double>(used.ru_utime.tv_sec + used.ru_stime.tv_sec) +
                static_cast<double>(used.ru_utime.tv_usec + used.ru_stime.tv_usec) / 1e6;
  print(total, std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count());
  return (total.failed != 0) == options.until_caught ? 0 : 1;
}

}  // namespace
}  // namespace tenure::sim

int main(int argc, char** argv) { return tenure::sim::run_all(tenure::sim::parse(argc, argv)); }
