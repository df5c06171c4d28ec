#!/usr/bin/env python3
"""One holder, with any damage to the engine's keys and files, and with any lease. Two workers, idle or busy, lose a key or
a file of their pool. Then a third one joins, and gets a job. The job must not run twice for longer than a lease, and in the
end all three are in one pool.

Usage: identity_test.py PATH_OF_TENURE [unittest arguments]
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).parent.parent / "faults"))
from redis_server import RedisServer  # noqa: E402

TENURE = os.path.abspath(sys.argv.pop(1))
LEASES_S = (1, 2, 10, 60)
PATIENCE = 60


def programs(key, word):
    """How many handlers of the key run that have the word in their environment."""
    found = 0
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            if (entry / "comm").read_text() != "sleep\n":
                continue
            lines = (entry / "environ").read_bytes().split(b"\0")
        except OSError:
            continue
        found += f"TENURE_KEY={key}".encode() in lines and f"IDENTITY_TEST={word}".encode() in lines
    return found


class Stage:
    """A pool of its own, on an engine of its own."""

    def __init__(self, lease_s, folder, engine):
        self.lease_s, self.folder, self.engine = lease_s, folder, engine
        self.environment = os.environ | {"TENURE_ENGINE": engine, "TENURE_POOL": "p", "IDENTITY_TEST": str(folder)}
        self.workers = []
        self.over = threading.Event()

    def work(self, name):
        log = self.folder / f"{name}.log"
        with open(log, "w") as said:
            self.workers.append(subprocess.Popen(
                [TENURE, "work", "--json", "--lease", f"{self.lease_s}s", "--id", name, "--exec", "sh", "-c",
                 'case $TENURE_KEY in task*) exit 0;; esac; exec sleep 1000'], stdout=said, stderr=said, env=self.environment))
        self.wait(lambda: '"ready"' in log.read_text(), lambda: f"{name} does not join: {log.read_text()}")

    def ask(self, *words):
        done = subprocess.run([TENURE, *words, "--json"], env=self.environment, capture_output=True, text=True,
                              timeout=2 * PATIENCE)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def wait(self, holds, what, patience=PATIENCE):
        deadline = time.monotonic() + patience
        while not holds():
            if time.monotonic() > deadline:
                raise AssertionError(f"with a lease of {self.lease_s} s: {what()}")
            time.sleep(0.05)

    def keep_busy(self):
        number = 0
        while not self.over.wait(0.05):
            number += 1
            self.ask("dispatch", f"task-{number % 7}", "--task", "--timeout", "2s")

    def names(self):
        return sorted(worker["id"] for worker in self.ask("workers").get("workers", []))

    def run(self, tamper, busy):
        load = threading.Thread(target=self.keep_busy)
        try:
            self.work("a")
            self.work("b")
            if busy:
                load.start()
            tamper()
            self.work("c")
            self.wait(lambda: self.ask("dispatch", "k").get("state") or self.ask("jobs").get("jobs"), lambda: "no dispatch")
            self.wait(lambda: self.names() == ["a", "b", "c"] and programs("k", self.folder) == 1,
                      lambda: f"{self.names()}, {programs('k', self.folder)} programs of k", self.lease_s + 2 + PATIENCE / 3)
            for _ in range(10):
                if programs("k", self.folder) > 1:
                    raise AssertionError(f"with a lease of {self.lease_s} s k has two holders")
                time.sleep(0.1)
        finally:
            self.over.set()
            if load.is_alive():
                load.join()
            for worker in self.workers:
                worker.kill()
            for worker in self.workers:
                worker.wait()


class Identity(unittest.TestCase):
    def attempt(self, prepare, busy):
        """With each lease at once. `prepare` takes a folder, and returns the engine and what tampers with it."""
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
            folders = [pathlib.Path(name) / str(lease) for lease in LEASES_S]
            for folder in folders:
                folder.mkdir()

            def one(lease, folder):
                engine, tamper = prepare(folder)
                Stage(lease, folder, engine).run(tamper, busy)

            with concurrent.futures.ThreadPoolExecutor(len(LEASES_S)) as threads:
                for outcome in [threads.submit(one, *pair) for pair in zip(LEASES_S, folders, strict=True)]:
                    outcome.result()


class Redis(Identity):
    def on_keys(self, act, *names, busy=False):
        def prepare(folder):
            server = RedisServer(folder / "server", "no")
            self.addCleanup(server.kill)

            def tamper():
                for name in names:
                    act(server, f"tenure:{{p}}:{name}")
            return f"unix:{server.socket}", tamper
        self.attempt(prepare, busy)

    @staticmethod
    def remove(server, key):
        server.command("DEL", key)

    @staticmethod
    def rename(server, key):
        server.command("RENAME", key, "away:" + key)

    def test_meta_is_deleted_under_idle_workers(self):
        self.on_keys(self.remove, "meta")

    def test_meta_is_deleted_under_busy_workers(self):
        self.on_keys(self.remove, "meta", busy=True)

    def test_meta_and_snapshot_are_renamed(self):
        self.on_keys(self.rename, "meta", "snapshot")

    def test_meta_and_snapshot_are_deleted_under_busy_workers(self):
        self.on_keys(self.remove, "meta", "snapshot", busy=True)


class Sqlite(Identity):
    def on_files(self, command, busy=False):
        def prepare(folder):
            def tamper():
                subprocess.run(command, cwd=folder, shell=True, check=True)
            return f"sqlite:{folder}/pool.db", tamper
        self.attempt(prepare, busy)

    def test_all_files_are_removed(self):
        self.on_files("rm pool.db*")

    def test_the_database_is_removed_under_busy_workers(self):
        self.on_files("rm pool.db", busy=True)

    def test_the_wal_and_its_index_are_removed(self):
        self.on_files("rm pool.db-wal pool.db-shm")

    def test_side_files_are_copies(self):
        self.on_files("for f in wake alive shm; do cp -p pool.db-$f new; mv new pool.db-$f; done", busy=True)


if __name__ == "__main__":
    unittest.main(warnings="ignore")  # a server's output is read by a thread that ends with it
