"""A rolling deploy of a version whose every start fails, over a pool of a thousand residents, and then of one that works.
The bad version takes a few keys, is marked unfit and shows it; the old one goes on.

Usage: deploy_test.py PATH_OF_TENURE PATH_OF_STUBBORN [unittest arguments]. With E2E_ENGINE=redis on a redis-server. Waits
for events, never for time to pass.
"""

import json
import os
import pathlib
import select
import signal
import time
import unittest

from program_test import PATIENCE, ProgramTest, Worker

WORKERS = 4
RESIDENTS = 1000
# What workers that can start nothing may take from the others at any time, as docs/guarantees.md has it.
TAKEN_MAX = 8
ERROR = "cannot reach the database"


class Timeline:
    """Who held what when, from the events that the workers have printed. A bad worker's hold is none."""

    def __init__(self, good):
        changes = []
        for worker in good:
            for event in list(worker.events):
                if event["event"] == "started":
                    changes.append((event["at_ms"], 1, event["key"], event["epoch"]))
                elif event["event"] in ("stopped", "failed"):
                    changes.append((event["at_ms"], 0, event["key"], event["epoch"]))
        self.changes = sorted(changes)

    def measure(self, begin_ms, end_ms):
        """The largest number of keys without a holder in that time, the time without one of all keys together, and the
        longest, in milliseconds. Before it, each key had a holder."""
        missing, most, total, longest = {}, 0, 0, 0
        latest = {}
        for at, starts, key, epoch in self.changes:
            if at > end_ms:
                break
            if starts:
                latest[key] = epoch
                since = missing.pop(key, None)
                if since is not None and at >= begin_ms:
                    total += at - since
                    longest = max(longest, at - since)
            elif latest.get(key, epoch) == epoch:  # not of an older hold, printed late
                missing[key] = at
                if at >= begin_ms:
                    most = max(most, len(missing))
        for since in missing.values():
            total += end_ms - since
            longest = max(longest, end_ms - since)
        return most, total, longest


