"""The judge reads histories of real processes as they are meant: a sound one passes, and each kind of harm is found.

Usage: judge_test.py JUDGE
"""

import subprocess
import sys
import tempfile
import unittest

JUDGE = sys.argv.pop()
MS = 1_000_000

# A resident job that moves from one worker to another, and a task. Milliseconds, then the words of judge.cc.
SOUND = """
0 log.leased 7 {1000}
0 log.leased 8 {1000}
10 asked resident k
11 log.dispatch 100 k
11 log.settled 5 100 accepted 1
11 log.granted 5 7 k 50 100 1
12 answered accepted k
13 begin k 50
14 log.settled 6 100 started 1
20 write k 50
30 end k 50
31 log.ended 8 k 50
31 log.granted 8 8 k 60 100 0
33 begin k 60
34 write k 60
40 asked task t one
41 log.dispatch 101 t one
41 log.settled 9 101 accepted 1
41 log.granted 9 7 t 70 101 1
42 begin t 70
43 end t 70
44 log.settled 10 101 done 1
44 log.ended 10 t 70
50 healed
200 closed
"""


def verdict(story):
    """The promises that the judge sees broken in the story."""
    with tempfile.NamedTemporaryFile("w", suffix=".history") as file:
        for line in story.strip().splitlines():
            at, what, *words = line.split()
            words = [str(int(word[1:-1]) * MS) if word.startswith("{") else word for word in words]
            file.write(" ".join([what, str(int(at) * MS), *words]) + "\n")
        file.flush()
        judged = subprocess.run([JUDGE, file.name, "1000", "100"], capture_output=True, text=True, check=False)
    found = {line.strip()[0] for line in judged.stdout.splitlines() if " at " in line}
    assert judged.returncode == (1 if found else 0), judged
    return found


class JudgeTest(unittest.TestCase):
    def test_a_sound_history(self):
        self.assertEqual(verdict(SOUND), set())

    def test_two_holders(self):
        self.assertIn("a", verdict(SOUND.replace("30 end k 50", "36 write k 50")))

    def test_a_stale_write_that_was_accepted(self):
        self.assertIn("c", verdict(SOUND + "35 write k 50\n"))

    def test_a_holder_without_a_grant(self):
        self.assertIn("b", verdict(SOUND.replace("31 log.granted 8 8 k 60 100 0\n", "")))

    def test_a_program_that_outlives_its_lease(self):
        self.assertIn("d", verdict(SOUND.replace("log.leased 8 {1000}", "log.leased 8 {60}")))

    def test_a_task_that_was_accepted_and_never_done(self):
        self.assertIn("f", verdict(SOUND.replace("44 log.settled 10 101 done 1\n", "")))

    def test_a_client_that_was_told_too_much(self):
        self.assertIn("f", verdict(SOUND.replace("11 log.settled 5 100 accepted 1\n", "")))

    def test_a_resident_job_that_nobody_holds_in_the_end(self):
        self.assertIn("k", verdict(SOUND.replace("50 healed", "45 log.ended 11 k 60\n50 healed")))


if __name__ == "__main__":
    unittest.main()
