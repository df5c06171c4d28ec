#!/usr/bin/env python3
"""A handler crashes its process again and again, among a thousand innocent residents on workers that the test restarts.
It is found and quarantined after its allowed crashes, and no innocent is without a holder for long.

Usage: crash_test.py PATH_OF_TENURE PATH_OF_WORKER PATH_OF_GUARD [unittest arguments]. The engine: CRASH_ENGINE, sqlite or
redis.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from redis_server import RedisServer  # noqa: E402

TENURE, WORKER, GUARD = (os.path.abspath(sys.argv.pop(1)) for _ in range(3))
PATIENCE = 90
INNOCENTS = 1000
WORKERS = 3
CRASHES = 3  # the default
# Where a takeover is measured as shorter, by the scheduler's grace: a busy machine takes this long to start a process.
TAKEOVER_MIN = 0.5


class Crew:
    """Worker processes, started again when they die, and what they say of the keys they hold."""

    def __init__(self, engine, kind):
        self.engine = engine
        self.lock = threading.Lock()
        self.changed = threading.Condition(self.lock)
        self.held = {}  # key -> since when, and by which process
        self.free = {}  # key -> since when it has no holder
        self.gaps = {}  # key -> the longest it had none
        self.total = 0.0
        self.deaths = []  # when, and how
        self.takeovers = []  # from a death to the first start of what it held
        self.ready = set()
        self.processes = {}
        self.closing = False
        self.threads = []
        for number in range(WORKERS):
            self.start(f"{kind}-{number}")

    def start(self, name):
        process = subprocess.Popen([WORKER, self.engine, "crash", name], stdout=subprocess.PIPE, text=True,
                                   env={**os.environ, "TENURE_GUARD": GUARD})
        with self.lock:
            self.processes[name] = process
        thread = threading.Thread(target=self.follow, args=(name, process), daemon=True)
        self.threads.append(thread)
        thread.start()

    def follow(self, name, process):
        with process.stdout:
            for line in process.stdout:
                what, key, at = line.split()
                with self.changed:
                    self.hear(what, key, int(at) / 1e9, process.pid)
                    self.changed.notify_all()
        process.wait()
        with self.changed:
            if self.closing:
                return
            now = time.monotonic()
            self.deaths.append((now, process.returncode))
            lost = [key for key, (_, pid) in self.held.items() if pid == process.pid]
            for key in lost:
                del self.held[key]
                self.free[key] = now
            self.changed.notify_all()
        self.start(name)

    def hear(self, what, key, at, pid):
        if what == "ready":
            self.ready.add(key)
        elif what == "stop":
            if self.held.get(key, (0, 0))[1] == pid:  # the next holder may have been heard first
                del self.held[key]
                self.free[key] = at
        else:
            self.held[key] = (at, pid)
            since = self.free.pop(key, None)
            if since is not None:
                gap = max(at - since, 0)
                self.gaps[key] = max(gap, self.gaps.get(key, 0))
                self.total += gap if key.startswith("good") else 0
                last = self.deaths[-1][0] if self.deaths else None
                if last is not None and since == last and len(self.takeovers) < len(self.deaths):
                    self.takeovers.append(gap)

    def wait(self, reached, what):
        deadline = time.monotonic() + PATIENCE
        with self.changed:
            while not reached():
                left = deadline - time.monotonic()
                assert left > 0, f"{what}: {len(self.held)} held, {len(self.deaths)} deaths {self.deaths[-4:]}"
                self.changed.wait(left)

    def kill(self):
        with self.lock:
            self.closing = True
            processes = list(self.processes.values())
        for process in processes:
            process.kill()
            process.wait()
        for thread in self.threads:
            thread.join(PATIENCE)


class Crash(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        if os.environ.get("CRASH_ENGINE") == "redis":
            server = RedisServer(self.folder / "redis", "no")
            self.addCleanup(server.process.wait)
            self.addCleanup(server.signal, signal.SIGKILL)
            self.engine = f"redis://127.0.0.1:{server.port}"
        else:
            self.engine = f"sqlite:{self.folder}/pool.db?sync=off"

    def tenure(self, *words, given=None):
        done = subprocess.run([TENURE, *words, "--engine", self.engine, "--pool", "crash", "--json"], input=given,
                              capture_output=True, text=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout[-2000:] + done.stderr)
        return done.stdout

    def innocents_held(self, crew):
        return sum(key.startswith("good") for key in crew.held) == INNOCENTS

    def crew(self, kind="worker"):
        crew = Crew(self.engine, kind)
        self.addCleanup(crew.kill)
        crew.wait(lambda: len(crew.ready) == WORKERS, "the workers")
        lines = "".join(json.dumps({"key": f"good-{i}", "payload": ""}) + "\n" for i in range(INNOCENTS))
        self.tenure("dispatch", "--from", "-", given=lines)
        crew.wait(lambda: self.innocents_held(crew), "the innocents")
        return crew

    def check_gaps(self, crew):
        with crew.lock:
            takeover = max([*crew.takeovers, TAKEOVER_MIN])
            worst = max((gap for key, gap in crew.gaps.items() if key.startswith("good")), default=0)
            print(f"{len(crew.deaths)} crashes; takeovers of {[round(1000 * each) for each in crew.takeovers]} ms; the "
                  f"innocents were without a holder for {crew.total:.1f} s in all, {1000 * worst:.0f} ms at most")
            self.assertLessEqual(worst, 2 * takeover)

    def poisoned(self, deed, died, evidence, kind="worker"):
        crew = self.crew(kind)
        self.tenure("dispatch", "poison", deed)
        crew.wait(lambda: len(crew.deaths) >= CRASHES and self.innocents_held(crew), "the crashes")
        letters = json.loads(self.tenure("dead", "list"))["dead"]
        self.assertEqual([letter["key"] for letter in letters], ["poison"])
        self.assertIn(f"its handler crashed its process {CRASHES} times ({evidence})", letters[0]["error"])
        with crew.lock:
            self.assertEqual([code for _, code in crew.deaths], [-died] * CRASHES)
        self.check_gaps(crew)

    def test_one_that_writes_through_a_null_pointer(self):
        self.poisoned("null", signal.SIGSEGV, "SIGSEGV")

    def test_one_that_aborts_in_a_thread_of_its_own(self):
        self.poisoned("abort", signal.SIGABRT, "SIGABRT", "threads")

    def test_one_whose_exception_nobody_catches(self):
        self.poisoned("throw", signal.SIGABRT, "SIGABRT: uncaught exception: nobody catches this")

    def test_workers_that_are_killed_blame_nobody(self):
        """kill -9, one worker after the other: it is known at once, too."""
        crew = self.crew()
        for round_number in range(2 * WORKERS):
            name = f"worker-{round_number % WORKERS}"
            with crew.lock:
                process = crew.processes[name]
                crew.ready.discard(name)
            process.kill()
            crew.wait(lambda: len(crew.deaths) > round_number and name in crew.ready and self.innocents_held(crew),
                      f"round {round_number}")
        self.assertEqual(json.loads(self.tenure("dead", "list"))["dead"], [])
        self.check_gaps(crew)


if __name__ == "__main__":
    unittest.main()
