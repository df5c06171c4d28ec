"""The program as a user runs it: workers in one process, everything else from others, on a file.

Usage: program_test.py PATH_OF_TENURE PATH_OF_STUBBORN [unittest arguments]. Waits for events, never for time to pass.
With E2E_ENGINE=redis each test has its own redis-server instead of the file. With kafka://BROKER?prefix=P each has its own
topics there.
"""

import contextlib
import json
import os
import pathlib
import resource
import select
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import zlib

TENURE = os.path.abspath(sys.argv.pop(1))
STUBBORN = os.path.abspath(sys.argv.pop(1))
KAFKA = os.environ.get("E2E_ENGINE", "") if "://" in os.environ.get("E2E_ENGINE", "") else ""
PATIENCE = 30


class Worker:
    """A `tenure work` whose events are read line by line."""

    def __init__(self, case, *arguments):
        self.events = []
        self.changed = threading.Condition()
        self.process = subprocess.Popen(
            [TENURE, "work", "--json", "--engine", case.engine, "--lease", "2s", *arguments],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.errors = []
        self.error_reader = threading.Thread(target=self.read_errors, daemon=True)
        self.error_reader.start()
        case.addCleanup(self.end)

    def read(self):
        for line in self.process.stdout:
            with self.changed:
                self.events.append(json.loads(line))
                self.changed.notify_all()

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line)

    def wait(self, event, key=None, count=1):
        def found():
            return [e for e in self.events if e.get("event") == event and (key is None or e["key"] == key)]
        with self.changed:
            if not self.changed.wait_for(lambda: len(found()) >= count, PATIENCE):
                raise AssertionError(f"no {event} of {key} in {self.events}; {self.errors}")
            return found()[count - 1]

    def end(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        self.reader.join()
        self.error_reader.join()
        self.process.stdout.close()
        self.process.stderr.close()


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"
        if os.environ.get("E2E_ENGINE") == "redis":
            self.engine = self.start_redis()
        if KAFKA:
            self.engine = f"{KAFKA}.{zlib.crc32(self.id().encode()):08x}"  # a prefix for each test

    def left_of_the_pool(self):
        if "sqlite" in self.engine:
            return sorted(path.name for path in self.folder.iterdir() if ".db" in path.name)
        if KAFKA:  # the conformance tests look for topics
            asked = subprocess.run([TENURE, "jobs", "--json", "--engine", self.engine], capture_output=True, text=True)
            return [] if "no_such_pool" in asked.stdout else [asked.stdout]
        keys = subprocess.run(["redis-cli", "-s", self.engine.removeprefix("unix:"), "KEYS", "*"],
                              capture_output=True, text=True, check=True)
        # But for the note that the pool was removed on purpose, which expires after an hour.
        return [key for key in keys.stdout.split() if not key.endswith(":removed")]

    def start_redis(self):
        """Its URL. setpriv, so that no server outlives a test that is killed."""
        socket = self.folder / "redis.sock"
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket", socket,
             "--dir", self.folder, "--save", "", "--appendonly", "no"], stdout=subprocess.PIPE, text=True)
        self.addCleanup(server.__exit__, None, None, None)
        self.addCleanup(server.kill)
        if not any("ready to accept connections at" in line for line in server.stdout):
            self.fail("redis-server does not start")
        return f"unix:{socket}"

    def run_tenure(self, *arguments, expect=0, text=None, engine=True):
        command = [TENURE, *arguments] + (["--engine", self.engine] if engine else [])
        done = subprocess.run(command, input=text, capture_output=True, text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, expect, f"{arguments}: {done.stdout}{done.stderr}")
        return done

    def ask(self, *arguments, expect=0, text=None):
        return json.loads(self.run_tenure("--json", *arguments, expect=expect, text=text).stdout)

    def wait_for(self, what, reached):
        deadline = time.monotonic() + PATIENCE
        while not reached():
            self.assertLess(time.monotonic(), deadline, what() if callable(what) else what)
            select.select([], [], [], 0.02)

    def wait_gone(self, process):
        deadline = time.monotonic() + PATIENCE
        while os.path.exists(f"/proc/{process}"):
            self.assertLess(time.monotonic(), deadline, f"process {process} lives on")
            select.select([], [], [], 0.01)

    def freeze(self, process):
        """Stops a process, but not in the middle of a commit, where it would hold up everybody."""
        deadline = time.monotonic() + PATIENCE
        while True:
            process.send_signal(signal.SIGSTOP)
            database = sqlite3.connect(self.folder / "pool.db", timeout=0.2, isolation_level=None)
            try:
                database.execute("BEGIN IMMEDIATE")
                database.execute("ROLLBACK")
                return
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                self.assertLess(time.monotonic(), deadline)
            finally:
                database.close()

    def resident(self):
        """A program that says who it is, and stays."""
        return ["sh", "-c", 'echo "$$" > "%s/$TENURE_KEY.$TENURE_EPOCH"; exec sleep 1000' % self.folder]

    def process_of(self, key, epoch):
        """The number that the program has written: it runs before it has."""
        deadline = time.monotonic() + PATIENCE
        file = self.folder / f"{key}.{epoch}"
        while not (file.exists() and file.read_text().endswith("\n")):
            self.assertLess(time.monotonic(), deadline, f"{file} was not written")
            select.select([], [], [], 0.01)
        return int(file.read_text())


