// The table of the program's commands, with their help texts.

#include <utility>

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kStates = "idle|queued|starting|running|stopping|moving|waiting|dead|quarantined";

const Flag kTimeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m", {}, false, false};
const Flag kLimit{"limit", "N", "at most N lines (100)", {}, false, false};

std::vector<Command> work_commands() {
  return {
      {"work",
       "",
       0,
       0,
       "hold keys, and run a program for each of them",
       "Joins the pool with one or more workers, and runs the command after --exec for every key that they get: once "
       "for each tenure of a resident job, once for each attempt of a task. The program reads its key from "
       "TENURE_KEY, its epoch from TENURE_EPOCH and its payload from $TENURE_DIR/payload. It exits with 0 when done, "
       "75 to be tried again later, 65 to give up. SIGTERM asks it to stop. No program outlives its tenure, even if "
       "this process is killed.\n"
       "With --warm, programs for tasks stay alive and get one task after the other as a JSON line "
       "{\"type\":\"start\",\"key\",\"epoch\",\"attempt\",\"payload\"}. They answer with a line "
       "{\"type\":\"result\",\"data\"} or {\"type\":\"fail\",\"error\",\"retry\"}.\n"
       "On SIGTERM or SIGINT the workers hand over their keys and leave. On a second signal they leave at once.",
       {{"workers", "N", "how many workers this process has (1)"},
        {"concurrency", "N", "how many task programs run at a time (twice the cores, at least 4)"},
        {"lease", "D", "how long the others wait for a silent worker before they take its keys (10s)"},
        {"id", "ID", "the worker's name; several workers are called ID-1, ID-2, … (host:pid)"},
        {"replaces", "ID", "a leaving worker, whose keys come here in one move"},
        {"weight", "W", "share of the keys, relative to the other workers (100)"},
        {"serves", "KEY…", "keys that only this worker may hold", {}, true},
        {"task", "", "the program is for tasks; has no effect, because a worker gets both kinds of job (TENURE_KIND)"},
        {"warm", "N",
         "run tasks through up to N programs that stay alive and get one task after the other (JSON lines); at least "
         "one per shard"},
        {"max-tasks", "N", "with --warm: replace a free program after N tasks, less up to a tenth at random"},
        {"max-age", "D", "with --warm: replace a free program of this age, less up to a tenth at random"},
        {"idle-timeout", "D", "with --warm: end a program that was free for this long"},
        {"memory-bytes", "B",
         "with --warm: replace a free program that uses more memory, with everything it has started"},
        {"memory-bytes-hard", "B", "with --warm: kill a program that uses more memory; its task fails"},
        {"task-time", "D", "with --warm: kill a program that takes longer for a task; the task fails"},
        {"max-age-hard", "D", "with --warm: kill a program that is older; its task fails"},
        {"protocol", "plain|json", "the protocol of the program (plain)", "plain|json"},
        {"stop-timeout", "D",
         "if this creates the pool: the stop grace period, how long jobs may take to stop before they are killed (2m)"},
        {"max-queued", "N", "if this creates the pool: how many jobs may wait for a handler to begin them (1000)"},
        {"max-delayed", "N", "if this creates the pool: how many jobs may wait for their delay (100000)"},
        {"max-attempts", "N", "if this creates the pool: attempts of a failing task (10)"},
        {"quarantine-after", "N", "if this creates the pool: how often a job may kill its holder, 0 for no limit (3)"},
        {"shards", "N", "if this creates the pool: into how many logs to split the keys (1)"},
        {"no-known-death", "", "make others wait for the lease, even if they could detect a crash"},
        {"cgroup", "auto|off|PATH",
         "the control group for the programs: below this process's own if permitted, none, or below PATH (auto)"},
        {"exec", "CMD…", "the program and its arguments: the rest of the line", {}, false, true}},
       {{"tenure work --exec ./poller.sh", "one worker that runs poller.sh for each key"},
        {"tenure work --task --warm 2 --exec python3 warm.py", "two interpreters that run all tasks"},
        {"tenure work --workers 4 --lease 2s --json --exec python3 -u tenant.py",
         "four workers, with events as JSON lines"}},
       run_work},
  };
}

