#!/usr/bin/env python3
"""Damages the files of a pool in use, and starts very many processes on one file at once. No worker may die of a signal,
and the pool continues or reports why it cannot.

Usage: files.py PATH_OF_TENURE [--short|--long] [unittest arguments]. The long form is for `make attack`.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

from stage import PATIENCE, Attack, Options

NOBODY = 65534
SIDE_FILES = ("-wal", "-shm", "-wake", "-alive")


class Files(Attack):
    """Two workers with a resident, and another user, or a careless program of the same one."""

    def setUp(self):
        super().setUp()
        self.database = self.folder / "pool.db"

    def pair(self):
        return [self.work("--lease", "2s", "--id", name, "--exec", "sleep", "1000", umask=0) for name in ("a", "b")]

    def dispatch(self, key):
        return self.run_tenure("dispatch", key, "--wait", "started", "--timeout", f"{PATIENCE}s", "--engine", self.engine)

    def beside(self):
        return [pathlib.Path(f"{self.database}{suffix}") for suffix in ("", *SIDE_FILES)]

    def test_another_user_opens_and_locks_nothing(self):
        """A lock would not help either: the pool continues."""
        if os.geteuid() != 0:
            self.skipTest("only root can become another user")
        self.folder.chmod(0o755)
        self.pair()
        self.dispatch("before")
        for file in self.beside():
            self.assertTrue(file.exists(), file)
            taken = subprocess.run(["flock", "--nonblock", file, "true"], user=NOBODY, group=NOBODY, extra_groups=[],
                                   capture_output=True, text=True)
            self.assertNotEqual(taken.returncode, 0, f"{file} can be opened and locked by others")
        self.dispatch("after")

    def test_side_files_are_truncated(self):
        workers = self.pair()
        self.dispatch("before")
        for number in range(10 if Options.long else 2):
            for suffix in SIDE_FILES:
                os.truncate(f"{self.database}{suffix}", 0)
                self.dispatch(f"after{suffix}-{number}")
        for worker in workers:
            self.assertIsNone(worker.poll(), worker.said)

    def test_side_files_are_replaced(self):
        """By copies, which have all of their content and none of their locks: nobody is taken for dead."""
        workers = self.pair()
        self.dispatch("before")
        for number in range(10 if Options.long else 2):
            for suffix in SIDE_FILES:
                file = f"{self.database}{suffix}"
                subprocess.run(f"cp -p {file} {file}.copy && mv {file}.copy {file}", shell=True, check=True)
                third = self.work("--lease", "2s", "--id", f"third{suffix}-{number}", "--exec", "sleep", "1000")
                self.dispatch(f"after{suffix}-{number}")
                third.terminate()
                third.wait(PATIENCE)
        for worker in workers:
            self.assertIsNone(worker.poll(), worker.said)

    def test_an_emptied_database_is_no_new_pool(self):
        workers = self.pair()
        self.dispatch("before")
        for worker in workers:
            worker.send_signal(signal.SIGTERM)
            worker.wait(PATIENCE)
        os.truncate(self.database, 0)
        done = self.run_tenure("dispatch", "after", "--json", "--engine", self.engine, expect=8)
        error = json.loads(done.stdout)["error"]
        self.assertEqual(error["code"], "refused")
        self.assertIn("restore a backup", error["message"])


class Crowd(Attack):
    """Very many workers start on one file at once. They queue, all of them join, and none loses its lease."""

    COUNT = 200

    def start(self, number):
        with open(self.folder / f"worker-{number}", "w") as said:
            process = subprocess.Popen([Options.tenure, "work", "--json", "--engine", self.engine, "--id", f"w{number}",
                                        "--exec", "true"], stdout=said, stderr=said)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def said(self, number):
        return (self.folder / f"worker-{number}").read_text()

    def test_all_of_a_crowd_join(self):
        self.engine = f"sqlite:{self.folder}/pool.db"  # with a sync for each commit
        began = time.monotonic()
        workers = [self.start(number) for number in range(self.COUNT)]
        started = time.monotonic() - began
        waiting = set(range(self.COUNT))
        while waiting:
            self.assertLess(time.monotonic() - began, 2 * PATIENCE, f"{len(waiting)} have not joined")
            waiting = {number for number in waiting if '"ready"' not in self.said(number)}
            time.sleep(0.02)
        joined = time.monotonic() - began
        self.tell(f"{self.COUNT} workers were started in {started:.1f} s, and had joined after {joined:.1f} s")
        for number, worker in enumerate(workers):
            self.assertIsNone(worker.poll(), self.said(number))
            self.assertNotIn("fenced", self.said(number))
        listed = json.loads(self.run_tenure("workers", "--json", "--engine", self.engine).stdout)["workers"]
        self.assertEqual(len(listed), self.COUNT)
        # Ten seconds are the goal for a machine that does nothing else.
        self.assertLess(joined, 10 if Options.long else 60)


if __name__ == "__main__":
    Options.tenure = os.path.abspath(sys.argv.pop(1))
    for flag in ("--short", "--long"):
        if flag in sys.argv:
            sys.argv.remove(flag)
            Options.long = flag == "--long"
    unittest.main()
