// The table of the program's commands, with their help texts.

#include <utility>

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kStates = "idle|queued|starting|running|stopping|moving|waiting|dead|quarantined";

const Flag kTimeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m"};
const Flag kLimit{"limit", "N", "at most N lines (100)"};

std::vector<Command> work_commands() {
  return {
      {.name = "work",
       .summary = "hold keys, and run a program for each of them",
       .text =
           "Joins the pool with one or more workers, and runs the command after --exec for every key that they get: "
           "once for each tenure of a resident job, once for each attempt of a task. The program reads its key from "
           "TENURE_KEY, its epoch from TENURE_EPOCH, its kind and type from TENURE_KIND and TENURE_TYPE, and its "
           "payload from $TENURE_DIR/payload. It exits with 0 when done, 75 to be tried again later, 65 to give up. "
           "SIGTERM asks it to stop. No program outlives its tenure, even if this process is killed.\n"
           "With --warm, programs for tasks stay alive and get one task after the other as a JSON line "
           "{\"type\":\"start\",\"key\",\"epoch\",\"attempt\",\"payload\"}. They answer with a line "
           "{\"type\":\"result\",\"data\"} or {\"type\":\"fail\",\"error\",\"retry\"}.\n"
           "On SIGTERM or SIGINT the workers hand over their keys and leave. On a second signal they leave at once.",
       .flags = {{"workers", "N", "how many workers this process has (1)"},
                 {"concurrency", "N", "how many task programs run at a time (twice the cores, at least 4)"},
                 {"lease", "D",
                  "how long the others wait for a silent worker before they take its keys (10s; 30s on Kafka)"},
                 {"id", "ID", "the worker's name; several workers are called ID-1, ID-2, … (host:pid)"},
                 {"replaces", "ID", "a leaving worker, whose keys come here in one move"},
                 {"weight", "W", "share of the keys, relative to the other workers (100)"},
                 {.name = "serves", .value = "KEY…", .help = "keys that only this worker may hold", .repeats = true},
                 {"takes", "KIND[:TYPE],…",
                  "which jobs the workers take; KIND is resident, task or any; task: means tasks without a type (every "
                  "job)"},
                 {"task", "", "take tasks only, like --takes task"},
                 {.name = "source",
                  .value = "URL…",
                  .help = "streams or topics whose events become tasks: kafka://HOST/TOPIC, redis://HOST?stream=KEY; "
                          "options in the query: name, order=key|none, start, type, group",
                  .repeats = true},
                 {"warm", "N",
                  "run tasks through up to N programs that stay alive and get one task after the other (JSON lines); "
                  "at least one per shard"},
                 {"max-tasks", "N", "with --warm: replace a free program after N tasks, less up to a tenth at random"},
                 {"max-age", "D", "with --warm: replace a free program of this age, less up to a tenth at random"},
                 {"idle-timeout", "D", "with --warm: end a program that was free for this long"},
                 {"memory-bytes", "B",
                  "with --warm: replace a free program that uses more memory, with everything it has started"},
                 {"memory-bytes-hard", "B", "with --warm: kill a program that uses more memory; its task fails"},
                 {"task-time", "D", "with --warm: kill a program that takes longer for a task; the task fails"},
                 {"max-age-hard", "D", "with --warm: kill a program that is older; its task fails"},
                 {.name = "protocol",
                  .value = "plain|json",
                  .help = "the protocol of the program (plain)",
                  .choices = "plain|json"},
                 {"stop-timeout", "D",
                  "if this creates the pool: the stop grace period, how long jobs may take to stop before they are "
                  "killed (2m)"},
                 {"max-queued", "N",
                  "if this creates the pool: how many jobs may wait for a handler to begin them (1000)"},
                 {"max-delayed", "N", "if this creates the pool: how many jobs may wait for their delay (100000)"},
                 {"max-attempts", "N", "if this creates the pool: attempts of a failing task (10)"},
                 {"quarantine-after", "N",
                  "if this creates the pool: how often a handler may crash its process, 0 for no limit (3)"},
                 {"shards", "N", "if this creates the pool: into how many logs to split the keys (1)"},
                 {"no-heal", "", "do not put the pool back from memory if its log loses everything"},
                 {"no-known-death", "", "make others wait for the lease, even if they could detect a crash"},
                 {"health", "FILE", "write to this file every second how the worker is, for `tenure probe`"},
                 {"cgroup", "auto|off|PATH",
                  "the control group for the programs: below this process's own if permitted, none, or below PATH "
                  "(auto)"},
                 {.name = "exec",
                  .value = "CMD…",
                  .help = "the program and its arguments: the rest of the line",
                  .takes_rest = true}},
       .examples = {{"tenure work --exec ./poller.sh", "one worker that runs poller.sh for each key"},
                    {"tenure work --task --warm 2 --exec python3 warm.py", "two interpreters that run all tasks"},
                    {"tenure work --takes task:email,resident --exec ./run.sh",
                     "tasks of the type email, and all residents"},
                    {"tenure work --source kafka://broker:9092/orders --exec ./ship.sh",
                     "each event of the topic is a task, done once"},
                    {"tenure work --workers 4 --lease 2s --json --exec python3 -u tenant.py",
                     "four workers, with events as JSON lines"}},
       .run = run_work},
  };
}

