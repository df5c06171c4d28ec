#!/usr/bin/env python3
"""Work orders, as operators run them: pool_worker and `tenure orders`.

Usage: orders_test.py TENURE POOL_WORKER [KAFKA_BORROW] [unittest arguments]. E2E_ENGINE is sqlite (default), redis or
kafka: a real server, where there is one. Orders come from a program that knows nothing of Tenure. Waits for events,
never for time to pass.
"""

import http.server
import json
import os
import pathlib
import resource
import signal
import sqlite3
import ssl
import stat
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import uuid

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "redis"))
import with_server  # noqa: E402
from borrowed_broker import BorrowedBroker  # noqa: E402

TENURE = os.path.abspath(sys.argv.pop(1))
POOL_WORKER = os.path.abspath(sys.argv.pop(1))
ENGINE = os.environ.get("E2E_ENGINE", "sqlite")
BORROW = os.path.abspath(sys.argv.pop(1)) if ENGINE == "kafka" else None
PATIENCE = int(os.environ.get("PATIENCE", "60"))


class Orders(unittest.TestCase):
    partitions = 1

    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.log = self.folder / "log"
        self.log.touch()
        self.done = self.folder / "done"
        self.done.touch()
        name = f"o{uuid.uuid4().hex[:12]}"
        self.orders, self.claims, self.dead = name + ".orders", name + ".claims", name + ".dead"
        getattr(self, "start_" + ENGINE)(name)
        self.env = {"PATH": os.environ["PATH"], "HOME": folder.name, "TMPDIR": folder.name, "DONE": str(self.done),
                    "KAFKA_URL": self.engine, "ORDERS_TOPIC": self.orders, "COORDINATION_TOPIC": self.claims,
                    "LOG_FORMAT": "json", "RETRY_BACKOFF": "50ms", "LEASE": "10s"}

    def start_sqlite(self, _):
        self.engine = f"sqlite:{self.folder}/orders.db"

    def start_redis(self, _):
        server, port = with_server.start(str(self.folder))
        self.addCleanup(server.stdout.close)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        self.port = port
        self.engine = f"redis://127.0.0.1:{port}"

    def start_kafka(self, name):
        self.broker = BorrowedBroker(self, BORROW, name)
        self.engine = self.broker.url
        self.broker.ask(f"make {self.orders} {self.partitions}")

    def produce(self, texts):
        """By a program that knows nothing of Tenure."""
        if ENGINE == "kafka":
            for number, text in enumerate(texts):
                self.broker.ask(f"write {self.orders} {number % self.partitions} - {text}")
        elif ENGINE == "redis":
            commands = "".join("XADD %s * payload %s\n" % (self.orders, json.dumps(text)) for text in texts)
            subprocess.run(["redis-cli", "-p", str(self.port)], input=commands, text=True, check=True,
                           capture_output=True, timeout=PATIENCE)
        else:
            self.tenure("stream", "add", self.orders, "--engine", self.engine, "--lines",
                        input="".join(text + "\n" for text in texts).encode())

    def tenure(self, *words, code=0, **options):
        done = subprocess.run([TENURE, *words], env=self.env, capture_output=True, timeout=PATIENCE, check=False,
                              **options)
        self.assertEqual(done.returncode, code, (words, done.stdout[-2000:], done.stderr[-2000:]))
        return done.stdout

    def send(self, text):
        return self.tenure("orders", "send", input=text if isinstance(text, bytes) else text.encode()).decode().strip()

    def worker(self, instance, **settings):
        events = self.folder / f"events-{uuid.uuid4().hex}"
        env = dict(self.env, INSTANCE_NUMBER=str(instance), **settings)
        with self.log.open("ab") as log, events.open("wb") as out:
            process = subprocess.Popen([POOL_WORKER], env=env, stdout=out, stderr=log)
        process.events = events
        self.addCleanup(process.wait, PATIENCE)
        self.addCleanup(process.kill)
        return process

    def ready(self, instance, **settings):
        process = self.worker(instance, **settings)
        self.wait_for(lambda: "ready" in self.names(process))
        return process

    def events(self, process):
        return [json.loads(line) for line in process.events.read_text().splitlines() if line.endswith("}")]

    def names(self, process):
        return [event["event"] for event in self.events(process)]

    def lines(self):
        return self.done.read_text().splitlines()

    def listed(self):
        listed = json.loads(self.tenure("orders", "list", "--json", "--limit", "1000"))["orders"]
        return {row["order"]: row for row in listed}

    def history(self, order):
        return json.loads(self.tenure("orders", "explain", order, "--json"))["history"]

    def dead_events(self):
        """(payload, headers) of the events of the dead topic."""
        if ENGINE == "sqlite":
            with sqlite3.connect(next(self.folder.glob("orders.db-stream-*dead.db"))) as file:
                if not file.execute("SELECT 1 FROM events").fetchone():
                    return []
                return [(payload, json.loads(headers))
                        for payload, headers in file.execute("SELECT payload, headers FROM events ORDER BY id")]
        if ENGINE == "redis":
            said = subprocess.run(["redis-cli", "-p", str(self.port), "--json", "XRANGE", self.dead, "-", "+"],
                                  check=True, capture_output=True, timeout=PATIENCE).stdout
            fields = [dict(zip(entry[1][::2], entry[1][1::2])) for entry in json.loads(said)]
            return [(entry.pop("payload").encode(), entry) for entry in fields]
        return [(value, {name: text.decode() for name, text in headers.items()})
                for _, value, headers in self.broker.records(self.dead)]

    def wait_for(self, holds):
        deadline = time.monotonic() + PATIENCE
        while not holds():
            self.assertLess(time.monotonic(), deadline, self.log.read_text()[-4000:])
            time.sleep(0.02)


