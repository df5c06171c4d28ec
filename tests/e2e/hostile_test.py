"""Hostile names, errors, output and peers: the program's text output never steers a terminal, forges a line or hides text,
and JSON output has every byte.

Usage: hostile_test.py PATH_OF_TENURE [--names FILE] [unittest arguments]. Waits for events, never for time to pass.
"""

import base64
import json
import os
import pathlib
import socket
import struct
import subprocess
import sys
import threading
import unittest

from hostile_stage import IDS, KEYS, NAMES, PATIENCE, TENURE, HostileTest, bytes_of, hostile

PYTHON_WORKER = pathlib.Path(__file__).resolve().parents[2] / "examples/workers/python_worker.py"


class Keys(HostileTest):
    def test_keys_and_payloads(self):
        worker = self.work(b"w", "--exec", "cat")  # as a resident it stays
        for key in KEYS:
            with self.subTest(key):
                self.run_text("dispatch", "--wait", "started", "--", key, key, expect=0)
                self.run_text("dispatch", "--", key, expect=3)
                self.run_text("dispatch", "--task", "--wait", "started", "--", key, expect=3)
                self.run_text("jobs", "--prefix", key, expect=0)
                self.run_text("notify", "--", key, key, expect=0)
                self.run_text("explain", "--", key)
        listed = self.run_text("jobs", "--limit", "1000", expect=0)
        self.assertEqual(len(listed.stdout.splitlines()), 1 + len(KEYS), "a key has made a line of its own")
        rows = self.ask("jobs", "--limit", "1000")["jobs"]
        self.assertEqual(sorted(bytes_of(row, "key") for row in rows), sorted(KEYS))
        for key in KEYS:
            self.run_text("stop", "--", key, expect=0)
        self.run_text("stop", "--", KEYS[-1], expect=4)
        worker.terminate()
        self.wait_output(worker)

    def test_lines_of_a_file(self):
        lines = [{"key": "\0\x1b\u202e" + "\x9b", "payload": "\0"}, {"key": "a", "no\x1bsuch": 1}, {"key": "\u2028"}]
        text = b"".join(json.dumps(line).encode() + b"\n" for line in lines) + b'{"\x1b[2J\n\x1b\xff\n'
        self.run_text("dispatch", "--from", "-", "--task", text=text, expect=10)
        self.assertEqual({bytes_of(row, "key") for row in self.ask("jobs")["jobs"]},
                         {lines[0]["key"].encode(), lines[2]["key"].encode()})

    def test_a_long_key_does_not_push_other_rows_away(self):
        self.run_text("dispatch", "short", expect=0)
        self.run_text("dispatch", "--", b"\x1b" * 1024, expect=0)
        rows = self.run_text("jobs", expect=0).stdout.splitlines()
        self.assertEqual(sum(len(row) < 100 for row in rows), 2)  # the heads, and the short one


