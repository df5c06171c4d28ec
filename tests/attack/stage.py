"""Shared by the attacks: a program under attack, its memory, and how long others wait."""

import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time
import unittest

PATIENCE = 60
MIB = 1 << 20


class Options:
    tenure = None
    long = False


def peak_memory(process):
    """The most that a living process has had in memory, in bytes."""
    for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) << 10
    raise AssertionError(f"process {process} has no memory")


class Attack(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"

    def spawn(self, *words, **more):
        process = subprocess.Popen([Options.tenure, *map(str, words)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, text=True, **more)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def work(self, *words, **more):
        """A `tenure work` that is ready. What it says is read, and kept in `said`."""
        worker = self.spawn("work", "--json", "--engine", self.engine, *words, **more)
        ready = threading.Event()
        worker.said = []

        def read():
            for line in worker.stdout:
                if '"ready"' in line:
                    ready.set()

        def read_errors():
            for line in worker.stderr:
                if len(worker.said) < 1000:
                    worker.said.append(line)

        for target in (read, read_errors):
            threading.Thread(target=target, daemon=True).start()
        self.assertTrue(ready.wait(PATIENCE), f"the worker is not ready: {worker.said}")
        return worker

    def run_tenure(self, *words, expect=0):
        done = subprocess.run([Options.tenure, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, expect, f"{words}: {done.stdout}{done.stderr}")
        return done

    def task(self, key, payload="", *words, expect=0):
        """Runs a task to its end: its answer, and how long it took."""
        began = time.monotonic()
        done = self.run_tenure("dispatch", key, payload, "--task", "--wait", "done", "--timeout", f"{PATIENCE}s", "--json",
                               "--engine", self.engine, *words, expect=expect)
        return json.loads(done.stdout), time.monotonic() - began

    def wait_for(self, holds, what):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, what)
            time.sleep(0.01)

    def tell(self, what):
        print(f"{self.id().split('.', 1)[1]}: {what}", flush=True)


def memory_folder():
    """Where very many files are made quickly."""
    return "/dev/shm" if os.access("/dev/shm", os.W_OK) else tempfile.gettempdir()