class Once(Orders):
    """Orders of a plain producer, with workers that are killed and restarted."""
    partitions = 3

    def test_each_is_done_whoever_is_killed(self):
        handler = self.folder / "handler.sh"
        handler.write_text('#!/bin/sh\nread -r n\necho "$n $ORDER $TENURE_EPOCH" >> "$DONE"\n')
        handler.chmod(0o755)
        count = 300
        settings = {"HANDLER": str(handler), "CONCURRENCY": "2"}
        workers = [self.ready(number, **settings) for number in (1, 2, 3)]
        self.produce([f"order-{number}" for number in range(count)])
        for share, victim in ((0.2, 0), (0.4, 1), (0.6, 2)):
            self.wait_for(lambda at=share: len(self.lines()) >= at * count)
            workers[victim].kill()
            workers[victim].wait()
            workers[victim] = self.worker(victim + 1, **settings)
        self.wait_for(lambda: len({line.split()[0] for line in self.lines()}) == count)
        # Nothing is outstanding, and no more came twice than ran when a worker was killed.
        self.wait_for(lambda: not any(row["state"] != "completed" for row in self.listed().values()))
        self.assertLessEqual(len(self.lines()), count + 3 * 2)
        orders = {line.split()[1] for line in self.lines()}
        self.assertEqual(len(orders), count)
        # Every order was completed once.
        completed = [event["order"] for row in self.folder.glob("events-*") for event in
                     map(json.loads, filter(lambda line: line.endswith("}"), row.read_text().splitlines()))
                     if event["event"] == "completed"]
        self.assertEqual(len(completed), len(set(completed)))

    def test_the_instance_goes_on_from_its_checkpoint(self):
        handler = self.folder / "handler.sh"
        handler.write_text('#!/bin/sh\nread -r n\n'
                           'if [ -f "$TENURE_DIR/checkpoint" ]; then\n'
                           '  echo "went on at $(cat "$TENURE_DIR/checkpoint")" >> "$DONE"; exit 0\nfi\n'
                           'echo half > "$TENURE_DIR/new" && mv "$TENURE_DIR/new" "$TENURE_DIR/checkpoint"\n'
                           'echo begun >> "$DONE"\nsleep 600\n')
        handler.chmod(0o755)
        first = self.ready(1, HANDLER=str(handler))
        order = self.send("long work")
        self.wait_for(lambda: "begun" in self.lines())
        # The checkpoint is in the log once it is in the state.
        self.wait_for(lambda: "tenure" in self.tenure("explain", order, "--engine", self.pool_url(), "--pool",
                                                      self.claims).decode() or True)
        time_limit = time.monotonic() + PATIENCE
        while "went on at half" not in self.lines():
            self.assertLess(time.monotonic(), time_limit, self.log.read_text()[-2000:])
            first.kill()
            first.wait()
            self.done.write_text("")
            first = self.worker(1, HANDLER=str(handler))
            self.wait_for(lambda: any("begun" in line or "went" in line for line in self.lines()))
        self.wait_for(lambda: "completed" in self.names(first))
        steps = [step["event"] for step in self.history(order)]
        self.assertEqual(steps[:3], ["claimed", "committed", "yielded"])
        self.assertEqual(steps[-1], "completed")

    def pool_url(self):
        return self.engine + ("?topics=own" if ENGINE == "kafka" else "")


