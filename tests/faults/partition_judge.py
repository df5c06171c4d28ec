"""Judges a history of partitions. It knows nothing of Tenure but what it has promised.

A line is WHAT NANOSECONDS WORDS…; the time is CLOCK_BOOTTIME. Lines of programs (partition_turn.py):

  begin|item|end PARTITION EPOCH WORKER PROCESS    a turn's signs of life. A killed turn has no end: it counts as ended
                                                   with its last sign. The worker is named o<its ordinal>-…

and of the driver and the watchers:

  fault NAME         a fault begins              healed      it is over
  thawed WORKER      it was frozen with its guards and programs, which may execute a few more instructions
  stalled SINCE      the machine, or one of its processors, has not run since then (stalls.py)
  closed             the replicas are ended now
"""

import bisect
import collections
import dataclasses
import re

S = 1_000_000_000
# Its guard ends a program that was frozen as well, as soon as both run again. As in judge.cc.
RESUME = S // 10


@dataclasses.dataclass
class Turn:
    partition: int
    epoch: int
    worker: str
    process: str
    begin: int
    last: int  # its last sign of life

    def __str__(self):
        return f"the turn of process {self.process} of {self.worker} with epoch {self.epoch}"


class Story:
    """The lines of a history, by what they say."""

    def __init__(self, lines):
        self.turns = {}
        self.notes = []  # (time, what) of faults and their ends
        self.excuses = collections.defaultdict(list)  # by worker, or "" for all: (since, until)
        self.signs = []  # (time, turn), but for the last ones of a program that was frozen
        signs = []
        for line in lines:
            what, at, *words = line.split()
            at = int(at)
            if what in ("begin", "item", "end"):
                signs.append((at, what, *words))
            elif what == "thawed":
                self.excuses[words[0]].append((at, at + RESUME))
            elif what == "stalled":
                self.excuses[""].append((int(words[0]), at + RESUME))
            else:
                self.notes.append((at, what))
        self.notes.sort()
        for sign in sorted(signs, key=lambda sign: sign[0]):
            self.add(*sign)

    def add(self, at, what, partition, epoch, worker, process):
        name = (partition, epoch, worker, process)
        if what == "begin" and name not in self.turns:
            self.turns[name] = Turn(int(partition), int(epoch), worker, process, at, at)
        turn = self.turns[name]
        thawed = self.excused(at, worker)
        if not thawed or self.excused(turn.begin, worker):
            self.signs.append((at, turn))
        if not thawed and not self.excused(at, ""):
            turn.last = at

    def excused(self, at, who):
        return any(since <= at <= until for since, until in self.excuses[who])

    def stalled(self, since, until):
        """How long the machine stood still, in stalls that began before `until`."""
        return sum(max(0, end - max(since, start)) for start, end in self.excuses[""] if start < until)

    def by_partition(self):
        """In the order of time, but for those that only a thawed replica began, and that were ended at once."""
        turns = collections.defaultdict(list)
        for turn in sorted(self.turns.values(), key=lambda turn: turn.begin):
            if turn.last > turn.begin or not self.excused(turn.begin, turn.worker):
                turns[turn.partition].append(turn)
        return turns


def overlaps(turns):
    found, latest = [], None
    for turn in turns:
        if latest is not None and turn.begin < latest.last:
            found.append(f"partition {turn.partition}: {turn} began {(latest.last - turn.begin) / S:.3f} s before the "
                         f"last sign of {latest}")
        if latest is None or turn.last > latest.last:
            latest = turn
    return found


def epochs(turns):
    """Turns of one tenure have one epoch; each later tenure has a higher one."""
    found = []
    for before, turn in zip(turns, turns[1:]):
        if turn.epoch < before.epoch or (turn.epoch == before.epoch and turn.worker != before.worker):
            found.append(f"partition {turn.partition}: {turn} follows {before}")
    return found


def shared_epochs(story):
    places = collections.defaultdict(set)
    for turn in story.turns.values():
        places[turn.epoch].add(turn.partition)
    return [f"epoch {epoch} belongs to partitions {sorted(of)}" for epoch, of in places.items() if len(of) > 1]


def forgotten(story, partitions, recovery_s):
    """After each fault, unless the next one comes too soon, all partitions live again in time."""
    found = []
    times = collections.defaultdict(list)
    for at, turn in story.signs:
        times[turn.partition].append(at)
    for (healed, what), (until, then) in zip(story.notes, story.notes[1:]):
        if what != "healed":
            continue
        latest = healed + int(recovery_s * S)
        latest += story.stalled(healed, latest)
        if until < latest and then != "closed":
            continue
        latest = min(latest, until)
        for partition in range(partitions):
            place = bisect.bisect_right(times[partition], healed)
            if place == len(times[partition]) or times[partition][place] > latest:
                found.append(f"partition {partition}: no sign of life in {(latest - healed) / S:.1f} s after a fault was over")
    return found


def not_at_home(story, partitions):
    """At the end, each partition is with its primary."""
    closed = [at for at, what in story.notes if what == "closed"]
    if not closed:
        return ["the run was not closed"]
    last = {turn.partition: turn for at, turn in story.signs if at < closed[-1]}
    return [f"partition {partition} is not with its primary at the end, but with {last.get(partition, 'nobody')}"
            for partition in range(partitions)
            if partition not in last or not re.match(f"o{partition}-", last[partition].worker)]


def judge(lines, partitions, recovery_s):
    """What is wrong, and a line about what was judged."""
    story = Story(lines)
    found = shared_epochs(story) + forgotten(story, partitions, recovery_s) + not_at_home(story, partitions)
    for turns in story.by_partition().values():
        found += overlaps(turns) + epochs(turns)
    faults = sum(what == "fault" for _, what in story.notes)
    tenures = len({(turn.partition, turn.epoch) for turn in story.turns.values()})
    away = sum(not re.match(f"o{turn.partition}-", turn.worker) for turn in story.turns.values())
    return found, f"{faults} faults; {len(story.turns)} turns in {tenures} tenures, {away} of them with secondaries"
