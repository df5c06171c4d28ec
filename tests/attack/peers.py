#!/usr/bin/env python3
"""Hostile and broken peers of the program: servers, clients and handlers that send much, little, nothing or nonsense. Each
attack measures the memory of the attacked process, and how long others have to wait for it.

Usage: peers.py PATH_OF_TENURE [--short|--long] [unittest arguments]. The short form (some ten seconds) is a test; the
long form is for `make attack`.
"""

import json
import os
import pathlib
import resource
import socket
import subprocess
import sys
import threading
import time
import unittest

import stage
from hostile_redis import MIB, SAYINGS, Between, HostileRedis
from stage import Attack, Options, peak_memory

WORKERS = pathlib.Path(__file__).resolve().parents[2] / "examples/workers"


class Redis(Attack):
    """A server that is none of ours. Nothing that it says may take the client's memory."""

    ROOM = 24 * MIB  # beyond what the program takes anyway

    def peak_of(self, port):
        """Of a client that asks this server, and hears nothing that it understands."""
        url = f"redis://127.0.0.1:{port}?timeout=1000"
        client = self.spawn("dispatch", "k", "--engine", url)
        _, status, usage = os.wait4(client.pid, 0)
        client.returncode = os.waitstatus_to_exitcode(status)
        self.assertEqual(client.returncode, 8, client.stderr.read())
        return usage.ru_maxrss << 10

    def test_what_it_says_takes_no_memory(self):
        silent = HostileRedis(lambda: iter([b"-ERR no\r\n"]))
        self.addCleanup(silent.close)
        usual = self.peak_of(silent.port)
        worst = {}
        for name, saying in SAYINGS.items():
            server = HostileRedis(saying)
            self.addCleanup(server.close)
            for _ in range(5 if Options.long else 1):
                began = time.monotonic()
                worst[name] = max(worst.get(name, 0), self.peak_of(server.port) - usual)
                self.assertLess(time.monotonic() - began, stage.PATIENCE, name)
        self.tell("most MiB above the usual: " + ", ".join(f"{name} {most / MIB:.1f}" for name, most in worst.items()))
        for name, most in worst.items():
            self.assertLess(most, self.ROOM, name)

    def test_a_worker_outlives_it(self):
        redis = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", "0", "--unixsocket",
                                  self.folder / "redis.sock", "--dir", self.folder, "--save", ""], stdout=subprocess.PIPE,
                                 text=True)
        self.addCleanup(redis.__exit__, None, None, None)
        self.addCleanup(redis.kill)
        self.assertTrue(any("ready to accept connections" in line for line in redis.stdout))
        port = self.forward(self.folder / "redis.sock")
        between = Between(port)
        self.addCleanup(between.close)
        self.engine = f"redis://127.0.0.1:{between.port}"
        worker = self.work("--lease", "5s", "--task", "--exec", "cat")
        self.task("k", "x")
        usual = peak_memory(worker.pid)
        rounds = list(SAYINGS.items()) if Options.long else list(SAYINGS.items())[:4]
        for name, saying in rounds:
            between.turn(saying)
            time.sleep(5 if Options.long else 1)
            between.turn(None)
            answer, _ = self.task("k", name)
            self.assertEqual(answer["result"], name)
        self.assertIsNone(worker.poll())
        self.tell(f"{(peak_memory(worker.pid) - usual) / MIB:.1f} MiB above the usual")
        self.assertLess(peak_memory(worker.pid) - usual, self.ROOM)

    def forward(self, path):
        """A port of the loopback that leads to the socket."""
        class Forward(Between):
            def serve(self, peer):
                with peer, socket.socket(socket.AF_UNIX) as redis:
                    redis.connect(str(path))
                    there = threading.Thread(target=self.carry, args=(peer, redis), daemon=True)
                    there.start()
                    self.carry(redis, peer)
                    there.join()

        forward = Forward(0)
        self.addCleanup(forward.close)
        return forward.port


