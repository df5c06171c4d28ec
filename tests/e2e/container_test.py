"""The program as the first process of a container: what its worker's crash means to others, signals, and exit codes.

Usage: container_test.py PATH_OF_TENURE [unittest arguments]. Each "container" is a PID namespace. If the kernel does not allow
that, the test prints so, and its exit code is 77. Waits for events, never for time to pass.
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
LEASE = "10m"  # what comes within some seconds does not come of its end
CONTAINER = ["unshare", "--pid", "--fork", "--mount-proc", "--kill-child"]


def children_of(process):
    return [int(word) for word in pathlib.Path(f"/proc/{process}/task/{process}/children").read_text().split()]


class Container(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        socket = self.folder / "redis.sock"
        server = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", socket,
                                   "--save", "", "--dir", self.folder], stdout=subprocess.PIPE, text=True)
        self.ended_at_the_end(server)
        while "ready to accept" not in server.stdout.readline():
            self.assertIsNone(server.poll(), "redis-server does not start")
        self.engine = f"unix:{socket}"

    def ended_at_the_end(self, process):
        def end():
            process.kill()
            process.wait()
            process.stdout.close()
        self.addCleanup(end)

    def work(self, name, *before):
        """A worker that is in the pool."""
        process = subprocess.Popen([*before, TENURE, "work", "--engine", self.engine, "--id", name, "--lease", LEASE,
                                    "--json", "--exec", "sleep", "600"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                   text=True)
        self.ended_at_the_end(process)
        self.assertEqual(json.loads(process.stdout.readline())["event"], "ready")
        return process

    def first_of(self, container):
        return children_of(container.pid)[0]

    def tenure(self, *words):
        done = subprocess.run([TENURE, *words, "--engine", self.engine, "--json"], capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertEqual(done.returncode, 0, done.stderr + done.stdout)
        return json.loads(done.stdout)

    def holders(self):
        """Of the keys that run."""
        return {job["worker"] if job["state"] == "running" else None for job in self.tenure("jobs")["jobs"]}

    def until(self, what, wanted):
        deadline = time.monotonic() + PATIENCE
        while not wanted():
            self.assertLess(time.monotonic(), deadline, what)

    def test_others_need_not_wait_for_the_lease_after_a_crash(self):
        self.work("outside")
        container = self.work("inside", *CONTAINER)
        for key in range(16):
            self.tenure("dispatch", f"key-{key}", "--wait", "started")
        self.assertEqual(self.holders(), {"inside", "outside"})
        os.kill(children_of(self.first_of(container))[0], signal.SIGKILL)
        self.until("taken over", lambda: self.holders() == {"outside"})
        self.assertEqual(container.wait(PATIENCE), 128 + signal.SIGKILL)

    def test_a_signal_to_the_first_process_lets_the_worker_leave(self):
        container = self.work("inside", *CONTAINER)
        os.kill(self.first_of(container), signal.SIGTERM)
        self.assertEqual(container.wait(PATIENCE), 0)
        self.assertEqual([json.loads(line)["event"] for line in container.stdout], ["left"])
        self.assertEqual(self.tenure("workers")["workers"], [])

    def test_it_exits_as_its_worker_did(self):
        done = subprocess.run([*CONTAINER, TENURE, "work"], capture_output=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)


if __name__ == "__main__":
    tried = subprocess.run([*CONTAINER, "true"], capture_output=True, text=True)
    if tried.returncode != 0:
        print(f"skipped: no PID namespaces here: {tried.stderr.strip()}")
        sys.exit(77)
    unittest.main()
