#!/usr/bin/env python3
"""Configures builds without some engines. Usage: configure_test.py ROOT CMAKE COMPILER

Each must configure and must not link libraries that it does not have. TLS does not depend on Redis.
"""

import pathlib
import subprocess
import sys
import tempfile
import unittest

ROOT, CMAKE, COMPILER = sys.argv[1:4]
ALONE = ["-DTENURE_TESTS=OFF", "-DTENURE_BENCH=OFF", "-DTENURE_EXAMPLES=OFF"]


class Configure(unittest.TestCase):
    def configure(self, *options):
        """The build's rules."""
        with tempfile.TemporaryDirectory() as folder:
            run = subprocess.run([CMAKE, "-S", ROOT, "-B", folder, "-G", "Ninja", f"-DCMAKE_CXX_COMPILER={COMPILER}",
                                  *ALONE, *options], capture_output=True, text=True)
            self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
            return (pathlib.Path(folder) / "build.ninja").read_text(encoding="utf-8")

    def check(self, rules, sqlite=True, redis=True, kafka=True):
        # A target that does not exist becomes a library of that name.
        self.assertNotIn("-ltenure", rules)
        self.assertEqual("sqlite3" in rules, sqlite)
        self.assertEqual("hiredis" in rules, redis)
        self.assertEqual("-DTENURE_WITH_SQLITE" in rules, sqlite)
        self.assertEqual("-DTENURE_WITH_REDIS" in rules, redis)
        self.assertEqual("rdkafka" in rules, kafka)
        self.assertEqual("-DTENURE_WITH_KAFKA" in rules, kafka)
        self.assertIn("-DTENURE_WITH_TLS", rules)

    def test_without_engines(self):
        self.check(self.configure("-DTENURE_SQLITE=OFF", "-DTENURE_REDIS=OFF", "-DTENURE_KAFKA=OFF"), False, False, False)

    def test_without_redis(self):
        self.check(self.configure("-DTENURE_REDIS=OFF"), redis=False)

    def test_without_sqlite(self):
        self.check(self.configure("-DTENURE_SQLITE=OFF"), sqlite=False)

    def test_without_kafka(self):
        self.check(self.configure("-DTENURE_KAFKA=OFF"), kafka=False)


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
