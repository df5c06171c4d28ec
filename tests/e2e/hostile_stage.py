"""Shared by the hostile tests: names that try to steer a terminal, forge lines and hide text, the definition of harmless
output, and the program, run in text mode with a check of everything that it prints.

The test's own arguments come first: PATH_OF_TENURE [--names FILE]. FILE has other names to try, each a line of base64.
"""

import base64
import json
import os
import pathlib
import pty
import subprocess
import sys
import tempfile
import termios
import threading
import unicodedata
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
PATIENCE = 60
LINE_BYTES_MAX = 40_000  # a cut line is 16 Ki columns, of characters of up to four bytes; these have one or two


def pieces(characters, size=60):
    return ["".join(characters[at:at + size]).encode() for at in range(0, len(characters), size)]


# What Unicode lets a font leave out: it takes no room. (Default_Ignorable_Code_Point, beside the category Cf.)
IGNORABLE = {0x34F, 0x115F, 0x1160, 0x17B4, 0x17B5, *range(0x180B, 0x1810), 0x2065, 0x3164, *range(0xFE00, 0xFE10), 0xFFA0,
             *range(0xFFF0, 0xFFF9), *range(0xE0000, 0xE1000)}
HIDDEN = [chr(code) for code in range(0x110000)
          if unicodedata.category(chr(code)) in ("Cc", "Cf", "Zl", "Zp") or code in IGNORABLE]
NAMES = [
    b"plain",
    b"\x1b[2J\x1b]0;owned\x07\x1b[31mred\x1b[5;5H",
    b"over\rwritten\x08\x08\x1b[A\x1b[K",
    b"k\ntenure: forged: done (it never was)\ndone",
    b"columns\tof\tits\town\x0b\x0c",
    bytes(range(1, 0x20)) + b"\x7f",
    "".join(map(chr, range(0x80, 0xA0))).encode(),
    bytes(range(0x80, 0xA0)),
    b"\xff\xfe\xc3(\xc0\x9b\xed\xa0\x80\xf4\x90\x80\x80\xe2\x80",
    "\u202egnp.exe\u2066\u2069\u200f\u061c".encode(),
    "a\u2028b\u2029c\ufeffd\u200be\U000e0041f".encode(),
    rb"\n \x1b \u{202e} \\ literal",
    b"\x1b" * 250,
    *pieces([c for c in HIDDEN if c != "\0" and ord(c) < 0xE0000]),
    *pieces([c for c in HIDDEN if ord(c) >= 0xE0000][:120]),
]
if "--names" in sys.argv:
    at = sys.argv.index("--names")
    NAMES = [base64.b64decode(line) for line in pathlib.Path(sys.argv[at + 1]).read_bytes().split()]
    del sys.argv[at:at + 2]
NAMES = [name for name in NAMES if b"\0" not in name]  # which no argument can have
KEYS = [name for name in NAMES if 0 < len(name) <= 1024]
IDS = [name for name in NAMES if 0 < len(name) <= 256]


def hostile(output):
    """What of an output is neither printable nor the end of a line."""
    text = output.decode("utf-8", errors="surrogateescape")
    return sorted({ascii(c) for c in text if c != "\n" and (
        unicodedata.category(c) in ("Cc", "Cf", "Cs", "Zl", "Zp") or ord(c) in IGNORABLE)})


def bytes_of(row, name):
    """A value of the program's JSON, whether it is text or not."""
    return base64.b64decode(row[name + "_base64"]) if name + "_base64" in row else row[name].encode()


class HostileTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.engine = f"sqlite:{self.folder}/pool.db?sync=off"
        self.pool = b"default"

    def check(self, output, what):
        self.assertEqual(hostile(output), [], (what, output[:500]))
        self.assertLess(max(map(len, output.split(b"\n"))), LINE_BYTES_MAX, what)

    def run_text(self, *words, expect=None, text=b"", engine=True):
        """Runs a command without --json; its standard output and error, both of them harmless."""
        command = [TENURE, *(["--engine", self.engine, "--pool", self.pool] if engine else []), *words]
        done = subprocess.run(command, input=text, capture_output=True, timeout=PATIENCE)
        self.check(done.stdout, words)
        self.check(done.stderr, words)
        if expect is not None:
            self.assertEqual(done.returncode, expect, (words, done.stdout[-500:], done.stderr[-500:]))
        self.assertGreaterEqual(done.returncode, 0, words)
        return done

    def ask(self, *words):
        """Runs a command with --json: its document, which shows nothing hostile on a terminal either."""
        done = subprocess.run([TENURE, "--json", "--engine", self.engine, "--pool", self.pool, *words],
                              capture_output=True, timeout=PATIENCE)
        self.check(done.stdout, words)
        self.check(done.stderr, words)
        return json.loads(done.stdout)

    def start(self, *words, ready):
        """A program in text mode that is up; its output is read to the end by wait_output()."""
        process = subprocess.Popen([TENURE, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.addCleanup(process.__exit__, None, None, None)
        self.addCleanup(process.kill)
        first = process.stdout.readline()
        self.assertTrue(first.startswith(ready), (first, words))
        process.gathered = [[first], []]
        process.readers = [threading.Thread(target=lambda pipe, into: into.extend(pipe), args=pair, daemon=True)
                           for pair in zip((process.stdout, process.stderr), process.gathered)]
        for reader in process.readers:
            reader.start()
        return process

    def work(self, name, *words):
        return self.start("work", "--engine", self.engine, "--pool", self.pool, "--id", name, "--lease", "10s", *words,
                          ready=b"ready")

    def wait_output(self, process):
        process.wait(PATIENCE)
        for reader in process.readers:
            reader.join(PATIENCE)
        output, errors = (b"".join(part) for part in process.gathered)
        self.check(output, process.args)
        self.check(errors, process.args)
        return output, errors

    def end(self, worker):
        """Ends the pool, and with it the worker."""
        self.run_text("shutdown", "--timeout", "5s")
        worker.terminate()
        return self.wait_output(worker)

    def script(self, text):
        path = self.folder / "program.py"
        path.write_text(text)
        return [sys.executable, "-u", str(path)]

    def on_terminal(self, *words):
        """What a terminal is sent by a command."""
        controller, terminal = pty.openpty()
        mode = termios.tcgetattr(terminal)
        mode[1] &= ~termios.OPOST  # line ends as they are
        termios.tcsetattr(terminal, termios.TCSANOW, mode)
        process = subprocess.Popen([TENURE, *words], stdin=subprocess.DEVNULL, stdout=terminal, stderr=terminal)
        os.close(terminal)
        sent = b""
        while True:
            try:
                part = os.read(controller, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            sent += part
        os.close(controller)
        self.assertEqual(process.wait(PATIENCE), 0, sent)
        return sent