class Workers(HostileTest):
    FAILS = ("import os, sys\n"
             "name = os.environb[b'TENURE_KEY']\n"
             "for out in (1, 2):\n"
             "    os.write(out, b'said ' + name + b'\\n')\n"
             "os.write(2, b'\\xc3\\n' + name)\n"  # and the end of it without a line end
             "sys.exit(65)\n")

    def test_workers_pools_and_programs(self):
        """All of them have the same hostile name, and the program repeats it and fails."""
        program = self.script(self.FAILS)
        for name in IDS:
            with self.subTest(name):
                self.engine = f"sqlite:{self.folder}/{IDS.index(name)}.db?sync=off"
                self.pool = name
                worker = self.work(name, "--exec", *program)
                self.run_text("dispatch", "--task", "--wait", "done", "--", name, name, expect=7)
                dead = self.ask("dead", "list")["dead"][0]
                self.assertEqual(bytes_of(dead, "key"), name)
                self.assertEqual([bytes_of(row, "id") for row in self.ask("workers")["workers"]], [name])
                self.run_text("dispatch", "--wait", "done", "--", name, expect=7)
                for words in (["jobs"], ["workers"], ["jobs", "--worker", name], ["dead", "list"]):
                    self.run_text(*words, expect=0)
                self.run_text("explain", "--", name, expect=0)
                self.run_text("doctor")
                self.run_text("dead", "drop", str(dead["id"]), expect=0)
                self.run_text("drain", "--timeout", "10s", "--", name, expect=0)
                self.run_text("drain", "--", b"no " + name, expect=4)
                output, errors = self.end(worker)
                self.assertIn(b"failed ", output)
                self.assertIn(b"said ", errors)

    def test_events_in_json_are_exact(self):
        worker = self.start("work", "--json", "--engine", self.engine, "--id", IDS[-1], "--exec", "cat",
                            ready=b'{"event":"ready"')
        for key in KEYS:
            self.run_text("dispatch", "--task", "--wait", "done", "--", key)
        worker.terminate()
        events = [json.loads(line) for line in self.wait_output(worker)[0].splitlines()]
        granted = [event for event in events if event["event"] == "granted"]
        self.assertEqual([bytes_of(event, "key") for event in granted], KEYS)
        self.assertEqual({bytes_of(event, "worker") for event in granted}, {IDS[-1]})

    def test_a_line_of_a_million_characters(self):
        program = self.script("import os, sys\n"
                              "line = {'plain': b'x', 'nasty': b'\\x1b'}[os.environ['TENURE_KEY'].split('-')[0]] * 1_000_000\n"
                              "for out in (1, 2):\n"
                              "    sys.stdout.flush(); os.write(out, b''); view = memoryview(line)\n"
                              "    while view: view = view[os.write(out, view):]\n"
                              "    os.write(out, b'\\n')\n"
                              "sys.exit(65)\n")
        for protocol in ("plain", "json"):
            worker = self.work(b"w", "--protocol", protocol, "--exec", *program)
            for key in (f"plain-{protocol}", f"nasty-{protocol}"):
                self.run_text("dispatch", key, "--wait", "done", "--task", expect=7)
                self.run_text("dispatch", key, "--wait", "done", expect=7)
            self.run_text("dead", "list", expect=0)
            worker.terminate()
            self.wait_output(worker)

    def test_what_programs_say_in_json(self):
        """A program that stays says of its task what it likes; one that is run for each, too."""
        program = self.script("import base64, json, os, sys\n"
                              "for line in sys.stdin:\n"
                              "    task = json.loads(line)\n"
                              "    if task['type'] != 'start': continue\n"
                              "    data = base64.b64decode(task['payload'])\n"
                              "    os.write(1, b'no JSON ' + data.replace(b'\\n', b'') + b'\\n')\n"
                              "    print(json.dumps({'type': 'fail', 'retry': False, 'error_base64':\n"
                              "                      task['payload'], 'error': data.decode(errors='replace')}), flush=True)\n")
        for flags in (["--warm", "1"], ["--protocol", "json"]):
            worker = self.work(b"w", "--task", *flags, "--exec", *program)
            for number, name in enumerate(NAMES):
                payload = base64.b64encode(name * 40).decode()
                self.run_text("dispatch", f"k{number}", payload, "--task", "--wait", "done", expect=7)
            self.run_text("dead", "list", expect=0)
            worker.terminate()
            self.wait_output(worker)

    def test_a_result_is_exact_in_a_pipe_and_harmless_on_a_terminal(self):
        worker = self.work(b"w", "--exec", "cat")
        for number, name in enumerate(NAMES):
            words = ["dispatch", "--task", "--wait", "done", "--engine", self.engine, "--", f"k{number}", name]
            done = subprocess.run([TENURE, *words], capture_output=True, timeout=PATIENCE)
            self.assertEqual(done.stdout, name + b"\n")
            sent = self.on_terminal(*words)
            self.assertEqual(hostile(sent.replace(b"\t", b"")), [], sent)
        worker.terminate()
        self.wait_output(worker)


class Usage(HostileTest):
    def test_arguments_that_are_repeated(self):
        for name in [name for name in IDS if name != b"plain"]:
            for words in ([name], ["jobs", name], ["jobs", b"--" + name], ["jobs", b"-" + name], ["jobs", "--limit", name],
                          ["jobs", "--state", name], ["jobs", "--timeout", name], ["help", name], ["completion", name],
                          ["dead", "drop", name], ["dead", name], ["work", "--warm", name, "--exec", "true"],
                          ["demo", "--script", name], ["demo", "--for", name], ["bench", "throughput", "--jobs", name],
                          ["work", "--protocol", name, "--exec", "true"], ["dispatch", "k", "p", name],
                          ["checkout", "serve", "--listen", name], ["checkout", name]):
                with self.subTest(words):
                    self.assertIn(self.run_text(*words, engine=False).returncode, (1, 2, 10), words)

    def test_places_that_are_not_there(self):
        for name in [name for name in IDS if b"/" not in name and name != b"plain"]:
            parent = os.fsencode(self.folder)
            for words in (["jobs", "--engine", name], ["jobs", "--engine", b"sqlite:" + parent + b"/" + name + b"/x.db"],
                          ["jobs", "--engine", b"sqlite:x?sync=" + name], ["jobs", "--engine", b"sqlite:x?" + name],
                          ["jobs", "--engine", b"redis://" + name + b":1"], ["jobs", "--engine", b"unix:/" + name],
                          ["dispatch", "--from", parent + b"/" + name, "--engine", "memory:"],
                          ["checkout", "run", "x", "--connect", name],
                          ["checkout", "run", "x", "--connect", b"unix:/" + name],
                          ["checkout", "run", "x", "--connect", b"tcp:127.0.0.1:" + name],
                          ["checkout", "stats", "--connect", "unix:/x", "--token-file", name],
                          ["bench", "throughput", "--engine", b"sqlite:/no/" + name]):
                with self.subTest(words):
                    self.assertNotEqual(self.run_text(*words, engine=False).returncode, 0)

    def test_folders_and_programs(self):
        for name in [name for name in IDS if b"/" not in name]:
            folder = os.fsencode(self.folder) + b"/" + name
            os.mkdir(folder)
            self.engine = b"sqlite:" + folder + b"/pool.db?sync=off"
            with self.subTest(name):
                self.assertNotEqual(self.run_text("work", "--exec", b"/no/such/" + name).returncode, 0)
                program = folder + b"/goes-away"
                with open(program, "w") as file:
                    file.write("#!/bin/sh\n")
                os.chmod(program, 0o755)
                worker = self.work(b"w", "--exec", program)
                os.remove(program)
                self.run_text("dispatch", "k", "--task", "--max-attempts", "1", "--wait", "done", expect=7)
                self.run_text("doctor")
                self.end(worker)

    def test_a_long_argument_is_cut(self):
        done = self.run_text("x" * 100_000, engine=False, expect=2)
        self.assertIn(b"bytes more", done.stderr)


