"""The judge of histories finds each kind of violation in a history made by hand."""

import unittest

from history import Line, violations


def line(what, at, key="k", epoch=1, payload=""):
    return Line(what, at, key, epoch, "w", payload)


class HistoryTest(unittest.TestCase):
    def test_a_sound_history(self):
        lines = [line("begin", 1), line("write", 2), line("begin", 3, epoch=2), line("write", 4, epoch=2),
                 line("task", 5, "t", 3, "a"), line("task", 6, "t", 4, "b"), line("task", 7, "t", 5, "a")]
        self.assertEqual(violations(lines, [("t", "a"), ("t", "b")], ["k"]), [])

    def test_two_holders(self):
        lines = [line("begin", 1), line("begin", 2, epoch=2), line("refused", 3)]
        self.assertEqual(len(violations(lines, [], [])), 1)

    def test_an_accepted_stale_write(self):
        lines = [line("write", 1, epoch=2), line("write", 2, epoch=1)]
        self.assertIn("accepted after", " ".join(violations(lines, [], [])))

    def test_a_lost_task_and_a_lost_resident(self):
        self.assertEqual(len(violations([], [("t", "a")], ["k"])), 2)

    def test_disorder(self):
        lines = [line("task", 1, "t", 1, "b"), line("task", 2, "t", 2, "a")]
        self.assertEqual(len(violations(lines, [("t", "a"), ("t", "b")], [])), 1)


if __name__ == "__main__":
    unittest.main()
