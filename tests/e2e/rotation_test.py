"""A password that is replaced while `tenure work` runs on Redis: by the server first, then in the file.

Usage: rotation_test.py PATH_OF_TENURE PATH_OF_STUBBORN. Waits for events, never for time to pass.
"""

import os
import select
import subprocess
import time
import unittest

from program_test import PATIENCE, ProgramTest, Worker

LEASE = "30s"  # what comes within some seconds does not come of its end


class Rotation(ProgramTest):
    def setUp(self):
        super().setUp()
        self.socket = self.start_redis().removeprefix("unix:")
        self.file = self.folder / "password"
        self.let_in("first")
        self.write("first")
        self.engine = self.url()

    def url(self, more=""):
        return f"redis+unix://worker@{self.socket}?password_file={self.file}{more}"

    def redis(self, *words):
        done = subprocess.run(["redis-cli", "-s", self.socket, *words], check=True, capture_output=True, text=True)
        return done.stdout.strip()

    def let_in(self, password):
        self.assertEqual(self.redis("ACL", "SETUSER", "worker", "on", "resetpass", f">{password}", "~*", "&*", "+@all"), "OK")

    def write(self, password):
        (self.folder / "new").write_text(password + "\n")
        os.rename(self.folder / "new", self.file)

    def wait_for_line(self, worker, text):
        deadline = time.monotonic() + PATIENCE
        while not any(text in line for line in worker.errors):
            self.assertLess(time.monotonic(), deadline, f"nobody says '{text}': {worker.errors}")
            self.assertIsNone(worker.process.poll(), worker.errors)
            select.select([], [], [], 0.01)

    def test_a_worker_goes_on_with_the_new_password(self):
        worker = Worker(self, "--lease", LEASE, "--exec", *self.resident())
        worker.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        epoch = worker.wait("started", "k")["epoch"]
        program = self.process_of("k", epoch)
        self.let_in("second")
        self.redis("CLIENT", "KILL", "USER", "worker")
        self.wait_for_line(worker, "waiting for the log")
        self.write("second")
        self.wait_for_line(worker, "the log is back")
        self.assertEqual(self.ask("dispatch", "other", "--wait", "started")["state"], "started")
        said = [line for line in worker.errors if "waiting for the log" in line]
        self.assertEqual(len(said), 1, worker.errors)
        self.assertIn("user and password do not match", said[0])
        self.assertIn("login_patience", said[0])
        for password in ("first", "second"):
            self.assertNotIn(f" {password}", "".join(worker.errors))
        os.kill(program, 0)  # it has run through
        self.assertEqual([e["epoch"] for e in worker.events if e["event"] == "granted" and e["key"] == "k"], [epoch])

    def test_the_guard_says_its_last_word_with_the_new_password(self):
        first = Worker(self, "--id", "w2", "--lease", LEASE, "--exec", *self.resident())  # the one that k belongs to
        first.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        self.let_in("second")  # connections stay
        self.write("second")
        second = Worker(self, "--id", "w1", "--lease", LEASE, "--exec", *self.resident())
        second.wait("ready")
        began = time.monotonic()
        first.process.kill()
        second.wait("started", "k")
        self.assertLess(time.monotonic() - began, 10, "a lease was waited for")
        self.assertEqual(self.ask("explain", "k")["history"][0]["reason"], "crash")

    def test_a_refusal_that_lasts_ends_the_worker(self):
        self.engine = self.url("&login_patience=1")
        worker = Worker(self, "--lease", LEASE, "--exec", *self.resident())
        worker.wait("ready")
        self.let_in("second")
        self.redis("CLIENT", "KILL", "USER", "worker")
        self.assertEqual(worker.process.wait(PATIENCE), 8)
        worker.error_reader.join()
        self.assertIn("it has been refused for 1 s (login_patience)", "".join(worker.errors))

    def test_at_opening_a_refusal_is_said_at_once(self):
        self.write("wrong")
        worker = Worker(self, "--exec", "true")
        self.assertEqual(worker.process.wait(PATIENCE), 8)
        worker.error_reader.join()
        self.assertIn("user and password do not match", "".join(worker.errors))
        self.assertNotIn("login_patience", "".join(worker.errors))


if __name__ == "__main__":
    unittest.main()