class Resident(ProgramTest):
    def test_a_resident_lives_from_dispatch_to_stop(self):
        worker = Worker(self, "--id", "w1", "--exec", *self.resident())
        worker.wait("ready")
        answer = self.ask("dispatch", "k", "hello", "--wait", "started")
        self.assertEqual((answer["key"], answer["state"], answer["error"]), ("k", "started", None))
        started = worker.wait("started", "k")
        jobs = self.ask("jobs")["jobs"]
        self.assertEqual([(j["key"], j["kind"], j["state"], j["worker"]) for j in jobs],
                         [("k", "resident", "running", "w1")])
        self.assertEqual(jobs[0]["epoch"], started["epoch"])
        program = self.process_of("k", started["epoch"])
        self.assertEqual(self.ask("dispatch", "k", expect=3)["error"]["code"], "key_exists")
        workers = self.ask("workers")["workers"]
        self.assertEqual([(w["id"], w["keys"], w["state"], w["pid"]) for w in workers],
                         [("w1", 1, "open", worker.process.pid)])
        self.assertEqual(self.ask("stop", "k")["key"], "k")
        worker.wait("stopped", "k")
        self.wait_gone(program)
        self.assertEqual(self.ask("jobs")["jobs"], [])
        self.assertEqual(self.ask("stop", "k", expect=4)["error"]["code"], "no_such_key")

    def test_a_message_is_a_line_of_standard_input(self):
        heard = self.folder / "heard"
        worker = Worker(self, "--exec", "sh", "-c", f'while read -r line; do echo "$line" >> {heard}; done')
        worker.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        self.ask("notify", "k", "one")
        self.ask("notify", "k", "two words")
        deadline = time.monotonic() + PATIENCE
        while not heard.exists() or heard.read_text() != "one\ntwo words\n":
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.01)
        self.assertEqual(self.ask("notify", "nobody", "x", expect=4)["error"]["code"], "no_such_key")

    def test_sigterm_hands_over_and_leaves(self):
        first = Worker(self, "--id", "w1", "--exec", *self.resident())
        first.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        old = first.wait("started", "k")
        second = Worker(self, "--id", "w2", "--exec", *self.resident())
        second.wait("ready")
        first.process.send_signal(signal.SIGTERM)
        new = second.wait("started", "k")
        first.wait("left")
        self.assertEqual(first.process.wait(PATIENCE), 0)
        self.assertGreater(new["epoch"], old["epoch"])
        history = self.ask("explain", "k")["history"]
        self.assertEqual([(t["worker"], t["epoch"]) for t in history], [("w1", old["epoch"]), ("w2", new["epoch"])])
        self.assertEqual(history[0]["reason"], "handoff")
        self.assertIsNone(history[1]["ended_ms"])
        self.assertGreaterEqual(history[1]["gap_ms"], 0)

    def test_kill_9_is_taken_over_at_once_and_leaves_no_program(self):
        first = Worker(self, "--id", "w2", "--exec", *self.resident())  # of the two, the one that k belongs to
        first.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        program = self.process_of("k", first.wait("started", "k")["epoch"])
        second = Worker(self, "--id", "w1", "--exec", *self.resident())
        second.wait("ready")
        began = time.monotonic()
        first.process.kill()
        second.wait("started", "k")
        self.assertLess(time.monotonic() - began, 1.5, "a whole lease was waited for")
        self.wait_gone(program)
        history = self.ask("explain", "k")["history"]
        self.assertEqual(history[0]["reason"], "crash", (history, first.events, second.events))

    def test_a_frozen_worker_loses_its_keys_and_its_programs(self):
        first = Worker(self, "--id", "w2", "--exec", *self.resident())  # of the two, the one that k belongs to
        first.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        program = self.process_of("k", first.wait("started", "k")["epoch"])
        second = Worker(self, "--id", "w1", "--exec", *self.resident())
        second.wait("ready")
        self.freeze(first.process)
        second.wait("started", "k")
        self.wait_gone(program)
        first.process.send_signal(signal.SIGCONT)
        first.wait("fenced")
        first.wait("ready")  # the first one; it joins again without another

    def test_drain_moves_keys_away(self):
        first = Worker(self, "--id", "w1", "--exec", *self.resident())
        first.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        second = Worker(self, "--id", "w2", "--exec", *self.resident())
        second.wait("ready")
        self.assertEqual(self.ask("drain", "w1")["worker"], "w1")
        self.assertEqual([j["worker"] for j in self.ask("jobs")["jobs"]], ["w2"])
        self.ask("drain", "nobody", expect=4)


