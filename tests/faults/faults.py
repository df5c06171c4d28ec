"""Real processes under faults: workers are killed, frozen past their lease, asked to leave, and all killed at once; servers
die, freeze, fail over and lose data; networks break; and jobs keep coming. The handlers' steps, the clients' answers and
the witness's copy of the log go into one history per shard, which the simulator's checker judges (judge.cc). Every accepted
task must be in the ledger, unless the engine lost it and reported that. No process may be left.

On Kafka a plain producer writes orders to a topic meanwhile, which is a source of the pool: each must have exactly one
completion, in the order of its key (orders.py).

Usage: faults.py BUILD [--engine sqlite|redis|sentinel|sentinel-safe|kafka|kafka-cluster|kafka-unclean] [--rounds N]
                       [--seed S] [--shards N] [--orders N] [--only FAULT,…] [--recovery S] [--keep FOLDER] [--verbose]
"""

import argparse
import collections
import os
import pathlib
import random
import shutil
import sys
import tempfile
import time
import traceback

import process_faults
from pool import LEASE_S, RESIDENTS, WORKERS, Pool
from kafka_world import ClusterWorld, KafkaWorld, ORDERS, UncleanWorld
from orders import Orders
from redis_world import RedisWorld
from sentinel_world import SentinelWorld

RECOVERY_S = LEASE_S + 2  # in which all have to be back at work once a fault is over


class SqliteWorld:
    faults = process_faults.FAULTS

    def __init__(self, folder, build):
        del build
        self.url = f"sqlite:{folder}/pool.db?sync=normal"

    def engine(self, name):
        del name
        return self.url

    def close(self):
        pass


WORLDS = {
    "sqlite": SqliteWorld,
    "redis": lambda folder, build: RedisWorld(folder),
    "sentinel": lambda folder, build: SentinelWorld(folder, safe=False),
    "sentinel-safe": lambda folder, build: SentinelWorld(folder, safe=True),
    "kafka": KafkaWorld,
    "kafka-cluster": ClusterWorld,
    "kafka-unclean": UncleanWorld,
}


class Run:
    def __init__(self, arguments, pool):
        self.arguments = arguments
        self.pool = pool
        self.dice = random.Random(arguments.seed)
        self.counts = collections.Counter()
        self.found = []
        self.back_s = []  # how long it took to be whole again, and after what
        if hasattr(pool.world, "source"):
            pool.orders = Orders(pool, pool.world.brokers, ORDERS, self.dice)

    def whole_run(self):
        pool = self.pool
        for _ in range(WORKERS):
            pool.start_worker()
        pool.dispatch_residents()
        pool.wait_whole(time.monotonic())
        faults = [fault for fault in pool.world.faults
                  if not self.arguments.only or fault.__name__ in self.arguments.only]
        # Each once, and then as the dice say, so that a short run has a bit of everything.
        each = list(dict.fromkeys(faults))
        plan = self.dice.sample(each, len(each)) + self.dice.choices(faults, k=self.arguments.rounds)
        for number, fault in enumerate(plan[:self.arguments.rounds]):
            self.round(number, fault, number + 1 == self.arguments.rounds)
        if pool.orders is not None:
            pool.orders.finish()
            pool.wait_whole(time.monotonic())
        pool.note("healed")
        time.sleep(RECOVERY_S)
        pool.note("closed")
        pool.leave()

    def round(self, number, fault, last):
        pool, dice = self.pool, self.dice
        pool.dispatch([(f"task-{dice.randrange(4)}", f"{number}.{i}") for i in range(4)], "task")
        if pool.orders is not None:
            pool.orders.send((number + 1) * self.arguments.orders // self.arguments.rounds - pool.orders.sent)
        self.counts[fault.__name__] += 1
        if self.arguments.verbose:
            print(f"{time.strftime('%T')} round {number}: {fault.__name__}", flush=True)
        fault(pool, dice)
        healed = time.monotonic()
        pool.start_again()
        for worker in pool.dead_workers():
            self.found.append(f"round {number}: worker {worker} died of {fault.__name__}")
            pool.workers.pop(worker)
            pool.start_worker()
        pool.dispatch([(f"task-{dice.randrange(4)}", f"{number}.late.{i}") for i in range(2)], "task")
        if dice.random() < 0.5 or last:
            took_s, missing = pool.wait_whole(healed)
            self.back_s.append((took_s, fault.__name__))
            if took_s > self.arguments.recovery:
                self.found.append(f"round {number}: {took_s:.1f} s until all were back after {fault.__name__}: {missing}")

    def verdict(self):
        pool = self.pool
        deadline = time.monotonic() + 10
        while pool.left_behind() and time.monotonic() < deadline:
            time.sleep(0.02)
        self.found += [f"process {process} was left behind" for process in pool.left_behind()]
        self.found += pool.verdict(RECOVERY_S)
        print(f"{self.arguments.rounds} rounds on {self.arguments.engine}, shards: {self.arguments.shards}: {dict(self.counts)}; "
              f"{len(pool.accepted)} jobs accepted; {len(self.found)} complaints")
        if self.back_s:
            slowest, fault = max(self.back_s)
            print(f"all back at work after {sorted(self.back_s)[len(self.back_s) // 2][0]:.2f} s (median of "
                  f"{len(self.back_s)}), at most {slowest:.2f} s, after {fault}")
        for text in self.found[:50]:
            print("  " + text)
        return self.found


def run(arguments, folder):
    world = WORLDS[arguments.engine](folder, pathlib.Path(arguments.build).absolute())
    pool = None
    try:
        pool = Pool(arguments, folder, world)
        course = Run(arguments, pool)
        course.whole_run()
        pool.kill_all()
        return course.verdict()
    finally:
        if pool is not None:
            pool.kill_all()
            pool.stalls.end()
            pool.witness.kill()
        world.close()


def place_for(engine):
    """Memory for servers that sync each write: a disk that is busy with other things would be the only fault seen. What
    a process leaves behind when it is killed is the same there."""
    memory = "/dev/shm"
    return memory if engine != "sqlite" and os.access(memory, os.W_OK) else None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--engine", choices=WORLDS, default="sqlite")
    parser.add_argument("--rounds", type=int, default=12)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--shards", type=int, default=1)
    parser.add_argument("--orders", type=int, default=1000, help="on Kafka, in the whole run")
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
            for log in sorted(folder.glob("worker-*.log"), key=lambda path: path.stat().st_mtime)[-4:]:
                print(log.name, log.read_text()[-1500:])
            found = [error]
        if found and arguments.keep:
            kept = pathlib.Path(arguments.keep) / f"{arguments.engine}-{arguments.shards}-{arguments.seed}"
            shutil.rmtree(kept, ignore_errors=True)
            shutil.copytree(folder, kept, ignore=shutil.ignore_patterns("*.sock"))
            print(f"its history and logs are in {kept}")
    if found:
        print(f"to run it again: python3 tests/faults/faults.py {arguments.build} --engine {arguments.engine} "
              f"--rounds {arguments.rounds} --seed {arguments.seed} --shards {arguments.shards} "
              f"--orders {arguments.orders}" +
              (f" --only {','.join(arguments.only)}" if arguments.only else ""))
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
