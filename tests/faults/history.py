"""Judges the history of a pool under faults, by what its handlers themselves wrote. Knows nothing of how a pool works.

A line is: WHAT BOOT_NANOSECONDS KEY EPOCH WORKER [PAYLOAD], where WHAT is begin, write, refused, end or task.
"""

import collections

Line = collections.namedtuple("Line", "what at key epoch worker payload")


def read(path):
    lines = []
    with open(path, encoding="utf-8") as file:
        for text in file:
            words = text.rstrip("\n").split(" ")
            lines.append(Line(words[0], int(words[1]), words[2], int(words[3]), words[4], " ".join(words[5:])))
    return sorted(lines, key=lambda line: line.at)


def violations(lines, accepted_tasks, residents):
    """What was promised and did not hold, in words; nothing if all is well."""
    return overlaps(lines) + stale_writes(lines) + lost(lines, accepted_tasks, residents) + disorder(lines, accepted_tasks)


def overlaps(lines):
    """Two holders: a key's tenures, from first to last sign of life, must lie one after the other, by epoch."""
    spans = collections.defaultdict(dict)
    for line in lines:
        if line.what in ("begin", "write", "refused", "end"):
            first, _ = spans[line.key].get(line.epoch, (line.at, line.at))
            spans[line.key][line.epoch] = (first, line.at)
    found = []
    for key, tenures in spans.items():
        ordered = sorted(tenures.items())
        for (old, (_, last)), (new, (first, _)) in zip(ordered, ordered[1:]):
            if first < last:
                found.append(f"two holders of {key}: epoch {old} lived {(last - first) / 1e6:.1f} ms into epoch {new}")
    return found


def stale_writes(lines):
    newest = {}
    found = []
    for line in lines:
        if line.what != "write":
            continue
        if line.epoch < newest.get(line.key, 0):
            found.append(f"a write of {line.key} under epoch {line.epoch} was accepted after {newest[line.key]}")
        newest[line.key] = max(newest.get(line.key, 0), line.epoch)
    return found


def lost(lines, accepted_tasks, residents):
    done = {line.payload for line in lines if line.what == "task"}
    found = [f"task {payload} was accepted and never done" for _, payload in accepted_tasks if payload not in done]
    held = {line.key for line in lines if line.what == "begin"}
    return found + [f"resident {key} was accepted and never begun" for key in residents if key not in held]


def disorder(lines, accepted_tasks):
    """Tasks of one key are done in the order in which they were accepted: at least the first time."""
    order = {payload: number for number, (_, payload) in enumerate(accepted_tasks)}
    last = {}
    seen = set()
    found = []
    for line in lines:
        if line.what != "task" or line.payload in seen or line.payload not in order:
            continue
        seen.add(line.payload)
        if order[line.payload] < last.get(line.key, -1):
            found.append(f"task {line.payload} of {line.key} was done after a later one")
        last[line.key] = max(last.get(line.key, -1), order[line.payload])
    return found
