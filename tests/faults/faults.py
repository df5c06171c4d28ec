"""Real processes under faults: workers are killed, frozen past their lease, asked to leave, and all killed at once,
while jobs keep coming. What the handlers did, what the clients were told and what a witness read in the log goes into
one history, which the simulator's checker judges (judge.cc); every accepted task must be in the ledger, and no process
may be left.

Usage: faults.py BUILD [--rounds N] [--seed S]
"""

import argparse
import collections
import glob
import json
import os
import pathlib
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

LEASE_S = 1.0
WORKERS = 3
RESIDENTS = [f"resident-{i}" for i in range(12)]
PATIENCE_S = 60
RECOVERY_S = 5  # after the last fault; a machine that is busy with other things is slow


class Pool:
    def __init__(self, arguments, folder):
        build = pathlib.Path(arguments.build).absolute()
        self.tenure = build / "tenure"
        self.handler, self.witness, self.judge = (build / "tests/faults" / f"faults_{name}"
                                                  for name in ("handler", "witness", "judge"))
        self.folder = pathlib.Path(folder)
        self.name = f"faults-{os.getpid()}-{arguments.seed}"
        self.engine = f"sqlite:{self.folder}/pool.db?sync=normal"
        self.history = self.folder / "history"
        self.ledger = self.folder / "ledger.db"
        ledger = sqlite3.connect(self.ledger)
        ledger.executescript("PRAGMA journal_mode = WAL; CREATE TABLE held(key PRIMARY KEY, epoch, writes);"
                             "CREATE TABLE done(key, epoch, payload);")
        ledger.close()
        self.workers = {}
        self.lives = 0
        self.accepted = []
        self.follower = subprocess.Popen([self.witness, self.engine, self.name, self.history], stdin=subprocess.PIPE,
                                         stdout=subprocess.PIPE)
        self.follower.stdout.readline()

    def note(self, *words):
        """A line of the history."""
        line = " ".join([words[0], str(time.clock_gettime_ns(time.CLOCK_BOOTTIME)), *words[1:]]) + "\n"
        with open(self.history, "ab", buffering=0) as file:
            file.write(line.encode())

    def start_worker(self):
        self.lives += 1
        log = open(self.folder / f"worker-{self.lives}.log", "w")
        self.workers[self.lives] = subprocess.Popen(
            [self.tenure, "work", "--json", "--engine", self.engine, "--pool", self.name, "--lease", f"{LEASE_S}s",
             "--id", f"w{self.lives}", "--quarantine-after", "0", "--max-attempts", "1000", "--exec", self.handler,
             self.ledger, self.history], stdout=log, stderr=log)
        log.close()

    def ask(self, *arguments, text=None):
        command = [self.tenure, *arguments, "--json", "--engine", self.engine, "--pool", self.name]
        return subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE_S)

    def dispatch(self, jobs, kind):
        """Sends jobs, and remembers those that were accepted."""
        for key, payload in jobs:
            self.note("asked", kind, key, payload)
        lines = "".join(json.dumps({"key": key, "payload": payload, "task": kind == "task"}) + "\n" for key, payload in jobs)
        answers = self.ask("dispatch", "--from", "-", "--timeout", "30s", text=lines).stdout.splitlines()
        for (key, payload), answer in zip(jobs, answers):
            state = json.loads(answer)["state"]
            self.note("answered", state, key, payload)
            if state in ("accepted", "started", "done"):
                self.accepted.append((key, payload))

    def wait_whole(self):
        """Until every resident runs, and no task waits."""
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answer = self.ask("jobs", "--limit", "100000")
            jobs = json.loads(answer.stdout)["jobs"] if answer.returncode == 0 else []
            states = collections.Counter((job["kind"], job["state"]) for job in jobs)
            if states == {("resident", "running"): len(RESIDENTS)}:
                return
            if time.monotonic() > deadline:
                raise AssertionError(f"the pool does not heal: {states} {answer.stderr}")
            time.sleep(0.02)

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

    def verdict(self):
        """What the checker has to say."""
        self.follower.stdin.close()
        if self.follower.wait(PATIENCE_S) != 0:
            return ["the witness could not follow the log"]
        judged = subprocess.run([self.judge, self.history, str(int(LEASE_S * 1000)), str(RECOVERY_S * 1000)],
                                capture_output=True, text=True, check=False)
        print(judged.stdout, judged.stderr, end="")
        return [] if judged.returncode == 0 else ["the checker found violations"]

    def lost_tasks(self):
        ledger = sqlite3.connect(self.ledger)
        done = {payload for (payload,) in ledger.execute("SELECT payload FROM done")}
        ledger.close()
        return [f"task {payload} of {key} was accepted and never done" for key, payload in self.accepted
                if payload and payload not in done]

    def left_behind(self):
        """Processes of this pool, by a word of its own in their environment or on their command line."""
        found = []
        for path in glob.glob("/proc/[0-9]*"):
            try:
                words = pathlib.Path(path, "environ").read_bytes() + pathlib.Path(path, "cmdline").read_bytes()
            except OSError:
                continue
            if self.name.encode() in words and int(path[6:]) not in (os.getpid(), self.follower.pid):
                found.append(path[6:])
        return found