class Task(ProgramTest):
    def test_a_task_gives_its_result(self):
        worker = Worker(self, "--task", "--exec", "sh", "-c", "tr a-z A-Z")
        worker.wait("ready")
        self.assertEqual(self.ask("dispatch", "k", "hello", "--task", "--wait", "done")["result"], "HELLO")
        done = self.run_tenure("dispatch", "k", "-", "--task", "--wait", "done", text="from stdin")
        self.assertEqual(done.stdout, "FROM STDIN\n")

    def test_a_failing_task_is_tried_again_and_then_dead(self):
        worker = Worker(self, "--exec", "sh", "-c", "echo it broke >&2; exit 65")
        worker.wait("ready")
        answer = self.ask("dispatch", "k", "--task", "--wait", "done", expect=7)
        self.assertEqual((answer["state"], answer["error"]["code"]), ("failed", "job_failed"))
        self.assertIn("it broke", answer["error"]["message"])
        dead = self.ask("dead", "list")["dead"]
        self.assertEqual([d["key"] for d in dead], ["k"])
        self.ask("dead", "drop", str(dead[0]["id"]))
        self.assertEqual(self.ask("dead", "list")["dead"], [])
        self.ask("dead", "retry", str(dead[0]["id"]), expect=4)

    def test_many_from_a_file_in_order(self):
        worker = Worker(self, "--workers", "2", "--exec", "cat")
        worker.wait("ready")
        lines = "".join(json.dumps({"key": f"k{i % 5}", "payload": str(i)}) + "\n" for i in range(50))
        done = self.run_tenure("dispatch", "--from", "-", "--task", "--wait", "done", "--json", text=lines)
        answers = [json.loads(line) for line in done.stdout.splitlines()]
        self.assertEqual([a["result"] for a in answers], [str(i) for i in range(50)])
        bad = self.run_tenure("dispatch", "--from", "-", "--task", "--json", text='{"key":""}\nnonsense\n', expect=10)
        self.assertEqual([json.loads(line)["state"] for line in bad.stdout.splitlines()], ["refused", "refused"])

    def warm(self):
        """A program that stays: says its process id, writes it down and hangs, or gives up for good."""
        return [sys.executable, "-u", "-c", """
import json, os, sys, time
for line in sys.stdin:
    task = json.loads(line)
    if task["type"] != "start": continue
    if task["payload"] == "hang":
        open("%s/" + task["key"] + "." + str(task["epoch"]), "w").write(str(os.getpid()) + "\\n")
        time.sleep(1000)
    if task["payload"] == "never": print(json.dumps({"type": "fail", "error": "it broke", "retry": False}))
    else: print(json.dumps({"type": "result", "data": str(os.getpid()) + " " + task["payload"]}))
""" % self.folder]

    def test_warm_programs_serve_one_task_after_the_other(self):
        worker = Worker(self, "--task", "--warm", "2", "--exec", *self.warm())
        worker.wait("ready")
        lines = "".join(json.dumps({"key": f"k{i % 5}", "payload": str(i)}) + "\n" for i in range(200))
        done = self.run_tenure("dispatch", "--from", "-", "--task", "--wait", "done", "--json", text=lines)
        results = [json.loads(line)["result"].split() for line in done.stdout.splitlines()]
        self.assertEqual([result[1] for result in results], [str(i) for i in range(200)])
        self.assertLessEqual(len({result[0] for result in results}), 2)
        answer = self.ask("dispatch", "k", "never", "--task", "--wait", "done", expect=7)
        self.assertIn("it broke", answer["error"]["message"])
        self.assertEqual([d["key"] for d in self.ask("dead", "list")["dead"]], ["k"])
        self.run_tenure("work", "--warm", "0", "--exec", "true", expect=2)
        self.run_tenure("work", "--warm", "2", "--protocol", "plain", "--exec", "true", expect=2)

    def test_warm_programs_are_replaced_by_their_limits(self):
        worker = Worker(self, "--warm", "1", "--max-tasks", "10", "--task-time", "1s", "--max-attempts", "1",
                        "--exec", *self.warm())
        worker.wait("ready")
        lines = "".join(json.dumps({"key": f"k{i % 5}", "payload": str(i)}) + "\n" for i in range(50))
        done = self.run_tenure("dispatch", "--from", "-", "--task", "--wait", "done", "--json", text=lines)
        processes = [json.loads(line)["result"].split()[0] for line in done.stdout.splitlines()]
        self.assertEqual(len(processes), 50)
        self.assertIn(len(set(processes)), (5, 6))  # nine or ten tasks each
        answer = self.ask("dispatch", "k", "hang", "--task", "--wait", "done", expect=7)
        self.assertIn("a task took longer than 1000 ms", answer["error"]["message"])
        done = self.run_tenure("work", "--max-tasks", "3", "--exec", "true", expect=2)
        self.assertIn("--warm", done.stderr)

    def test_warm_programs_end_with_a_worker_that_is_frozen_or_killed(self):
        first = Worker(self, "--id", "w1", "--task", "--warm", "1", "--exec", *self.warm())
        first.wait("ready")
        self.ask("dispatch", "k", "hang", "--task")
        frozen = self.process_of("k", first.wait("granted", "k")["epoch"])
        if "sqlite" in self.engine:
            self.freeze(first.process)
        else:
            first.process.send_signal(signal.SIGSTOP)
        self.wait_gone(frozen)
        second = Worker(self, "--id", "w2", "--task", "--warm", "1", "--exec", *self.warm())
        killed = self.process_of("k", second.wait("granted", "k")["epoch"])
        second.process.kill()
        self.wait_gone(killed)

    def test_jobs_wait_for_a_worker(self):
        self.assertEqual(self.ask("dispatch", "k", "x", "--task")["state"], "accepted")
        self.ask("dispatch", "k", "x", "--task", "--wait", "done", "--timeout", "200ms", expect=6)
        worker = Worker(self, "--exec", "true")
        worker.wait("stopped", "k", count=2)


class Takes(ProgramTest):
    def why(self, key):
        job = next(job for job in self.ask("jobs")["jobs"] if job["key"] == key)
        return job["state"], job["type"], job["why"]

    def test_workers_get_only_what_they_take(self):
        mailer = Worker(self, "--id", "mailer", "--takes", "task:email,task:sms", "--exec", "sh", "-c",
                        "echo $TENURE_TYPE $TENURE_KIND")
        mailer.wait("ready")
        done = self.ask("dispatch", "k", "--task", "--type", "sms", "--wait", "done")
        self.assertEqual(done["result"], "sms task\n")
        line = json.dumps({"key": "k", "task": True, "type": "email"})
        done = self.run_tenure("dispatch", "--from", "-", "--wait", "done", "--json", text=line + "\n")
        self.assertEqual(json.loads(done.stdout)["result"], "email task\n")

        self.ask("dispatch", "r")
        self.ask("dispatch", "f", "--task", "--type", "fax")
        self.assertEqual(self.why("r"), ("queued", "", "no worker takes residents"))
        self.assertEqual(self.why("f"), ("queued", "fax", "no worker takes tasks of type 'fax'"))
        self.assertIn("no worker takes tasks of type 'fax'", self.run_tenure("jobs").stdout)
        self.assertIn("resident, queued: no worker takes residents", self.run_tenure("explain", "r").stdout)
        self.assertIn("task of type 'fax', queued: no worker takes", self.run_tenure("explain", "f").stdout)

        keeper = Worker(self, "--id", "keeper", "--takes", "resident,any:fax", "--exec", "sleep", "1000")
        keeper.wait("started", "r")
        keeper.wait("granted", "f")
        takes = {worker["id"]: worker["takes"] for worker in self.ask("workers")["workers"]}
        self.assertEqual(takes, {"mailer": "task:email,task:sms", "keeper": "resident,task:fax"})

    def test_a_worker_for_tasks_moves_no_residents(self):
        keeper = Worker(self, "--id", "keeper", "--takes", "resident", "--exec", "sleep", "1000")
        keeper.wait("ready")
        for i in range(10):
            self.ask("dispatch", f"k{i}", "--wait", "started")
        tasks = Worker(self, "--id", "tasks", "--task", "--exec", "true")
        tasks.wait("ready")
        for i in range(10):
            self.ask("dispatch", f"t{i}", "--task", "--wait", "done")
        jobs = self.ask("jobs")["jobs"]
        self.assertEqual({(job["key"], job["worker"], job["state"]) for job in jobs},
                         {(f"k{i}", "keeper", "running") for i in range(10)})
        self.assertNotIn("stopped", [event["event"] for event in keeper.events])

    def test_what_is_malformed_is_refused(self):
        for takes in ("", "tasks", "task,", "task:" + 65 * "x", ",".join(f"any:{i}" for i in range(129))):
            self.run_tenure("work", "--takes", takes, "--exec", "true", expect=2)
        self.run_tenure("work", "--takes", "task", "--task", "--exec", "true", expect=2)
        self.run_tenure("work", "--takes", "resident", "--warm", "1", "--exec", "true", expect=2)
        self.ask("dispatch", "k", "--type", 65 * "x", expect=10)


