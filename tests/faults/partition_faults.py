"""Partitioned replicas under faults: eight real processes are killed, frozen past their lease, with and without their
guards and programs, asked to leave, replaced, and all killed at once. Their programs write each step to a history, which
partition_judge.py judges: no two turns of a partition overlap, epochs grow, no partition is forgotten, and at the end each
one is with its primary. No process may be left.

Usage: partition_faults.py BUILD [--engine sqlite|redis] [--rounds N] [--seed S] [--only FAULT,…] [--recovery S]
                           [--keep FOLDER] [--verbose]
"""

import argparse
import collections
import contextlib
import os
import pathlib
import random
import shutil
import signal
import sys
import tempfile
import time
import traceback

import process_faults
from faults import RECOVERY_S, place_for
from partition_judge import judge
from partition_replicas import REPLICAS, SECONDARIES, Replicas, engine_in, ordinal_of
from pool import LEASE_S, processes_with
from process_faults import victim


def stop_family(process):
    """Stops a process and all that it has started, the oldest first, so that none is missed."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(process, signal.SIGSTOP)
    found = [process]
    for task in pathlib.Path(f"/proc/{process}/task").glob("*/children"):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            for child in task.read_text(encoding="ascii").split():
                found += stop_family(int(child))
    return found


def freeze_family(pool, dice):
    """As a machine that stands still: nobody can end its programs, and the others must not wait for that."""
    name = victim(pool, dice)
    stopped = stop_family(pool.workers[name].pid)
    time.sleep(LEASE_S * dice.uniform(1.2, 2))
    pool.note("thawed", name)
    for process in stopped:
        with contextlib.suppress(ProcessLookupError):
            os.kill(process, signal.SIGCONT)


def kill_neighbours(pool, dice):
    """A primary, and one or all of its secondaries. With all, their partition waits for one that comes back."""
    first, count = dice.randrange(REPLICAS), dice.randint(1, SECONDARIES)
    gone = {(first + step) % REPLICAS for step in range(count + 1)}
    for name in [name for name in pool.workers if ordinal_of(name) in gone]:
        process = pool.workers.pop(name)
        process.kill()
        process.wait()
    for _ in gone:
        time.sleep(dice.uniform(0, 0.5))
        pool.start_worker()


def kill_and_stay_away(pool, dice):
    """Long enough for a secondary to be at work."""
    process = pool.workers.pop(victim(pool, dice))
    process.kill()
    process.wait()
    time.sleep(dice.uniform(0.3, 1.5))
    pool.start_worker()


FAULTS = process_faults.FAULTS + [freeze_family, freeze_family, kill_neighbours, kill_and_stay_away, kill_and_stay_away]


class Run:
    def __init__(self, arguments, pool):
        self.arguments = arguments
        self.pool = pool
        self.dice = random.Random(arguments.seed)
        self.counts = collections.Counter()
        self.found = []
        self.back_s = []

    def whole_run(self):
        pool, rounds = self.pool, self.arguments.rounds
        for _ in range(REPLICAS):
            pool.start_worker()
        pool.wait_whole(time.monotonic())
        faults = [fault for fault in FAULTS if not self.arguments.only or fault.__name__ in self.arguments.only]
        # Each once, and then as the dice say.
        each = list(dict.fromkeys(faults))
        plan = (self.dice.sample(each, len(each)) + self.dice.choices(faults, k=rounds))[:rounds]
        for number, fault in enumerate(plan):
            self.round(number, fault, number + 1 == rounds)
        pool.wait_for_signs("begin")
        pool.note("closed")
        pool.leave()

    def round(self, number, fault, last):
        pool = self.pool
        self.counts[fault.__name__] += 1
        if self.arguments.verbose:
            print(f"{time.strftime('%T')} round {number}: {fault.__name__}", flush=True)
        pool.note("fault", fault.__name__)
        fault(pool, self.dice)
        pool.note("healed")
        healed = time.monotonic()
        for worker in pool.dead_workers():
            self.found.append(f"round {number}: replica {worker} died of {fault.__name__}")
            pool.workers.pop(worker)
            pool.start_worker()
        if self.dice.random() < 0.7 or last:
            _, missing = pool.wait_whole(healed)
            pool.wait_for_signs("item")
            took_s = time.monotonic() - healed
            self.back_s.append((took_s, fault.__name__))
            if took_s > self.arguments.recovery:
                self.found.append(f"round {number}: {took_s:.1f} s until all partitions were back after {fault.__name__}: "
                                  f"{missing}")

    def verdict(self):
        pool = self.pool
        deadline = time.monotonic() + 10
        while processes_with(pool.name, (os.getpid(),)) and time.monotonic() < deadline:
            time.sleep(0.02)
        self.found += [f"process {process} was left behind" for process in processes_with(pool.name, (os.getpid(),))]
        stalled_s = pool.stalls.end()
        if stalled_s > 0:
            print(f"the machine, or one of its processors, stood still for up to {stalled_s:.2f} s")
        found, judged = judge(pool.lines(), REPLICAS, self.arguments.recovery)
        self.found += found
        print(f"{self.arguments.rounds} rounds on {self.arguments.engine}: {dict(self.counts)}; {judged}; "
              f"{len(self.found)} complaints")
        slowest, fault = max(self.back_s)
        print(f"all partitions with their primaries after {sorted(self.back_s)[len(self.back_s) // 2][0]:.2f} s (median of "
              f"{len(self.back_s)}), at most {slowest:.2f} s, after {fault}")
        for text in self.found[:50]:
            print("  " + text)
        return self.found


def run(arguments, folder):
    with engine_in(folder, arguments.engine) as engine:
        pool = Replicas(arguments, folder, engine)
        try:
            course = Run(arguments, pool)
            course.whole_run()
            return course.verdict()
        finally:
            pool.kill_all()
            pool.stalls.end()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--engine", choices=["sqlite", "redis"], default="sqlite")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    parser.add_argument("--recovery", type=float, default=RECOVERY_S)
    parser.add_argument("--verbose", action="store_true")
    parser.add_argument("--keep", help="a folder for what a run that failed leaves: its history and all logs")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory(dir=place_for(arguments.engine)) as name:
        folder = pathlib.Path(name)
        try:
            found = run(arguments, folder)
        except Exception as error:  # whatever it is, it must be possible to run it again
            traceback.print_exc()
            found = [error]
        if found and arguments.keep:
            kept = pathlib.Path(arguments.keep) / f"partitions-{arguments.engine}-{arguments.seed}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*.sock"))
            print(f"its history and logs are in {kept}")
    if found:
        print(f"to run it again: python3 tests/faults/partition_faults.py {arguments.build} --engine {arguments.engine} "
              f"--rounds {arguments.rounds} --seed {arguments.seed}" +
              (f" --only {','.join(arguments.only)}" if arguments.only else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