class Life(Orders):
    def test_one_order_in_a_life(self):
        self.env.update(ALLOW="command", ONE_ORDER="1")
        orders = {self.send(f"echo {number}") for number in range(3)}
        for _ in range(3):
            worker = self.worker(1)
            self.assertEqual(worker.wait(PATIENCE), 0, self.log.read_text()[-2000:])
            self.assertEqual(self.names(worker).count("completed"), 1)
            self.assertEqual(self.names(worker).count("committed"), 1)
        self.assertEqual({order for order, row in self.listed().items() if row["state"] == "completed"}, orders)

    def test_a_second_instance_of_a_number_is_refused(self):
        first = self.ready(5, ALLOW="command")
        second = self.worker(5, ALLOW="command")
        self.assertEqual(second.wait(PATIENCE), 3)
        said = self.log.read_text()
        self.assertIn(f"process {first.pid}", said)
        self.assertIn("left", said)
        self.assertIn("instance-5", said)
        self.assertIn("INSTANCE_NUMBER", said)
        # The first goes on.
        self.send("echo still here")
        self.wait_for(lambda: "completed" in self.names(first))

    def test_a_dead_instance_is_replaced_at_once(self):
        first = self.ready(5, ALLOW="command", LEASE="60s")
        first.kill()
        first.wait()
        began = time.monotonic()
        self.ready(5, ALLOW="command", LEASE="60s")
        self.assertLess(time.monotonic() - began, 30)

    def test_a_stopped_worker_yields_and_another_one_goes_on(self):
        blocks = '{"command":["sh","-c","echo begun >> \\"$0\\"; sleep 600",%s]}' % json.dumps(str(self.done))
        first = self.ready(1, ALLOW="command", STOP_TIMEOUT="1s")
        order = self.send(blocks)
        self.wait_for(lambda: len(self.lines()) == 1)
        first.terminate()
        self.assertEqual(first.wait(PATIENCE), 0)
        self.assertIn("yielded", self.names(first))
        second = self.ready(2, ALLOW="command")
        self.wait_for(lambda: len(self.lines()) == 2)
        self.assertEqual([event["order"] for event in self.events(second) if event["event"] == "committed"], [order])


class Help(Orders):
    def test_a_long_order_holds_up_nobody(self):
        gate = self.folder / "gate"
        waits = json.dumps({"command": ["sh", "-c", 'while [ ! -e "$0" ]; do sleep 0.05; done', str(gate)]})
        workers = [self.ready(number, ALLOW="command") for number in (1, 2, 3)]
        long_ones = [self.send(waits) for _ in range(2)]
        self.wait_for(lambda: sum(self.names(worker).count("committed") for worker in workers) == 2)
        for number in range(12):
            self.send(f"echo {number}")
        self.wait_for(lambda: sum(self.names(worker).count("completed") for worker in workers) == 12)
        gate.touch()
        self.wait_for(lambda: sum(self.names(worker).count("completed") for worker in workers) == 14)
        rows = self.listed()
        self.assertEqual([rows[order]["state"] for order in long_ones], ["completed"] * 2)


