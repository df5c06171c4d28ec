// The table of what the program can be asked to do, with the texts that people read.

#include <utility>

#include "cli/command.h"
#include "cli/run.h"

namespace tenure::cli {
namespace {

constexpr std::string_view kStates = "idle|queued|starting|running|stopping|moving|waiting|dead|quarantined";

const Flag kTimeout{"timeout", "D", "how long to wait, e.g. 500ms, 10s, 2m", {}, false, false};
const Flag kLimit{"limit", "N", "at most so many lines (100)", {}, false, false};

std::vector<Command> work_commands() {
  return {
      {"work",
       "",
       0,
       0,
       "hold keys, and run a program for each of them",
       "Joins the pool with one or more workers. For every key that one of them is given, the command after --exec is "
       "run: once for each tenure of a resident job, once for each attempt of a task. It finds its key in TENURE_KEY, "
       "its epoch in TENURE_EPOCH and its payload in $TENURE_DIR/payload; exit code 0 is done, 75 try again later, 65 "
       "never again. SIGTERM asks it to stop. No program outlives its tenure, whatever becomes of this process.\n"
       "With --warm, programs for tasks stay, and are given one task after the other as a JSON line "
       "{\"type\":\"start\",\"key\",\"epoch\",\"attempt\",\"payload\"}; each answers with a line "
       "{\"type\":\"result\",\"data\"} or {\"type\":\"fail\",\"error\",\"retry\"}.\n"
       "SIGTERM or SIGINT make the workers hand over what they hold and leave; a second one leaves at once.",
       {{"workers", "N", "how many workers this process is (1)"},
        {"concurrency", "N", "programs for tasks that run at a time (twice the cores, at least 4)"},
        {"lease", "D", "how long a worker lives without a sign (10s)"},
        {"id", "ID", "the worker's name; with several workers ID-1, ID-2, … (host:pid)"},
        {"replaces", "ID", "a worker that leaves, whose keys are inherited in one move"},
        {"weight", "W", "share of the keys against others' (100)"},
        {"serves", "KEY…", "keys that only this worker is to hold", {}, true},
        {"task", "",
         "the program is for tasks; of no effect, since a worker is given jobs of both kinds (TENURE_KIND)"},
        {"warm", "N",
         "run tasks through up to N programs that stay and are given one after the other (json lines); one for each "
         "shard, "
         "at least"},
        {"max-tasks", "N",
         "with --warm: a program is replaced after so many, less up to a tenth at random, when it is free"},
        {"max-age", "D", "with --warm: a program is replaced after so long, likewise"},
        {"idle-timeout", "D", "with --warm: a program that is free for so long ends"},
        {"memory-bytes", "B", "with --warm: a program that uses more, with all it has started, is replaced when free"},
        {"memory-bytes-hard", "B", "with --warm: a program that uses more is killed, and its task fails"},
        {"task-time", "D", "with --warm: a program that takes longer for a task is killed, and the task fails"},
        {"max-age-hard", "D", "with --warm: a program that is older is killed, and its task fails"},
        {"protocol", "plain|json", "how to talk with the program (plain)", "plain|json"},
        {"max-queued", "N", "jobs that may wait for their first holder; of a pool that this creates (1000)"},
        {"max-attempts", "N", "of a failing task; of a pool that this creates (10)"},
        {"quarantine-after", "N", "deaths of holders that a job may cause, 0 for any number; likewise (3)"},
        {"shards", "N", "parts of the keys, each with a log of its own; of a pool that this creates (1)"},
        {"no-known-death", "", "let others wait for the lease, even if they could know of a crash"},
        {"cgroup", "auto|off|PATH",
         "a control group for the programs: below this process's own if permitted, or PATH (auto)"},
        {"exec", "CMD…", "the program and its arguments: the rest of the line", {}, false, true}},
       {{"tenure work --exec ./poller.sh", "one worker; each key runs poller.sh"},
        {"tenure work --task --warm 2 --exec python3 warm.py", "tasks go through two interpreters that stay"},
        {"tenure work --workers 4 --lease 2s --json --exec python3 -u tenant.py", "four, with events as JSON lines"}},
       run_work},
  };
}

std::vector<Command> job_commands() {
  return {
      {"dispatch",
       "KEY [PAYLOAD|-]",
       0,
       2,
       "give a key a job",
       "A key has one resident job at most, which runs until it is stopped; with --task the payload is a task that is "
       "done once, after the tasks of the same key that came before it. A payload of - is read from standard input.\n"
       "With --from, each line of the file is a job: {\"key\":\"k\",\"payload\":\"…\"}, and where it differs from the "
       "flags \"payload_base64\", \"task\", \"delay_ms\" and \"max_attempts\". The exit code is that of the first "
       "that failed.",
       {{"task", "", "a task rather than a resident job"},
        {"delay", "D", "not before so long"},
        {"max-attempts", "N", "of a failing task, before the dead letters (the pool's)"},
        {"wait", "STAGE", "accepted, started or done (accepted)", "accepted|started|done"},
        {"from", "FILE", "a JSON line for each job; - is standard input"},
        kTimeout},
       {{"tenure dispatch tenant-1", "start the resident job of tenant-1"},
        {"tenure dispatch --task mail '{\"to\":\"a@b\"}' --wait done", "run a task and print its result"},
        {"seq 100 | sed 's/.*/{\"key\":\"k&\"}/' | tenure dispatch --from -", "a hundred at once"}},
       run_dispatch},
      {"notify",
       "KEY MESSAGE",
       2,
       2,
       "send a message to the job of a key, wherever it runs",
       "Messages of one key arrive in order. A plain program reads each as a line of its standard input.",
       {kTimeout},
       {{"tenure notify tenant-1 reload", "one line for the program that holds tenant-1"}},
       run_notify},
      {"stop",
       "KEY",
       1,
       1,
       "stop the job of a key, wherever it runs",
       "Waits until it has stopped. Tasks that wait behind it are dropped.",
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
       "list the keys, what they are doing and who holds them",
       "Where the state takes long to read, as with a million keys, a worker of the pool is asked for it.",
       {{"prefix", "P", "only keys that begin so"},
        {"worker", "ID", "only what this worker holds"},
        {"state", "S", "only keys in this state", kStates},
        kLimit,
        kTimeout},
       {{"tenure jobs --state running --limit 20", ""}, {"tenure jobs --prefix tenant- --json | jq .jobs", ""}},
       run_jobs},
      {"workers",
       "",
       0,
       0,
       "list the workers, what they hold and how long their leases last",
       "",
       {kTimeout},
       {{"tenure workers", ""}},
       run_workers},
      {"explain",
       "KEY",
       1,
       1,
       "tell who held a key, when, why it moved, and how long it was without a holder",
       "The history comes from the log itself, as far back as the log is kept.",
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
       "It gets its attempts anew.",
       {kTimeout},
       {{"tenure dead retry 7", ""}},
       run_dead_retry},
      {"dead drop", "ID", 1, 1, "forget a dead job", "", {kTimeout}, {{"tenure dead drop 7", ""}}, run_dead_drop},
  };
}

std::vector<Command> pool_commands() {
  return {
      {"drain",
       "WORKER",
       1,
       1,
       "move a worker's keys to the others, and give it no more",
       "Waits until it holds nothing.",
       {kTimeout},
       {{"tenure drain host-a:4711", ""}},
       run_drain},
      {"shutdown",
       "",
       0,
       0,
       "end the whole pool",
       "New jobs are refused, tasks that were accepted are still done, residents are stopped, every worker leaves, and "
       "the pool's data is removed. If this command dies midway, the workers finish it.",
       {kTimeout},
       {{"tenure shutdown --pool nightly", ""}},
       run_shutdown},
      {"doctor",
       "",
       0,
       0,
       "check the engine, and say in plain words what is wrong and what could be lost",
       "",
       {kTimeout},
       {{"tenure doctor", ""}},
       run_doctor},
      {"demo",
       "",
       0,
       0,
       "kill, freeze and restart workers, and watch their tenants move",
       "Four worker processes share 64 tenants in a pool of their own. Keys: k kills a worker with -9, z freezes one "
       "past "
       "its lease and thaws it, r restarts all one after the other, + and - add and remove workers, e explains a "
       "tenant, "
       "q quits. Without a terminal, or with --script, the same runs by itself. The exit code is 0 if no key ever had "
       "two "
       "holders and nothing was lost.",
       {{"for", "D", "how long; without it until q, or until the script is through"},
        {"script", "ACTS", "of k, z, r, + and -, separated by commas"},
        {"workers", "N", "to begin with (4)"},
        {"tenants", "N", "how many (64)"}},
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
       "measure tasks a second and their latency, beside the log alone in the same run",
       "Runs in this process, on a file of its own in the present folder, or in the folder that --engine sqlite:FOLDER "
       "names; --engine memory: leaves the disk out of it; on a Redis server it has pools of its own, which it "
       "removes. "
       "The log alone is given the entries of the run again, of the same sizes, one after the other.",
       {{"jobs", "N", "how many tasks (200000)"},
        {"payload-bytes", "B", "of each (64)"},
        {"keys", "K", "over how many keys (1000)"},
        {"nodes", "N", "how many nodes share the work (1)"},
        {"shards", "N", "parts of the keys, each with a log of its own (1)"}},
       {{"tenure bench throughput --jobs 200000 --json", ""}},
       run_bench_throughput},
      {"bench takeover",
       "",
       0,
       0,
       "kill worker processes, and measure the time until their key is started elsewhere",
       "",
       {{"rounds", "N", "how many (20)"},
        {"lease", "D", "of the workers (1s)"},
        {"no-known-death", "", "kill the guard too, and leave only the lease"}},
       {{"tenure bench takeover --lease 1s --rounds 20 --json", ""}},
       run_bench_takeover},
      {"bench handoff",
       "",
       0,
       0,
       "restart workers one after the other, and measure how long each key is without a holder",
       "",
       {{"keys", "K", "how many resident keys (1000)"},
        {"workers", "N", "on how many workers (4)"},
        {"replace", "", "let each new worker name the one it replaces"}},
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
      {"guard-main", "", 0, 0, "what `work` starts to watch over its programs", "", {}, {}, run_guard_main, true},
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
       "where the pool's log is: sqlite:PATH[?sync=full|normal|off], redis://HOST:PORT (TENURE_ENGINE; a file in the "
       "user's data folder)"},
      {"pool", "NAME", "the pool (TENURE_POOL; default)"},
      {"json", "", "one JSON document on standard output, messages on standard error"},
      {"help", "", "this text"},
      {"version", "", "the version"},
  };
  return flags;
}

std::string_view exit_codes_text() {
  return "0 done, 1 anything else, 2 wrong usage, 3 key_exists, 4 no_such_key, 5 pool_full, 6 timed out (what was sent "
         "may still happen), 7 the job failed, 8 engine unreachable or refused, 9 pool shutting down or gone, 10 "
         "refused input";
}

}  // namespace tenure::cli