class Peers(HostileTest):
    """Servers that say what they like."""

    def serve(self, answer):
        """A server on a unix socket; `answer` is called with each connection."""
        path = self.folder / "peer.sock"
        path.unlink(missing_ok=True)
        server = socket.socket(socket.AF_UNIX)
        self.addCleanup(server.close)
        server.bind(str(path))
        server.listen()

        def run():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    connection.settimeout(PATIENCE)
                    try:
                        answer(connection)
                    except OSError:
                        pass
        threading.Thread(target=run, daemon=True).start()
        return path

    def test_a_redis_server(self):
        for name in NAMES:
            line = name.replace(b"\r", b"").replace(b"\n", b"")

            def answer(connection, line=line):
                connection.recv(65536)
                connection.sendall(b"-ERR " + line + b"\r\n" + b"-" + line + b"\r\n" * 20)
            self.engine = f"unix:{self.serve(answer)}"
            with self.subTest(name):
                self.assertNotEqual(self.run_text("jobs", "--timeout", "300ms").returncode, 0)

    def test_a_server_of_checkouts(self):
        def frame(kind, body):
            return struct.pack(">Ic", len(body) + 1, kind) + body
        hello = frame(b"H", b"tenure-checkout 1")
        for name in NAMES:
            for frames in ([frame(b"X", b"refused\n" + name)], [frame(b"X", name)], [hello, frame(b"S", name)],
                           [hello, frame(b"W", b"7"), frame(b"E", name)], [hello, frame(b"W", b"7"), frame(b"X", name)],
                           [frame(b"H", name)], [name]):
                def answer(connection, frames=frames):
                    connection.recv(65536)
                    connection.sendall(b"".join(frames))
                    connection.recv(65536)
                path = self.serve(answer)
                with self.subTest(name=name, frames=frames):
                    self.run_text("checkout", "stats", "--connect", f"unix:{path}", engine=False)
                    self.run_text("checkout", "run", "x", "--connect", f"unix:{path}", "--timeout", "300ms", engine=False)

    def test_checkout_workers(self):
        """What they answer is exact in a pipe; what they fail with, and what they write to standard error, is harmless."""
        address = f"unix:{self.folder}/pool.sock"
        server = self.start("checkout", "serve", "--listen", address, "--says-ready", "--workers", "1", "--exec",
                            sys.executable, PYTHON_WORKER, ready=b"serving")
        for name in [b"plain", *NAMES]:
            with self.subTest(name):
                self.run_text("checkout", "run", f"1/0 or {name!r}", "--connect", address, engine=False, expect=7)
                self.run_text("checkout", "run", f"(_ for _ in ()).throw(ValueError({name.decode('latin-1')!r}))",
                              "--connect", address, engine=False, expect=7)
                said = f"__import__('os').write(2, {name!r} + b'\\n')"
                self.run_text("checkout", "run", said, "--connect", address, engine=False, expect=0)
        for script in ("__import__('os').write(2, b'x' * 1_000_000 + b'\\n')", "__import__('os').write(2, b'no end')"):
            self.run_text("checkout", "run", script, "--connect", address, engine=False, expect=0)
        sent = self.on_terminal("checkout", "run", "--connect", address, repr("\x1b]0;owned\x07"))
        self.assertIn(b"owned", sent)
        self.assertEqual(hostile(sent), [])
        server.terminate()
        _, errors = self.wait_output(server)
        self.assertIn(b"worker | plain\n", errors)
        self.assertIn(b"worker | no end\n", errors)


if __name__ == "__main__":
    unittest.main()