class Newcomers(Attack):
    """Connections to a checkout server that never identify themselves, opened again as fast as they are closed."""

    CROWD = 1500

    def serve(self, listen, *words):
        server = self.spawn("checkout", "serve", "--json", "--listen", listen, "--workers", "2", "--says-ready", *words,
                            "--exec", sys.executable, WORKERS / "python_worker.py")
        ready = server.stdout.readline()
        if not ready.strip() or "listen" not in ready:
            self.skipTest(f"not served: {ready}{server.stderr.read()}")  # built without TLS, say
        return server, json.loads(ready)["listen"]

    @staticmethod
    def connect(address):
        if address.startswith("unix:"):
            peer = socket.socket(socket.AF_UNIX)
            peer.connect(address[5:])
            return peer
        return socket.create_connection(("127.0.0.1", int(address.rsplit(":", 1)[1])))

    def crowd(self, address, opening):
        """Threads that keep so many connections open until told to stop."""
        stop = threading.Event()
        made = [0]

        def flood(count):
            held = []
            while not stop.is_set():
                try:
                    peer = self.connect(address)
                    if opening:
                        peer.send(opening)
                    held.append(peer)
                    made[0] += 1
                except OSError:
                    time.sleep(0.001)
                while len(held) > count:
                    held.pop(0).close()
                time.sleep(0.0005)
            for peer in held:
                peer.close()

        threads = [threading.Thread(target=flood, args=(self.CROWD // 3,), daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()

        def end():
            stop.set()
            for thread in threads:
                thread.join()
        self.addCleanup(end)
        return made

    def check(self, address, server, opening, *words):
        ask = ["checkout", "run", "--connect", address, *words, "6 * 7"]
        self.assertEqual(self.run_tenure(*ask).stdout, "42\n")
        holder = self.spawn("checkout", "run", "--connect", address, *words, "--lines")
        holder.stdin.write("2 + 2\n")
        holder.stdin.flush()
        self.assertEqual(holder.stdout.readline(), "4\n")
        made = self.crowd(address, opening)
        self.wait_for(lambda: made[0] > self.CROWD, f"only {made[0]} connections were made")
        usual = peak_memory(server.pid)
        waits = []
        for _ in range(200 if Options.long else 10):
            began = time.monotonic()
            self.assertEqual(self.run_tenure(*ask).stdout, "42\n")
            waits.append(time.monotonic() - began)
        holder.stdin.write("1 + 1\n")
        holder.stdin.close()
        self.assertEqual(holder.stdout.read(), "2\n")  # who had a lease has it still
        self.tell(f"{made[0]} newcomers; clients waited for {max(waits):.2f} s at most; "
                  f"{peak_memory(server.pid) / MIB:.0f} MiB, {(peak_memory(server.pid) - usual) / MIB:.1f} of them since")
        self.assertLess(max(waits), 10)
        self.assertLess(peak_memory(server.pid), 128 * MIB)

    def test_silent_ones_on_a_unix_socket(self):
        server, address = self.serve(f"unix:{self.folder}/pool.sock")
        self.check(address, server, b"")

    def test_half_a_hello_over_tcp(self):
        (self.folder / "token").write_text("secret\n")
        server, address = self.serve("tcp:127.0.0.1:0", "--token-file", self.folder / "token")
        self.check(address, server, b"\0\0\0\x40Htenure-", "--token-file", self.folder / "token")

    def test_handshakes_that_stall(self):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout",
                        self.folder / "key", "-out", self.folder / "cert"], check=True, capture_output=True)
        server, address = self.serve("tcp:127.0.0.1:0", "--tls-cert", self.folder / "cert", "--tls-key", self.folder / "key")
        self.check(address, server, b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", "--tls-ca", self.folder / "cert")


class Handlers(Attack):
    """Programs that misbehave. Neither their worker's memory nor other keys are to suffer."""

    def hostile(self, script):
        """Runs the script for the key `bad`, and answers at once for any other."""
        return ["--task", "--protocol", "json", "--max-attempts", "1", "--exec", sys.executable, "-u", "-c", f"""
import json, os, sys, time
task = json.loads(sys.stdin.readline())
out = sys.stdout.buffer
if task["key"] == "bad":
{script}
print(json.dumps({{"type": "result", "data": "done"}}))
"""]

    def attack(self, script, room, expect=0):
        worker = self.work("--concurrency", "4", *self.hostile(script))
        self.task("good")
        usual = peak_memory(worker.pid)
        bad = threading.Thread(target=lambda: self.task("bad", expect=expect))
        bad.start()
        waits = []
        while bad.is_alive() or len(waits) < 5:
            waits.append(self.task("good")[1])
        bad.join()
        self.tell(f"{(peak_memory(worker.pid) - usual) / MIB:.1f} MiB above the usual; "
                  f"others waited for {max(waits):.2f} s at most")
        self.assertLess(peak_memory(worker.pid) - usual, room)
        self.assertLess(max(waits), 10)

    def times(self, short):
        return short * (20 if Options.long else 1)

    def test_lines_of_tiny_values(self):
        self.attack(f"""
    for _ in range({self.times(3)}):
        out.write(b'{{"type":"other","data":[' + b'0,' * (3 << 20) + b'0]}}\\n')
""", 96 * MIB, expect=7)

    def test_a_line_without_an_end(self):
        self.attack(f"    for _ in range({self.times(100)}): out.write(b'x' * (1 << 20))\n", 48 * MIB, expect=7)

    def test_a_flood_of_lines_and_of_errors(self):
        self.attack(f"""
    for _ in range({self.times(20)}):
        out.write(b'\\n' * (1 << 20))
        sys.stderr.buffer.write(b'\\n' * (1 << 16))
""", 64 * MIB)

    def test_a_flood_of_checkpoints(self):
        self.attack(f"""
    line = json.dumps({{"type": "checkpoint", "data": "x" * (1 << 20)}}).encode() + b"\\n"
    for _ in range({self.times(300)}): out.write(line)
""", 64 * MIB)

    def test_a_checkpoint_that_is_renamed_without_end(self):
        self.attack(f"""
    folder = os.environ["TENURE_DIR"]
    end = time.monotonic() + {self.times(2)}
    while time.monotonic() < end:
        open(folder + "/new", "w").close()
        os.rename(folder + "/new", folder + "/checkpoint")
""", 48 * MIB)

    def test_a_folder_full_of_files(self):
        """The next task ends while the folder of the last one is still being removed."""
        files = 200_000 if Options.long else 60_000
        worker = self.work("--concurrency", "1", *self.hostile(f"""
    folder = os.environ["TENURE_DIR"]
    os.mkdir(folder + "/many")
    for i in range({files}): os.mknod(folder + "/many/" + str(i))
    open({str(self.folder / "where")!r}, "w").write(folder)
"""), env={**os.environ, "TMPDIR": stage.memory_folder()})
        self.task("bad")
        folder = pathlib.Path((self.folder / "where").read_text())
        _, wait = self.task("good")
        self.assertTrue(folder.exists(), "the folder was waited for")
        self.tell(f"with {files} files, the next task took {wait:.2f} s")
        self.wait_for(lambda: not folder.exists(), f"{folder} stays")
        work = folder.parent
        worker.terminate()
        worker.wait(stage.PATIENCE)
        self.wait_for(lambda: not work.exists(), f"{work} stays")

    def test_folders_in_folders(self):
        """Deeper than the worker may have files open."""
        depth = 20_000 if Options.long else 3_000
        worker = self.work("--concurrency", "1", *self.hostile(f"""
    os.chdir(os.environ["TENURE_DIR"])
    for _ in range({depth}):
        os.mkdir("d")
        os.chdir("d")
    os.chmod(".", 0)
    open({str(self.folder / "where")!r}, "w").write(os.environ["TENURE_DIR"])
"""), env={**os.environ, "TMPDIR": stage.memory_folder()},
                           preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (256, 256)))
        self.task("bad")
        for _ in range(5):
            self.task("good")
        folder = pathlib.Path((self.folder / "where").read_text())
        self.wait_for(lambda: not folder.exists(), f"{folder} stays")
        self.assertIsNone(worker.poll())


if __name__ == "__main__":
    Options.tenure = os.path.abspath(sys.argv.pop(1))
    for flag in ("--short", "--long"):
        if flag in sys.argv:
            sys.argv.remove(flag)
            Options.long = flag == "--long"
    unittest.main()
