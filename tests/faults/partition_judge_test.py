"""The judge of partitions accepts a correct history, and finds each kind of violation."""

import unittest

from partition_judge import S, judge

MS = S // 1000

# Two partitions. The second one is with the first replica while its own is away. Milliseconds, then the words.
SOUND = """
0 begin 0 10 o0-a 100
0 begin 1 11 o1-b 101
20 item 0 10 o0-a 100
20 item 1 11 o1-b 101
30 end 0 10 o0-a 100
35 fault kill
40 begin 0 10 o0-a 102
50 healed
55 begin 1 12 o0-a 103
60 item 1 12 o0-a 103
70 end 1 12 o0-a 103
75 item 0 10 o0-a 102
80 begin 1 13 o1-c 104
90 item 1 13 o1-c 104
200 item 0 10 o0-a 102
205 item 1 13 o1-c 104
210 closed
"""


class Judge(unittest.TestCase):
    def judge(self, changes=(), more="", recovery_s=0.1):
        text = SOUND
        for old, new in changes:
            self.assertIn(old, text)
            text = text.replace(old, new)
        lines = []
        for line in (text + more).split("\n"):
            if line:
                at, what, *words = line.split()
                if what == "stalled":
                    words = [str(int(words[0]) * MS)]
                lines.append(" ".join([what, str(int(at) * MS), *words]))
        return "\n".join(judge(lines, 2, recovery_s)[0])

    def test_a_sound_history(self):
        self.assertEqual(self.judge(), "")

    def test_a_killed_turn_ends_with_its_last_sign(self):
        self.assertIn("partition 1: the turn of process 103 of o0-a", self.judge(more="56 item 1 11 o1-b 101"))

    def test_turns_of_one_tenure_overlap(self):
        self.assertIn("partition 0: the turn of process 102", self.judge([("30 end 0", "41 end 0")]))

    def test_a_long_turn_overlaps_with_a_later_one(self):
        found = self.judge([("80 begin 1 13 o1-c", "62 begin 1 13 o1-c")], more="81 item 1 11 o1-b 101")
        self.assertIn("process 103 of o0-a with epoch 12 began 0.026 s before", found)
        self.assertIn("process 104 of o1-c with epoch 13 began 0.019 s before", found)

    def test_a_program_that_was_frozen_may_go_on_for_a_moment(self):
        self.assertEqual(self.judge(more="56 item 1 11 o1-b 101\n55 thawed o1-b"), "")
        self.assertIn("partition 1", self.judge(more="56 item 1 11 o1-b 101\n55 thawed o2-a"))
        self.assertEqual(self.judge(more="56 begin 1 11 o1-b 105\n55 thawed o1-b"), "")
        self.assertIn("partition 1", self.judge(more="190 item 1 11 o1-b 101\n55 thawed o1-b"))

    def test_a_machine_that_stood_still(self):
        self.assertEqual(self.judge(more="56 item 1 11 o1-b 101\n54 stalled 40"), "")
        self.assertIn("partition 1", self.judge(more="190 item 1 11 o1-b 101\n54 stalled 40"))

    def test_epochs_that_do_not_grow(self):
        self.assertIn("partition 1", self.judge([(" 1 12 ", " 1 9 ")]))
        self.assertIn("partition 1", self.judge([(" 1 12 ", " 1 11 ")]))

    def test_an_epoch_of_two_partitions(self):
        self.assertIn("epoch 10 belongs to partitions [0, 1]", self.judge([(" 1 11 ", " 1 10 ")]))

    def test_a_partition_that_is_forgotten(self):
        self.assertIn("partition 0: no sign of life", self.judge([("75 item 0", "45 item 0"), ("200 item 0", "46 item 0")]))
        self.assertIn("partition 0: no sign of life", self.judge([("75 item 0", "180 item 0")]))
        self.assertEqual(self.judge([("75 item 0", "180 item 0")], more="170 stalled 120"), "")
        self.assertEqual(self.judge([("75 item 0", "180 item 0")], more="120 fault kill\n190 healed\n195 item 1 13 o1-c 104"), "")

    def test_a_partition_that_is_not_with_its_primary(self):
        self.assertIn("partition 1 is not with its primary", self.judge([("o1-c", "o0-a")]))
        self.assertIn("not closed", self.judge([("210 closed\n", "")]))


if __name__ == "__main__":
    unittest.main()
