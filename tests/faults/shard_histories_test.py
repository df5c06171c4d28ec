"""A history of several shards is split so that every line of a handler is judged, and with the right shard."""

import pathlib
import tempfile
import unittest

from shard_histories import keys_of_two, shard_histories

HISTORY = """asked 1 resident k0 life-1
begin 2 k0 300 w1
begin 3 k1 301 w1
write 4 k1 301 w1
stalled 5 4
refused 6 k0 300 w1
end 7 k2 302 w2
closed 8
"""


class ShardHistories(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.history = self.folder / "history"
        self.history.write_text(HISTORY)

    def logs_saying(self, *texts):
        paths = [self.folder / f"log-{i}" for i in range(len(texts))]
        for path, text in zip(paths, texts, strict=True):
            path.write_text(text)
        return paths

    def test_a_tenure_is_of_the_shard_that_its_epoch_leaves(self):
        logs = self.logs_saying("log.dispatch 1 9 k0 p\n", "log.dispatch 1 9 k1 p\n", "log.dispatch 1 9 k2 p\n")
        first, second, third = (path.read_text() for path in shard_histories(self.history, logs))
        for text in (first, second, third):
            for shared in ("asked 1", "stalled 5", "closed 8"):
                self.assertIn(shared, text)
        self.assertEqual([line for line in first.splitlines() if line.startswith(("begin", "refused", "write", "end"))],
                         ["begin 2 k0 300 w1", "refused 6 k0 300 w1"])
        self.assertIn("write 4 k1 301 w1", second)
        self.assertIn("log.dispatch 1 9 k1 p", second)
        self.assertNotIn("k2 302", second)
        self.assertIn("end 7 k2 302 w2", third)

    def test_one_shard_has_it_all(self):
        log = self.logs_saying("log.dispatch 1 9 k0 p\n")
        self.assertEqual(shard_histories(self.history, log)[0].read_text(), HISTORY + "log.dispatch 1 9 k0 p\n")

    def test_a_key_in_two_logs_is_found(self):
        logs = self.logs_saying("log.dispatch 1 9 k p\n", "log.dispatch 1 8 k p\nlog.dispatch 2 7 other p\n")
        self.assertEqual(keys_of_two(logs), ["key k is in the logs of shards [0, 1]"])


if __name__ == "__main__":
    unittest.main()
