#!/usr/bin/env python3
"""A stream feeds a pool while the processes that read it are killed: every event is done once, and those of a key in
their order. The listing says how far it is, and what was lost.

Usage: source_test.py PATH_OF_TENURE [unittest arguments]. Waits for events, never for time to pass.
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
PATIENCE = 90
EVENTS = 60  # of each key
KEYS = 5


class Source(unittest.TestCase):
    shards = 1

    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"
        self.streams = f"sqlite:{self.folder}/streams.db?sync=off"
        self.source = self.streams + "&stream=events"
        self.done = self.folder / "done"
        self.done.touch()
        self.workers = 0

    def tenure(self, *words, **options):
        return subprocess.run([TENURE, *words], check=True, capture_output=True, timeout=PATIENCE, **options).stdout

    def add(self, first, count, keys=KEYS):
        for key in range(keys):
            lines = "".join(f"{number}\n" for number in range(first, first + count))
            self.tenure("stream", "add", "events", "--engine", self.streams, "--lines", "--key", f"key-{key}",
                        input=lines.encode())

    def work(self, *words):
        self.workers += 1
        words = ("--lease", "5s", *words) if "--lease" not in words else words
        events = self.folder / f"events-{self.workers}"
        with open(self.folder / "log", "ab") as log, events.open("wb") as out:
            worker = subprocess.Popen([TENURE, "work", "--json", "--engine", self.engine, "--shards", str(self.shards),
                                       *words], env=dict(os.environ, DONE=str(self.done)), stdout=out,
                                      stderr=log)
        self.addCleanup(worker.wait, PATIENCE)
        self.addCleanup(worker.kill)
        self.wait_for(lambda: '"ready"' in events.read_text())
        return worker

    def reader(self):
        return self.work("--takes", "task:nothing", "--source", self.source, "--exec", "true")

    def lines(self):
        return self.done.read_text().splitlines()

    def listing(self):
        return json.loads(self.tenure("source", "list", "--engine", self.engine, "--json"))["sources"]

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, (self.folder / "log").read_text()[-4000:])
            time.sleep(0.02)

    def test_every_event_is_done_once_whoever_is_killed(self):
        self.add(0, EVENTS)
        self.work("--takes", "task", "--concurrency", "8", "--exec", "sh", "-c",
                  'read -r n || :; echo "$TENURE_KEY $n" >> "$DONE"')
        reader = self.reader()
        for round_ in (1, 2):
            self.wait_for(lambda at=round_: len(self.lines()) >= (at - 0.5) * EVENTS * KEYS)
            reader.kill()
            self.add(round_ * EVENTS, EVENTS)
            reader = self.reader()
        total = 3 * EVENTS * KEYS
        self.wait_for(lambda: len(self.lines()) >= total)
        for key in range(KEYS):
            own = [int(line.split()[1]) for line in self.lines() if line.startswith(f"key-{key} ")]
            self.assertEqual(own, list(range(3 * EVENTS)))
        self.wait_for(lambda: self.listing() and self.listing()[0]["partitions"]
                      and self.listing()[0]["partitions"][0]["lag"] == 0)
        listed = self.listing()[0]
        self.assertEqual(listed["name"], "events")
        self.assertEqual(listed["kind"], "feeder")
        self.assertIsNone(listed["error"])
        partition = listed["partitions"][0]
        self.assertEqual(partition["tasks"], total)
        self.assertEqual(partition["lost"], 0)
        self.assertIn("/source/events/", partition["holder"])
        # What is gone before anybody reads it is counted, with its range.
        reader.terminate()
        reader.wait(PATIENCE)
        at = partition["position"]
        self.add(0, 10, keys=1)
        self.tenure("stream", "trim", "events", "--engine", self.streams, "--before", str(at + 8))
        self.reader()
        self.wait_for(lambda: len(self.lines()) >= total + 3)
        partition = self.listing()[0]["partitions"][0]
        self.assertEqual((partition["lost"], partition["lost_first"], partition["lost_last"]), (7, at + 1, at + 7))
        self.assertIn(f"lost the events at positions {at + 1} to {at + 7} (7)", (self.folder / "log").read_text())
        self.tenure("source", "remove", "events", "--engine", self.engine)
        self.assertEqual(self.listing(), [])

    def test_a_reader_that_was_frozen_goes_on(self):
        self.work("--takes", "task", "--lease", "1s", "--exec", "sh", "-c", 'read -r n || :; echo "$TENURE_KEY $n" >> "$DONE"')
        reader = self.work("--takes", "task:nothing", "--lease", "1s", "--source", self.source, "--exec", "true")
        self.add(0, 1)
        self.wait_for(lambda: len(self.lines()) == KEYS)
        reader.send_signal(signal.SIGSTOP)
        # Only another process can say so: its lease has run out.
        self.wait_for(lambda: not any(of.get("holder") for of in self.listing()[0]["partitions"]))
        reader.send_signal(signal.SIGCONT)
        self.add(1, 1)
        self.wait_for(lambda: len(self.lines()) == 2 * KEYS or reader.poll() is not None)
        self.assertIsNone(reader.poll(), (self.folder / "log").read_text()[-2000:])

    def test_wrong_sources_are_wrong_usage(self):
        for wrong in ("sqlite:x.db", "nothing:x?stream=a", "sqlite:x.db?stream=a&start=soon", "sqlite:x.db?stream=a&order=up"):
            failed = subprocess.run([TENURE, "work", "--engine", self.engine, "--source", wrong, "--exec", "true"],
                                    capture_output=True, timeout=PATIENCE)
            self.assertEqual(failed.returncode, 2, failed.stderr)


class SourceSharded(Source):
    shards = 3


if __name__ == "__main__":
    unittest.main()
