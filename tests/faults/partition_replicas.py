"""Partitioned replicas as real processes, whose programs write a history, and the engines they are on."""

import contextlib
import json
import os
import pathlib
import random
import subprocess
import sys
import time

from pool import LEASE_S, PATIENCE_S
from redis_server import RedisServer
from stalls import Stalls

REPLICAS = 8
SECONDARIES = 2
TURN = pathlib.Path(__file__).parent / "partition_turn.py"


class Replicas:
    """As process_faults.py wants a pool to be."""

    def __init__(self, arguments, folder, engine):
        self.tenure = pathlib.Path(arguments.build).absolute() / "tenure"
        self.folder = folder
        self.engine = engine
        self.name = f"partitions-{os.getpid()}-{arguments.seed}"
        self.dice = random.Random(arguments.seed + 1)
        self.history = folder / "history"
        self.workers = {}  # by id
        self.before = {}  # the last process of each ordinal
        self.lives = 0
        self.stalls = Stalls(self.history)

    def note(self, *words):
        with open(self.history, "ab", buffering=0) as file:
            file.write(" ".join([words[0], str(time.clock_gettime_ns(time.CLOCK_BOOTTIME)), *words[1:]]).encode() + b"\n")

    def start_worker(self):
        """With the lowest ordinal that no replica has. If the one before is still leaving, it may be replaced."""
        taken = {ordinal_of(name) for name in self.workers}
        ordinal = next(number for number in range(REPLICAS) if number not in taken)
        self.lives += 1
        name = f"o{ordinal}-l{self.lives}"
        replaces = []
        if ordinal in self.before:
            old, process = self.before[ordinal]
            if process.poll() is None and self.dice.random() < 0.5:
                replaces = ["--replaces", old]
        with open(self.folder / f"worker-{self.lives}.log", "w", encoding="utf-8") as log:
            self.workers[name] = subprocess.Popen(
                [self.tenure, "partition", "--json", "--engine", self.engine, "--pool", self.name, "--partitions",
                 str(REPLICAS), "--secondaries", str(SECONDARIES), "--ordinal", str(ordinal), "--lease", f"{LEASE_S}s",
                 "--rest", "20ms", "--stop-timeout", "1s", "--id", name, *replaces, "--exec", sys.executable, "-IS",
                 TURN, self.history], stdout=log, stderr=log)
        self.before[ordinal] = (name, self.workers[name])

    def missing(self):
        """The partitions that do not run with their primaries."""
        done = subprocess.run([self.tenure, "partition", "status", "--json", "--engine", self.engine, "--pool", self.name],
                              capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        if done.returncode != 0:
            return done.stderr + done.stdout
        home = {ordinal_of(name): name for name in self.workers}
        seen = {one["partition"]: one for one in json.loads(done.stdout)["partitions"]}
        away = [seen.get(number, number) for number in range(REPLICAS) if number not in seen
                or (seen[number]["holder"], seen[number]["role"], seen[number]["state"]) !=
                (home[number], "primary", "running")]
        return str(away) if away else ""

    def wait_whole(self, since):
        """How many seconds that took, and what was missing last."""
        last = ""
        while True:
            asked = time.monotonic()
            missing = self.missing()
            if not missing:
                return asked - since, last
            last = missing
            if asked - since > PATIENCE_S:
                raise AssertionError(f"the partitions do not come home: {missing}")
            time.sleep(0.02)

    def wait_for_signs(self, what):
        """Until each partition has one from its primary, from now on. An item, or the begin of a turn, which shows that
        its guard lives, too."""
        home = {str(ordinal_of(name)): name for name in self.workers}
        with open(self.history, encoding="utf-8") as file:
            file.seek(0, os.SEEK_END)
            began, missing, rest = time.monotonic(), set(home), ""
            while missing:
                *lines, rest = (rest + file.read()).split("\n")
                missing -= {words[2] for words in map(str.split, lines) if words[0] == what and home[words[2]] == words[4]}
                if time.monotonic() - began > PATIENCE_S:
                    raise AssertionError(f"partitions without a turn: {missing}")
                time.sleep(0.02)

    def lines(self):
        """Those that are whole."""
        return [line for line in self.history.read_text(encoding="utf-8").splitlines(keepends=True) if line.endswith("\n")]

    def dead_workers(self):
        return [name for name, process in self.workers.items() if process.poll() is not None]

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


def ordinal_of(name):
    return int(name[1:name.index("-")])


@contextlib.contextmanager
def engine_in(folder, engine):
    """Its URL."""
    if engine == "sqlite":
        yield f"sqlite:{folder}/pool.db?sync=normal"
        return
    server = RedisServer(folder / "server", "always")
    try:
        yield f"redis://127.0.0.1:{server.port}"
    finally:
        server.kill()
