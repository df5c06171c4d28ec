"""A single processor that stands still is recorded, while the others go on. The test stops its watcher, which looks the
same to the watcher."""

import os
import pathlib
import signal
import tempfile
import time
import unittest

from stalls import LATE_S, Stalls

PATIENCE_S = 30


class StallsTest(unittest.TestCase):
    def test_each_processor_is_watched(self):
        with tempfile.TemporaryDirectory() as folder:
            history = pathlib.Path(folder) / "history"
            stalls = Stalls(history)
            try:
                for watcher in stalls.watchers:
                    self.stop_until_noted(watcher, history)
            finally:
                longest_s = stalls.end()
            self.assertGreater(longest_s, 2 * LATE_S)
            self.assertEqual(len(stalls.watchers), len(os.sched_getaffinity(0)))

    def stop_until_noted(self, watcher, history):
        """The first time may come before it has begun to watch."""
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            since = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            watcher.send_signal(signal.SIGSTOP)
            time.sleep(2 * LATE_S)
            until = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
            watcher.send_signal(signal.SIGCONT)
            if self.noted(history, since, until):
                return
        self.fail("a watcher that was stopped did not note it")

    @staticmethod
    def noted(history, since, until):
        """Whether that span was, by the last lines."""
        for _ in range(50):
            lines = history.read_text().splitlines() if history.exists() else []
            if any(int(line.split()[2]) <= since + 20_000_000 and int(line.split()[1]) >= until for line in lines):
                return True
            time.sleep(0.01)
        return False


if __name__ == "__main__":
    unittest.main()