std::vector<Command> job_commands() {
  return {
      {.name = "dispatch",
       .words = "KEY [PAYLOAD|-]",
       .words_max = 2,
       .summary = "dispatch a job for a key",
       .text =
           "A key has at most one resident job, which runs until it is stopped. With --task the payload is a task: "
           "it is done once, after the earlier tasks of the same key. If the payload is -, it is read from standard "
           "input.\n"
           "With --from, each line of the file is a job: {\"key\":\"k\",\"payload\":\"…\"}. \"payload_base64\", "
           "\"type\", \"task\", \"delay_ms\" and \"max_attempts\" override the flags. The exit code is that of the "
           "first job that failed.",
       .flags = {{"task", "", "a task instead of a resident job"},
                 {"type", "T", "only workers that take this type get the job (none)"},
                 {"delay", "D", "do not start it earlier than in D"},
                 {"max-attempts", "N", "attempts before a failing task becomes a dead letter (the pool's limit)"},
                 {.name = "wait",
                  .value = "STAGE",
                  .help = "wait until the job is accepted, started or done (accepted)",
                  .choices = "accepted|started|done"},
                 {"from", "FILE", "a file with a JSON line for each job; - is standard input"},
                 kTimeout},
       .examples = {{"tenure dispatch tenant-1", "start the resident job of tenant-1"},
                    {"tenure dispatch --task mail '{\"to\":\"a@b\"}' --wait done", "run a task and print its result"},
                    {"seq 100 | sed 's/.*/{\"key\":\"k&\"}/' | tenure dispatch --from -", "a hundred jobs at once"}},
       .run = run_dispatch},
      {.name = "notify",
       .words = "KEY MESSAGE",
       .words_min = 2,
       .words_max = 2,
       .summary = "send a message to the job of a key, wherever it runs",
       .text = "Messages for one key arrive in order. A plain program reads each as a line from standard input.",
       .flags = {{.name = "wait",
                  .value = "STAGE",
                  .help = "wait until the message is accepted, or done: handled by the job (done)",
                  .choices = "accepted|done"},
                 kTimeout},
       .examples = {{"tenure notify tenant-1 reload", "one line for the program that holds tenant-1"}},
       .run = run_notify},
      {.name = "stop",
       .words = "KEY",
       .words_min = 1,
       .words_max = 1,
       .summary = "stop the job of a key, wherever it runs",
       .text = "Waits until the job has stopped. Drops the tasks that wait behind it, and says how many.",
       .flags = {kTimeout},
       .examples = {{"tenure stop tenant-1", ""}},
       .run = run_stop},
  };
}