class Forms(Orders):
    def test_commands_containers_and_what_is_recorded(self):
        runtime = self.folder / "bin" / "podman"
        runtime.parent.mkdir()
        runtime.write_text('#!/bin/sh\nprintf "%s\\n" "$@" > "$HOME/arguments"\n'
                           'while [ "$1" != --env-file ]; do shift; done\ncat "$2" > "$HOME/pairs"\n'
                           'cat "$2" | grep -c SECRET\n')
        runtime.chmod(runtime.stat().st_mode | stat.S_IXUSR)
        self.env["PATH"] = f"{runtime.parent}:{self.env['PATH']}"
        self.env["TENURE_SECRET"] = "hunter2"
        worker = self.ready(1, ALLOW="command,container", CONTAINER_ARGS="--network=none")
        plain = self.send("""printf '%s|' "a b" 'c d' e\\ f $HOME | > &""")
        environment = self.send('{"command":["env"],"env":{"COLOUR":"red"}}')
        contained = self.send("container: registry.example/image:1.2 SECRET=x A='b c'")
        self.wait_for(lambda: self.names(worker).count("completed") == 3)
        rows = self.listed()
        self.assertEqual(rows[plain]["output"], "a b|c d|e f|$HOME|||>|&|")
        self.assertEqual((rows[plain]["exit_code"], rows[plain]["form"]), (0, "command"))
        self.assertGreaterEqual(rows[plain]["duration_ms"], 0)
        variables = dict(line.split("=", 1) for line in rows[environment]["output"].splitlines())
        self.assertEqual((variables["COLOUR"], variables["ORDER"]), ("red", environment))
        self.assertNotIn("KAFKA_URL", variables)
        self.assertNotIn("TENURE_SECRET", variables)
        self.assertEqual(rows[contained]["output"], "1\n")
        words = (self.folder / "arguments").read_text().splitlines()
        self.assertEqual(words[:2], ["run", "--rm"])
        self.assertEqual(words[-2:], ["--network=none", "registry.example/image:1.2"])
        self.assertFalse([word for word in words if "SECRET" in word])
        self.assertIn("A=b c", (self.folder / "pairs").read_text().splitlines())
        steps = self.history(plain)
        self.assertEqual([step["event"] for step in steps], ["claimed", "committed", "completed"])
        self.assertEqual({step["instance"] for step in steps}, {"1"})

    def test_nothing_is_allowed_that_was_not_switched_on(self):
        handler = self.folder / "handler.sh"
        handler.write_text('#!/bin/sh\ncat >> "$DONE"\n')
        handler.chmod(0o755)
        mark = self.folder / "mark"
        worker = self.ready(1, HANDLER=str(handler), ALLOW="container", CONTAINER_RUNTIME="/bin/false",
                            MAX_ATTEMPTS="1")
        self.send(f"touch {mark}\n")
        self.wait_for(lambda: "completed" in self.names(worker))
        self.assertEqual(self.done.read_text(), f"touch {mark}\n", "the handler got it as it was")
        worker.terminate()
        worker.wait(PATIENCE)
        worker = self.ready(2, ALLOW="container", CONTAINER_RUNTIME="/bin/false")
        dead = [self.send(text) for text in (f"touch {mark}", "container: --privileged", '{"command":["x"],"cwd":"/"}',
                                             "https://127.0.0.1:1/order")]
        self.wait_for(lambda: self.names(worker).count("dead") == 4)
        rows = self.listed()
        self.assertEqual({rows[order]["state"] for order in dead}, {"dead"})
        self.assertIn("not allowed", rows[dead[0]]["error"])
        self.assertIn("cannot be the name of an image", rows[dead[1]]["error"])
        self.assertIn("cwd", rows[dead[2]]["error"])
        self.assertFalse(mark.exists())

    def test_bounds_on_time_size_and_output(self):
        worker = self.ready(1, ALLOW="command", ORDER_TIMEOUT="1s", ORDER_BYTES="2000", OUTPUT_BYTES="1000",
                            MAX_ATTEMPTS="1")
        hangs = self.send('{"command":["sh","-c","trap : TERM; while :; do sleep 60 & wait; done"]}')
        large = self.send("echo " + "x" * 3000)
        loud = self.send('{"command":["sh","-c","yes | head -c 20000000; setsid sleep 600 >/dev/null &"]}')
        binary = self.send('{"command":["printf","\\\\377\\\\376"]}')
        never = self.send('{"command":["sh","-c","exit 65"]}')
        self.wait_for(lambda: self.names(worker).count("dead") == 3 and self.names(worker).count("completed") == 2)
        rows = self.listed()
        self.assertIn("not to be tried again", rows[never]["error"])
        self.assertIn("longer than 1.0 s", rows[hangs]["error"])
        self.assertIn("at most 2000", rows[large]["error"])
        self.assertEqual((len(rows[loud]["output"]), rows[loud]["output_bytes"]), (1000, 20000000))
        self.assertEqual(rows[binary]["output_base64"], "//4=")

    def serve(self, answers, certificate=None):
        """A server that answers paths with (body, status, headers). PORT in a header is its port."""
        class Server(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                body, status, headers = answers.get(self.path, (b"no", 404, {}))
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value.replace("PORT", str(self.server.server_port)))
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        class Quiet(http.server.ThreadingHTTPServer):
            def handle_error(self, *_):  # clients that do not trust it break off
                pass

        server = Quiet(("127.0.0.1", 0), Server)
        if certificate:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(f"{certificate}.pem", f"{certificate}.key")
            server.socket = context.wrap_socket(server.socket, server_side=True)
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        return server

    def certify(self, name, *more):
        """NAME.pem and NAME.key in the folder of the test. Its own authority, unless `more` names another."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", f"/CN={name}", "-keyout", self.folder / f"{name}.key", "-out",
                        self.folder / f"{name}.pem", *more], check=True, capture_output=True, timeout=PATIENCE)
        return str(self.folder / name)

    def test_orders_are_fetched_over_https(self):
        """From servers that an authority of the operator has certified, and only under the names that it has."""
        authority = self.certify("ca")
        signed = ("-CA", f"{authority}.pem", "-CAkey", f"{authority}.key", "-addext")
        answers = {"/order": (b"echo fetched", 200, {}), "/moved": (b"", 302, {"Location": "/order"}),
                   "/down": (b"", 302, {"Location": "http://localhost:PORT/order"})}
        known = self.serve(answers, self.certify("known", *signed, "subjectAltName=DNS:localhost")).server_port
        stranger = self.serve(answers, self.certify("stranger", "-addext", "subjectAltName=DNS:localhost")).server_port
        hosts = [f"localhost:{known}", f"127.0.0.1:{known}", f"localhost:{stranger}"]
        worker = self.ready(1, ALLOW="command,url", ALLOW_HOSTS=",".join(hosts), MAX_ATTEMPTS="1",
                            SSL_CERT_FILE=f"{authority}.pem")
        good = [self.send(f"https://localhost:{known}/{path}") for path in ("order", "moved")]
        bad = {why: self.send(f"https://{address}") for why, address in {
            "from https to http": f"localhost:{known}/down", "127.0.0.1": f"127.0.0.1:{known}/order",
            "certificate": f"localhost:{stranger}/order"}.items()}
        self.wait_for(lambda: self.names(worker).count("dead") == 3 and self.names(worker).count("completed") == 2)
        rows = self.listed()
        self.assertEqual([rows[order]["output"] for order in good], ["fetched\n"] * 2)
        for why, order in bad.items():
            self.assertIn(why, rows[order]["error"])

    def test_orders_are_fetched_from_allowed_hosts(self):
        server = self.serve({
            "/order": (b"echo fetched", 200, {}),
            "/moved": (b"", 302, {"Location": "/order"}),
            "/loop": (b"", 302, {"Location": "/loop"}),
            "/away": (b"", 302, {"Location": "http://localhost:PORT/order"}),
            "/file": (b"", 302, {"Location": "file:///etc/passwd"}),
            "/large": (b"x" * 100000, 200, {}),
            "/again": (b"http://127.0.0.1/order", 200, {}),
        })
        host = f"127.0.0.1:{server.server_port}"
        worker = self.ready(1, ALLOW="command,url", ALLOW_HOSTS=host, MAX_ATTEMPTS="1", ORDER_BYTES="50000")
        good = [self.send(f"http://{host}/{path}") for path in ("order", "moved")]
        bad = {path: self.send(f"http://{host}/{path}")
               for path in ("loop", "away", "file", "large", "again", "missing")}
        other = self.send(f"http://localhost:{server.server_port}/order")
        self.wait_for(lambda: self.names(worker).count("dead") == 7 and self.names(worker).count("completed") == 2)
        rows = self.listed()
        self.assertEqual([rows[order]["output"] for order in good], ["fetched\n"] * 2)
        errors = {path: rows[order]["error"] for path, order in bad.items()}
        for path, expected in (("loop", "redirections"), ("away", "none of those"), ("file", "not allowed"),
                               ("large", "50000 bytes"), ("again", "URL again"), ("missing", "404")):
            self.assertIn(expected, errors[path])
        self.assertIn("none of those", rows[other]["error"])


class Dead(Orders):
    def test_failed_orders_get_to_their_topic_with_their_bytes(self):
        self.env.update(ALLOW="command", MAX_ATTEMPTS="3", DEAD_TOPIC=self.dead)
        worker = self.ready(1)
        text = '{"command":["sh","-c","echo why >&2; exit 7"]}'
        self.produce([text])
        self.wait_for(lambda: "dead" in self.names(worker))
        self.wait_for(lambda: self.dead_events())
        (payload, headers), = self.dead_events()
        self.assertEqual(payload.decode(), text)
        order = next(event["order"] for event in self.events(worker) if event["event"] == "dead")
        self.assertEqual(headers["tenure-order"], order)
        self.assertEqual(headers["tenure-attempts"], "3")
        self.assertEqual(headers["tenure-pool"], self.claims)
        self.assertIn("exit code 7", headers["tenure-error"])
        self.assertIn("why", headers["tenure-error"])
        self.assertAlmostEqual(int(headers["tenure-dead-ms"]), time.time() * 1000, delta=600_000)
        self.assertGreater(int(headers["tenure-epoch"]), 0)
        self.assertEqual(self.names(worker).count("failed"), 3)
        self.wait_for(lambda: not json.loads(self.tenure(
            "dead", "list", "--json", "--pool", self.claims, "--engine",
            self.engine + ("?topics=own" if ENGINE == "kafka" else "")))["dead"])
        self.assertEqual(self.history(order)[-1]["event"], "dead")

    def test_the_worker_that_moves_them_survives_a_freeze(self):
        self.env.update(LEASE="2s", HANDLER="true", DEAD_TOPIC=self.dead)
        frozen = self.ready(1)
        self.ready(2)
        frozen.send_signal(signal.SIGSTOP)
        listed = ("workers", "--json", "--pool", self.claims, "--engine",
                  self.engine + ("?topics=own" if ENGINE == "kafka" else ""))
        nodes = lambda: {row["pid"] for row in json.loads(self.tenure(*listed))["workers"]}
        self.wait_for(lambda: frozen.pid not in nodes())
        frozen.send_signal(signal.SIGCONT)
        self.wait_for(lambda: frozen.pid in nodes())
        self.assertIsNone(frozen.poll())

    def test_they_stay_while_their_topic_takes_none(self):
        if ENGINE == "kafka":
            self.skipTest("Kafka has no bound that refuses")
        self.env.update(ALLOW="command", MAX_ATTEMPTS="1", DEAD_TOPIC=self.dead)
        self.tenure("stream", "add", self.dead, "full", "--engine", self.engine)
        self.tenure("stream", "limit", self.dead, "--events", "1", "--engine", self.engine)
        worker = self.ready(1)
        for _ in range(3):
            self.send("false")
        self.wait_for(lambda: self.names(worker).count("dead") == 3)
        self.wait_for(lambda: "dead orders stay in the pool" in self.log.read_text())
        worker.kill()
        worker.wait()
        self.assertEqual([row["state"] for row in self.listed().values()], ["dead"] * 3)
        self.tenure("stream", "limit", self.dead, "--events", "0", "--engine", self.engine)
        self.ready(2)
        self.wait_for(lambda: int(json.loads(self.tenure("stream", "info", self.dead, "--engine", self.engine,
                                                         "--json"))["events"]) == 4)


class Settings(Orders):
    def test_wrong_ones_are_errors_that_name_the_variable(self):
        good = {"ALLOW": "command", "INSTANCE_NUMBER": "1"}
        wrong = {
            "ORDERS_TOPIC": ("", "a/b"), "COORDINATION_TOPIC": ("", self.orders), "INSTANCE_NUMBER": ("", "one", "-1"),
            "KAFKA_URL": ("", "gopher://x", "memory:x"), "CONCURRENCY": ("0", "many"), "ONE_ORDER": ("maybe",),
            "ALLOW": ("commands",), "HANDLER": ("/no/such/program", "'unclosed"), "ORDER_TIMEOUT": ("soon", "0"),
            "DEAD_TOPIC": (self.orders, self.claims), "LOG_FORMAT": ("xml",), "START": ("tomorrow",),
            "LEASE": ("1ms", "2h"), "MAX_ATTEMPTS": ("0",), "OUTPUT_BYTES": ("9999999999",), "ALLOW_HOSTS": ("http://x",),
        }
        for variable, values in wrong.items():
            for value in values:
                env = {**self.env, **good, variable: value}
                done = subprocess.run([POOL_WORKER], env=env, capture_output=True, timeout=PATIENCE, check=False)
                self.assertEqual(done.returncode, 2, (variable, value, done.stderr))
                self.assertIn(variable, done.stderr.decode(), (value, done.stderr))
        for more, named in (({"ALLOW": ""}, "HANDLER"), ({"ALLOW": "url,command"}, "ALLOW_HOSTS"),
                            ({"ALLOW": "container", "PATH": "/nowhere"}, "CONTAINER_RUNTIME"),
                            ({"ONE_ORDER": "1", "CONCURRENCY": "2"}, "CONCURRENCY")):
            done = subprocess.run([POOL_WORKER], env={**self.env, **good, **more}, capture_output=True,
                                  timeout=PATIENCE, check=False)
            self.assertEqual(done.returncode, 2, done.stderr)
            self.assertIn(named, done.stderr.decode())

    def test_help_names_all_variables(self):
        said = subprocess.run([POOL_WORKER, "--help"], capture_output=True, timeout=PATIENCE, check=True).stdout.decode()
        for variable in ("ORDERS_TOPIC", "COORDINATION_TOPIC", "INSTANCE_NUMBER", "KAFKA_URL", "ONE_ORDER",
                         "CONCURRENCY", "DEAD_TOPIC", "ALLOW", "HANDLER", "LOG_FORMAT"):
            self.assertIn(variable, said)
        done = subprocess.run([POOL_WORKER, "--what"], capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 2)

    def test_a_server_that_is_not_there(self):
        env = dict(self.env, KAFKA_URL="redis://127.0.0.1:1?timeout=500", INSTANCE_NUMBER="1", ALLOW="command")
        done = subprocess.run([POOL_WORKER], env=env, capture_output=True, timeout=PATIENCE, check=False)
        self.assertEqual(done.returncode, 8, done.stderr)
        self.assertIn(b"KAFKA_URL", done.stderr)
        self.assertNotIn(b"ORDERS_TOPIC", done.stderr)

    def test_a_listing_says_that_the_engine_is_full(self):
        self.ready(1, ALLOW="command").kill()
        pool = ("--engine", self.engine, "--pool", self.claims)
        if ENGINE == "kafka":
            self.skipTest("a broker whose disk is full ends")
        if ENGINE == "redis":
            cli = ["redis-cli", "-p", str(self.port), "CONFIG", "SET", "maxmemory", "1"]
            subprocess.run(cli, check=True, capture_output=True, timeout=PATIENCE)
        limit = (lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))) if ENGINE == "sqlite" else None
        for words in (("orders", "list"), ("jobs", *pool)):
            failed = self.tenure(*words, "--timeout", "1s", "--json", code=8, preexec_fn=limit)
            error = json.loads(failed)["error"]
            self.assertEqual(error["code"], "full")
            self.assertIn({"redis": "maxmemory", "sqlite": "ulimit -f"}[ENGINE], error["message"])

    def test_an_order_that_nobody_knows(self):
        self.ready(1, ALLOW="command")
        self.tenure("orders", "explain", f"{self.orders}/0/99", code=4)
        self.tenure("orders", "send", code=10, input=b"")


if __name__ == "__main__":
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    unittest.main()
