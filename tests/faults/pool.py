"""The pool under faults: its worker processes, its dispatchers, the witness of its log, and the verdict."""

import collections
import glob
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import tempfile
import time

from shard_histories import keys_of_two, shard_histories
from stalls import Stalls

LEASE_S = 1.0
WORKERS = 3
RESIDENTS = [f"resident-{i}" for i in range(12)]
PATIENCE_S = 60
HELD = ("accepted", "started", "done")


class Witness:
    """Follows the log of a shard (witness.cc). It can be held while history is lost, and shown aside what only the dead
    had."""

    def __init__(self, program, engine, pool, testimony, shard, shards):
        self.testimony = testimony
        self.process = subprocess.Popen([program, engine, pool, testimony, str(shard), str(shards)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.process.stdout.readline()

    def ask(self, *words):
        """The position up to which it has read."""
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().split()
        if len(answer) != 2 or answer[0] != "at":
            raise AssertionError(f"the witness cannot follow: {' '.join(answer)}")
        return int(answer[1])

    def wait_for(self, position):
        deadline = time.monotonic() + PATIENCE_S
        while self.ask("where") < position:
            if time.monotonic() > deadline:
                raise AssertionError(f"the witness does not get to {position}")
            time.sleep(0.005)

    def finish(self):
        """True if it has written down all that its log said."""
        self.process.stdin.close()
        return self.process.wait(PATIENCE_S) == 0

    def kill(self):
        self.process.kill()
        self.process.wait()


class Witnesses:
    """One at the log of each shard."""

    def __init__(self, program, engine, pool, folder, shards):
        self.all = [Witness(program, engine, pool, folder / f"log-{i}", i, shards) for i in range(shards)]

    def ask(self, *words):
        for witness in self.all:
            witness.ask(*words)

    def wait_for(self, positions):
        for witness, position in zip(self.all, positions, strict=True):
            witness.wait_for(position)

    def finish(self):
        return all([witness.finish() for witness in self.all])

    def kill(self):
        for witness in self.all:
            witness.kill()

    def processes(self):
        return [witness.process.pid for witness in self.all]


class Dispatching:
    """A process that sends jobs, while other things happen."""

    def __init__(self, pool, jobs, kind):
        self.pool, self.jobs, self.kind = pool, jobs, kind
        for key, payload in jobs:
            pool.note("asked", kind, key, payload)
        self.lines = tempfile.TemporaryFile("w+")
        for key, payload in jobs:
            self.lines.write(json.dumps({"key": key, "payload": payload, "task": kind == "task"}) + "\n")
        self.lines.seek(0)
        self.process = subprocess.Popen(pool.command("dispatch", "--from", "-", "--timeout", "30s"), stdin=self.lines,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def finish(self):
        """Remembers those that were accepted, and says how many those were."""
        answers = self.process.communicate(timeout=PATIENCE_S)[0].splitlines()
        self.lines.close()
        accepted = 0
        for (key, payload), answer in zip(self.jobs, answers):
            state = json.loads(answer).get("state", "none")
            self.pool.note("answered", state, key, payload)
            if state in HELD:
                accepted += 1
                self.pool.accepted.append((key, payload, self.kind))
        return accepted


class Pool:
    def __init__(self, arguments, folder, world):
        build = pathlib.Path(arguments.build).absolute()
        self.tenure = build / "tenure"
        self.handler, witness, self.judge = (build / "tests/faults" / f"faults_{name}"
                                             for name in ("handler", "witness", "judge"))
        self.folder = pathlib.Path(folder)
        self.name = f"faults-{os.getpid()}-{arguments.seed}"
        self.world = world
        self.shards = arguments.shards
        self.history = self.folder / "history"
        self.ledger = self.folder / "ledger.db"
        ledger = sqlite3.connect(self.ledger)
        ledger.executescript("PRAGMA journal_mode = WAL; CREATE TABLE held(key PRIMARY KEY, epoch, writes);"
                             "CREATE TABLE done(key, epoch, payload);")
        ledger.close()
        self.workers = {}
        self.lives = 0
        self.accepted = []
        self.residents = 0  # how often they were asked for
        self.expected_losses = False  # the log was made to lose what it had acknowledged
        self.orders = None  # orders.py
        if hasattr(world, "prepare"):
            world.prepare(self.name)
        self.witness = Witnesses(witness, world.engine("witness"), self.name, self.folder, self.shards)
        self.stalls = Stalls(self.history)

    def note(self, *words):
        """A line of the history."""
        line = " ".join([words[0], str(time.clock_gettime_ns(time.CLOCK_BOOTTIME)), *words[1:]]) + "\n"
        with open(self.history, "ab", buffering=0) as file:
            file.write(line.encode())

    def start_worker(self):
        self.lives += 1
        name = f"w{self.lives}"
        log = open(self.folder / f"worker-{self.lives}.log", "w")
        self.workers[self.lives] = subprocess.Popen(
            [self.tenure, "work", "--json", "--engine", self.world.engine(name), "--pool", self.name, "--lease",
             f"{LEASE_S}s", "--id", name, "--max-attempts", "1000", "--shards",
             str(self.shards), *(["--source", self.world.source(name)] if hasattr(self.world, "source") else []), "--exec",
             self.handler, self.ledger, self.history], stdout=log, stderr=log)
        log.close()

    @staticmethod
    def stop_running(process):
        process.send_signal(signal.SIGSTOP)

    @staticmethod
    def let_run(process):
        process.send_signal(signal.SIGCONT)

    def command(self, *arguments):
        return [self.tenure, *arguments, "--json", "--engine", self.world.engine("client"), "--pool", self.name]

    def ask(self, *arguments):
        return subprocess.run(self.command(*arguments), capture_output=True, text=True, timeout=PATIENCE_S)

    def dispatching(self, jobs, kind):
        return Dispatching(self, jobs, kind)

    def dispatch(self, jobs, kind):
        return self.dispatching(jobs, kind).finish()

    def dispatch_residents(self):
        """At the beginning, and again where the log has lost them: then those that it still has are refused."""
        self.residents += 1
        jobs = [(key, f"life-{self.residents}") for key in RESIDENTS]
        self.dispatch(jobs, "resident")

    def wait_residents(self):
        """Until the pool has all residents again, though nobody has dispatched any."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            jobs = self.ask("jobs", "--limit", "100000")
            found = {job["key"] for job in json.loads(jobs.stdout)["jobs"]} if jobs.returncode == 0 else set()
            if found >= set(RESIDENTS):
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the pool was not put back: without {set(RESIDENTS) - found}")
            time.sleep(0.02)

    def missing(self):
        """What the pool lacks to be whole: every worker a member, every resident running, no task waiting."""
        workers, jobs = self.ask("workers"), self.ask("jobs", "--limit", "100000")
        if workers.returncode != 0 or jobs.returncode != 0:
            return workers.stderr + jobs.stderr + workers.stdout + jobs.stdout
        members = {worker["id"] for worker in json.loads(workers.stdout)["workers"]}
        states = collections.Counter((job["kind"], job["state"]) for job in json.loads(jobs.stdout)["jobs"]
                                     if not job["key"].startswith(".source/"))
        absent = {f"w{number}" for number in self.workers} - members
        if self.expected_losses and sum(count for (kind, _), count in states.items() if kind == "resident") < len(RESIDENTS):
            self.dispatch_residents()  # the log has lost them after all
        if not absent and states == {("resident", "running"): len(RESIDENTS)}:
            return ""
        return f"without {absent}, {dict(states)}"

    def wait_whole(self, since):
        """Until nothing is missing. How many seconds that took, and what was missing last."""
        last = ""
        while True:
            asked = time.monotonic()
            self.start_again()
            missing = self.missing()
            if not missing:
                return asked - since, last
            last = missing
            if asked - since > PATIENCE_S:
                raise AssertionError(f"the pool does not heal: {missing}")
            time.sleep(0.02)

    def dead_workers(self):
        return [number for number, process in self.workers.items() if process.poll() is not None]

    def start_again(self):
        """Workers that could not start because their engine did not answer, as a service manager would."""
        for number in self.dead_workers():
            said = (self.folder / f"worker-{number}.log").read_text(errors="replace")
            if '"event":"ready"' not in said and '"code":"unavailable"' in said:
                self.workers.pop(number)
                self.start_worker()

    def leave(self):
        for process in self.workers.values():
            process.terminate()
        for process in self.workers.values():
            process.wait(PATIENCE_S)

    def kill_all(self):
        for process in self.workers.values():
            process.kill()
        for process in self.workers.values():
            process.wait()

    def verdict(self, recovery_s):
        """What is wrong with what happened, by the checker and by the ledger."""
        stalled_s = self.stalls.end()
        if stalled_s > 0:
            print(f"the machine, or one of its processors, stood still for up to {stalled_s:.2f} s")
        if not self.witness.finish():
            return ["the witness could not follow the log"]
        found, lost = [], set()
        for shard, history in enumerate(shard_histories(self.history, [w.testimony for w in self.witness.all])):
            judged = subprocess.run([self.judge, history, str(int(LEASE_S * 1000)), str(int(recovery_s * 1000))],
                                    capture_output=True, text=True, check=False)
            lines = judged.stdout.splitlines()
            lost |= {tuple(line.split()[1:]) for line in lines if line.startswith("lost ")}
            print("\n".join(line for line in lines if not line.startswith("lost ")) + judged.stderr)
            if judged.returncode != 0:
                found.append(f"the checker found violations in the history of shard {shard}")
        found += keys_of_two([w.testimony for w in self.witness.all])
        if lost:
            print(f"the engine lost {len(lost)} jobs that it had accepted, and said so")
        told = {(key, payload) for key, payload, _ in self.accepted} & lost
        if told and not self.expected_losses:
            found.append(f"the engine lost {len(told)} jobs that it had acknowledged: {sorted(told)[:5]}")
        if self.orders is not None:
            found += self.orders.verdict([w.testimony for w in self.witness.all])
        return found + self.lost_tasks(lost)

    def lost_tasks(self, by_engine):
        ledger = sqlite3.connect(self.ledger)
        done = {payload for (payload,) in ledger.execute("SELECT payload FROM done")}
        ledger.close()
        return [f"task {payload} of {key} was accepted and never done" for key, payload, kind in self.accepted
                if kind == "task" and payload not in done and (key, payload) not in by_engine]

    def left_behind(self):
        """Processes of this pool, by a word of its own in their environment or on their command line."""
        return processes_with(self.name, (os.getpid(), *self.witness.processes()))


def processes_with(word, besides):
    """Those that have the word in their environment or on their command line."""
    found = []
    for path in glob.glob("/proc/[0-9]*"):
        try:
            words = pathlib.Path(path, "environ").read_bytes() + pathlib.Path(path, "cmdline").read_bytes()
        except OSError:
            continue
        if word.encode() in words and int(path[6:]) not in besides:
            found.append(path[6:])
    return found