def victim(pool, dice):
    return dice.choice(list(pool.workers))


def kill(pool, dice):
    number = victim(pool, dice)
    process = pool.workers.pop(number)
    process.kill()
    process.wait()
    pool.start_worker()


def freeze(pool, dice):
    process = pool.workers[victim(pool, dice)]
    process.send_signal(signal.SIGSTOP)
    time.sleep(LEASE_S * dice.uniform(0.2, 2))
    process.send_signal(signal.SIGCONT)


def freeze_and_kill(pool, dice):
    number = victim(pool, dice)
    process = pool.workers.pop(number)
    process.send_signal(signal.SIGSTOP)
    time.sleep(LEASE_S * dice.uniform(0.2, 2))
    process.kill()
    process.wait()
    pool.start_worker()


def terminate(pool, dice):
    number = victim(pool, dice)
    process = pool.workers.pop(number)
    process.terminate()
    pool.start_worker()
    process.wait(PATIENCE_S)


def kill_guard(pool, dice):
    process = pool.workers[victim(pool, dice)]
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)


def kill_pool(pool, dice):
    del dice
    pool.kill_all()
    pool.workers.clear()
    for _ in range(WORKERS):
        pool.start_worker()


FAULTS = [kill, kill, kill, freeze, freeze_and_kill, terminate, terminate, kill_guard, kill_pool]


def run(arguments, folder):
    dice = random.Random(arguments.seed)
    pool = Pool(arguments, folder)
    counts = collections.Counter()
    try:
        for _ in range(WORKERS):
            pool.start_worker()
        pool.dispatch([(key, "") for key in RESIDENTS], "resident")
        pool.wait_whole()
        for number in range(arguments.rounds):
            pool.dispatch([(f"task-{dice.randrange(4)}", f"{number}.{i}") for i in range(4)], "task")
            fault = dice.choice(FAULTS)
            counts[fault.__name__] += 1
            fault(pool, dice)
            pool.dispatch([(f"task-{dice.randrange(4)}", f"{number}.late.{i}") for i in range(2)], "task")
            if dice.random() < 0.3 or number + 1 == arguments.rounds:
                pool.wait_whole()
        pool.note("healed")
        time.sleep(RECOVERY_S)
        pool.note("closed")
        pool.leave()
    finally:
        pool.kill_all()
        if sys.exc_info()[0] is not None:
            pool.follower.kill()
            pool.follower.wait()
    deadline = time.monotonic() + 10
    while pool.left_behind() and time.monotonic() < deadline:
        time.sleep(0.02)
    found = [f"process {process} was left behind" for process in pool.left_behind()]
    found += pool.verdict() + pool.lost_tasks()
    print(f"{arguments.rounds} rounds: {dict(counts)}; {len(pool.accepted)} jobs accepted; {len(found)} complaints")
    for text in found[:50]:
        print("  " + text)
    return found


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        try:
            found = run(arguments, folder)
        except AssertionError as error:
            print(error)
            for log in sorted(pathlib.Path(folder).glob("worker-*.log"))[-4:]:
                print(log.name, log.read_text()[-1500:])
            found = [error]
    if found:
        print(f"to run it again: tests/faults/faults.py {arguments.build} --rounds {arguments.rounds} --seed {arguments.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