class Pool(ProgramTest):
    def test_shutdown_ends_the_pool_for_all(self):
        worker = Worker(self, "--exec", *self.resident())
        worker.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        self.assertEqual(self.ask("shutdown")["state"], "gone")
        self.assertEqual(worker.process.wait(PATIENCE), 0)
        worker.wait("left")

    def test_shutdown_with_residents_that_wait_for_a_worker(self):
        for i in range(3):
            self.ask("dispatch", f"k{i}")
        self.assertEqual(self.ask("shutdown")["state"], "gone")
        self.assertEqual(self.left_of_the_pool(), [])
        worker = Worker(self, "--exec", *self.resident())
        worker.wait("ready")
        self.assertEqual(self.ask("dispatch", "new", "--wait", "started")["state"], "started")
        self.assertEqual([e["key"] for e in worker.events if e["event"] == "granted"], ["new"])

    def test_shutdown_with_drained_workers(self):
        worker = Worker(self, "--id", "w", "--task", "--exec", "cat")
        worker.wait("ready")
        self.ask("drain", "w")
        self.ask("dispatch", "k", "x", "--task")
        self.assertEqual(self.ask("shutdown")["state"], "gone")
        worker.wait("stopped", "k")
        self.assertEqual(worker.process.wait(PATIENCE), 0)

    def test_shutdown_where_the_only_worker_was_killed(self):
        worker = Worker(self, "--exec", *self.resident())
        worker.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        worker.process.kill()
        self.assertEqual(self.ask("shutdown")["state"], "gone")
        self.assertEqual(self.left_of_the_pool(), [])

    def test_shutdown_whose_caller_is_killed_at_any_moment(self):
        for after in (0.005, 0.02, 0.05, 0.1, 0.2):
            workers = [Worker(self, "--id", f"w{i}", "--exec", *self.resident()) for i in range(2)]
            for worker in workers:
                worker.wait("ready")
            self.ask("dispatch", "k", "--wait", "started")
            caller = subprocess.Popen([TENURE, "shutdown", "--engine", self.engine], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
            try:
                caller.wait(after)
            except subprocess.TimeoutExpired:
                caller.kill()
                caller.wait()
            # Where the order was not given yet, another one gives it; where it was, the workers know what to do.
            if subprocess.run([TENURE, "dispatch", "probe", "--engine", self.engine], capture_output=True,
                              check=False).returncode == 0:
                self.ask("shutdown")
            for worker in workers:
                self.assertEqual(worker.process.wait(PATIENCE), 0, worker.errors)
            if self.left_of_the_pool():  # made by the probe, which came when all was over
                self.assertEqual(self.ask("shutdown")["state"], "gone")
            self.assertEqual(self.left_of_the_pool(), [])

    def test_the_doctor(self):
        checks = {c["name"]: c for c in self.ask("doctor", expect=1)["checks"]}
        self.assertTrue(checks["open"]["ok"])
        self.assertFalse(checks["durability"]["ok"])
        self.assertIn("tenure work", checks["workers"]["hint"])


class Shards(ProgramTest):
    """A pool of four shards: two workers hold its keys, and every command knows all of them."""

    KEYS = [f"key-{i}" for i in range(16)]

    def setUp(self):
        super().setUp()
        self.workers = [Worker(self, "--id", "a", "--shards", "4", "--exec", *self.resident())]
        self.workers[0].wait("ready")
        # A later opener learns the number.
        self.workers.append(Worker(self, "--id", "b", "--exec", *self.resident()))
        self.workers[1].wait("ready")
        self.epochs = {key: self.ask("dispatch", key, "--wait", "started")["epoch"] for key in self.KEYS}

    def test_commands_know_all_shards(self):
        self.assertEqual(len(set(self.epochs.values())), len(self.KEYS))
        self.assertEqual({epoch % 4 for epoch in self.epochs.values()}, {0, 1, 2, 3})
        jobs = self.ask("jobs")["jobs"]
        self.assertEqual(sorted(job["key"] for job in jobs), sorted(self.KEYS))
        self.assertEqual({job["worker"] for job in jobs}, {"a", "b"})
        self.assertEqual(len(self.ask("jobs", "--limit", "5")["jobs"]), 5)
        listed = {row["id"]: row for row in self.ask("workers")["workers"]}
        self.assertEqual(sum(row["keys"] for row in listed.values()), len(self.KEYS))
        for key in self.KEYS[:4]:
            self.assertEqual(self.ask("explain", key)["history"][-1]["epoch"], self.epochs[key])
            self.assertEqual(self.ask("stop", key)["key"], key)
        self.run_tenure("dispatch", self.KEYS[9], expect=3)
        held = sum(job["worker"] == "a" for job in self.ask("jobs")["jobs"])
        self.assertEqual(self.ask("drain", "a")["moved"], held)
        self.assertEqual({job["worker"] for job in self.ask("jobs")["jobs"]}, {"b"})

    def test_throughput_is_measured_over_shards(self):
        measured = json.loads(self.run_tenure("bench", "throughput", "--jobs", "2000", "--keys", "50", "--shards", "3",
                                              "--engine", "memory:", "--json", engine=False).stdout)
        self.assertEqual((measured["jobs"], measured["shards"], measured["done_ms"]["n"]), (2000, 3, 2000))
        self.assertGreater(measured["baseline"]["per_s"], 0)

    def test_another_number_of_shards_is_refused(self):
        for count, code in (("1", 8), ("8", 8), ("0", 2), ("257", 2)):
            done = self.run_tenure("work", "--engine", self.engine, "--shards", count, "--exec", "true", expect=code,
                                   engine=False)
            self.assertIn("shards=4" if code == 8 else "--shards", done.stderr)

    def test_warm_programs_stay_with_their_shards(self):
        engine = self.engine
        done = self.run_tenure("work", "--engine", engine, "--task", "--warm", "3", "--exec", "true", expect=2, engine=False)
        self.assertIn("at least 4", done.stderr)
        for worker in self.workers:
            worker.end()
        program = self.folder / "warm.py"
        program.write_text(
            "import json, os, sys\n"
            "for line in sys.stdin:\n"
            "    print(json.dumps({'type': 'result', 'data': str(os.getpid())}), flush=True)\n")
        worker = Worker(self, "--id", "warm", "--task", "--warm", "4", "--exec", sys.executable, str(program))
        worker.wait("ready")
        processes = [self.ask("dispatch", f"task-{i % 20}", "--task", "--wait", "done")["result"] for i in range(60)]
        self.assertLessEqual(len(set(processes)), 4)

    def test_kill_9_is_taken_over_at_once_in_all_shards(self):
        held = [job["key"] for job in self.ask("jobs")["jobs"] if job["worker"] == "a"]
        programs = [self.process_of(key, self.epochs[key]) for key in held]
        killed = time.monotonic()
        self.workers[0].process.kill()
        for key in held:
            self.assertGreater(self.workers[1].wait("started", key)["epoch"], self.epochs[key])
        self.assertLess(time.monotonic() - killed, 2, "it was not known before the lease had run out")
        for program in programs:
            self.wait_gone(program)

    def test_shutdown_ends_all_shards_and_leaves_nothing(self):
        self.assertEqual(self.ask("shutdown")["state"], "gone")
        for worker in self.workers:
            self.assertEqual(worker.process.wait(PATIENCE), 0)
        self.assertEqual(self.left_of_the_pool(), [])


class Stubborn(ProgramTest):
    """A program of the library that is frozen past its lease, with a handler that will not stop."""

    def start(self, mode, errors=subprocess.PIPE):
        process = subprocess.Popen([STUBBORN, self.engine, self.folder / "file", mode], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=errors, text=True)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def line(self, process, start):
        for line in process.stdout:
            if line.startswith(start):
                return line.strip()
        self.fail(f"no line that begins with '{start}': {process.stderr.read()}")

    def lose_the_key(self, mode, errors=subprocess.PIPE):
        """A stubborn process that has lost its key to a worker, and was thawed; and that worker."""
        process = self.start(mode, errors)
        self.line(process, "log joined")
        self.ask("dispatch", "k", "--task")
        old = int(self.line(process, "begin").split()[1])
        self.freeze(process)
        heir = Worker(self, "--exec", "sh", "-c", f"until [ -e {self.folder}/file ]; do sleep 0.01; done")
        new = heir.wait("started", "k")["epoch"]
        self.assertGreater(new, old)
        process.send_signal(signal.SIGCONT)
        return process, heir

    def test_the_process_ends(self):
        process, _ = self.lose_the_key("end")
        self.assertEqual(process.wait(PATIENCE), 75)
        said = process.stderr.read()
        self.assertIn("lease", said)
        self.assertEqual(len(said.splitlines()), 1, said)

    def test_the_process_ends_where_nobody_reads_its_errors(self):
        reader, errors = os.pipe()
        self.addCleanup(os.close, reader)
        os.set_blocking(errors, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(errors, b"x" * 4096)
        os.set_blocking(errors, True)
        process, _ = self.lose_the_key("end", errors)
        os.close(errors)
        self.assertEqual(process.wait(PATIENCE), 75)

    def test_or_goes_on_and_comes_back(self):
        process, heir = self.lose_the_key("keep")
        self.line(process, "log session")
        (self.folder / "file").touch()
        self.line(process, "end")
        self.line(process, "log joined")
        self.assertEqual(heir.wait("stopped", "k")["reason"], "done")
        process.stdin.close()
        self.assertEqual(process.wait(PATIENCE), 0)


class Checkout(ProgramTest):
    """Programs that are lent over a socket."""

    def setUp(self):
        super().setUp()
        self.address = f"unix:{self.folder}/pool.sock"
        workers = pathlib.Path(__file__).resolve().parents[2] / "examples/workers"
        self.python = [sys.executable, workers / "python_worker.py"]

    def serve(self, *flags, address=None):
        server = subprocess.Popen(
            [TENURE, "checkout", "serve", "--json", "--listen", address or self.address, "--says-ready", *flags,
             "--exec", *self.python], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.addCleanup(server.__exit__, None, None, None)
        self.addCleanup(server.kill)
        ready = json.loads(server.stdout.readline())
        self.assertEqual(ready["event"], "ready")
        self.address = ready["listen"]
        return server

    def run_one(self, *words, expect=0, text=None):
        done = self.run_tenure("checkout", "run", "--json", "--connect", self.address, *words, expect=expect, text=text,
                               engine=False)
        return [json.loads(line) for line in done.stdout.splitlines()]

    def stats(self):
        return json.loads(self.run_tenure("checkout", "stats", "--connect", self.address, engine=False).stdout)

    def test_a_worker_answers_and_goes_back(self):
        server = self.serve("--workers", "1")
        self.assertEqual(self.run_one("6 * 7")[0]["answer"], "42")
        self.assertEqual(self.run_one("-", text="1 + 1")[0]["answer"], "2")
        lines = self.run_one("--lines", text="1\nnonsense\n3\n", expect=7)
        self.assertEqual([line.get("answer") for line in lines], ["1", None, "3"])
        self.assertIn("NameError", lines[1]["error"]["message"])
        late = self.run_one("[0 for _ in iter(int, 1)]", "--timeout", "300ms", expect=6)
        self.assertEqual(late[0]["error"]["code"], "timed_out")
        self.assertEqual(self.run_one("7", "--wait", "20s")[0]["answer"], "7")
        self.assertEqual(self.stats()["starts"], 2)
        process = self.run_one("8")[0]["process"]
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(PATIENCE), 0)
        self.wait_gone(process)
        self.assertEqual(self.run_one("7", expect=8)[0]["error"]["code"], "unavailable")

    def test_leases_end_with_clients_and_servers_that_are_killed(self):
        server = self.serve("--workers", "1", "--max-queue", "0", address="tcp:127.0.0.1:0")
        client = subprocess.Popen([TENURE, "checkout", "run", "--connect", self.address, "--lines"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(client.__exit__, None, None, None)
        client.stdin.write("__import__('os').getpid()\n")
        client.stdin.flush()
        process = int(client.stdout.readline())
        self.run_one("1", expect=5)  # the only one is held
        client.kill()
        self.assertEqual(self.run_one("__import__('os').getpid()", "--force-enqueue")[0]["answer"], str(process))
        server.kill()
        self.wait_gone(process)

    def hold(self, *flags):
        """A client that holds a worker and asks nothing; and the worker's process."""
        client = subprocess.Popen([TENURE, "checkout", "run", "--connect", self.address, "--lines", *flags],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(client.__exit__, None, None, None)
        self.addCleanup(client.kill)
        client.stdin.write("__import__('os').getpid()\n")
        client.stdin.flush()
        return client, client.stdout.readline().strip()

    def test_a_client_that_is_frozen_loses_its_lease(self):
        self.serve("--workers", "1", "--max-idle", "500ms", address="tcp:127.0.0.1:0")
        client, process = self.hold()
        client.send_signal(signal.SIGSTOP)
        # The worker owes nothing and goes to the next caller. A call that takes its time is not idle.
        busy = "__import__('time').sleep(1) or __import__('os').getpid()"
        self.assertEqual(self.run_one(busy, "--wait", "30s")[0]["answer"], process)
        client.send_signal(signal.SIGCONT)
        client.stdin.write("1\n")
        client.stdin.close()
        self.assertNotEqual(client.wait(PATIENCE), 0)
        self.assertIn("no request for 500 ms", client.stderr.read())

    def test_a_server_that_is_frozen_is_noticed_by_the_deadline_of_a_call(self):
        server = self.serve("--workers", "1", address="tcp:127.0.0.1:0")
        client, _ = self.hold("--timeout", "1s")
        server.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, server.pid, os.WSTOPPED | os.WNOWAIT)  # all of its threads
        client.stdin.write("1\n")
        client.stdin.close()
        self.assertEqual(client.wait(PATIENCE), 6)
        self.assertIn("no answer in time", client.stderr.read())
        server.send_signal(signal.SIGCONT)
        self.assertEqual(self.run_one("1 + 1", "--wait", "30s")[0]["answer"], "2")

    def test_bad_input(self):
        for flags in ([], ["--listen", "unix:x"], ["--listen", "unix:x", "--workers", "many", "--exec", "true"]):
            self.run_tenure("checkout", "serve", *flags, expect=2, engine=False)
        for flags in (["--listen", "nowhere"], ["--listen", "tcp:0.0.0.0:0"], ["--listen", "tcp:h"],
                      ["--listen", self.address, "--token-file", "/nowhere"]):
            self.run_tenure("checkout", "serve", *flags, "--exec", "true", expect=10, engine=False)
        self.run_tenure("checkout", "run", "x", expect=2, engine=False)
        self.run_tenure("checkout", "stats", "--connect", self.address, expect=8, engine=False)


class Silence(ProgramTest):
    """Nothing happens in silence: what is not done, or leaves something open, is said."""

    def test_a_taken_id_is_said_at_once_and_the_wait_can_be_interrupted(self):
        worker = Worker(self, "--id", "w", "--exec", *self.resident())
        worker.wait("ready")
        for number in (signal.SIGTERM, signal.SIGINT):
            second = subprocess.Popen([TENURE, "work", "--id", "w", "--engine", self.engine, "--exec", "true"],
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            self.addCleanup(second.__exit__, None, None, None)
            self.addCleanup(second.kill)
            line = second.stderr.readline()
            self.assertIn("the id 'w' is taken", line)
            self.assertIn(f"process {worker.process.pid}", line)
            self.assertIn("lease", line)
            second.send_signal(number)
            self.assertEqual(second.wait(PATIENCE), 0)
        self.assertEqual([w["pid"] for w in self.ask("workers")["workers"]], [worker.process.pid])

    def test_looking_at_a_pool_that_does_not_exist_does_not_create_it(self):
        for words in (["jobs"], ["workers"], ["explain", "k"], ["dead", "list"], ["dead", "drop", "7"], ["drain", "w"],
                      ["stop", "k"], ["notify", "k", "x"], ["shutdown"]):
            with self.subTest(words):
                error = self.ask(*words, expect=9)["error"]
                self.assertEqual(error["code"], "no_such_pool")
                self.assertIn("--pool", error["hint"])
                self.assertFalse((self.folder / "pool.db").exists())
        self.ask("dispatch", "k")
        self.assertEqual([job["key"] for job in self.ask("jobs")["jobs"]], ["k"])

    def test_drain_of_nobody_and_of_the_last_worker(self):
        worker = Worker(self, "--id", "w", "--exec", *self.resident())
        worker.wait("ready")
        error = self.ask("drain", "nobody", expect=4)["error"]
        self.assertIn("tenure workers", error["hint"])
        self.ask("dispatch", "k", "--wait", "started")
        drained = self.run_tenure("drain", "w", "--json")
        self.assertEqual(json.loads(drained.stdout), {"worker": "w", "moved": 1, "takers": 0})
        self.assertIn("no other worker takes keys", drained.stderr)
        self.assertEqual(self.ask("jobs")["jobs"][0]["state"], "queued")

    def test_stop_says_how_many_tasks_it_has_dropped(self):
        for _ in range(3):
            self.ask("dispatch", "k", "--task")
        self.assertEqual(self.ask("stop", "k")["dropped"], 3)
        for _ in range(2):
            self.ask("dispatch", "k", "--task")
        self.assertIn("2 queued tasks dropped", self.run_tenure("stop", "k").stdout)
        self.ask("dispatch", "k")
        self.assertEqual(self.ask("stop", "k")["dropped"], 0)

    def test_a_cut_listing_says_where_to_go_on(self):
        keys = {f"k{i}" for i in range(10)}
        for key in keys:
            self.ask("dispatch", key)
        seen, more = [], []
        while True:
            page = self.ask("jobs", "--limit", "4", *more)
            self.assertLessEqual(len(page["jobs"]), 4)
            seen += [job["key"] for job in page["jobs"]]
            if page["next"] is None:
                break
            more = ["--from", str(page["next"])]
        self.assertEqual(sorted(seen), sorted(keys))
        self.assertIn("--from", self.run_tenure("jobs", "--limit", "4").stderr)

    def test_a_cut_listing_of_dead_letters_says_where_to_go_on(self):
        worker = Worker(self, "--exec", "sh", "-c", "exit 65")
        worker.wait("ready")
        for i in range(5):
            self.ask("dispatch", f"k{i}", "--task", "--wait", "done", expect=7)
        first = self.ask("dead", "list", "--limit", "3")
        rest = self.ask("dead", "list", "--limit", "3", "--after", str(first["next"]))
        self.assertEqual({d["key"] for d in first["dead"] + rest["dead"]}, {f"k{i}" for i in range(5)})
        self.assertIsNone(rest["next"])
        self.assertIsNone(self.ask("dead", "list", "--limit", "5")["next"])
        self.assertIn("--after", self.run_tenure("dead", "list", "--limit", "3").stderr)

    def test_a_dispatcher_that_waits_for_the_start_learns_the_worker(self):
        worker = Worker(self, "--id", "w", "--exec", *self.resident())
        worker.wait("ready")
        self.assertEqual(self.ask("dispatch", "k", "--wait", "started")["worker"], "w")

    def test_a_benchmark_takes_a_file_and_leaves_nothing(self):
        file = self.folder / "bench.db"
        (self.folder / "bench.db.mine").write_text("")
        before = set(os.listdir(self.folder))
        self.run_tenure("bench", "throughput", "--jobs", "100", "--keys", "5", "--engine", f"sqlite:{file}?sync=off",
                        engine=False)
        self.assertEqual(set(os.listdir(self.folder)), before)
        file.write_text("a file that exists")
        self.run_tenure("bench", "throughput", "--jobs", "100", "--engine", f"sqlite:{file}", engine=False, expect=8)
        self.assertEqual(file.read_text(), "a file that exists")


    def test_a_limit_for_files_is_said_and_ends_nobody(self):
        worker = Worker(self, "--id", "w", "--exec", *self.resident())
        worker.wait("ready")
        _, hard = resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE)
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (4096, hard))
        self.wait_for("no word of the limit", lambda: any("ulimit -f" in line for line in worker.errors))
        self.assertIsNone(worker.process.poll())
        resource.prlimit(worker.process.pid, resource.RLIMIT_FSIZE, (hard, hard))
        self.assertEqual(self.ask("dispatch", "k", "--wait", "started")["state"], "started")
        worker.wait("started", "k")

    def test_programs_do_not_inherit_what_the_worker_ignores(self):
        script = "grep SigIgn /proc/self/status > $OUT/signals; exec sleep 600"
        os.environ["OUT"] = str(self.folder)
        self.addCleanup(os.environ.pop, "OUT")
        worker = Worker(self, "--id", "w", "--exec", "sh", "-c", script)
        worker.wait("ready")
        self.assertEqual(self.ask("dispatch", "k", "--wait", "started")["state"], "started")
        self.wait_for("the program says nothing", lambda: (self.folder / "signals").exists() and (self.folder / "signals").read_text())
        ignored = int((self.folder / "signals").read_text().split()[1], 16)
        for number in (signal.SIGPIPE, signal.SIGXFSZ):
            self.assertEqual(ignored >> (number - 1) & 1, 0, number)


class BadInput(ProgramTest):
    def test_groups_of_commands_have_help(self):
        for group in ("orders", "stream", "dead", "source", "partition"):
            for words in ((group, "--help"), (group, "-h"), ("help", group)):
                self.assertIn(f"tenure {group} ", self.run_tenure(*words, engine=False).stdout)

    def test_a_lease_out_of_range_names_the_flag(self):
        for lease in ("1ms", "2h"):
            for words in (("work", "--lease", lease, "--exec", "true"),
                          ("orders", "work", "--lease", lease, "--handler", "true")):
                self.assertIn("--lease", self.run_tenure(*words, expect=2, engine=False).stderr)

    def test_wrong_usage(self):
        for arguments in (["frobnicate"], ["dispatch"], ["jobs", "--nonsense"], ["stop"], ["work"], ["jobs", "--limit", "x"],
                          ["dispatch", "k", "--timeout", "soon"], ["completion", "tcsh"], ["dead"]):
            with self.subTest(arguments):
                done = self.run_tenure(*arguments, expect=2, engine=False)
                self.assertIn("tenure help", done.stderr)
                self.assertEqual(done.stdout, "")
        error = json.loads(self.run_tenure("--json", "frobnicate", expect=2, engine=False).stdout)
        self.assertEqual(error["error"]["code"], "usage")

    def test_refused_input(self):
        self.assertEqual(self.ask("dispatch", "", expect=10)["error"]["code"], "invalid")
        self.assertEqual(self.ask("dispatch", "k" * 2000, expect=10)["error"]["code"], "invalid")
        self.assertEqual(self.ask("dispatch", "k", "-", expect=10, text="x" * (2 << 20))["error"]["code"], "invalid")
        self.run_tenure("dispatch", "--from", str(self.folder / "missing"), expect=10)

    def test_engines_that_do_not_open(self):
        (self.folder / "text").write_text("this is no database, but it is long enough to look at " * 20)
        self.run_tenure("dispatch", "k", "--engine", f"sqlite:{self.folder}/no/such/folder/x.db", expect=8, engine=False)
        for url, code in ((f"sqlite:{self.folder}/no/such/folder/x.db", 8), (f"sqlite:{self.folder}/text", 8),
                          ("nonsense", 10), ("redis-ish://x", 10), ("sqlite:x?sync=perhaps", 10)):
            with self.subTest(url):
                done = self.run_tenure("jobs", "--json", "--engine", url, expect=code, engine=False)
                self.assertTrue(json.loads(done.stdout)["error"]["message"])
        self.ask("dispatch", "k")
        self.run_tenure("jobs", "--pool", "another", expect=9)

    def test_a_full_disk(self):
        """Files may not grow: the job is refused with the reason, and with space again everything works."""
        self.ask("dispatch", "first")
        room = os.path.getsize(self.folder / "pool.db") + 10_000

        def forbid_growth():
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
        done = subprocess.run([TENURE, "dispatch", "large", "-", "--timeout", "1s", "--json", "--engine", self.engine],
                              input="x" * 200_000, text=True, capture_output=True, preexec_fn=forbid_growth,
                              restore_signals=False)  # a write beyond the limit is an error, and no signal
        self.assertEqual(done.returncode, 8, done)
        self.assertEqual(json.loads(done.stdout)["error"]["code"], "full")
        self.assertIn("free some", done.stderr)
        self.assertEqual(self.ask("dispatch", "small")["state"], "accepted")
        self.assertEqual({job["key"] for job in self.ask("jobs")["jobs"]}, {"first", "small"})

    def test_a_node_that_gives_up_says_why(self):
        """A damaged copy is restored: the worker's history is lost, and there is no valid state to start over from."""
        worker = Worker(self, "--exec", *self.resident())
        worker.wait("ready")
        self.ask("dispatch", "k", "--wait", "started")
        with contextlib.closing(sqlite3.connect(self.folder / "pool.db", timeout=PATIENCE)) as database, database:
            database.execute("UPDATE runs SET time_ms = time_ms + 1")
            database.execute("INSERT INTO snapshots SELECT 1000, max(first), 0, 1 FROM runs")
            database.execute("INSERT INTO snapshot_chunks VALUES(1000, 0, x'ff')")
        self.assertEqual(worker.process.wait(PATIENCE), 8)
        worker.wait("fenced")
        worker.wait("left")
        worker.end()
        self.assertEqual(worker.events[-1]["error"]["code"], "corrupt")
        self.assertIn("restore snapshot", "".join(worker.errors))
        self.wait_gone(self.process_of("k", worker.wait("started", "k")["epoch"]))

    def test_a_program_that_is_not_there(self):
        """Is refused when the worker starts. If it goes away later, its jobs fail with the reason."""
        for missing in ("/no/such/program", "no-such-program", str(self.folder)):
            with self.subTest(missing):
                done = self.run_tenure("work", "--exec", missing, expect=2)
                self.assertIn(missing, done.stderr)
        program = self.folder / "program"
        program.write_text("#!/bin/sh\nexit 0\n")
        program.chmod(0o700)
        worker = Worker(self, "--exec", str(program))
        worker.wait("ready")
        program.unlink()
        self.ask("dispatch", "k", "--task", "--max-attempts", "1", "--wait", "done", expect=7)
        self.assertIn(str(program), worker.wait("failed", "k")["reason"])

    def test_help_teaches(self):
        self.assertIn("tenure work", self.run_tenure("help", engine=False).stdout)
        for command in ("work", "dispatch", "dead", "explain"):
            self.assertIn("Examples", self.run_tenure("help", command, engine=False).stdout)
            self.assertIn("tenure " + command, self.run_tenure("man", engine=False).stdout.replace("\\-", "-"))
        for shell in ("bash", "zsh", "fish"):
            self.assertIn("dispatch", self.run_tenure("completion", shell, engine=False).stdout)
        script = self.run_tenure("completion", "bash", engine=False).stdout
        words = 'COMP_WORDS=(tenure dispatch --wai); COMP_CWORD=2; _tenure; echo "${COMPREPLY[@]}"'
        done = subprocess.run(["bash", "-c", script + words], capture_output=True, text=True)
        self.assertEqual(done.stdout.strip(), "--wait", done.stderr)

    def test_the_default_file_is_made_on_first_use(self):
        environment = os.environ | {"XDG_DATA_HOME": str(self.folder / "data"), "TENURE_POOL": "my pool"}
        environment.pop("TENURE_ENGINE", None)
        done = subprocess.run([TENURE, "dispatch", "k"], env=environment, capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertTrue((self.folder / "data/tenure/my%20pool.db").exists())

    def test_the_default_folder_and_all_in_it_are_their_users_alone(self):
        """Whatever the umask, and with a worker that has all of a pool's files open."""
        environment = os.environ | {"XDG_DATA_HOME": str(self.folder / "data"), "TENURE_POOL": "p"}
        environment.pop("TENURE_ENGINE", None)
        worker = subprocess.Popen([TENURE, "work", "--json", "--exec", "true"], env=environment, stdout=subprocess.PIPE,
                                  umask=0, text=True)
        self.addCleanup(worker.stdout.close)
        self.addCleanup(worker.wait)
        self.addCleanup(worker.terminate)  # and not killed: its guard would still write the end of its session
        while '"ready"' not in worker.stdout.readline():
            self.assertIsNone(worker.poll())
        folder = self.folder / "data/tenure"
        modes = {path.name: oct(path.stat().st_mode & 0o777) for path in folder.iterdir()}
        names = {"p.db", "p.db-wal", "p.db-shm", "p.db-wake", "p.db-alive"}
        self.assertEqual(modes, dict.fromkeys(names, "0o600"))
        self.assertEqual(oct(folder.stat().st_mode & 0o777), "0o700")


if __name__ == "__main__":
    unittest.main()
