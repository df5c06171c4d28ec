#!/usr/bin/env python3
"""A job kills the guard of its worker's programs. The job is found and fails or is quarantined; its neighbours are
restarted a few times and then run undisturbed.

Usage: poison_test.py PATH_OF_TENURE [unittest arguments]. Waits for events, never for time to pass.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60
NEIGHBOURS = 30

# What a poison does. The first kills the guard above its keeper. The others look for guards by name: among what is above
# them, or everywhere below their worker.
ABOVE = "kill -9 $(sed 's/.*) . //' /proc/$PPID/stat | cut -d' ' -f1)"
BY_NAME = """
at=$PPID
while [ "$at" -gt 1 ]; do
  name=$(cat /proc/$at/comm); up=$(sed 's/.*) . //' /proc/$at/stat | cut -d' ' -f1)
  [ "$name" = tenure-guard ] && last=$at
  at=$up
done
kill -9 $last
"""
ALL = "for p in $(pgrep -x tenure-guard -s $(cut -d' ' -f6 /proc/$PPID/stat)); do kill -9 $p; done"


class Poison(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"
        (self.folder / "starts").mkdir()

    def work(self, poison, *words):
        """A worker whose jobs write down each start. Those whose key begins with `poison` then do their deed."""
        script = f"""
echo "$TENURE_EPOCH" >> "{self.folder}/starts/$TENURE_KEY"
case "$TENURE_KEY" in poison*) {poison} ;; esac
exec sleep 1000
"""
        worker = subprocess.Popen([TENURE, "work", "--engine", self.engine, *words, "--exec", "sh", "-c", script],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(worker.stdout.close)
        self.addCleanup(worker.wait, PATIENCE)
        self.addCleanup(worker.kill)
        return worker

    def tenure(self, *words, expect=0):
        done = subprocess.run([TENURE, *words, "--engine", self.engine, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, expect, done.stdout + done.stderr)
        return json.loads(done.stdout)

    def starts(self, key):
        file = self.folder / "starts" / key
        return len(file.read_text().splitlines()) if file.exists() else 0

    def wait_for(self, holds, what):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, what())
            time.sleep(0.05)

    def job(self, key):
        return next((job for job in self.tenure("jobs", "--limit", "1000")["jobs"] if job["key"] == key), None)

    def neighbours(self):
        return [f"good-{i}" for i in range(NEIGHBOURS)]

    def spread(self, worker_words, poison):
        self.work(poison, *worker_words)
        for key in self.neighbours():
            self.tenure("dispatch", key, "--wait", "started")
        self.tenure("dispatch", "poison")

    def restarts(self):
        return {key: self.starts(key) - 1 for key in self.neighbours()}

    def all_run(self):
        jobs = {job["key"]: job for job in self.tenure("jobs", "--limit", "1000")["jobs"]}
        return all(jobs[key]["state"] == "running" for key in self.neighbours())

    def test_its_attempts_are_counted_and_its_neighbours_left_alone(self):
        """With default options."""
        self.spread([], ABOVE)
        self.wait_for(lambda: self.starts("poison") >= 5, lambda: f"only {self.starts('poison')} starts")
        job = self.job("poison")
        self.assertGreaterEqual(job["attempt"], 4, job)
        self.assertIn("killed its guard", job.get("error", "killed its guard"))
        self.wait_for(self.all_run, lambda: str(self.tenure("jobs", "--limit", "1000")))
        worst = max(self.restarts().values())
        print(f"neighbours restarted {worst} times at most, the poison {self.starts('poison') - 1} times")
        self.assertLessEqual(worst, 2)

    def buried(self, poison, error, restarts, *words):
        self.spread(words, poison)
        self.wait_for(lambda: self.job("poison")["state"] in ("dead", "quarantined"), lambda: str(self.job("poison")))
        letters = self.tenure("dead", "list")
        self.assertIn(error, json.dumps(letters))
        self.wait_for(self.all_run, lambda: str(self.tenure("jobs", "--limit", "1000")))
        worst = max(self.restarts().values())
        print(f"neighbours restarted {worst} times at most, the poison {self.starts('poison') - 1} times")
        self.assertLessEqual(worst, restarts)

    def test_it_is_buried_with_the_reason(self):
        self.buried(ABOVE, "killed its guard", 2, "--max-attempts", "3")

    def test_one_that_looks_for_the_guard_by_name_finds_its_shield(self):
        self.buried(BY_NAME, "killed its guard", 2, "--max-attempts", "3")

    def test_one_that_kills_all_guards_finds_its_shield(self):
        self.buried(ALL, "killed its guard", 2, "--max-attempts", "3")


if __name__ == "__main__":
    unittest.main()