std::vector<Command> listing_commands() {
  return {
      {.name = "jobs",
       .summary = "list the keys with their state and holder",
       .text = "If loading the state takes long, as with a million keys, a worker of the pool answers instead.",
       .flags = {{"prefix", "P", "only keys with this prefix"},
                 {"worker", "ID", "only keys that this worker holds"},
                 {.name = "state", .value = "S", .help = "only keys in this state", .choices = kStates},
                 kLimit,
                 {"from", "N", "go on after an earlier listing, at its \"next\""},
                 kTimeout},
       .examples = {{"tenure jobs --state running --limit 20", ""},
                    {"tenure jobs --prefix tenant- --json | jq .jobs", ""}},
       .run = run_jobs},
      {.name = "workers",
       .summary = "list the workers with their keys and leases",
       .flags = {kTimeout},
       .examples = {{"tenure workers", ""}},
       .run = run_workers},
      {.name = "explain",
       .words = "KEY",
       .words_min = 1,
       .words_max = 1,
       .summary = "show who held a key and when, why it moved, and how long it had no holder",
       .text = "The history comes from the log, as far back as the log reaches.",
       .flags = {kTimeout},
       .examples = {{"tenure explain tenant-1", ""}},
       .run = run_explain},
      {.name = "restore",
       .summary = "compare what members remember of a lost log with the log, and put missing keys back",
       .text = "A member that lost the log it had read keeps its last state in memory for an hour. After a restored "
               "backup the pool goes on with what the backup says. This command shows the difference, and with --apply "
               "puts the jobs of missing keys back, and dead tasks. They may have been done after the last entry that "
               "the member had read, and are done again then. Keys that are in the log stay as they are.",
       .flags = {{"from-members", "", "from the memory of the pool's members"},
                 {"apply", "", "put the missing keys back"},
                 kLimit,
                 kTimeout},
       .examples = {{"tenure restore --from-members", "only show the difference"},
                    {"tenure restore --from-members --apply", ""}},
       .run = run_restore},
      {.name = "dead list",
       .summary = "list jobs that are out of attempts or quarantined",
       .flags = {kLimit, {"after", "ID", "go on after this dead letter, an earlier listing's \"next\""}, kTimeout},
       .examples = {{"tenure dead list", ""}},
       .run = run_dead_list},
      {.name = "dead retry",
       .words = "ID",
       .words_min = 1,
       .words_max = 1,
       .summary = "try a dead job again",
       .text = "Its attempts are counted from zero again.",
       .flags = {kTimeout},
       .examples = {{"tenure dead retry 7", ""}},
       .run = run_dead_retry},
      {.name = "dead drop",
       .words = "ID",
       .words_min = 1,
       .words_max = 1,
       .summary = "drop a dead job",
       .flags = {kTimeout},
       .examples = {{"tenure dead drop 7", ""}},
       .run = run_dead_drop},
  };
}