class Deploy(ProgramTest):
    def setUp(self):
        super().setUp()
        # By this the programs of this test are known among those of others that run beside it.
        os.environ["DEPLOY_RUN"] = str(self.folder)

    def now_ms(self):
        return int(time.time() * 1000)

    def version(self, name, number, *more):
        return Worker(self, "--lease", "10s", "--id", f"{name}-{number}", *more)

    def good(self, name, number, *more):
        worker = self.version(name, number, *more, "--exec", "sleep", "100000")
        worker.wait("ready")
        return worker

    def bad(self, number, replaces):
        """It says so, and fails, before it has done anything."""
        worker = self.version("bad", number, "--replaces", replaces, "--exec", "sh", "-c", f"echo {ERROR} >&2; exit 1")
        worker.wait("ready")
        return worker

    def populate(self):
        old = [self.good("old", number) for number in range(WORKERS)]
        lines = "".join(json.dumps({"key": f"k{i}", "payload": ""}) + "\n" for i in range(RESIDENTS))
        self.run_tenure("dispatch", "--from", "-", "--wait", "started", "--json", text=lines)
        return old

    def wait_for(self, what, reached):
        deadline = time.monotonic() + 2 * PATIENCE
        while True:
            seen = reached()
            if seen is True:
                return
            self.assertLess(time.monotonic(), deadline, f"{what}: {seen}")
            select.select([], [], [], 0.05)

    def workers(self):
        return {worker["id"]: worker for worker in self.ask("workers")["workers"]}

    def hold_all(self, names):
        """Whether these workers hold every key, and all run; or what there is instead."""
        held = {name: worker["keys"] for name, worker in self.workers().items()}
        if sum(held.get(name, 0) for name in names) != RESIDENTS:
            return held
        jobs = self.ask("jobs", "--limit", str(RESIDENTS))["jobs"]
        waiting = [job for job in jobs if job["state"] != "running" or job["worker"] not in names]
        return waiting or len(jobs) == RESIDENTS

    def programs(self):
        """The keys of the programs that run, by what the kernel knows: one for each program."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if not entry.name.isdigit() or (entry / "comm").read_text() != "sleep\n":
                    continue
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            names = dict(pair.split(b"=", 1) for pair in environment if b"=" in pair)
            ours = names.get(b"DEPLOY_RUN", b"").decode() == str(self.folder)
            if ours and names.get(b"TENURE_WORKER", b"").decode() in self.running:
                found.append(names[b"TENURE_KEY"].decode())
        return found

    def leave(self, worker):
        worker.process.send_signal(signal.SIGTERM)
        self.see_left(worker)

    def see_left(self, worker):
        self.assertEqual(worker.process.wait(2 * PATIENCE), 0, worker.errors[-5:])
        worker.reader.join()

    def wait_said(self, worker, text):
        self.wait_for(f"'{text}'", lambda: any(text in line for line in worker.errors) or worker.errors)

    def check_unfit(self, worker, name):
        event = worker.wait("unfit")
        self.assertEqual(event["worker"], name)
        self.assertIn(ERROR, event["reason"])
        listed = self.workers()[name]
        self.assertEqual(listed["state"], "unfit")
        self.assertLessEqual(listed["keys"], TAKEN_MAX)
        self.assertIn(ERROR, listed["error"])
        self.wait_said(worker, f"worker '{name}' is unfit")

    def check_all_is_well(self, names):
        self.wait_for("the good version holds every key", lambda: self.hold_all(names))
        self.assertEqual({worker["state"] for worker in self.workers().values()}, {"open"})
        self.assertEqual(self.ask("dead", "list")["dead"], [])
        self.running = names
        self.wait_for("a program for each key, and no other",
                      lambda: sorted(self.programs()) == sorted(f"k{i}" for i in range(RESIDENTS)) or len(self.programs()))

    def tell(self, what, measured):
        most, total, longest = measured
        print(f"{what}: {most} keys without a holder at most; {total / 1000:.2f} s without one in all, the longest "
              f"{longest} ms")

    def test_the_old_version_goes_on(self):
        """The deploy ends no old worker that still holds keys. It looks for `unfit`, and sees that it has failed."""
        old = self.populate()
        begin = self.now_ms()
        bad = []
        for number in range(WORKERS):
            bad.append(self.bad(number, f"old-{number}"))
            self.check_unfit(bad[-1], f"bad-{number}")
            self.wait_for("the others hold every key", lambda: self.hold_all([f"old-{i}" for i in range(WORKERS)]))
        end = self.now_ms()

        # The good version replaces the bad one, and takes over what the old one has gone on with.
        new = []
        for number in range(WORKERS):
            new.append(self.good("new", number, "--replaces", f"bad-{number}"))
            self.wait_for(f"old-{number} has none left", lambda n=number: self.workers()[f"old-{n}"]["keys"] == 0)
            self.leave(bad[number])
            self.leave(old[number])
        self.check_all_is_well([f"new-{number}" for number in range(WORKERS)])

        timeline = Timeline([*old, *new])
        failed = timeline.measure(begin, end)
        self.tell(f"a bad version on {WORKERS} workers with {RESIDENTS} residents", failed)
        self.tell("the good version", timeline.measure(end, self.now_ms()))
        self.assertLessEqual(failed[0], TAKEN_MAX)
        self.assertGreater(failed[0], 0, "the bad version was given nothing: this measures nothing")
        moved = [event["key"] for worker in new for event in worker.events if event["event"] == "started"]
        self.assertLessEqual(len(moved), RESIDENTS + 2 * WORKERS * TAKEN_MAX, "keys moved more than once")

    def test_a_deploy_that_does_not_look(self):
        """It ends each old worker when the new one is ready and every key runs, without a look at `unfit`. The last old
        one keeps all keys but a few until there is a version that can take them, and says so."""
        old = self.populate()
        begin = self.now_ms()
        bad = []
        for number in range(WORKERS):
            bad.append(self.bad(number, f"old-{number}"))
            if number + 1 < WORKERS:
                self.leave(old[number])
                rest = [f"old-{left}" for left in range(number + 1, WORKERS)]
                self.wait_for("every key runs", lambda rest=rest: self.hold_all(rest))
        last = old[-1]
        last.process.send_signal(signal.SIGTERM)
        for number, worker in enumerate(bad):
            self.check_unfit(worker, f"bad-{number}")
        self.wait_said(last, "no other worker can take")
        self.assertGreaterEqual(self.workers()[f"old-{WORKERS - 1}"]["keys"], RESIDENTS - TAKEN_MAX)
        self.assertIsNone(last.process.poll())
        end = self.now_ms()

        new = []
        for number in range(WORKERS):
            new.append(self.good("new", number, "--replaces", f"bad-{number}"))
            self.leave(bad[number])
        self.see_left(last)
        self.check_all_is_well([f"new-{number}" for number in range(WORKERS)])

        timeline = Timeline([*old, *new])
        self.tell("a bad version whose deploy ends the old workers", timeline.measure(begin, end))
        self.tell("the good version", timeline.measure(end, self.now_ms()))


if __name__ == "__main__":
    unittest.main()
