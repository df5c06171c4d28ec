"""The judge accepts a correct history of real processes, and finds each kind of violation.

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

# A log that loses its tail, and with it a task that was accepted and done; the resident's holder hears of it and stops.
LOSS = """
0 log.leased 7 {2000}
0 log.leased 8 {2000}
10 asked resident k
11 log.dispatch 100 k
11 log.settled 5 100 accepted 1
11 log.granted 5 7 k 50 100 1
12 answered accepted k
13 begin k 50
14 log.settled 6 100 started 1
20 write k 50
40 asked task t one
41 log.dispatch 101 t one
41 log.settled 7 101 accepted 1
41 log.granted 7 7 t 70 101 1
42 answered accepted t one
43 begin t 70
44 write t 70
58 end k 50
60 log.lost 6
61 log.leased 7 {61}
61 log.ended 7 k 50
61 log.granted 7 8 k 80 100 0
64 begin k 80
66 write k 80
100 healed
1300 closed
"""


def judge(story):
    """What the judge says of the story."""
    with tempfile.NamedTemporaryFile("w", suffix=".history") as file:
        for line in story.strip().splitlines():
            at, what, *words = line.split()
            words = [str(int(word[1:-1]) * MS) if word.startswith("{") else word for word in words]
            file.write(" ".join([what, str(int(at) * MS), *words]) + "\n")
        file.flush()
        return subprocess.run([JUDGE, file.name, "1000", "100"], capture_output=True, text=True, check=False)


def verdict(story):
    """The promises that the judge sees broken in the story."""
    judged = judge(story)
    found = {line.strip()[0] for line in judged.stdout.splitlines() if " at " in line}
    assert judged.returncode == (1 if found else 0), judged
    return found


def lost(story):
    """The jobs that the judge calls lost by the engine."""
    return [line[5:] for line in judge(story).stdout.splitlines() if line.startswith("lost ")]


class JudgeTest(unittest.TestCase):
    def test_a_sound_history(self):
        self.assertEqual(verdict(SOUND), set())

    def test_what_the_log_says_again_is_not_what_the_client_was_told_long_ago(self):
        # A resident that starts again lies in the log between the end of a task, as late as may be, and its next one.
        again = (SOUND.replace("34 write k 60", "15 answered started k\n34 write k 60")
                 .replace("43 end t 70", "46 end t 70\n40 asked task t two\n42 log.dispatch 102 t two\n"
                          "42 log.settled 10 102 accepted 1")
                 .replace("44 log.settled 10", "44 log.settled 11")
                 .replace("44 log.ended 10 t 70", "44 log.ended 11 t 70\n44 log.granted 11 7 t 71 102 1\n"
                          "45 log.settled 12 100 started 1\n50 begin t 71\n51 end t 71\n"
                          "52 log.settled 13 102 done 1\n52 log.ended 13 t 71"))
        self.assertEqual(verdict(again), set())

    def test_two_holders(self):
        self.assertIn("a", verdict(SOUND.replace("30 end k 50", "36 write k 50")))

    def test_a_stale_write_that_was_accepted(self):
        self.assertIn("c", verdict(SOUND + "35 write k 50\n"))

    def test_a_holder_without_a_grant(self):
        self.assertIn("b", verdict(SOUND.replace("31 log.granted 8 8 k 60 100 0\n", "")))

    def test_a_program_that_outlives_its_lease(self):
        self.assertIn("d", verdict(SOUND.replace("log.leased 8 {1000}", "log.leased 8 {60}")))

    def test_a_machine_that_stands_still_excuses_those_who_stood_on_it(self):
        late = SOUND.replace("log.leased 8 {1000}", "log.leased 8 {60}").replace("50 healed", "50 healed\n58 write k 60\n"
                                                                                "90 end k 60\n91 log.ended 11 k 60")
        self.assertIn("d", verdict(late))
        self.assertNotIn("d", verdict(late + "89 stalled {55}\n"))
        self.assertIn("d", verdict(late + "89 stalled {70}\n"))

    def test_stalls_of_two_processors_that_overlap_excuse_no_more_than_both(self):
        late = SOUND.replace("log.leased 8 {1000}", "log.leased 8 {60}").replace("200 closed", "700 closed")
        both = "75 stalled {55}\n89 stalled {70}\n"
        self.assertNotIn("d", verdict(late.replace("50 healed", "50 healed\n90 end k 60\n91 log.ended 11 k 60") + both))
        self.assertIn("d", verdict(late.replace("50 healed", "50 healed\n600 end k 60\n601 log.ended 11 k 60") + both))

    def test_a_program_that_begins_without_a_lease(self):
        late = SOUND.replace("log.leased 8 {1000}", "log.leased 8 {32}")
        self.assertIn("d", verdict(late))
        self.assertNotIn("d", verdict(late.replace("50 healed", "35 end k 60\n36 log.ended 11 k 60\n50 healed") +
                                      "33 stalled {31}\n"))
        self.assertIn("d", verdict(late + "33 stalled {31}\n"))  # begun late, and then it goes on

    def test_a_task_that_was_accepted_and_never_done(self):
        self.assertIn("f", verdict(SOUND.replace("44 log.settled 10 101 done 1\n", "")))

    def test_a_client_that_was_told_too_much(self):
        self.assertIn("f", verdict(SOUND.replace("11 log.settled 5 100 accepted 1\n", "")))

    def test_a_resident_job_that_nobody_holds_in_the_end(self):
        self.assertIn("k", verdict(SOUND.replace("50 healed", "45 log.ended 11 k 60\n50 healed")))

    def test_a_job_that_was_quarantined(self):
        buried = SOUND.replace("44 log.settled 10 101 done 1", "44 log.settled 10 101 failed 1\n44 log.buried 10 101 {}")
        self.assertIn("x", verdict(buried.replace("{}", "1")))
        self.assertNotIn("x", verdict(buried.replace("{}", "0")))

    def test_a_loss_that_was_noticed(self):
        self.assertEqual(verdict(LOSS), set())
        self.assertEqual(lost(LOSS), ["t one"])
        self.assertEqual(lost(SOUND), [])

    def test_a_job_that_came_again_after_the_loss_is_not_lost(self):
        again = LOSS.replace("100 healed", "70 log.dispatch 101 t one\n70 log.settled 8 101 accepted 1\n100 healed")
        self.assertEqual(lost(again), [])
        self.assertIn("f", verdict(again))  # and so it has to be done

    def test_an_epoch_that_comes_again_after_a_loss(self):
        self.assertIn("b", verdict(LOSS.replace("k 80", "k 45")))

    def test_a_stale_write_that_was_accepted_after_a_loss(self):
        self.assertIn("c", verdict(LOSS + "90 write k 50\n"))

    def test_a_holder_that_never_hears_of_the_loss(self):
        self.assertIn("a", verdict(LOSS.replace("58 end k 50\n", "1200 write k 50\n1250 end k 50\n")
                                   .replace("61 log.leased 7 {61}\n", "")
                                   .replace("66 write k 80", "66 write k 80\n1200 end k 80\n1201 log.ended 8 k 80\n"
                                            "1201 log.granted 8 8 k 90 100 0\n1202 begin k 90")))

    def test_a_holder_that_was_declared_dead_by_those_who_never_read_its_lost_beat(self):
        expired = LOSS.replace("61 log.leased 7 {61}", "61 log.expired 7 7").replace("58 end k 50", "900 end k 50")
        self.assertNotIn("d", verdict(expired))
        # Where nothing was lost, nobody may be declared dead before its lease is over; and the lost lease ends, too.
        self.assertIn("d", verdict(expired.replace("60 log.lost 6\n", "")))
        self.assertIn("d", verdict(expired.replace("log.leased 7 {2000}", "log.leased 7 {800}")))
        # What the holder itself says is true whatever was lost.
        self.assertIn("d", verdict(expired.replace("61 log.expired 7 7", "61 log.leased 7 {61}")))

    def test_a_job_of_the_kept_part_is_not_excused(self):
        self.assertIn("k", verdict(LOSS.replace("61 log.granted 7 8 k 80 100 0\n", "").replace("64 begin k 80\n", "")
                                   .replace("66 write k 80\n", "")))

    def test_a_client_that_was_told_what_no_log_ever_said(self):
        self.assertIn("f", verdict(LOSS + "95 answered failed k\n"))


if __name__ == "__main__":
    unittest.main()
