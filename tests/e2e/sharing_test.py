"""Two pools share one URL, with two worker processes each. What happens to one of them does not reach the other: its
keys, its deaths, its end, and the loss of its files.

Usage: sharing_test.py PATH_OF_TENURE PATH_OF_STUBBORN [unittest arguments]. With E2E_ENGINE=redis on a redis-server. Waits
for events, never for time to pass.
"""

import json
import os
import signal
import subprocess
import time
import unittest

from program_test import PATIENCE, TENURE, ProgramTest, Worker

POOLS = ("orders", "bills")
LEASE = "20s"  # what comes within some seconds does not come of its end


class Sharing(ProgramTest):
    def work(self, pool, name):
        worker = Worker(self, "--pool", pool, "--lease", LEASE, "--id", name, "--exec", *self.resident())
        worker.wait("ready")
        return worker

    def start(self):
        """Two workers for each pool, and a resident of the same name in both."""
        workers = {pool: [self.work(pool, "w1"), self.work(pool, "w2")] for pool in POOLS}
        for pool in POOLS:
            self.assertEqual(self.ask("dispatch", "k", "--pool", pool, "--wait", "started")["state"], "started")
        return workers

    def holder(self, pool):
        held = [job["worker"] for job in self.ask("jobs", "--pool", pool)["jobs"]
                if job["key"] == "k" and job["state"] == "running"]
        return held[0] if held else None

    def kill_holder(self, pool, workers):
        """The other worker takes over at once."""
        name = self.holder(pool)
        held = next(worker for worker, own in zip(workers, ("w1", "w2")) if own == name)
        other = next(worker for worker in workers if worker is not held)
        began = time.monotonic()
        held.process.kill()
        other.wait("started", "k")
        self.assertLess(time.monotonic() - began, 5, f"in pool {pool} a lease was waited for")

    def databases(self):
        return sorted(path.name for path in self.folder.iterdir() if path.name.endswith(".db"))

    def test_each_has_its_own_keys_and_workers(self):
        workers = self.start()
        if "sqlite" in self.engine:
            self.assertEqual(self.databases(), ["pool.db", "pool.db-pool-bills.db"])
        for pool in POOLS:
            self.assertEqual(sorted(each["id"] for each in self.ask("workers", "--pool", pool)["workers"]), ["w1", "w2"])
        self.ask("stop", "k", "--pool", "orders")
        self.assertIsNone(self.holder("orders"))
        self.assertIsNotNone(self.holder("bills"))
        self.kill_holder("bills", workers["bills"])
        for pool in POOLS:
            checks = self.ask("doctor", "--pool", pool, expect=1)["checks"]
            self.assertEqual([check["name"] for check in checks if not check["ok"]], ["durability"])  # by this test

    def test_the_end_of_one_leaves_the_other(self):
        for ends, stays in (POOLS, POOLS[::-1]):
            with self.subTest(ends=ends):
                workers = self.start()
                self.ask("shutdown", "--pool", ends)
                for worker in workers[ends]:
                    self.assertEqual(worker.process.wait(PATIENCE), 0, worker.errors)
                self.ask("jobs", "--pool", ends, expect=9)
                self.assertIsNotNone(self.holder(stays))
                self.kill_holder(stays, workers[stays])  # its deaths are still known at once
                self.assertEqual(self.ask("dispatch", "new", "--pool", stays, "--wait", "started")["state"], "started")
                self.assertIsNotNone(self.work(stays, "w3"))
                # The name can be used again.
                again = self.work(ends, "w4")
                self.assertEqual(self.ask("jobs", "--pool", ends)["jobs"], [])
                again.process.send_signal(signal.SIGTERM)
                self.assertEqual(again.process.wait(PATIENCE), 0)
                for pool in POOLS:
                    self.ask("shutdown", "--pool", pool)
                self.wait_for(lambda: f"left: {self.left_of_the_pool()}", lambda: self.left_of_the_pool() == [])

    def test_pools_that_start_at_the_same_time(self):
        """Then it is open for a moment which of them has the file of the URL. Nothing is left of them."""
        for _ in range(4):
            started = {pool: [Worker(self, "--pool", pool, "--lease", LEASE, "--id", name, "--exec", *self.resident())
                              for name in ("w1", "w2")] for pool in POOLS}
            for pool in POOLS:
                for worker in started[pool]:
                    worker.wait("ready")
                self.assertEqual(self.ask("dispatch", "k", "--pool", pool, "--wait", "started")["state"], "started")
                self.kill_holder(pool, started[pool])
            for pool in POOLS:
                self.ask("shutdown", "--pool", pool)
            for worker in started["orders"] + started["bills"]:
                worker.process.wait(PATIENCE)
            self.wait_for(lambda: f"left: {self.left_of_the_pool()}", lambda: self.left_of_the_pool() == [])

    def test_lost_files_of_one_leave_the_other(self):
        if "sqlite" not in self.engine:
            self.skipTest("files are SQLite's")
        workers = self.start()
        for suffix in ("", "-wal", "-shm", "-wake", "-alive"):
            os.unlink(self.folder / f"pool.db-pool-bills.db{suffix}")
            if suffix == "":  # its members begin anew, and newcomers are with them
                for worker in workers["bills"]:
                    worker.wait("fenced")
            # In both pools a job that was dispatched by another process is started.
            for pool in POOLS:
                key = f"after{suffix}"
                self.assertEqual(self.ask("dispatch", key, "--pool", pool, "--wait", "started")["state"], "started")
        for worker in workers["orders"]:
            self.assertEqual([event for event in worker.events if event["event"] == "fenced"], [])
        self.assertEqual(self.databases(), ["pool.db", "pool.db-pool-bills.db"])
        self.kill_holder("orders", workers["orders"])

    def test_programs_that_make_pools_of_their_own(self):
        """`demo` and `bench` put theirs beside a pool that is in use, or into the file that they are told."""
        self.start()
        done = subprocess.run([TENURE, "demo", "--script", "k", "--workers", "2", "--tenants", "8", "--json", "--engine",
                               self.engine], capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertEqual(json.loads(done.stdout)["double_holders"], 0)
        for pool in POOLS:
            self.assertIsNotNone(self.holder(pool))
        if "sqlite" in self.engine:
            self.assertEqual(self.databases(), ["pool.db", "pool.db-pool-bills.db"])
            file = self.folder / "bench.db"
            done = subprocess.run([TENURE, "bench", "throughput", "--jobs", "100", "--json", "--engine", f"sqlite:{file}"],
                                  capture_output=True, text=True, timeout=2 * PATIENCE, check=False)
            self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
            self.assertFalse(file.exists(), "it removes what it has made")


if __name__ == "__main__":
    unittest.main()
