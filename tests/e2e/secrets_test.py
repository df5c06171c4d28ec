"""Passwords in URLs, in the environment and in files are in no output of the program, no error, and no command line that
other users can read, whether they are right, wrong, mistyped, or repeated by the server.

Usage: secrets_test.py PATH_OF_TENURE [unittest arguments]
"""

import os
import pathlib
import select
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60
SECRET = "hunter2-xyzzy"


class SecretsTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def run_tenure(self, *words, **environment):
        """Its exit code; its output has no secret in it."""
        done = subprocess.run([TENURE, *words], env=os.environ | environment, capture_output=True, timeout=PATIENCE,
                              cwd=self.folder, stdin=subprocess.DEVNULL)
        for output in (done.stdout, done.stderr):
            self.assertNotIn(SECRET.encode(), output, words)
            self.assertNotIn(b"xyzzy", output, words)
        return done.returncode

    def peer(self, answer):
        """The port of a server that says `answer` of what it was sent."""
        server = socket.create_server(("127.0.0.1", 0))
        self.addCleanup(server.close)

        def run():
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                with connection:
                    try:
                        connection.settimeout(PATIENCE)
                        connection.sendall(answer(connection.recv(65536)))
                    except OSError:
                        pass
        threading.Thread(target=run, daemon=True).start()
        return server.getsockname()[1]


class Errors(SecretsTest):
    COMMANDS = (["jobs", "--timeout", "300ms"], ["doctor", "--timeout", "300ms"],
                ["dispatch", "k", "--timeout", "300ms"], ["demo", "--for", "1s", "--script", "k"],
                ["bench", "throughput", "--jobs", "10"], ["bench", "takeover", "--rounds", "1"],
                ["stream", "add", "s", "x"], ["stream", "tail", "s"], ["stream", "info", "s"])

    def try_all(self, url):
        for words in self.COMMANDS:
            for flags in ([], ["--json"]):
                with self.subTest(url=url, words=words):
                    self.assertNotEqual(self.run_tenure(*words, *flags, "--engine", url), 0)
        self.assertNotEqual(self.run_tenure("jobs", TENURE_ENGINE=url), 0)

    def test_urls_that_are_mistyped(self):
        for url in (f"redis+tls://u:{SECRET}@127.0.0.1:1", f"redis:/u:{SECRET}@127.0.0.1:1", f"redis:u:{SECRET}@127.0.0.1",
                    f"redis://u:{SECRET}@", f"redis://u:{SECRET}@127.0.0.1:port", f"redis://u:{SECRET}@127.0.0.1:1/db",
                    f"redis://u:{SECRET}%zz@127.0.0.1:1", f"redis://u:a/{SECRET}@127.0.0.1:1",
                    f"redis://u:a?{SECRET}@127.0.0.1:1", f"rediss://u:{SECRET}@127.0.0.1:1?ca_file=/none",
                    f"redis://u:{SECRET}@127.0.0.1:1?nonsense=1", f"unix://u:{SECRET}@none", f"u:{SECRET}@127.0.0.1",
                    f"postgres://127.0.0.1/x?password={SECRET}", f"sqlite:x.db?key={SECRET}",
                    f"redis://127.0.0.1:1?password={SECRET}", f"redis+sentinel://u:{SECRET}@127.0.0.1:1"):
            self.assertNotEqual(self.run_tenure("jobs", "--engine", url), 0)
            self.assertNotEqual(self.run_tenure("jobs", "--json", "--engine", url), 0)
            self.assertNotEqual(self.run_tenure("doctor", "--json", "--engine", url), 0)
            self.assertNotEqual(self.run_tenure("stream", "info", "s", "--json", "--engine", url), 0)
            self.assertNotEqual(self.run_tenure("stream", "read", "s", "--engine", url), 0)

    def test_words_in_the_wrong_place(self):
        url = f"redis://u:{SECRET}@127.0.0.1:1"
        for words in ([url], ["jobs", url], ["dispatch", "k", "p", url], ["jobs", f"--engin={url}"], ["help", url],
                      ["jobs", "--limit", url], ["jobs", "--timeout", url], ["completion", url], ["dead", "drop", url],
                      ["jobs", f"-{url}"], ["jobs", f"--json={url}"], ["work", "--warm", url, "--exec", "true"],
                      ["checkout", url], ["demo", "--workers", url]):
            with self.subTest(words):
                self.assertEqual(self.run_tenure(*words), 2)
                self.assertEqual(self.run_tenure("--json", *words), 2)

    def test_nobody_is_there(self):
        self.try_all(f"redis://u:{SECRET}@127.0.0.1:1?timeout=100")

    def test_a_server_that_repeats_what_it_was_sent(self):
        """As one does that does not know AUTH."""
        def answer(sent):
            return b"-ERR unknown command, with args beginning with: " + sent.replace(b"\r\n", b" ") + b"\r\n"
        self.try_all(f"redis://u:{SECRET}@127.0.0.1:{self.peer(answer)}?timeout=100")

    def test_a_server_of_checkouts_that_repeats_the_token(self):
        port = self.peer(lambda sent: sent)
        for words in (["run", "x"], ["stats"]):
            self.assertNotEqual(self.run_tenure("checkout", *words, "--connect", f"tcp:127.0.0.1:{port}",
                                                TENURE_CHECKOUT_TOKEN=SECRET), 0)


