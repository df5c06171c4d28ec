"""tenure restore --from-members: a backup of the engine's data is restored under living workers. The command shows what the
backup does not have and what only the backup has, and puts the missing jobs back: once, under higher epochs, and nothing
else.

Usage: restore_test.py PATH_OF_TENURE PATH_OF_STUBBORN [unittest arguments]. With E2E_ENGINE=redis on a redis-server. Waits
for events, never for time to pass.
"""

import os
import pathlib
import select
import signal
import sqlite3
import sys
import time
import unittest

from program_test import PATIENCE, ProgramTest, Worker

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "faults"))
from redis_server import RedisServer  # noqa: E402

# Residents stay. Tasks write down that they ran; the ones that are told to fail do.
SCRIPT = """
echo "$TENURE_EPOCH" >> "{folder}/ran/$TENURE_KEY"
case "$TENURE_KEY" in
  resident*) exec sleep 100000 ;;
  dead*) echo it broke >&2; exit 65 ;;
esac
"""


class File:
    """The database, replaced under the workers that have it open."""

    def __init__(self, case):
        self.path = case.folder / "pool.db"
        self.backup = case.folder / "backup.db"
        self.url = f"sqlite:{self.path}?sync=off"

    def back_up(self):
        with sqlite3.connect(self.path) as now, sqlite3.connect(self.backup) as copy:
            now.backup(copy)
        now.close()
        copy.close()

    def restore(self):
        for suffix in ("-wal", "-shm", ""):
            pathlib.Path(f"{self.path}{suffix}").unlink(missing_ok=True)
        os.rename(self.backup, self.path)

    def wipe(self):
        for path in self.path.parent.glob(f"{self.path.name}*"):
            path.unlink(missing_ok=True)


class Server:
    """A redis-server that dies, and comes back with an older append-only file."""

    def __init__(self, case):
        self.server = RedisServer(case.folder / "redis", "always")
        case.addCleanup(lambda: self.server.process.wait())
        case.addCleanup(lambda: self.server.signal(signal.SIGKILL))
        self.backup = case.folder / "backup"
        self.url = f"redis://127.0.0.1:{self.server.port}"

    def back_up(self):
        self.server.copy_data(self.backup)

    def restore(self):
        self.server.kill()
        self.server.replace_data(self.backup)
        self.server.start()

    def wipe(self):
        self.server.command("FLUSHALL")


