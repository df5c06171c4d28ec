"""Partitioned replicas as a user runs them: killed, frozen, restarted, doubled and resized.

Usage: partition_test.py PATH_OF_TENURE [unittest arguments]. Waits for events, never for time to pass.
Every turn of a replica's program takes a lock that belongs to its partition, and complains if another one has it.
"""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest

TENURE = os.path.abspath(sys.argv.pop(1))
PATIENCE = 40

# Rows are named by the number of partitions, so that turns of two numbers must not overlap either.
TURN = """#!/bin/sh
trap 'stopped=1' TERM
echo "$TENURE_PARTITION $TENURE_PARTITIONS $TENURE_EPOCH $NAME" >> {folder}/turns
mkdir "{folder}/lock-$TENURE_PARTITION" || echo "overlap $TENURE_PARTITION" >> {folder}/overlaps
for other in {folder}/in-*; do
  case $other in *-of-$TENURE_PARTITIONS|*"*") ;; *) echo "two numbers: $other" >> {folder}/overlaps ;; esac
done
: > {folder}/in-$TENURE_PARTITION-of-$TENURE_PARTITIONS
i=0; while [ $i -lt 5 ]; do sleep 0.01; i=$((i + 1)); done
backlog=$(cat {folder}/backlog-$TENURE_PARTITION 2> /dev/null) || backlog=$((TENURE_PARTITION * 10))
echo $backlog > $TENURE_DIR/new && mv $TENURE_DIR/new $TENURE_DIR/checkpoint
rm {folder}/in-$TENURE_PARTITION-of-$TENURE_PARTITIONS
rmdir "{folder}/lock-$TENURE_PARTITION"
exit 0
"""


