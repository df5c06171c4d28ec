#!/usr/bin/env python3
"""A resident program emits the lines of a file while its workers are killed: every line becomes one task, and the tasks
of a key run in the order of the lines.

Usage: emit_test.py PATH_OF_TENURE OUTBOX_HANDLER [unittest arguments]. Waits for events, never for time to pass.
"""

import collections
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
OUTBOX = os.path.abspath(sys.argv.pop(1))
PATIENCE = 90
LINES = 400
KEYS = 7


class Emit(unittest.TestCase):
    shards = 1

    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"
        self.done = self.folder / "done"
        self.done.touch()
        self.outbox = self.folder / "outbox"
        self.outbox.touch()
        self.workers = 0

    def work(self, *words):
        env = dict(os.environ, OUTBOX=str(self.outbox), OUTBOX_STEP="3", OUTBOX_PAUSE="0.01", DONE=str(self.done))
        self.workers += 1
        events = self.folder / f"events-{self.workers}"
        with open(self.folder / "log", "ab") as log, events.open("wb") as out:
            worker = subprocess.Popen([TENURE, "work", "--json", "--engine", self.engine, "--shards", str(self.shards),
                                       "--lease", "5s", *words], env=env, stdout=out, stderr=log)
        self.addCleanup(worker.wait, PATIENCE)
        self.addCleanup(worker.kill)
        # The worker creates the pool, with its shards.
        self.wait_for(lambda: '"ready"' in events.read_text())
        return worker

    def reader(self):
        return self.work("--takes", "resident", "--protocol", "json", "--exec", OUTBOX)

    def lines(self):
        return self.done.read_text().splitlines()

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, (self.folder / "log").read_text()[-4000:])
            time.sleep(0.02)

    def test_every_line_becomes_one_task_whoever_is_killed(self):
        with self.outbox.open("w") as outbox:
            for number in range(1, LINES + 1):
                outbox.write(f"key-{number % KEYS} {number}\n")
        self.work("--takes", "task", "--concurrency", "8", "--exec", "sh", "-c",
                  'read -r n || :; echo "$TENURE_KEY $n" >> "$DONE"')
        reader = self.reader()
        subprocess.run([TENURE, "dispatch", "reader", "--engine", self.engine, "--wait", "started", "--timeout", "60s"],
                       check=True, capture_output=True, timeout=PATIENCE)
        for share in (0.2, 0.5):
            self.wait_for(lambda at=share: len(self.lines()) > at * LINES)
            reader.kill()
            reader = self.reader()
        self.wait_for(lambda: len(self.lines()) >= LINES)
        by_key = collections.defaultdict(list)
        for line in self.lines():
            key, number = line.split()
            by_key[key].append(int(number))
        for key, numbers in by_key.items():
            rest = int(key.removeprefix("key-"))
            self.assertEqual(numbers, [n for n in range(1, LINES + 1) if n % KEYS == rest])
        self.assertEqual(len(by_key), KEYS)


class EmitSharded(Emit):
    shards = 3


if __name__ == "__main__":
    unittest.main()