std::vector<Command> pool_commands() {
  return {
      {.name = "drain",
       .words = "WORKER",
       .words_min = 1,
       .words_max = 1,
       .summary = "move a worker's keys to the other workers, and give it no new ones",
       .text = "Waits until the worker holds no keys. If no other worker takes keys, they wait until one joins.",
       .flags = {kTimeout},
       .examples = {{"tenure drain host-a:4711", ""}},
       .run = run_drain},
      {.name = "shutdown",
       .summary = "end the whole pool",
       .text = "Refuses new jobs, completes the accepted tasks, stops the residents, lets every worker leave, and "
               "removes the pool's data. If this command dies midway, the workers finish the shutdown.",
       .flags = {kTimeout},
       .examples = {{"tenure shutdown --pool nightly", ""}},
       .run = run_shutdown},
      {.name = "doctor",
       .summary = "check the engine: what is wrong, what could be lost, and what to do about it",
       .flags = {kTimeout},
       .examples = {{"tenure doctor", ""}},
       .run = run_doctor},
      {.name = "probe",
       .words = "FILE",
       .words_min = 1,
       .words_max = 1,
       .summary = "check a worker on this machine by its health file, as a probe of Kubernetes",
       .text = "Reads the file that `work` or `partition` writes with --health, and nothing else. The exit code is 0 "
               "if the "
               "worker is in the pool, renews its lease and is fit; with --live, if its process runs. Otherwise it is "
               "not 0, "
               "and the text says why.",
       .flags = {{"live", "",
                  "only check that the process runs: a lost lease or a missing engine is no reason to restart"}},
       .examples = {{"tenure probe /run/tenure/health", "for a readiness probe"},
                    {"tenure probe /run/tenure/health --live", "for a liveness probe"}},
       .run = run_probe},
      {.name = "demo",
       .summary = "kill, freeze and restart workers, and watch their tenants move",
       .text =
           "Four worker processes share 64 tenants in a separate pool. Keys: k kills a worker with -9, z freezes one "
           "past its lease and thaws it, r restarts all workers one after the other, b replaces "
           "them by a version that cannot start anything, then by one that can, + and - add and remove workers, "
           "e explains a tenant, q quits. Without a terminal, or with --script, the demo runs by itself. The exit "
           "code is 0 if no key ever had two holders and nothing was lost.",
       .flags = {{"for", "D", "how long to run (until q, or until the script ends)"},
                 {"script", "ACTS", "k, z, r, b, + and -, separated by commas"},
                 {"workers", "N", "how many workers to start with (4)"},
                 {"tenants", "N", "how many tenants (64)"}},
       .examples = {{"tenure demo", "in a terminal"}, {"tenure demo --for 20s --script k,z,r,b --json", "by itself"}},
       .run = run_demo_command},
  };
}

// What is about the program itself, and what is hidden.
std::vector<Command> own_commands() {
  return {
      {.name = "completion",
       .words = "bash|zsh|fish",
       .words_min = 1,
       .words_max = 1,
       .summary = "print a completion script for a shell",
       .examples = {{"source <(tenure completion bash)", ""},
                    {"tenure completion zsh > ~/.zfunc/_tenure", ""},
                    {"tenure completion fish > ~/.config/fish/completions/tenure.fish", ""}},
       .run = run_completion},
      {.name = "guard-main",
       .summary = "the guard that `work` starts for its programs",
       .run = run_guard_main,
       .hidden = true},
      {.name = "man",
       .summary = "print the manual page",
       .examples = {{"tenure man | man -l -", ""}},
       .run = run_man,
       .hidden = true},
  };
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> made;
    for (const auto group :
         {work_commands, job_commands, listing_commands, pool_commands, partition_commands, source_commands,
          orders_commands, stream_commands, bench_commands, checkout_commands, own_commands}) {
      for (Command& command : group()) made.push_back(std::move(command));
    }
    return made;
  }();
  return all;
}

const std::vector<Flag>& common_flags() {
  static const std::vector<Flag> flags = {
      {"engine", "URL",
       "where the pool's log is: sqlite:PATH[?sync=full|normal|off], redis://HOST:PORT (TENURE_ENGINE, or a file in "
       "the user's data folder)"},
      {"pool", "NAME", "the name of the pool (TENURE_POOL, or \"default\")"},
      {"json", "", "print one JSON document on standard output, and messages on standard error"},
      {"help", "", "print this text"},
      {"version", "", "print the version"},
  };
  return flags;
}

std::string_view exit_codes_text() {
  return "0 done, 1 other error, 2 wrong usage, 3 key_exists, 4 no_such_key, 5 pool_full, 6 timed out (the request may "
         "still take effect), 7 the job failed, 8 engine unreachable or refused, 9 pool shutting down, gone or "
         "missing, 10 "
         "refused input";
}

}  // namespace tenure::cli