class Partition(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.engine = f"sqlite:{self.folder}/pool.db"
        self.program = self.folder / "turn.sh"
        self.program.write_text(TURN.format(folder=self.folder))
        self.program.chmod(0o755)
        self.replicas = {}
        self.addCleanup(self.end)

    def end(self):
        for replica in self.replicas.values():
            if replica.poll() is None:
                replica.send_signal(signal.SIGCONT)
                replica.kill()
            replica.wait()
            replica.stderr.close()
            if replica.stdout:
                replica.stdout.close()
        # The programs of those that were killed end a moment later.
        while self.folder.exists():
            shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, ordinal, *arguments, partitions=3, name=None):
        name = name or f"worker-{ordinal}"
        environment = {**os.environ, "TENURE_POD_NAME": f"worker-{ordinal}", "NAME": name}
        self.replicas[name] = subprocess.Popen(
            [TENURE, "partition", "--engine", self.engine, "--partitions", str(partitions), "--lease", "2s", "--rest",
             "20ms", "--id", name, *arguments, "--exec", str(self.program)],
            env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        return self.replicas[name]

    def tenure(self, *arguments):
        return subprocess.run([TENURE, arguments[0], *arguments[1:], "--engine", self.engine, "--json"],
                              capture_output=True, text=True, timeout=PATIENCE)

    def status(self):
        done = self.tenure("partition", "status")
        return json.loads(done.stdout)["partitions"] if done.returncode == 0 else []

    def until(self, what, wanted):
        """Polls the pool, which is the event."""
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            seen = self.status()
            if seen and wanted(seen):
                return seen
        self.fail(f"{what}: {seen}")

    def held_by(self, *holders):
        return lambda seen: [one["holder"] for one in seen] == list(holders)

    def no_overlaps(self):
        overlaps = self.folder / "overlaps"
        self.assertEqual(overlaps.read_text() if overlaps.exists() else "", "")

    def freeze(self, name):
        """One that is frozen in the middle of a transaction would hold up all others."""
        while True:
            self.replicas[name].send_signal(signal.SIGSTOP)
            if self.tenure("notify", "nobody", "x", "--timeout", "1s").returncode == 4:
                return
            self.replicas[name].send_signal(signal.SIGCONT)

    def all_up(self):
        for ordinal in range(3):
            self.start(ordinal)
        return self.until("all up", self.held_by("worker-0", "worker-1", "worker-2"))

    def test_each_has_its_own_and_a_neighbour_stands_in_for_one_that_leaves(self):
        seen = self.all_up()
        self.assertEqual([one["role"] for one in seen], ["primary"] * 3)
        self.assertEqual([one["ordinal"] for one in seen], [0, 1, 2])
        self.until("backlogs", lambda seen: [one["backlog"] for one in seen] == [0, 10, 20])
        self.replicas["worker-1"].terminate()
        self.assertEqual(self.replicas["worker-1"].wait(PATIENCE), 0)
        seen = self.until("taken over", self.held_by("worker-0", "worker-2", "worker-2"))
        self.assertEqual(seen[1]["role"], "secondary")
        self.start(1)
        self.until("handed back", self.held_by("worker-0", "worker-1", "worker-2"))
        self.no_overlaps()

    def test_a_replica_that_is_killed_is_replaced_and_comes_back(self):
        seen = self.all_up()
        epoch = seen[1]["epoch"]
        self.replicas["worker-1"].kill()
        seen = self.until("taken over", lambda seen: seen[1]["holder"] == "worker-2" and seen[1]["state"] == "running")
        self.assertGreater(seen[1]["epoch"], epoch)
        self.start(1, name="worker-1-again")
        self.until("back", self.held_by("worker-0", "worker-1-again", "worker-2"))

    def test_a_replica_that_is_frozen_past_its_lease_gets_its_partition_again(self):
        self.all_up()
        self.freeze("worker-0")
        self.until("taken over", lambda seen: seen[0]["holder"] == "worker-1" and seen[0]["state"] == "running")
        self.replicas["worker-0"].send_signal(signal.SIGCONT)
        self.until("back", self.held_by("worker-0", "worker-1", "worker-2"))

    def test_a_rolling_update_moves_each_partition_once(self):
        seen = self.all_up()
        before = [one["epoch"] for one in seen]
        for ordinal in range(3):
            self.start(ordinal, "--replaces", f"worker-{ordinal}", name=f"new-{ordinal}")
            self.until("replaced", lambda seen: seen[ordinal]["holder"] == f"new-{ordinal}")
            self.replicas[f"worker-{ordinal}"].terminate()
            self.assertEqual(self.replicas[f"worker-{ordinal}"].wait(PATIENCE), 0)
        self.until("all new", self.held_by("new-0", "new-1", "new-2"))
        for partition in range(3):
            history = json.loads(self.tenure("explain", f"partition/{partition}").stdout)["history"]
            self.assertEqual(len([one for one in history if one["epoch"] > before[partition]]), 1)
        self.no_overlaps()

    def test_the_number_changes_without_a_stop(self):
        self.all_up()
        self.assertEqual(self.tenure("partition", "resize", "5").returncode, 0)
        self.until("resized", lambda seen: [one["holder"] for one in seen] ==
                   ["worker-0", "worker-1", "worker-2", None, "worker-0"])
        why = self.status()[3]["why"]
        self.assertIn("ordinals 3 and 4", why)
        for ordinal in (3, 4):
            self.start(ordinal, partitions=5)
        self.until("more replicas", self.held_by(*(f"worker-{i}" for i in range(5))))
        self.assertEqual(self.tenure("partition", "resize", "2").returncode, 0)
        self.until("fewer", self.held_by("worker-0", "worker-1"))
        self.no_overlaps()

    def test_two_replicas_with_one_ordinal(self):
        self.all_up()
        second = self.start(1, name="second")
        for line in second.stderr:
            if "the ordinal 1 is taken" in line:
                break
        else:
            self.fail("the second one says nothing")
        self.until("the first one goes on", self.held_by("worker-0", "worker-1", "worker-2"))
        self.replicas["worker-1"].terminate()
        self.until("the second one's turn", self.held_by("worker-0", "second", "worker-2"))
        self.no_overlaps()

    def test_idle_replicas_help_a_partition_that_is_behind(self):
        def set_backlogs(*rows):
            for part, count in enumerate(rows):
                (self.folder / f"new-{part}").write_text(f"{count}\n")
                (self.folder / f"new-{part}").rename(self.folder / f"backlog-{part}")

        set_backlogs(0, 0, 0, 0, 0, 0)
        for ordinal in range(3):
            self.start(ordinal, "--secondaries", "2", "--surge", "100", "--cuts", "2")
        home = self.held_by(*(f"worker-{part % 3}" for part in range(6)))
        self.until("all parts with their primaries", home)
        set_backlogs(80, 0, 0, 70, 0, 0)
        seen = self.until("a part is lent", lambda seen: any(one["lent"] and one["state"] == "running" and one["holder"] not in
                                                             (None, "worker-0") for one in seen))
        self.assertEqual([one["partition"] % 3 for one in seen if one["lent"]], [0])
        set_backlogs(0, 0, 0, 0, 0, 0)
        seen = self.until("it is back", home)
        self.assertFalse(any(one["lent"] for one in seen))
        self.assertIn("the pool has 3 partitions with 2 secondaries each, each in 2 parts", self.start(
            0, "--secondaries", "2", name="without surge").communicate(timeout=PATIENCE)[1])
        self.assertEqual(self.tenure("partition", "resize", "3", "--surge", "0").returncode, 0)
        self.until("no parts", self.held_by("worker-0", "worker-1", "worker-2"))
        self.no_overlaps()

    def turns_of(self, script, *arguments):
        """Three turns of a program are begun."""
        begun = self.folder / "begun"
        self.program.write_text(f"#!/bin/sh\n{script}\n".replace("BEGIN", f"echo >> {begun}"))
        self.start(0, *arguments, partitions=1)
        deadline = time.monotonic() + PATIENCE
        while not begun.exists() or len(begun.read_text()) < 3:
            self.assertLess(time.monotonic(), deadline)
        return self.status()[0]

    def test_a_turn_that_does_not_end_is_killed_with_all_that_it_started(self):
        self.turns_of("trap '' TERM; BEGIN; sleep 600; sleep 600", "--turn", "200ms", "--stop-timeout", "300ms")

    def test_no_exit_code_ends_a_partition_for_good(self):
        self.assertNotEqual(self.turns_of("BEGIN; exit 65")["state"], "dead")

    def test_a_turn_that_cannot_work_now_keeps_the_partition(self):
        self.turns_of("BEGIN; exit 75")
        history = json.loads(self.tenure("explain", "partition/0").stdout)["history"]
        self.assertEqual(len(history), 1, history)

    def test_a_replica_that_thaws_and_has_lost_its_ordinal_says_so(self):
        self.all_up()
        self.freeze("worker-0")
        self.start(0, name="other")
        self.until("taken over", self.held_by("other", "worker-1", "worker-2"))
        self.replicas["worker-0"].send_signal(signal.SIGCONT)
        for line in self.replicas["worker-0"].stderr:
            if "the ordinal 0 is taken by node" in line:
                break
        else:
            self.fail("it says nothing")

    def test_a_temporary_folder_that_does_not_exist(self):
        done = subprocess.run([TENURE, "partition", "--engine", self.engine, "--partitions", "1", "--ordinal", "0", "--exec",
                               "true"], env={**os.environ, "TMPDIR": "/does/not/exist"}, capture_output=True, text=True,
                              timeout=PATIENCE)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("TMPDIR", done.stderr)
        self.assertNotIn("--engine", done.stderr)

    def test_hints_name_the_command(self):
        done = self.tenure("partition", "status")
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("'tenure partition'", done.stdout + done.stderr)

    def test_bad_input(self):
        self.all_up()
        run = [TENURE, "partition", "--engine", self.engine]
        for arguments, code, text in [
            (["--partitions", "3", "--ordinal", "3"], 2, "from 0 to 2"),
            (["--partitions", "3", "--ordinal", "x"], 2, "--ordinal needs a number"),
            (["--partitions", "3", "--secondaries", "3", "--ordinal", "0"], 2, "at most 2 secondaries"),
            (["--partitions", "0", "--ordinal", "0"], 2, "1 to 1024 partitions"),
            (["--ordinal", "0"], 2, "--partitions N is needed"),
            (["--partitions", "3", "--cuts", "2", "--ordinal", "0"], 2, "surge"),
            (["--partitions", "3", "--cuts", "65", "--surge", "5", "--ordinal", "0"], 2, "--cuts"),
            (["--partitions", "300", "--surge", "5", "--ordinal", "0"], 2, "at most 1024 parts"),
            (["--partitions", "3", "--surge", "many", "--ordinal", "0"], 2, "--surge"),
            (["--partitions", "4", "--ordinal", "3"], 10, "the pool has 3 partitions"),
            (["--partitions", "3", "--secondaries", "2", "--ordinal", "1"], 10, "1 secondary each"),
        ]:
            environment = {key: value for key, value in os.environ.items() if key != "TENURE_POD_NAME"}
            done = subprocess.run([*run, *arguments, "--exec", "true"], env=environment, capture_output=True, text=True,
                                  timeout=PATIENCE)
            self.assertEqual(done.returncode, code, (arguments, done.stderr))
            self.assertIn(text, done.stderr, arguments)
        environment = {**os.environ, "TENURE_POD_NAME": "web"}
        done = subprocess.run([*run, "--partitions", "3", "--exec", "true"], env=environment, capture_output=True,
                              text=True, timeout=PATIENCE)
        self.assertEqual(done.returncode, 2)
        self.assertIn("'web' does not end in an ordinal", done.stderr)
        for arguments, code in [(["stop", "partition/1"], 10), (["dispatch", "partition/7"], 10),
                                (["partition", "resize", "0"], 2), (["partition", "resize", "5000"], 2)]:
            self.assertEqual(self.tenure(*arguments).returncode, code, arguments)
        self.until("nothing is lost", self.held_by("worker-0", "worker-1", "worker-2"))

    def test_a_pool_without_partitions(self):
        worker = subprocess.Popen([TENURE, "work", "--engine", self.engine, "--json", "--exec", "true"],
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.replicas["plain"] = worker
        worker.stdout.readline()
        done = self.tenure("partition", "resize", "3")
        self.assertEqual(done.returncode, 4)
        self.assertIn("has no partitions", done.stdout + done.stderr)
        self.assertEqual(json.loads(self.tenure("partition", "status").stdout), {"partitions": []})


if __name__ == "__main__":
    unittest.main()
