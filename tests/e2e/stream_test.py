#!/usr/bin/env python3
"""`tenure stream` as a user runs it, and beside other programs that use the same streams.

Usage: stream_test.py PATH_OF_TENURE DOCS [KAFKA_BORROW] [unittest arguments]. E2E_ENGINE is sqlite (default), redis or
kafka: a real server, where there is one. Waits for events, never for time to pass.
"""

import base64
import json
import os
import pathlib
import re
import shlex
import signal
import sqlite3
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
DOCS = pathlib.Path(sys.argv.pop(1)).resolve()
ENGINE = os.environ.get("E2E_ENGINE", "sqlite")
BORROW = os.path.abspath(sys.argv.pop(1)) if ENGINE == "kafka" else None
STREAMS = {"orders", "numbers", "no", "odd"}
PATIENCE = 60


class Stream(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/tenure.db"
        self.begin = ""
        if ENGINE == "kafka":  # the tests share a broker
            self.begin = f"s{uuid.uuid4().hex[:12]}."
            self.broker = BorrowedBroker(self, BORROW, self.begin)
            self.engine = self.broker.url
        if ENGINE == "redis":
            server, self.port = with_server.start(folder.name)
            self.addCleanup(server.stdout.close)
            self.addCleanup(server.wait)
            self.addCleanup(server.kill)
            self.engine = f"redis://127.0.0.1:{self.port}"
        self.env = dict(os.environ, TENURE_ENGINE=self.engine, HOME=str(self.folder))

    def named(self, words):
        return [self.begin + word if word in STREAMS else word for word in words]

    def run_tenure(self, *words, code=0, stdin=b""):
        done = subprocess.run([TENURE, "stream", *self.named(words)], env=self.env, input=stdin, capture_output=True,
                              timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, code, (words, done.stdout, done.stderr))
        return done

    def events(self, *words, **more):
        return [json.loads(line) for line in self.run_tenure(*words, "--json", **more).stdout.splitlines()]

    def tail(self, *words):
        """A tail that has begun: what is added from now on is shown."""
        errors = (self.folder / "errors").open("wb")
        tail = subprocess.Popen([TENURE, "stream", "tail", *self.named(words), "--json"], env=self.env, stdout=subprocess.PIPE,
                                stderr=errors)
        self.addCleanup(errors.close)
        self.addCleanup(tail.stdout.close)
        self.addCleanup(tail.wait, PATIENCE)
        self.addCleanup(tail.kill)
        return tail

    def add_until_seen(self, tail, name):
        """A tail from the newest event on sees only what is added after it has looked: adds until it does."""
        os.set_blocking(tail.stdout.fileno(), False)
        deadline = time.monotonic() + PATIENCE
        while not (line := tail.stdout.readline()):
            self.assertLess(time.monotonic(), deadline)
            self.run_tenure("add", name, "again")
        os.set_blocking(tail.stdout.fileno(), True)
        return json.loads(line)

    def test_an_event_comes_back_as_it_was_added(self):
        added, = self.events("add", "orders", '{"id":7}', "--topic", "eu", "--name", "placed", "--key", "c3")
        bare, = self.events("add", "orders", "x")
        self.assertGreater(bare["position"], added["position"])
        first, second = self.events("read", "orders")
        now = time.time() * 1000
        self.assertAlmostEqual(first.pop("time_ms"), now, delta=60_000)
        self.assertEqual(first, {"position": added["position"], "name": "placed", "topic": "eu", "key": "c3",
                                 "payload": '{"id":7}'})
        self.assertEqual((second["key"], second["topic"], second["payload"]), (None, "", "x"))

    def test_any_bytes_and_nothing_raw_on_a_terminal(self):
        raw = bytes(range(256))
        self.run_tenure("add", "orders", "-", stdin=raw)
        self.run_tenure("add", "orders", "\x1b[31mred\nline", "--topic", "\x1b]0;t\x07")
        first, second = self.events("read", "orders")
        self.assertEqual(base64.b64decode(first["payload_base64"]), raw)
        self.assertEqual(second["payload"], "\x1b[31mred\nline")
        for shown in (self.run_tenure("read", "orders").stdout, self.run_tenure("read", "orders", "--json").stdout):
            self.assertEqual(len(shown.splitlines()), 2)
            self.assertFalse(set(shown) & (set(range(32)) - {10}), shown)

    def test_a_tail_follows_and_ends_on_a_signal(self):
        self.run_tenure("add", "orders", "old")
        for number in (signal.SIGINT, signal.SIGTERM):
            tail = self.tail("orders")
            self.assertEqual(self.add_until_seen(tail, "orders")["payload"], "again")
            self.run_tenure("add", "orders", "-", stdin=b"last")
            while json.loads(tail.stdout.readline())["payload"] != "last":
                pass
            tail.send_signal(number)
            self.assertEqual(tail.wait(PATIENCE), 0)

    def test_a_tail_ends_at_its_limit_and_filters(self):
        for topic in ("eu", "us", "eu.west", "eu.east"):
            self.run_tenure("add", "orders", topic, "--topic", topic)
        found = self.events("tail", "orders", "--from", "oldest", "--topic", "eu*", "--limit", "3")
        self.assertEqual([event["topic"] for event in found], ["eu", "eu.west", "eu.east"])
        self.assertEqual(len(self.events("read", "orders", "--topic", "us")), 1)

    def test_reading_starts_where_it_is_told(self):
        positions = [self.events("add", "orders", str(i))[0]["position"] for i in range(5)]
        self.assertEqual([e["payload"] for e in self.events("read", "orders", "--from", str(positions[3]))], ["3", "4"])
        self.assertEqual(self.events("read", "orders", "--from", "newest"), [])
        self.assertEqual(len(self.events("read", "orders", "--from", "-1h")), 5)
        self.assertEqual(self.events("read", "orders", "--from", "2100-01-01T00:00:00Z"), [])
        part = self.run_tenure("read", "orders", "--limit", "2")
        self.assertEqual(len(part.stdout.splitlines()), 2)
        self.assertIn(f"--from {positions[2]}", part.stderr.decode())
        self.run_tenure("read", "orders", "--from", "yesterday", code=2)

    def test_lines_are_events(self):
        lines = b"".join(b"%d\n" % i for i in range(5000))
        self.assertEqual(len(self.run_tenure("add", "numbers", "--lines", stdin=lines).stdout.splitlines()), 5000)
        read = self.events("read", "numbers", "--limit", "10000")
        self.assertEqual([event["payload"] for event in read], [str(i) for i in range(5000)])

    @unittest.skipUnless(ENGINE == "kafka", "the others have bounds")
    def test_a_topic_has_no_bound_and_that_is_said(self):
        self.run_tenure("add", "orders", "a")
        refused = self.run_tenure("limit", "orders", "--events", "2", "--json", code=8)
        self.assertIn("retention.bytes", json.loads(refused.stdout)["error"]["message"])

    @unittest.skipUnless(ENGINE == "kafka", "a broker")
    def test_other_programs_use_the_topic(self):
        self.run_tenure("add", "orders", "ours", "--key", "k", "--name", "placed", "--topic", "eu")
        self.broker.ask(f"write {self.begin}orders 0 k2 theirs")
        (key, value, headers), _ = self.broker.records(self.begin + "orders")
        self.assertEqual((key, value), (b"k", b"ours"))
        self.assertEqual(headers, {"tenure-name": b"placed", "tenure-topic": b"eu"})
        self.assertEqual([(event["key"], event["payload"]) for event in self.events("read", "orders")],
                         [("k", "ours"), ("k2", "theirs")])

    @unittest.skipIf(ENGINE == "kafka", "a topic has no bound")
    def test_a_bound_refuses_or_drops(self):
        self.run_tenure("limit", "orders", "--events", "2")
        self.run_tenure("add", "orders", "a")
        self.run_tenure("add", "orders", "b")
        full = self.run_tenure("add", "orders", "c", "--json", code=5)
        self.assertEqual(json.loads(full.stdout)["error"]["code"], "pool_full")
        info, = self.events("info", "orders")
        self.assertEqual((info["stream"], info["events"], info["partitions"]), ("orders", 2, 1))
        self.assertEqual(info["limit"], {"events_max": 2, "at_bound": "refuse"})
        self.assertEqual([e["payload"] for e in self.events("read", "orders")], ["a", "b"])
        self.run_tenure("limit", "orders", "--events", "2", "--at-bound", "drop")
        self.run_tenure("add", "orders", "c")
        self.assertEqual([e["payload"] for e in self.events("read", "orders")], ["b", "c"])

    def test_a_trim_is_a_loss_for_those_behind(self):
        positions = [self.events("add", "orders", str(i))[0]["position"] for i in range(5)]
        trimmed, = self.events("trim", "orders", "--before", str(positions[3]))
        self.assertEqual(trimmed["trimmed"], 3)
        late = self.run_tenure("read", "orders", "--from", str(positions[1]), "--json")
        self.assertEqual(len(late.stdout.splitlines()), 2)
        self.assertRegex(late.stderr.decode(), r"\d+ events were trimmed before they were read: positions \d+ to \d+")
        fresh = self.run_tenure("read", "orders")
        self.assertEqual(fresh.stderr, b"")

    def test_a_stream_that_is_not_there(self):
        for words in (("read", "no"), ("tail", "no"), ("info", "no"), ("trim", "no", "--before", "1"),
                      ("remove", "no")):
            failed = self.run_tenure(*words, "--json", code=4)
            self.assertEqual(json.loads(failed.stdout)["error"]["code"], "no_such_key")
        self.run_tenure("add", "orders", "a")
        self.run_tenure("remove", "orders")
        self.run_tenure("info", "orders", code=4)
        self.run_tenure("add", "n" * 600, "a", code=10)
        self.run_tenure("add", "orders", code=2)
        self.run_tenure("trim", "orders", code=2)
        self.run_tenure("limit", "orders", code=2)

    def test_a_tail_goes_on_with_a_stream_that_is_made_again(self):
        self.run_tenure("add", "orders", "old")
        tail = self.tail("orders", "--from", "oldest")
        self.assertEqual(json.loads(tail.stdout.readline())["payload"], "old")
        self.run_tenure("remove", "orders")
        self.run_tenure("add", "orders", "new")
        self.assertEqual(json.loads(tail.stdout.readline())["payload"], "new")
        tail.send_signal(signal.SIGINT)
        self.assertEqual(tail.wait(PATIENCE), 0)
        self.assertIn("made again", (self.folder / "errors").read_text())

    @unittest.skipUnless(ENGINE == "sqlite", "a file")
    def test_other_programs_use_the_table(self):
        self.run_tenure("add", "orders", "ours", "--key", "k")
        file = self.folder / "tenure.db-stream-orders.db"
        for beside in (file, *self.folder.glob("tenure.db-stream-orders.db-*")):
            self.assertEqual(beside.stat().st_mode & 0o777, 0o600, beside)
        tail = self.tail("orders", "--from", "oldest")
        self.assertEqual(json.loads(tail.stdout.readline())["payload"], "ours")
        theirs = sqlite3.connect(file)
        self.addCleanup(theirs.close)
        self.assertEqual(theirs.execute("SELECT key, payload FROM events").fetchall(), [(b"k", b"ours")])
        with theirs:
            theirs.execute("INSERT INTO events(payload, topic) VALUES('theirs', 'eu')")
        event = json.loads(tail.stdout.readline())
        self.assertEqual((event["payload"], event["topic"], event["key"]), ("theirs", "eu", None))
        self.assertAlmostEqual(event["time_ms"], time.time() * 1000, delta=60_000)
        # The bound holds for them, too.
        self.run_tenure("limit", "orders", "--events", "2")
        with self.assertRaisesRegex(sqlite3.IntegrityError, "at its bound of 2 events"), theirs:
            theirs.execute("INSERT INTO events(payload) VALUES('too much')")
        self.run_tenure("limit", "orders", "--events", "2", "--at-bound", "drop")
        with theirs:
            theirs.execute("INSERT INTO events(payload) VALUES('newest')")
        self.assertEqual([e["payload"] for e in self.events("read", "orders")], ["theirs", "newest"])

    @unittest.skipUnless(ENGINE == "redis", "a server")
    def test_other_programs_use_the_key(self):
        def cli(*words):
            return subprocess.run(["redis-cli", "-p", str(self.port), *words], check=True, capture_output=True,
                                  text=True, timeout=PATIENCE).stdout
        cli("XADD", "orders", "*", "payload", "theirs", "key", "k", "topic", "eu", "name", "n")
        cli("XADD", "orders", "*", "temperature", "21.5", "place", "Köln")
        first, second = self.events("read", "orders")
        self.assertEqual((first["payload"], first["key"], first["topic"], first["name"]), ("theirs", "k", "eu", "n"))
        self.assertEqual(json.loads(second["payload"]), {"temperature": "21.5", "place": "Köln"})
        self.run_tenure("add", "orders", "ours", "--key", "k2")
        self.assertIn("payload\nours\nkey\nk2", cli("XREVRANGE", "orders", "+", "-", "COUNT", "1"))
        # An id that is no position is an error that says what to do, and not a crash.
        cli("XADD", "odd", "1-99999999", "payload", "x")
        odd = self.run_tenure("read", "odd", code=10)
        self.assertIn("let the server choose the ids", odd.stderr.decode())

    @unittest.skipUnless(ENGINE == "redis", "the example is for Redis")
    def test_the_example_of_the_manual_works(self):
        blocks = re.findall(r"```sh\n(.*?)```", (DOCS / "streams.md").read_text(), re.DOTALL)
        lines = [line for block in blocks if "XADD" in block for line in block.splitlines() if line.strip()]
        self.assertTrue(lines)
        shown = ""
        for line in lines:
            words = shlex.split(line, comments=True)
            words = {"redis-cli": ["redis-cli", "-p", str(self.port)], "tenure": [TENURE]}[words[0]] + words[1:]
            words = [self.engine if word == "redis://localhost" else word for word in words]
            shown += subprocess.run(words, env=self.env, check=True, capture_output=True, text=True,
                                    timeout=PATIENCE).stdout
        self.assertIn("customer-3", shown)


if __name__ == "__main__":
    unittest.main()