class Restore(ProgramTest):
    def setUp(self):
        super().setUp()
        (self.folder / "ran").mkdir()
        self.data = (Server if os.environ.get("E2E_ENGINE") == "redis" else File)(self)
        self.engine = self.data.url

    def start_redis(self):
        return ""  # this test's server can come back

    def work(self, name, *words):
        worker = Worker(self, "--id", name, "--max-attempts", "1", *words, "--exec", "sh", "-c",
                        SCRIPT.format(folder=self.folder))
        worker.wait("ready")
        return worker

    def ran(self, key):
        """The epochs of its attempts."""
        file = self.folder / "ran" / key
        return [int(line) for line in file.read_text().splitlines()] if file.exists() else []

    def wait_for(self, what, reached):
        deadline = time.monotonic() + PATIENCE
        while True:
            seen = reached()
            if seen is True:
                return
            self.assertLess(time.monotonic(), deadline, f"{what}: {seen}")
            select.select([], [], [], 0.05)

    def jobs(self):
        return {job["key"]: job["state"] for job in self.ask("jobs", "--limit", "1000")["jobs"]}

    def residents(self):
        return sorted(key for key, state in self.jobs().items() if key.startswith("resident") and state == "running")

    def restore(self, *words):
        found = self.ask("restore", "--from-members", *words)
        for name in ("missing_keys", "only_in_log_keys"):
            found[name] = sorted(entry["key"] for entry in found[name])
        return found

    def dead(self):
        return sorted(letter["key"] for letter in self.ask("dead", "list")["dead"])

    def dispatch(self, *keys):
        for key in keys:
            self.ask("dispatch", key, "--wait", "started")

    def lose(self, *words):
        """Workers that live through the restoration of a backup. The backup has resident-1 and -2; since then resident-1
        was stopped, resident-3 and -4 and a delayed task came, and a task failed for good, as one had done before."""
        workers = [self.work(name, *words) for name in ("w1", "w2")]
        self.dispatch("resident-1", "resident-2")
        self.ask("dispatch", "dead-1", "--task", "--wait", "done", expect=7)
        self.data.back_up()
        self.dispatch("resident-3", "resident-4")
        self.ask("dispatch", "dead-2", "--task", "--wait", "done", expect=7)
        self.ask("dispatch", "task", "--task", "--delay", "5s")
        self.ask("stop", "resident-1")
        before = {key: max(self.ran(key)) for key in ("resident-2", "resident-3", "resident-4")}
        self.data.restore()
        for worker in workers:
            worker.wait("fenced")
        self.wait_for("the pool goes on with the backup", lambda: self.residents() == ["resident-1", "resident-2"] or self.jobs())
        return workers, before

    def check(self, *words):
        workers, before = self.lose(*words)
        found = self.restore()
        self.assertAlmostEqual(found.pop("remembered_ms") / 1000, time.time(), delta=PATIENCE)
        self.assertEqual(found, {"applied": False, "missing": 4, "only_in_log": 1, "only_in_log_keys": ["resident-1"],
                                 "missing_keys": ["dead-2", "resident-3", "resident-4", "task"]})
        self.wait_for("nothing was changed", lambda: self.residents() == ["resident-1", "resident-2"] or self.jobs())
        self.assertEqual(self.dead(), ["dead-1"])

        found = self.restore("--apply")
        self.assertEqual((found["applied"], found["missing"]), (True, 4), found)
        self.wait_for("the residents are back", lambda: len(self.residents()) == 4 or self.jobs())
        for key, epoch in before.items():
            self.assertGreater(max(self.ran(key)), epoch, f"the epoch of {key} did not grow")
        self.assertEqual(self.dead(), ["dead-1", "dead-2"], "each dead letter once")
        self.wait_for("the delayed task ran", lambda: self.ran("task") != [] and "task" not in self.jobs() or self.jobs())

        # It is done: nothing is put back twice, not even what has ended since.
        again = self.ask("restore", "--from-members", "--apply", expect=8)
        self.assertIn("no member remembers", again["error"]["message"])
        self.assertEqual(len(self.ran("task")), 1, "the task ran twice")
        self.assertEqual(self.dead(), ["dead-1", "dead-2"])
        for worker in workers:
            self.assertIsNone(worker.process.poll())
        return workers

    def test_the_missing_jobs_are_put_back_once(self):
        workers = self.check()
        said = "".join(line for worker in workers for line in worker.errors)
        self.assertIn("tenure restore --from-members", said, "the workers say nothing of what they have lost")

    def test_with_workers_that_do_not_heal(self):
        self.check("--no-heal")

    def wipe(self, *words):
        """Two workers whose engine loses everything, and the epochs of their residents before that."""
        workers = [self.work(name, *words) for name in ("w1", "w2")]
        self.dispatch("resident-1", "resident-2")
        self.ask("dispatch", "dead-1", "--task", "--wait", "done", expect=7)
        self.wait_for("both have read it", lambda: len(self.residents()) == 2 or self.jobs())
        before = {key: max(self.ran(key)) for key in ("resident-1", "resident-2")}
        self.data.wipe()
        return workers, before

    def expect_back(self, before):
        self.wait_for("the residents run again",
                      lambda: all(max(self.ran(key)) > epoch for key, epoch in before.items()) or self.ran("resident-1"))
        self.assertEqual(self.dead(), ["dead-1"])

    def test_everything_is_lost_and_comes_back_by_itself(self):
        workers, before = self.wipe()
        self.expect_back(before)
        said = [worker.wait("restored") for worker in workers]
        self.assertIn("the pool is back", said[0]["reason"])
        refused = self.ask("restore", "--from-members", expect=8)
        self.assertIn("no member remembers", refused["error"]["message"])

    def test_everything_is_lost_and_nothing_comes_back_unasked(self):
        workers, before = self.wipe("--no-heal")
        for worker in workers:
            worker.wait("fenced")
        self.ask("dispatch", "task", "--task", "--wait", "done")  # it creates the log, or a member has done so
        self.wait_for("a member tells what it remembers", lambda: self.restore()["missing"] == 3 or self.jobs())
        self.assertEqual(self.jobs(), {})
        self.assertEqual({key: max(self.ran(key)) for key in before}, before)
        self.assertTrue(self.restore("--apply")["applied"])
        self.expect_back(before)

    def test_what_a_person_reads(self):
        self.lose()
        shown = self.run_tenure("restore", "--from-members").stdout
        self.assertIn("4 keys are missing in the present log", shown)
        self.assertIn("1 key is only in the present log", shown)
        self.assertIn("missing: resident-3", shown)
        self.assertIn("only in the log: resident-1", shown)
        self.assertIn("--apply", shown)
        shown = self.run_tenure("restore", "--from-members", "--apply").stdout
        self.assertIn("4 keys were put back", shown)
        self.assertNotIn("4 keys are missing", shown)

    def test_where_nothing_was_lost(self):
        self.work("w1")
        self.dispatch("resident-1")
        refused = self.run_tenure("restore", "--from-members", expect=8)
        self.assertIn("no member remembers", refused.stderr)
        self.run_tenure("restore", expect=2)
        refused = self.run_tenure("restore", "--from-members", "--pool", "other", expect=9)
        self.assertIn("other", refused.stderr)

    def test_a_worker_that_joins_later_remembers_nothing(self):
        """What the dead remembered is gone."""
        workers, _ = self.lose()
        self.work("w3")
        for worker in workers:
            worker.end()
        refused = self.ask("restore", "--from-members", expect=8)
        self.assertIn("no member remembers", refused["error"]["message"])
        self.wait_for("the new worker has the pool", lambda: self.residents() == ["resident-1", "resident-2"] or self.jobs())


if __name__ == "__main__":
    unittest.main()
