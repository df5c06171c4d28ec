#!/usr/bin/env python3
"""Leases over a network whose cable is cut: both ends notice within the time that docs/checkout.md promises.

Usage: link_test.py PATH_OF_TENURE [Unplugged|Silent]

The test creates two network namespaces, joined by a pair of virtual devices, with the server in one and the clients in the
other. The cut gives no signal: no process ends, and no FIN or RST passes. If the kernel does not allow namespaces, the test
prints that, and its exit code is 77.
"""
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
NOTICED = 12  # seconds, as documented
SLACK = 5  # of a busy machine, and for a worker that is replaced
NEVER = "10m"  # a deadline that is not what ends it

# Answers when it is told to, by a file, so that the cable can be cut before.
WORKER = """
import os, struct, sys, time
def put(kind, data): sys.stdout.buffer.write(struct.pack(">Ic", len(data) + 1, kind) + data); sys.stdout.buffer.flush()
put(b"R", b"")
while head := sys.stdin.buffer.read(5):
    request = sys.stdin.buffer.read(struct.unpack(">Ic", head)[0] - 1).decode()
    if request.startswith("after "):
        open(request[6:] + ".asked", "w").close()
        while not os.path.exists(request[6:]): time.sleep(0.01)
    put(b"M", str(os.getpid()).encode())
"""


def ip(*words, check=True):
    return subprocess.run(["ip", *words], check=check, capture_output=True, text=True)


def why_not():
    """Why there can be no namespaces here; nothing if there can."""
    name = f"tenure-probe-{os.getpid()}"
    try:
        made = ip("netns", "add", name, check=False)
        if made.returncode == 0:
            able = ip("netns", "exec", name, "true", check=False)
            ip("netns", "del", name, check=False)
            return able.stderr.strip()
        return made.stderr.strip() or "ip netns add failed"
    except FileNotFoundError:
        return "the program ip (iproute2) is missing"


class LinkTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        tag = f"{os.getpid()}"
        self.near, self.far = f"tenure-s{tag}", f"tenure-c{tag}"  # the server's and the clients'
        self.ends = {self.near: f"ts{tag}", self.far: f"tc{tag}"}
        for name in (self.near, self.far):
            ip("netns", "add", name)
            self.addCleanup(ip, "netns", "del", name, check=False)
        ip("link", "add", self.ends[self.near], "netns", self.near, "type", "veth", "peer", "name", self.ends[self.far],
           "netns", self.far)
        for number, (name, device) in enumerate(self.ends.items(), 1):
            ip("-n", name, "address", "add", f"10.77.0.{number}/24", "dev", device)
            ip("-n", name, "link", "set", "lo", "up")
            ip("-n", name, "link", "set", device, "up")
        self.secure()
        self.server = self.spawn(self.near, "checkout", "serve", "--json", "--listen", "tcp:10.77.0.1:0", "--workers", "4",
                                 "--says-ready", "--tls-cert", self.folder / "cert", "--tls-key", self.folder / "key",
                                 "--token-file", self.folder / "token", "--exec", sys.executable, "-c", WORKER)
        self.address = json.loads(self.server.stdout.readline())["listen"]
        self.connect = ["--connect", self.address, "--tls-ca", self.folder / "cert", "--token-file", self.folder / "token"]

    def secure(self):
        (self.folder / "token").write_text("secret\n")
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                        "-days", "2", "-subj", "/CN=server", "-addext", "subjectAltName=IP:10.77.0.1", "-keyout",
                        self.folder / "key", "-out", self.folder / "cert"], check=True, capture_output=True)

    def spawn(self, namespace, *words):
        process = subprocess.Popen(["ip", "netns", "exec", namespace, TENURE, *words], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        return process

    def hold(self):
        """A client that has a worker, and has asked it something."""
        client = self.spawn(self.far, "checkout", "run", *self.connect, "--lines", "--timeout", NEVER)
        self.ask(client, "who")
        client.worker = client.stdout.readline().strip()
        self.assertTrue(client.worker, "no worker")
        return client

    @staticmethod
    def ask(client, request):
        client.stdin.write(request + "\n")
        client.stdin.flush()

    def asked(self, client, name):
        """Its request is with the worker; the answer comes when the file is made that is returned."""
        answer = self.folder / name
        self.ask(client, f"after {answer}")
        while not os.path.exists(f"{answer}.asked"):
            time.sleep(0.01)
        return answer

    def stats(self):
        done = subprocess.run(["ip", "netns", "exec", self.near, TENURE, "checkout", "stats", *self.connect], check=True,
                              capture_output=True, text=True)
        return json.loads(done.stdout)

    def gone(self, client, cut):
        """The client's own end, in seconds from the cut, and what it said."""
        client.wait(NOTICED + SLACK + 10)
        return time.monotonic() - cut, client.stderr.read()

    def check(self, cut_link):
        idle, asking, answered, talking = (self.hold() for _ in range(4))
        self.assertEqual(self.stats()["held"], 4)
        waiting = self.spawn(self.far, "checkout", "run", *self.connect, "--wait", NEVER, "who")
        while self.stats()["waiting"] == 0:
            time.sleep(0.02)
        self.asked(asking, "never")  # an answer is due, and nothing is under way on the wire
        answer = self.asked(answered, "answer")
        cut_link()
        cut = time.monotonic()
        answer.touch()  # the server now sends what nobody acknowledges
        self.ask(talking, "who")  # and so does a client
        # The server's side: all workers are free for others in time, and nobody waits.
        while True:
            state, after = self.stats(), time.monotonic() - cut
            if (state["free"], state["waiting"]) == (4, 0) or after > NOTICED + SLACK:
                break
            time.sleep(0.1)
        print(f"the server noticed after {after:.1f} s", file=sys.stderr)
        self.assertEqual((state["free"], state["waiting"]), (4, 0), f"after {after:.1f} s: {state}")
        self.assertLessEqual(after, NOTICED + SLACK)
        self.assertEqual(state["discarded"], 1)  # of the four, the one that owed an answer
        another = subprocess.run(["ip", "netns", "exec", self.near, TENURE, "checkout", "run", *self.connect, "who"],
                                 check=True, capture_output=True, text=True)
        self.assertNotEqual(another.stdout.strip(), asking.worker)
        # The clients' side.
        for name, client in {"asking": asking, "talking": talking, "waiting": waiting}.items():
            client.stdin.close()
            seconds, said = self.gone(client, cut)
            print(f"the client that was {name} noticed after {seconds:.1f} s", file=sys.stderr)
            self.assertLessEqual(seconds, NOTICED + SLACK, name)
            self.assertNotEqual(client.returncode, 0, name)
            self.assertIn("connection was closed", said, name)
        # One that asks nothing notices when it does, at once: its connection is over.
        begun = time.monotonic()
        self.ask(idle, "who")
        idle.stdin.close()
        self.gone(idle, cut)
        self.assertLess(time.monotonic() - begun, SLACK)
        self.assertNotEqual(idle.returncode, 0)


class Unplugged(LinkTest):
    """The devices see that the cable is out."""

    def test_both_ends_notice(self):
        self.check(lambda: ip("-n", self.far, "link", "set", self.ends[self.far], "down"))


class Silent(LinkTest):
    """As with a switch in between: nothing arrives any more, and no device says so."""

    def test_both_ends_notice(self):
        def cut():  # what is sent goes to a station that is not there
            for number, (name, device) in enumerate(self.ends.items(), 1):
                ip("-n", name, "neighbour", "replace", f"10.77.0.{3 - number}", "lladdr", "02:00:00:00:00:99", "nud",
                   "permanent", "dev", device)

        self.check(cut)


if __name__ == "__main__":
    reason = why_not()
    if reason:
        print(f"skipped: network namespaces cannot be made here: {reason}")
        sys.exit(77)
    unittest.main()
