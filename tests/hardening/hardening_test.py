#!/usr/bin/env python3
"""Installed files are hardened, as read from the files themselves and not from the build's flags.

Usage: hardening_test.py COMPILER ARCHIVE PROGRAM… [--unoptimised]. Without optimisation glibc checks no calls.
"""

import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

OPTIMISED = "--unoptimised" not in sys.argv
COMPILER, ARCHIVE, *PROGRAMS = [word for word in sys.argv[1:] if word != "--unoptimised"]
X86 = subprocess.run(["uname", "-m"], capture_output=True, text=True).stdout.strip() == "x86_64"


def output_of(*command):
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


def segments_of(program):
    """(type, offset, flags), of each of the program's segments."""
    for line in output_of("readelf", "-lW", program).splitlines():
        found = re.match(r" +([A-Z_]+) +(0x[0-9a-f]+) 0x\w+ 0x\w+ 0x\w+ 0x\w+ ([RWE ]{3}) ", line)
        if found:
            yield found[1], int(found[2], 16), found[3].replace(" ", "")


def undefined(path):
    return set(re.findall(r"\bU (\w+)", output_of("nm", "-u", *(["-D"] if path in PROGRAMS else []), path)))


def checked_calls(names):
    return {name for name in names if re.fullmatch(r"__\w+_chk", name)}


def of_each_program(test):
    def run(self):
        for program in PROGRAMS:
            with self.subTest(program):
                test(self, program)
    return run


class Programs(unittest.TestCase):
    @of_each_program
    def test_addresses_are_random(self, program):
        self.assertRegex(output_of("readelf", "-hW", program), r"Type: +DYN")
        self.assertRegex(output_of("readelf", "-dW", program), r"FLAGS_1\).*\bPIE\b")

    @of_each_program
    def test_relocations_are_read_only(self, program):
        dynamic = output_of("readelf", "-dW", program)
        self.assertRegex(dynamic, r"BIND_NOW|FLAGS_1\).*\bNOW\b")
        self.assertNotIn("TEXTREL", dynamic)
        self.assertIn("GNU_RELRO", [kind for kind, _, _ in segments_of(program)])

    @of_each_program
    def test_nothing_is_writable_and_executable(self, program):
        segments = list(segments_of(program))
        self.assertIn(("GNU_STACK", "RW"), [(kind, flags) for kind, _, flags in segments])
        loaded = [(offset, flags) for kind, offset, flags in segments if kind == "LOAD"]
        self.assertIn("RE", [flags for _, flags in loaded])
        for offset, flags in loaded:
            self.assertFalse({"W", "E"} <= set(flags), flags)
            if "E" in flags:
                self.assertEqual(offset % 4096, 0, "code shares a page of the file with data")

    @of_each_program
    def test_stacks_and_calls_are_checked(self, program):
        names = undefined(program)
        self.assertTrue("__stack_chk_fail" in names, "no stack is checked")
        if OPTIMISED:
            self.assertTrue(checked_calls(names), "no call of the C library is checked")


class Library(unittest.TestCase):
    def test_stacks_and_calls_are_checked(self):
        """By our own objects: the programs have those of other libraries, too."""
        names = undefined(ARCHIVE)
        self.assertTrue("__stack_chk_fail" in names, "no stack is checked")
        if OPTIMISED:
            self.assertTrue(checked_calls(names), "no call of the C library is checked")

    @unittest.skipUnless(X86, "the notes are those of x86-64")
    def test_jumps_and_returns_are_checked(self):
        """The programs have the note only where all that they are linked from has it, the C library's beginning included."""
        notes = re.split(r"^File: ", output_of("readelf", "-nW", ARCHIVE), flags=re.MULTILINE)[1:]
        self.assertGreater(len(notes), 10)
        for note in notes:
            self.assertRegex(note, r"x86 feature:.*IBT.*SHSTK", note.splitlines()[0])

    def test_a_shared_object_can_take_it_in(self):
        with tempfile.TemporaryDirectory() as folder:
            made = pathlib.Path(folder) / "all.so"
            output_of(COMPILER, "-shared", "-o", made, "-Wl,-z,text", "-Wl,--whole-archive", ARCHIVE,
                      "-Wl,--no-whole-archive")
            self.assertNotIn("TEXTREL", output_of("readelf", "-dW", made))


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
