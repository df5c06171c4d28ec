"""What `tenure probe` says of a worker that joins, works, is frozen, loses its engine, gets unfit and leaves.

Usage: probe_test.py PATH_OF_TENURE [unittest arguments]. Waits for events, never for time to pass.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60


class Probe(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.engine = f"sqlite:{self.folder}/pool.db"
        self.health = self.folder / "health"
        self.workers = []
        self.addCleanup(self.end)

    def end(self):
        for worker in self.workers:
            worker.send_signal(signal.SIGCONT)
            worker.kill()
            worker.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, *arguments, health=None, program=("sleep", "600")):
        worker = subprocess.Popen([TENURE, "work", "--engine", self.engine, "--lease", "1s", "--health",
                                   str(health or self.health), *arguments, "--exec", *program],
                                  stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.workers.append(worker)
        return worker

    def probe(self, *arguments, health=None):
        done = subprocess.run([TENURE, "probe", str(health or self.health), *arguments], capture_output=True, text=True,
                              timeout=PATIENCE)
        return done.returncode, done.stdout + done.stderr

    def until(self, code, text, *arguments, health=None):
        deadline = time.monotonic() + PATIENCE
        seen = None
        while time.monotonic() < deadline:
            seen = self.probe(*arguments, health=health)
            if seen[0] == code and text in seen[1]:
                return
        self.fail(f"not {code} {text}, but {seen}")

    def test_a_worker_is_ready_from_joining_to_leaving(self):
        self.assertEqual(self.probe()[0], 4)
        worker = self.start()
        self.until(0, "ready")
        code, text = self.probe("--json")
        seen = json.loads(text)
        self.assertEqual((code, seen["state"], seen["live"]), (0, "ready", True))
        self.assertGreater(seen["lease_left_ms"], 0)
        worker.terminate()
        self.assertEqual(worker.wait(PATIENCE), 0)
        self.assertFalse(self.health.exists())

    def test_a_worker_that_waits_for_another_one_with_its_name_is_live_but_not_ready(self):
        self.start("--id", "one")
        self.until(0, "ready")
        second = self.folder / "second"
        self.start("--id", "one", health=second)
        self.until(1, "still joining", health=second)
        self.until(0, "still joining", "--live", health=second)
        self.workers[0].terminate()
        self.until(0, "ready", health=second)

    def test_a_worker_that_leaves_is_live_but_not_ready(self):
        worker = self.start(program=("sh", "-c", "trap : TERM; while :; do sleep 0.1; done"))
        self.until(0, "ready")
        subprocess.run([TENURE, "dispatch", "key", "--wait", "started", "--engine", self.engine], check=True,
                       stdout=subprocess.DEVNULL)
        worker.terminate()
        self.until(1, "leaving")
        self.until(0, "leaving", "--live")

    def test_a_frozen_worker_is_neither(self):
        worker = self.start()
        self.until(0, "ready")
        worker.send_signal(signal.SIGSTOP)
        self.until(1, "has not run for", "--live")
        worker.send_signal(signal.SIGCONT)
        self.until(0, "ready")

    def test_a_worker_whose_starts_fail_is_not_ready(self):
        """If another one could do better."""
        self.start(health=self.folder / "sound")
        self.until(0, "ready", health=self.folder / "sound")
        self.start(program=("false",))
        self.until(0, "ready")
        for key in range(16):
            subprocess.run([TENURE, "dispatch", f"key-{key}", "--engine", self.engine], check=True,
                           stdout=subprocess.DEVNULL)
        self.until(1, "starts keep failing")
        self.until(0, "starts keep failing", "--live")

    def test_an_engine_that_is_away_is_no_reason_to_restart(self):
        """The database is locked, so that nobody can beat."""
        self.start()
        self.until(0, "ready")
        lock = subprocess.Popen(["sqlite3", f"{self.folder}/pool.db"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                text=True)
        lock.stdin.write(".timeout 60000\nbegin exclusive;\nselect 1;\n")
        lock.stdin.flush()
        lock.stdout.readline()
        self.until(1, "could not renew its lease")
        self.until(0, "could not renew its lease", "--live")
        lock.communicate("rollback;\n", timeout=PATIENCE)
        lock.stdout.close()
        self.until(0, "ready")

    def test_files_that_cannot_be_used(self):
        self.assertEqual(self.start(health=self.folder / "none" / "health").wait(PATIENCE), 10)
        self.health.write_text("something else\n")
        self.assertEqual(self.probe()[0], 10)
        self.health.write_text("x" * 100_000)
        self.assertEqual(self.probe()[0], 10)


if __name__ == "__main__":
    unittest.main()
