#!/usr/bin/env python3
"""Handlers that try to outlive their tenure (they are in escape.py). The judge knows nothing about guards: every process
of a handler records the time while it lives, and no process of an older tenure may record a later time than the first one
of its successor.

Usage: escapes.py PATH_OF_TENURE [--short|--long] [unittest arguments]. The long form is for `make attack`.
"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import time
import unittest

import stage
from stage import Attack, Options

ESCAPE = pathlib.Path(__file__).with_name("escape.py")
LEASE = "2s"


def children(process):
    try:
        return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]
    except FileNotFoundError:
        return []


class Escape(Attack):
    """Each attempt: a worker runs the handler, which does its deed; then something happens to the worker; then another
    worker, or the same one, runs the successor."""

    WORK = ["--cgroup", "off"]

    def setUp(self):
        super().setUp()
        (self.folder / "beats").mkdir()
        self.addCleanup(self.sweep)

    def sweep(self):
        """Nothing that has got away is left behind: it names the folder on its command line."""
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and str(self.folder).encode() in (entry / "cmdline").read_bytes():
                    os.kill(int(entry.name), signal.SIGKILL)
            except OSError:
                pass

    def beats(self):
        """Epoch -> (the first, the last) time that any process of it has written."""
        found = {}
        for file in (self.folder / "beats").iterdir():
            words = file.read_text().split()
            if len(words) != 3:
                continue
            epoch = int(file.name.split(".")[0])
            first, last = found.get(epoch, (int(words[0]), 0))
            found[epoch] = (min(first, int(words[0])), max(last, int(words[1])))
        return found

    def attempt(self, deed, then=()):
        key = f"{deed}-{os.getpid()}"
        command = [*self.WORK, "--lease", LEASE, "--exec", sys.executable, ESCAPE, self.folder]
        first = self.work("--id", "first", "--serves", key, *command)
        self.workers = [first, self.work("--id", "second", *command)]
        guards = children(first.pid)
        self.run_tenure("dispatch", key, "--engine", self.engine)
        if then:
            self.wait_for(lambda: (self.folder / "ready").exists(), "the handler has not done its deed")
        for number, whom in then:
            for process in {"worker": [first.pid], "guard": guards}[whom]:
                os.kill(process, number)
        self.wait_for(lambda: len(self.beats()) > 1, f"no successor: {self.beats()}, {first.said}")
        # A process that lives on writes within this time.
        time.sleep(0.3)
        epochs = sorted(self.beats().items())
        successor = epochs[1][1][0]
        beside = (epochs[0][1][1] - successor) / 1e6
        self.tell(f"{deed}: the last sign of life was {-beside:.1f} ms before the successor's first")
        self.assertLess(beside, 0, f"{deed} lived on beside its successor")


class Kills(Escape):
    """Those that kill what watches over them."""


class Stops(Escape):
    """Those that stop it, or trace it."""


class Hides(Escape):
    """Those that get out of its way."""


class Cgroup(Escape):
    """What only a control group ends, where one can be made."""

    WORK = ["--cgroup", "auto"]

    def attempt(self, deed, then=()):
        before = groups()
        if before is None:
            self.skipTest("no control group can be made here")
        super().attempt(deed, then)
        self.assertTrue(groups() - before, "no control group was made")
        # Whatever was killed, nothing of it is left once another worker has come and gone.
        for worker in self.workers:
            worker.kill()
            worker.wait()
        last = self.work("--id", "last", *self.WORK, "--exec", "true")
        last.terminate()
        last.wait(stage.PATIENCE)
        self.wait_for(lambda: groups() <= before, "control groups are left behind")


def groups():
    """The control groups of workers below this process's own; None where none can be made."""
    def lines(file):
        return pathlib.Path(file).read_text().splitlines()
    mounts = [line.split()[1] for line in lines("/proc/mounts") if line.split()[2] == "cgroup2"]
    own = [line[3:] for line in lines("/proc/self/cgroup") if line.startswith("0::/")]
    if not mounts or not own:
        return None
    here = pathlib.Path(mounts[-1] + own[0])
    trial = here / f"trial-{os.getpid()}"
    try:
        trial.mkdir()
        able = (trial / "cgroup.kill").exists()
        trial.rmdir()
    except OSError:
        return None
    return {entry.name for entry in here.iterdir() if entry.name.startswith("tenure-")} if able else None


FROZEN = [(signal.SIGSTOP, "worker")]
BOTH_FROZEN = [(signal.SIGSTOP, "guard"), (signal.SIGSTOP, "worker")]
KILLED = [(signal.SIGKILL, "worker")]
BOTH_KILLED = [(signal.SIGKILL, "guard"), (signal.SIGKILL, "worker")]
FATES = {"frozen": FROZEN, "both_frozen": BOTH_FROZEN, "killed": KILLED, "both_killed": BOTH_KILLED}

# Whatever becomes of the worker, these are ended. The short form takes one fate of each.
QUIET = {
    "daemon": "both_frozen", "subreaper": "both_killed", "bomb": "killed", "spawned": "frozen", "namespaces": "killed",
    "cgroup": "both_frozen", "folder": "killed", "stops_itself": "frozen", "stops_keeper": "both_frozen",
    "stops_keeper_for_ever": "frozen", "traces_keeper": "frozen", "stops_guard": "killed",
}
# These bring their successor about themselves.
LOUD = [
    "stops_guard_and_worker", "stops_all", "kills_keeper", "kills_guard", "kills_worker", "kills_keeper_and_guard",
    "kills_keeper_and_worker", "kills_guard_and_worker", "stops_keeper_kills_guard", "stops_keeper_kills_others",
]
# What gets away. With a cgroup the next worker on the host ends it; without one nobody is left who could.
ONLY_WITH_CGROUP = ["kills_all"]


def add(name, attempt):
    kind = Kills if name.startswith("kills") else Stops if name.startswith(("stops", "traces")) else Hides
    setattr(kind, f"test_{name}", attempt)


for quiet, usual in QUIET.items():
    for name, then in FATES.items():
        def quiet_attempt(self, deed=quiet, fate=name, events=then, short=usual):
            if not Options.long and fate != short:
                self.skipTest("in the long form")
            # Nobody of ours can stop a tracer once guard and worker are gone or frozen.
            if deed == "traces_keeper" and fate.startswith("both") and os.geteuid() == 0:
                self.skipTest("root may trace")
            self.attempt(deed, events)
        add(f"{quiet}_{name}", quiet_attempt)
for loud in LOUD:
    add(loud, lambda self, deed=loud: self.attempt(deed))
add("stops_guard_kills_keeper", lambda self: self.attempt("stops_guard_kills_keeper", KILLED))


for name in ONLY_WITH_CGROUP + LOUD:
    def in_a_group(self, deed=name):
        if not Options.long and deed not in ONLY_WITH_CGROUP + ["kills_keeper_and_guard"]:
            self.skipTest("in the long form")
        self.attempt(deed)
    setattr(Cgroup, f"test_{name}", in_a_group)


if __name__ == "__main__":
    Options.tenure = os.path.abspath(sys.argv.pop(1))
    for flag in ("--short", "--long"):
        if flag in sys.argv:
            sys.argv.remove(flag)
            Options.long = flag == "--long"
    unittest.main()
