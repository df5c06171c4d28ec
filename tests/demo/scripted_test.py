#!/usr/bin/env python3
"""The demo without a terminal: it plays its acts, prints one JSON object, and leaves nothing behind, however it ends.
Usage: scripted_test.py PROGRAM"""

import json
import pathlib
import signal
import subprocess
import sys
import unittest

from stage import PATIENCE_S, Stage


class Scripted(Stage):
    def start(self, *arguments):
        return subprocess.Popen([self.program, *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def test_every_act(self):
        run = self.start("--for", "15", "--script", "k,z,r,b,+,-", "--json")
        output, errors = run.communicate(timeout=2 * PATIENCE_S)
        self.assertEqual(run.returncode, 0, output + errors)
        self.assertEqual(output.count("\n"), 1, output)
        figures = json.loads(output)
        self.assertEqual(figures["double_holders"], 0, output)
        self.assertEqual(figures["lost"], 0, output)
        self.assertGreaterEqual(figures["stale_writes_refused"], 1, output)
        self.assertGreater(figures["takeover_ms"]["n"], 0, output)
        self.assertGreater(figures["takeover_ms"]["max"], 0, output)
        self.assertGreaterEqual(figures["takeover_ms"]["max"], figures["takeover_ms"]["p50"], output)
        # Every tenant moved in the rolling restart; those of the killed and the frozen worker moved besides.
        self.assertGreater(figures["gap_ms"]["n"], 64, output)
        self.assertGreaterEqual(figures["moves"], figures["moves_minimum"], output)
        self.assertGreater(figures["moves_minimum"], 64, output)
        self.assertEqual(figures["rounds"], 6, output)
        bad = figures["bad_deploy"]
        self.assertEqual((bad["workers"], bad["unfit"]), (4, 4), output)
        # What workers that can start nothing may take from the others, as docs/guarantees.md has it; and it did try.
        self.assertLessEqual(bad["without_holder_max"], 8, output)
        self.assertGreaterEqual(bad["without_holder_max"], 1, output)
        self.assertGreaterEqual(bad["gap_ms"]["n"], 4 * 3, output)
        self.assert_nothing_left()

    def test_on_a_file_of_ones_own(self):
        """The file is shared by the workers, and is gone in the end. What else is in the folder stays."""
        own = pathlib.Path(self.folder) / "own"
        own.mkdir()
        (own / "other.db").write_text("of somebody else")
        run = self.start("--for", "4", "--script", "k", "--json", "--engine", f"sqlite:{own}/demo.db")
        self.wait_for("the file", lambda: (own / "demo.db").exists())
        output, errors = run.communicate(timeout=2 * PATIENCE_S)
        self.assertEqual(run.returncode, 0, output + errors)
        figures = json.loads(output)
        self.assertEqual((figures["double_holders"], figures["lost"]), (0, 0), output)
        self.assertGreater(figures["takeover_ms"]["n"], 0, output)
        self.assertEqual([path.name for path in own.iterdir()], ["other.db"])
        self.assertEqual((own / "other.db").read_text(), "of somebody else")
        (own / "other.db").unlink()
        own.rmdir()
        self.assert_nothing_left()

    def test_it_is_killed(self):
        run = self.start("--for", "60", "--json")
        self.wait_for("workers", lambda: len(self.processes()) == 5)
        run.kill()
        run.communicate(timeout=PATIENCE_S)
        self.assert_nothing_left()

    def test_it_is_killed_while_a_worker_is_frozen(self):
        run = self.start("--script", "z", "--json")
        self.wait_for("a frozen worker", lambda: any(self.state(process) == "T" for process in self.processes()))
        run.kill()
        run.communicate(timeout=PATIENCE_S)
        self.assert_nothing_left()

    def test_it_is_asked_to_end(self):
        run = self.start("--for", "60", "--json")
        self.wait_for("workers", lambda: len(self.processes()) == 5)
        # The engine's URL may have a password in it, and anybody can read a command line.
        for process in self.processes():
            self.assertNotIn(b"pool.db", pathlib.Path(f"/proc/{process}/cmdline").read_bytes())
        run.send_signal(signal.SIGTERM)
        output, _ = run.communicate(timeout=PATIENCE_S)
        self.assertEqual(run.returncode, 0)
        self.assertIn("takeover_ms", json.loads(output))
        self.assert_nothing_left()

    def test_it_refuses_what_is_out_of_bounds(self):
        for arguments in (["--workers", "0"], ["--workers", "10"], ["--tenants", "513"], ["--script", "k,x"]):
            run = self.start(*arguments)
            _, errors = run.communicate(timeout=PATIENCE_S)
            self.assertEqual(run.returncode, 2, arguments)
            self.assertIn("up to 9 workers", errors)


if __name__ == "__main__":
    Stage.program = sys.argv.pop(1)
    unittest.main(verbosity=2)
