"""Shared by the tests of the demo: a temporary folder, and the processes that are left in it."""

import os
import pathlib
import shutil
import tempfile
import time
import unittest

PATIENCE_S = 60


class Stage(unittest.TestCase):
    program = ""  # set by the test's main

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="tenure-demo-test-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        self.environment = {**os.environ, "TMPDIR": self.folder, "TERM": "xterm-256color"}
        self.environment.pop("NO_COLOR", None)

    def processes(self):
        """Workers and sweepers of this test's demo: each has a path in its folder on its command line."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and self.folder.encode() in (entry / "cmdline").read_bytes():
                    found.append(int(entry.name))
            except OSError:
                pass
        return found

    @staticmethod
    def state(process):
        """As in ps: T is stopped."""
        try:
            return pathlib.Path(f"/proc/{process}/stat").read_text(encoding="utf-8").rsplit(")", 1)[1].split()[0]
        except OSError:
            return ""

    def wait_for(self, what, reached):
        deadline = time.monotonic() + PATIENCE_S
        while not reached():
            self.assertLess(time.monotonic(), deadline, f"waited in vain: {what}")
            time.sleep(0.02)

    def assert_nothing_left(self):
        self.wait_for("all processes gone", lambda: not self.processes())
        self.wait_for("all files gone", lambda: not os.listdir(self.folder))
