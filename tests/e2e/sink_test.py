#!/usr/bin/env python3
"""A sink is a pool that is fed from a stream: redelivery as soon as a worker is dead, nothing lost when all workers are,
and an event that always fails stops nobody.

Usage: sink_test.py PATH_OF_TENURE [KAFKA_BORROW] [unittest arguments]. E2E_ENGINE is sqlite (default), redis or kafka: a
real server, where there is one, for the pool and the stream. Waits for events, never for time to pass.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "redis"))
import with_server  # noqa: E402
from borrowed_broker import BorrowedBroker  # noqa: E402

TENURE = os.path.abspath(sys.argv.pop(1))
ENGINE = os.environ.get("E2E_ENGINE", "sqlite")
BORROW = os.path.abspath(sys.argv.pop(1)) if ENGINE == "kafka" else None
PATIENCE = 90
LEASE = 20


class Sink(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/tenure.db"
        name = f"s{uuid.uuid4().hex[:12]}"
        self.stream = name + ".events"
        if ENGINE == "kafka":
            self.engine = f"{BorrowedBroker(self, BORROW, name).url}?prefix={name}."
        if ENGINE == "redis":
            server, port = with_server.start(folder.name)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.engine = f"redis://127.0.0.1:{port}"
        self.done = self.folder / "done"
        self.done.touch()
        self.env = dict(os.environ, TENURE_ENGINE=self.engine, DONE=str(self.done))
        self.workers = 0

    def tenure(self, *words, stdin=b"", code=0):
        done = subprocess.run([TENURE, *words], env=self.env, input=stdin, capture_output=True, timeout=PATIENCE,
                              check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done.stdout

    def add(self, count, key=""):
        lines = b"".join(b"%d\n" % number for number in range(count))
        self.tenure("stream", "add", self.stream, "--lines", *(("--key", key) if key else ()), stdin=lines)

    def work(self, script, *words):
        self.workers += 1
        source = f"{self.engine}{'&' if '?' in self.engine else '?'}stream={self.stream}"
        events = self.folder / f"events-{self.workers}"
        with open(self.folder / "log", "ab") as log, events.open("wb") as out:
            worker = subprocess.Popen([TENURE, "work", "--json", "--lease", f"{LEASE}s", "--source",
                                       source, *words, "--exec", "sh", "-c", script],
                                      env=self.env, stdout=out, stderr=log)
        self.addCleanup(worker.wait, PATIENCE)
        self.addCleanup(worker.kill)
        self.wait_for(lambda: '"ready"' in events.read_text())
        return worker

    def lines(self):
        return self.done.read_text().splitlines()

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, (self.folder / "log").read_text()[-4000:])
            time.sleep(0.02)

    def test_redelivery_does_not_wait_for_a_lease(self):
        self.add(1)
        holder = self.work('read -r n || :; echo "begun $n" >> "$DONE"; sleep 600', "--task")
        self.wait_for(lambda: "begun 0" in self.lines())
        heir = self.work('read -r n || :; echo "done $n" >> "$DONE"', "--task")
        killed = time.monotonic()
        holder.kill()
        self.wait_for(lambda: "done 0" in self.lines())
        self.assertLess(time.monotonic() - killed, LEASE / 2)
        heir.terminate()
        self.assertEqual(heir.wait(PATIENCE), 0)

    def test_nothing_is_lost_when_all_workers_are_killed(self):
        self.add(150)
        script = 'read -r n || :; echo "$n" >> "$DONE"'
        for share in (20, 70):
            workers = [self.work(script, "--task", "--concurrency", "4") for _ in range(2)]
            self.wait_for(lambda at=share: len(set(self.lines())) >= at)
            for worker in workers:
                worker.kill()
        self.work(script, "--task", "--concurrency", "4")
        self.wait_for(lambda: len(set(self.lines())) == 150)
        # Tasks whose end was not in the log when their worker was killed are run again: those that ran, and those that
        # had just ended.
        self.assertLessEqual(len(self.lines()), 150 + 50)

    def test_an_event_that_always_fails_stops_nobody(self):
        self.add(20, key="k")
        self.work('read -r n || :; [ "$n" != 7 ] || exit 1; echo "$n" >> "$DONE"', "--task", "--max-attempts", "2")
        self.wait_for(lambda: len(self.lines()) == 19)
        self.assertEqual(self.lines(), [str(number) for number in range(20) if number != 7])
        dead = json.loads(self.tenure("dead", "list", "--json"))["dead"]
        self.assertEqual([letter["key"] for letter in dead], ["k"])
        self.tenure("dead", "drop", str(dead[0]["id"]))

    def test_a_trim_takes_nothing_from_the_pool(self):
        self.add(10)
        if ENGINE != "kafka":  # it has no bound that refuses
            self.tenure("stream", "limit", self.stream, "--events", "10")
            self.tenure("stream", "add", self.stream, "too much", code=5)
        self.tenure("stream", "trim", self.stream, "--taken", self.stream, code=9)
        self.work('read -r n || :; echo "$n" >> "$DONE"', "--task")
        self.wait_for(lambda: len(self.lines()) == 10)
        self.tenure("stream", "trim", self.stream, "--taken", "other", code=4)
        # The pool may hear of the last position a moment after it has done the tasks.
        left = lambda: json.loads(self.tenure("stream", "info", self.stream, "--json"))["events"]
        self.wait_for(lambda: self.tenure("stream", "trim", self.stream, "--taken", self.stream) and left() == 0)
        self.add(10)
        self.wait_for(lambda: len(self.lines()) == 20)
        self.assertEqual(sorted(self.lines()), sorted(2 * [str(number) for number in range(10)]))

    def test_an_event_that_asks_for_a_pause_comes_again(self):
        self.add(1)
        self.work('[ -e "$DONE.tried" ] || { touch "$DONE.tried"; exit 75; }; echo done >> "$DONE"', "--task")
        self.wait_for(lambda: self.lines() == ["done"])
        self.assertEqual(json.loads(self.tenure("dead", "list", "--json"))["dead"], [])


if __name__ == "__main__":
    unittest.main()
