#!/usr/bin/env python3
"""Tests builds without some engines. Usage: variants_test.py PROGRAM none|sqlite|redis|kafka

Such a build works with the engines that it has. For the URL of a missing engine the error names the engine, the available
ones, and the build option that adds it.
"""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

PROGRAM, VARIANT = sys.argv[1:3]
URLS = {"sqlite": "sqlite:{}/pool.db", "redis": "redis://127.0.0.1:1", "kafka": "kafka://127.0.0.1:1?timeout=500"}


class Variant(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def run_tenure(self, *words):
        environment = {name: value for name, value in os.environ.items() if not name.startswith("TENURE_")}
        environment |= {"HOME": self.folder, "XDG_DATA_HOME": self.folder}
        return subprocess.run([PROGRAM, *words], capture_output=True, text=True, env=environment, timeout=30,
                              cwd=self.folder)

    def says(self, run, *texts):
        self.assertNotEqual(run.returncode, 0, run.stdout)
        for text in texts:
            self.assertIn(text, run.stderr)

    def test_it_runs(self):
        self.assertEqual(self.run_tenure("--version").returncode, 0)

    def test_a_missing_engine_is_named_with_its_option(self):
        for engine, url in URLS.items():
            if engine == VARIANT:
                continue
            for command, more in ((["jobs"], []), (["bench", "handoff"], []), (["work"], ["--exec", "true"])):
                run = self.run_tenure(*command, "--engine", url.format(self.folder), *more)
                self.says(run, f"this build has no {engine} engine", "it has: memory:", f"-DTENURE_{engine.upper()}=ON")
                if VARIANT != "none":
                    self.says(run, f"memory:, {VARIANT}:")

    def test_an_unknown_engine_is_told_the_ones_there_are(self):
        run = self.run_tenure("jobs", "--engine", "nothing:x")
        self.says(run, "names no engine", "memory:NAME")
        self.assertEqual("sqlite:PATH" in run.stderr, VARIANT == "sqlite")
        self.assertEqual("redis://HOST:PORT" in run.stderr, VARIANT == "redis")
        self.assertEqual("kafka://HOST:PORT" in run.stderr, VARIANT == "kafka")

    def test_without_sqlite_an_engine_has_to_be_named(self):
        run = self.run_tenure("dispatch", "k")
        if VARIANT == "sqlite":
            self.assertEqual(run.returncode, 0, run.stderr)
            self.assertTrue((pathlib.Path(self.folder) / "tenure" / "default.db").exists())
        else:
            self.says(run, "this build has no sqlite engine", "name an engine with --engine or TENURE_ENGINE")

    def test_without_sqlite_there_is_no_demo(self):
        if VARIANT != "sqlite":
            self.says(self.run_tenure("demo", "--for", "1s"), "this build has no demo", "-DTENURE_SQLITE=ON")

    def test_the_engines_that_it_has_work(self):
        options = ["--jobs", "100", "--keys", "10"]
        run = self.run_tenure("bench", "throughput", *options, "--engine", "memory:")
        self.assertEqual(run.returncode, 0, run.stderr)
        if VARIANT == "sqlite":
            run = self.run_tenure("bench", "throughput", *options, "--engine", f"sqlite:{self.folder}/bench.db")
            self.assertEqual(run.returncode, 0, run.stderr)
        if VARIANT in ("redis", "kafka"):
            self.says(self.run_tenure("jobs", "--timeout", "1s", "--engine", URLS[VARIANT]), "127.0.0.1:1")


if __name__ == "__main__":
    del sys.argv[1:]
    unittest.main()