std::vector<Command> job_commands() {
  return {
      {"dispatch",
       "KEY [PAYLOAD|-]",
       0,
       2,
       "dispatch a job for a key",
       "A key has at most one resident job, which runs until it is stopped. With --task the payload is a task: it is "
       "done once, after the earlier tasks of the same key. If the payload is -, it is read from standard input.\n"
       "With --from, each line of the file is a job: {\"key\":\"k\",\"payload\":\"…\"}. \"payload_base64\", "
       "\"task\", \"delay_ms\" and \"max_attempts\" override the flags. The exit code is that of the first job that "
       "failed.",
       {{"task", "", "a task instead of a resident job"},
        {"delay", "D", "do not start it earlier than in D"},
        {"max-attempts", "N", "attempts before a failing task becomes a dead letter (the pool's limit)"},
        {"wait", "STAGE", "wait until the job is accepted, started or done (accepted)", "accepted|started|done"},
        {"from", "FILE", "a file with a JSON line for each job; - is standard input"},
        kTimeout},
       {{"tenure dispatch tenant-1", "start the resident job of tenant-1"},
        {"tenure dispatch --task mail '{\"to\":\"a@b\"}' --wait done", "run a task and print its result"},
        {"seq 100 | sed 's/.*/{\"key\":\"k&\"}/' | tenure dispatch --from -", "a hundred jobs at once"}},
       run_dispatch},
      {"notify",
       "KEY MESSAGE",
       2,
       2,
       "send a message to the job of a key, wherever it runs",
       "Messages for one key arrive in order. A plain program reads each as a line from standard input.",
       {{"wait", "STAGE", "wait until the message is accepted, or done: handled by the job (done)", "accepted|done"},
        kTimeout},
       {{"tenure notify tenant-1 reload", "one line for the program that holds tenant-1"}},
       run_notify},
      {"stop",
       "KEY",
       1,
       1,
       "stop the job of a key, wherever it runs",
       "Waits until the job has stopped. Drops the tasks that wait behind it.",
       {kTimeout},
       {{"tenure stop tenant-1", ""}},
       run_stop},
  };
}

std::vector<Command> listing_commands() {
  return {
      {"jobs",
       "",
       0,
       0,
       "list the keys with their state and holder",
       "If loading the state takes long, as with a million keys, a worker of the pool answers instead.",
       {{"prefix", "P", "only keys with this prefix"},
        {"worker", "ID", "only keys that this worker holds"},
        {"state", "S", "only keys in this state", kStates},
        kLimit,
        kTimeout},
       {{"tenure jobs --state running --limit 20", ""}, {"tenure jobs --prefix tenant- --json | jq .jobs", ""}},
       run_jobs},
      {"workers",
       "",
       0,
       0,
       "list the workers with their keys and leases",
       "",
       {kTimeout},
       {{"tenure workers", ""}},
       run_workers},
      {"explain",
       "KEY",
       1,
       1,
       "show who held a key and when, why it moved, and how long it had no holder",
       "The history comes from the log, as far back as the log reaches.",
       {kTimeout},
       {{"tenure explain tenant-1", ""}},
       run_explain},
      {"dead list",
       "",
       0,
       0,
       "list jobs that are out of attempts or quarantined",
       "",
       {kLimit, kTimeout},
       {{"tenure dead list", ""}},
       run_dead_list},
      {"dead retry",
       "ID",
       1,
       1,
       "try a dead job again",
       "Its attempts are counted from zero again.",
       {kTimeout},
       {{"tenure dead retry 7", ""}},
       run_dead_retry},
      {"dead drop", "ID", 1, 1, "drop a dead job", "", {kTimeout}, {{"tenure dead drop 7", ""}}, run_dead_drop},
  };
}