class Programs(SecretsTest):
    """A handler and a program of a checkout pool run code that need not be trusted with the worker's secrets."""

    SECRETS = {"TENURE_REDIS_PASSWORD": SECRET, "TENURE_CHECKOUT_TOKEN": SECRET, "TENURE_ANYTHING": SECRET}

    def variables(self, path):
        """Those that a program has written down with `env -0`, once it has."""
        deadline = time.monotonic() + PATIENCE
        while not path.exists():
            self.assertLess(time.monotonic(), deadline)
            select.select([], [], [], 0.01)
        return dict(line.split("=", 1) for line in path.read_text().split("\0") if line)

    def start(self, *words, **environment):
        process = subprocess.Popen([TENURE, *words], env=os.environ | environment, stdout=subprocess.PIPE,
                                   stderr=subprocess.DEVNULL)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        self.assertIn(b"ready", process.stdout.readline())

    def test_a_handler_inherits_none(self):
        url, found = f"sqlite:{self.folder}/{SECRET}.db", self.folder / "found"
        write = f"env -0 > {found}.part; mv {found}.part {found}; exec sleep 1000"
        self.start("work", "--json", "--exec", "sh", "-c", write, TENURE_ENGINE=url, OTHER="kept", **self.SECRETS)
        dispatched = subprocess.run([TENURE, "dispatch", "k", "--wait", "started"], env=os.environ | {"TENURE_ENGINE": url},
                                    capture_output=True, timeout=PATIENCE)
        self.assertEqual(dispatched.returncode, 0, dispatched)
        variables = self.variables(found)
        self.assertEqual({name for name in variables if name.startswith("TENURE_")},
                         {"TENURE_POOL", "TENURE_KEY", "TENURE_EPOCH", "TENURE_WORKER", "TENURE_ATTEMPT", "TENURE_KIND",
                          "TENURE_TYPE", "TENURE_DIR"})
        self.assertEqual((variables["TENURE_KEY"], variables["OTHER"]), ("k", "kept"))
        self.assertNotIn(SECRET, "".join(variables.values()))

    def test_a_checkout_program_inherits_none(self):
        found = self.folder / "found"
        write = f"env -0 > {found}.part; mv {found}.part {found}; exec sleep 1000"
        self.start("checkout", "serve", "--json", "--listen", f"unix:{self.folder}/s", "--workers", "1", "--exec", "sh",
                   "-c", write, OTHER="kept", TENURE_ENGINE=f"redis://:{SECRET}@127.0.0.1", **self.SECRETS)
        variables = self.variables(found)
        self.assertEqual([name for name in variables if name.startswith("TENURE_")], [])
        self.assertEqual(variables["OTHER"], "kept")


@unittest.skipUnless(shutil.which("redis-server"), "redis-server is not installed")
class Processes(SecretsTest):
    """A worker on a Redis server with a password; its processes, and those it has started."""

    def setUp(self):
        super().setUp()
        self.server = subprocess.Popen(["setpriv", "--pdeathsig", "KILL", "redis-server", "-"], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.server.__exit__, None, None, None)
        self.addCleanup(self.server.kill)
        # The file name is on no command line: the configuration comes on standard input.
        self.server.stdin.write(f"port 0\nunixsocket {self.folder}/redis.sock\nsave \"\"\nrequirepass {SECRET}\n")
        self.server.stdin.close()
        if not any("ready to accept connections at" in line for line in self.server.stdout):
            self.fail("redis-server does not start")
        self.url = f"redis+unix://default:{SECRET}@{self.folder}/redis.sock"

    def command_lines(self, process):
        """Those of a process and of all below it, with their names and those of their threads."""
        found, left = [], [process]
        while left:
            folder = pathlib.Path(f"/proc/{left.pop()}")
            found.append((folder / "cmdline").read_bytes())
            for thread in (folder / "task").iterdir():
                found.append((thread / "comm").read_bytes())
                left += (thread / "children").read_text().split()
        return found

    def work(self, *flags, **environment):
        worker = subprocess.Popen([TENURE, "work", *flags, "--exec", "sh", "-c", "echo up; exec sleep 1000"],
                                  env=os.environ | environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(worker.__exit__, None, None, None)
        self.addCleanup(worker.kill)
        self.assertIn(b"ready", worker.stdout.readline())
        return worker

    def check(self, worker, *flags, **environment):
        self.assertEqual(self.run_tenure("dispatch", "k", "--wait", "started", *flags, **environment), 0)
        self.assertIn(b"up", worker.stderr.readline())  # so the program, its keeper and the guard run
        lines = self.command_lines(worker.pid)
        self.assertGreaterEqual(len(lines), 6)
        self.assertIn(b"tenure-guard\n", lines)
        self.assertNotIn(SECRET.encode(), b"\n".join(lines))
        self.assertEqual(self.run_tenure("doctor", *flags, **environment), 1)
        worker.terminate()
        output, errors = worker.communicate(timeout=PATIENCE)
        self.assertNotIn(SECRET.encode(), output + errors)
        return b"\n".join(lines)

    def test_a_url_on_the_command_line(self):
        lines = self.check(self.work("--engine", self.url), "--engine", self.url)
        self.assertIn(b"redis+unix://****", lines)
        self.check(self.work(f"--engine={self.url}", "--pool", "b"), "--engine", self.url, "--pool", "b")

    def test_a_url_in_the_environment(self):
        self.check(self.work(TENURE_ENGINE=self.url), TENURE_ENGINE=self.url)

    def test_a_password_in_a_file(self):
        (self.folder / "password").write_text(SECRET + "\n")
        url = f"redis+unix://{self.folder}/redis.sock?password_file={self.folder}/password"
        self.check(self.work("--engine", url), "--engine", url)

    def test_a_wrong_password(self):
        for url in (f"redis+unix://default:{SECRET}no@{self.folder}/redis.sock", f"unix:{self.folder}/redis.sock"):
            for words in Errors.COMMANDS:
                with self.subTest(words=words):
                    self.assertNotEqual(self.run_tenure(*words, "--engine", url), 0)


if __name__ == "__main__":
    unittest.main()
