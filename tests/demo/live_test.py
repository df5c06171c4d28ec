#!/usr/bin/env python3
"""The demo on a terminal of 80 x 24: keys have their effect on the screen, the screen stays within its bounds, and the
terminal is restored at the end. Usage: live_test.py PROGRAM"""

import fcntl
import os
import pty
import re
import select
import signal
import struct
import sys
import termios
import time
import unittest

from stage import PATIENCE_S, Stage

SEQUENCE = re.compile(r"\x1b\[([?0-9;]*)([A-Za-z])")


class Screen:
    """As much of a terminal as the demo asks for: places to write at, clearing, and modes that are on or off."""

    def __init__(self, rows, columns):
        self.resize(rows, columns)
        self.row = self.column = 0
        self.modes = {"?25": True, "?7": True}
        self.pending = b""

    def resize(self, rows, columns):
        self.rows, self.columns = rows, columns
        self.lines = [[" "] * columns for _ in range(rows)]

    def feed(self, data):
        data = self.pending + data
        # A character or a sequence may have been cut in two.
        cut = len(data)
        while cut > 0 and len(data) - cut < 40 and not data[:cut].endswith((b"m", b"K", b"h", b"l", b"J", b"\n")):
            cut -= 1
        text, self.pending = data[:cut].decode("utf-8"), data[cut:]
        at = 0
        while at < len(text):
            sequence = SEQUENCE.match(text, at)
            if sequence:
                self.obey(*sequence.groups())
                at = sequence.end()
                continue
            self.put(text[at])
            at += 1

    def put(self, character):
        if not self.modes.get("?1049"):
            return  # ordinary lines, before and after
        if self.row >= self.rows or self.column >= self.columns:
            raise AssertionError(f"written outside the screen: row {self.row}, column {self.column}")
        self.lines[self.row][self.column] = character
        self.column += 1

    def obey(self, numbers, letter):
        if letter == "H":
            row, column = (numbers.split(";") + ["1"])[:2]
            self.row, self.column = int(row) - 1, int(column) - 1
        elif letter == "K":
            self.lines[self.row][self.column:] = [" "] * (self.columns - self.column)
        elif letter == "J":
            self.lines = [[" "] * self.columns for _ in range(self.rows)]
        elif letter in "hl":
            self.modes[numbers] = letter == "h"

    def text(self):
        return "\n".join("".join(line).rstrip() for line in self.lines)


class Live(Stage):
    def start(self, *arguments, rows=24, columns=80):
        self.master, self.slave = pty.openpty()
        self.addCleanup(os.close, self.master)
        self.addCleanup(os.close, self.slave)
        self.set_size(rows, columns)
        self.before = termios.tcgetattr(self.slave)
        self.screen = Screen(rows, columns)
        self.ended = None
        self.process = os.posix_spawn(self.program, [self.program, *arguments], self.environment, setsid=True,
                                      file_actions=[(os.POSIX_SPAWN_DUP2, self.slave, fd) for fd in (0, 1, 2)])
        self.addCleanup(self.end)

    def set_size(self, rows, columns):
        fcntl.ioctl(self.master, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def end(self):
        if self.ended is None:
            os.kill(self.process, signal.SIGKILL)
            os.waitpid(self.process, 0)

    def read(self, seconds=0.05):
        if select.select([self.master], [], [], seconds)[0]:
            self.screen.feed(os.read(self.master, 65536))

    def see(self, *texts):
        deadline = time.monotonic() + PATIENCE_S
        while not all(re.search(text, self.screen.text()) for text in texts):
            self.assertLess(time.monotonic(), deadline, f"not seen: {texts}\n{self.screen.text()}")
            self.read()

    def press(self, key):
        os.write(self.master, key.encode())

    def see_end(self, code):
        deadline = time.monotonic() + PATIENCE_S
        while self.ended is None:
            self.assertLess(time.monotonic(), deadline, "it does not end")
            self.read()
            process, status = os.waitpid(self.process, os.WNOHANG)
            if process:
                self.ended = os.waitstatus_to_exitcode(status)
        self.assertEqual(self.ended, code)
        self.assertEqual(termios.tcgetattr(self.slave), self.before)
        self.assertEqual(self.screen.modes, {"?1049": False, "?25": True, "?7": True})
        self.assert_nothing_left()

    def test_what_is_pressed_is_shown(self):
        self.start()
        self.see("64 tenants run on 4 workers", r"double holders 0", r"lost ticks 0", r"takeover –", "q  quit")
        self.assertTrue(self.screen.modes["?1049"])
        self.press("k")
        self.see(r"w1 killed \(-9\): \d+ tenants moved in", r"takeover p50 [\d.]+ m?s max")
        self.press("z")
        self.see("w2 frozen")
        self.see(r"\d+ late writes refused, epoch …\d+ < …\d+", r"stale writes refused [1-9]")
        self.see("came back")
        self.press("b")
        self.see(r"w\d\S* \(bad version\): unfit after [1-9]")
        self.see("the deploy has failed: the old version goes on", r" unfit +\d+ ")
        self.see(r"bad deploy over: at most [1-8] tenants? without a holder")
        self.press("e")
        self.see("who held it, and why it moved", "holds it")
        self.press("\x1b[C")
        self.press("e")
        self.see(r" 64 +\d+")
        self.see(r"double holders 0", r"lost ticks 0")
        self.press("q")
        self.see_end(0)

    def test_it_follows_the_size_of_the_terminal(self):
        self.start("--workers", "2", "--tenants", "8")
        self.see("8 tenants run on 2 workers")
        self.screen.resize(40, 120)
        self.set_size(40, 120)
        self.see("(?m)^.{100,}$", "quit")
        self.set_size(10, 30)  # fewer columns than there are: what is drawn must fit from now on
        self.see("needs 60 x 16")
        self.press("q")
        self.see_end(0)

    def test_a_signal_gives_the_terminal_back(self):
        self.start("--workers", "2", "--tenants", "8")
        self.see("8 tenants run on 2 workers")
        os.kill(self.process, signal.SIGTERM)
        self.see_end(0)

    def test_a_crash_gives_the_terminal_back(self):
        self.start("--workers", "2", "--tenants", "8")
        self.see("8 tenants run on 2 workers")
        os.kill(self.process, signal.SIGSEGV)
        self.see_end(-signal.SIGSEGV)


if __name__ == "__main__":
    Stage.program = sys.argv.pop(1)
    unittest.main(verbosity=2)