std::vector<Command> pool_commands() {
  return {
      {"drain",
       "WORKER",
       1,
       1,
       "move a worker's keys to the other workers, and give it no new ones",
       "Waits until the worker holds no keys.",
       {kTimeout},
       {{"tenure drain host-a:4711", ""}},
       run_drain},
      {"shutdown",
       "",
       0,
       0,
       "end the whole pool",
       "Refuses new jobs, completes the accepted tasks, stops the residents, lets every worker leave, and removes "
       "the pool's data. If this command dies midway, the workers finish the shutdown.",
       {kTimeout},
       {{"tenure shutdown --pool nightly", ""}},
       run_shutdown},
      {"doctor",
       "",
       0,
       0,
       "check the engine: what is wrong, what could be lost, and what to do about it",
       "",
       {kTimeout},
       {{"tenure doctor", ""}},
       run_doctor},
      {"demo",
       "",
       0,
       0,
       "kill, freeze and restart workers, and watch their tenants move",
       "Four worker processes share 64 tenants in a separate pool. Keys: k kills a worker with -9, z freezes one "
       "past its lease and thaws it, r restarts all workers one after the other, + and - add and remove workers, e "
       "explains a tenant, q quits. Without a terminal, or with --script, the demo runs by itself. The exit code is "
       "0 if no key ever had two holders and nothing was lost.",
       {{"for", "D", "how long to run (until q, or until the script ends)"},
        {"script", "ACTS", "k, z, r, + and -, separated by commas"},
        {"workers", "N", "how many workers to start with (4)"},
        {"tenants", "N", "how many tenants (64)"}},
       {{"tenure demo", "in a terminal"}, {"tenure demo --for 20s --script k,z,r --json", "by itself"}},
       run_demo_command},
  };
}

std::vector<Command> bench_commands() {
  return {
      {"bench throughput",
       "",
       0,
       0,
       "measure tasks per second and their latency, and the log alone in the same run",
       "Runs in this process, on a new file in the current folder, or in the folder that --engine sqlite:FOLDER "
       "names. --engine memory: uses no disk. On a Redis server it creates pools and removes them at the end. For "
       "comparison it appends the entries of the run to the log alone again, with the same sizes, one after the "
       "other.",
       {{"jobs", "N", "how many tasks (200000)"},
        {"payload-bytes", "B", "payload of each task (64)"},
        {"keys", "K", "how many keys (1000)"},
        {"nodes", "N", "how many nodes share the work (1)"},
        {"shards", "N", "into how many logs to split the keys (1)"}},
       {{"tenure bench throughput --jobs 200000 --json", ""}},
       run_bench_throughput},
      {"bench takeover",
       "",
       0,
       0,
       "kill worker processes, and measure the time until their key runs elsewhere",
       "",
       {{"rounds", "N", "how many rounds (20)"},
        {"lease", "D", "lease of the workers (1s)"},
        {"no-known-death", "", "kill the guard too, so that only the lease remains"}},
       {{"tenure bench takeover --lease 1s --rounds 20 --json", ""}},
       run_bench_takeover},
      {"bench handoff",
       "",
       0,
       0,
       "restart workers one after the other, and measure how long each key has no holder",
       "",
       {{"keys", "K", "how many resident keys (1000)"},
        {"workers", "N", "how many workers (4)"},
        {"replace", "", "each new worker names the one it replaces"}},
       {{"tenure bench handoff --replace --json", ""}},
       run_bench_handoff},
  };
}

// What is about the program itself, and what is hidden.
std::vector<Command> own_commands() {
  return {
      {"completion",
       "bash|zsh|fish",
       1,
       1,
       "print a completion script for a shell",
       "",
       {},
       {{"source <(tenure completion bash)", ""},
        {"tenure completion zsh > ~/.zfunc/_tenure", ""},
        {"tenure completion fish > ~/.config/fish/completions/tenure.fish", ""}},
       run_completion},
      {"guard-main", "", 0, 0, "the guard that `work` starts for its programs", "", {}, {}, run_guard_main, true},
      {"man", "", 0, 0, "print the manual page", "", {}, {{"tenure man | man -l -", ""}}, run_man, true},
  };
}

}  // namespace

const std::vector<Command>& commands() {
  static const std::vector<Command> all = [] {
    std::vector<Command> made;
    for (const auto group : {work_commands, job_commands, listing_commands, pool_commands, bench_commands,
                             checkout_commands, own_commands}) {
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
         "still take effect), 7 the job failed, 8 engine unreachable or refused, 9 pool shutting down or gone, 10 "
         "refused input";
}

}  // namespace tenure::cli
