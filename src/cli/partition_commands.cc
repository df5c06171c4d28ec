// The commands about partitions, as a part of the table of commands.

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

const Flag kPartitionTimeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m"};
const Flag kSettle{"settle", "D", "how long a primary that is back waits before it takes its partition again (0)"};

Command partition_command() {
  return {
      .name = "partition",
      .summary = "hold the partitions of one batch job, and run a program for each of them",
      .text =
          "Joins the pool as the replica with an ordinal, and runs the command after --exec for every partition that "
          "it "
          "holds, again and again: its own, and those of neighbours that are away. The program reads its partition "
          "from "
          "TENURE_PARTITION, their number from TENURE_PARTITIONS, its epoch from TENURE_EPOCH, and the Unix time in "
          "milliseconds at which its turn ends from TENURE_DEADLINE_MS. If it exits with 0, or with 75 because it "
          "cannot work now, its next turn comes after a rest. Failures are tried again after a pause. SIGTERM, to the "
          "program alone, asks it to end the item at "
          "hand. A number that it writes "
          "to $TENURE_DIR/checkpoint is its backlog, which `partition status` shows.\n"
          "All replicas name the same partitions, secondaries and settling time. The first one gives them to the pool.",
      .flags =
          {{"partitions", "N", "how many partitions there are"},
           {"secondaries", "K", "how many other replicas stand in for each (1, or 0 if there is only one)"},
           {"ordinal", "auto|I",
            "the number of this replica, below N; auto: the end of TENURE_POD_NAME, or of the host's name, such as "
            "worker-3 (auto)"},
           kSettle,
           {"anyone", "", "while a partition has neither primary nor secondary, any replica may hold it"},
           {"surge", "BACKLOG",
            "cut each partition into parts, and let idle replicas that may hold it have some of them while its backlog "
            "is this large (0: never)"},
           {"cuts", "C", "with --surge: into how many parts (4)"},
           {"turn", "D", "end a turn with SIGTERM after this long, and with SIGKILL after --stop-timeout (no limit)"},
           {"rest", "D", "the time between two turns (1s)"},
           {"lease", "D",
            "how long the others wait for a silent replica before they take its partitions (10s; 30s on Kafka)"},
           {"id", "ID", "the worker's name (host:pid)"},
           {"replaces", "ID", "a leaving replica with the same ordinal, whose partition comes here in one move"},
           {"stop-timeout", "D",
            "if this creates the pool: how long programs may take to stop before they are killed (2m)"},
           {"no-heal", "", "do not put the pool back from memory if its log loses everything"},
           {"no-known-death", "", "make others wait for the lease, even if they could detect a crash"},
           {"health", "FILE", "write to this file every second how the worker is, for `tenure probe`"},
           {"cgroup", "auto|off|PATH", "the control group for the programs, as for `work` (auto)"},
           {.name = "exec",
            .value = "CMD…",
            .help = "the program and its arguments: the rest of the line",
            .takes_rest = true}},
      .examples = {{"tenure partition --partitions 4 --exec ./transform.sh", "a replica on the host worker-2"},
                   {"tenure partition --partitions 4 --secondaries 2 --ordinal 0 --rest 5s --exec ./poll.py", ""}},
      .run = run_partition};
}

}  // namespace

std::vector<Command> partition_commands() {
  return {
      partition_command(),
      {.name = "partition status",
       .summary = "list the partitions: who holds each, in which role, and its backlog",
       .flags = {kPartitionTimeout},
       .examples = {{"tenure partition status", ""},
                    {"tenure partition status --json | jq '.partitions[] | select(.role != \"primary\")'", ""}},
       .run = run_partition_status},
      {.name = "partition resize",
       .words = "N",
       .words_min = 1,
       .words_max = 1,
       .summary = "change the number of partitions while the replicas run",
       .text =
           "All partitions of the old number end their turns first. When the last one has, those of the new number "
           "start. Replicas that run go on; those that start later must name the new number. To have more partitions, "
           "resize first and then start more replicas. To have fewer, resize first and then end the surplus.",
       .flags = {{"secondaries", "K", "how many other replicas stand in for each (as before)"},
                 kSettle,
                 {"anyone", "yes|no", "whether any replica may hold a partition that has nobody else (as before)"},
                 {"surge", "BACKLOG", "as for `partition`; 0 ends it (as before)"},
                 {"cuts", "C", "into how many parts each partition is cut for surge (as before)"},
                 kPartitionTimeout},
       .examples = {{"tenure partition resize 8", ""}, {"tenure partition resize 8 --secondaries 2", ""}},
       .run = run_partition_resize},
      {.name = "turns",
       .summary = "what `partition` runs for each partition that it holds",
       .flags = {{"turn", "D", "see partition"},
                 {"grace", "D", "the time from SIGTERM to SIGKILL at the end of a turn"},
                 {"rest", "D", "see partition"},
                 {.name = "exec", .value = "CMD…", .help = "the program", .takes_rest = true}},
       .run = run_turns,
       .hidden = true},
  };
}

}  // namespace tenure::cli
