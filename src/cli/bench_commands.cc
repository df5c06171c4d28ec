// The benchmarks, as a part of the table of commands.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {

std::vector<Command> bench_commands() {
  return {
      {.name = "bench throughput",
       .summary = "measure tasks per second and their latency, and the log alone in the same run",
       .text =
           "Runs in this process, on a new file in the current folder, or on the new file that --engine sqlite:PATH "
           "names, and removes it at the end. --engine memory: uses no disk. On a Redis server it creates pools and "
           "removes them at the end. For comparison it appends the entries of the run to the log alone again, with "
           "the same sizes, one after the other.",
       .flags = {{"jobs", "N", "how many tasks (200000)"},
                 {"payload-bytes", "B", "payload of each task (64)"},
                 {"keys", "K", "how many keys (1000)"},
                 {"nodes", "N", "how many nodes share the work (1)"},
                 {"shards", "N", "into how many logs to split the keys (1)"}},
       .examples = {{"tenure bench throughput --jobs 200000 --json", ""}},
       .run = run_bench_throughput},
      {.name = "bench orders",
       .summary = "measure orders from a producer of a stream or topic to done, and the bare engine in the same run",
       .text =
           "A producer writes orders into a stream on the engine, or into the one that --source names, and the pool "
           "is fed from it. Afterwards the same number of records goes through the bare engine, where that can be "
           "measured. Removes the stream and the pool at the end.",
       .flags = {{"orders", "N", "how many orders (200000)"},
                 {"payload-bytes", "B", "payload of each order (64)"},
                 {"keys", "K", "how many keys (1000)"},
                 {"partitions", "N", "of the stream, where the engine has partitions"},
                 {"queued", "N", "how many orders the pool may hold that are not begun (100000)"},
                 {"source", "URL", "the stream or topic to use"}},
       .examples = {{"tenure bench orders --engine kafka://localhost:9092 --partitions 4 --json", ""}},
       .run = run_bench_orders},
      {.name = "bench takeover",
       .summary = "kill worker processes, and measure the time until their key runs elsewhere",
       .flags = {{"rounds", "N", "how many rounds (20)"},
                 {"lease", "D", "lease of the workers (1s)"},
                 {"partitions", "N", "kill replicas of a pool with this many partitions instead"},
                 {"no-known-death", "", "kill the guard too, so that only the lease remains"}},
       .examples = {{"tenure bench takeover --lease 1s --rounds 20 --json", ""},
                    {"tenure bench takeover --partitions 4", ""}},
       .run = run_bench_takeover},
      {.name = "bench handoff",
       .summary = "restart workers one after the other, and measure how long each key has no holder",
       .flags = {{"keys", "K", "how many resident keys (1000)"},
                 {"workers", "N", "how many workers (4)"},
                 {"replace", "", "each new worker names the one it replaces"},
                 {"partitions", "N", "restart the replicas of a pool with this many partitions instead"},
                 {"rounds", "R", "with --partitions: how often each replica is restarted (25)"}},
       .examples = {{"tenure bench handoff --replace --json", ""}, {"tenure bench handoff --partitions 4", ""}},
       .run = run_bench_handoff},
  };
}

}  // namespace tenure::cli
