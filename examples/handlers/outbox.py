#!/usr/bin/env python3
"""A resident that hands over the lines of a file as tasks, each exactly once (json protocol).

The file $OUTBOX only grows; a line is "KEY PAYLOAD", and the number of a line is its position. A table of a database
with a growing id works the same way. After a crash the next holder asks how far the file has been taken in.
"""

import json
import os
import select
import sys
import time

STEP = int(os.environ.get("OUTBOX_STEP", "100"))  # lines of an emit
PAUSE = float(os.environ.get("OUTBOX_PAUSE", "0"))


def say(**line):
    print(json.dumps(line), flush=True)


def hear(timeout=None):
    """The next line from the worker; None if there is none in time."""
    if timeout is not None and not select.select([sys.stdin], [], [], timeout)[0]:
        return None
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    said = json.loads(line)
    if said["type"] == "stop":
        sys.exit(0)
    return said


def ask(**line):
    """Sends a line, and waits for its answer."""
    say(**line)
    while (answer := hear())["type"] != "emitted":
        pass
    return answer


def how_far():
    while not (answer := ask(type="emitted"))["accepted"]:
        if answer["error"]["code"] == "refused":
            sys.exit("another holder has taken over")
        time.sleep(0.1)
    return answer["position"]


def new_lines(file):
    """The next lines that are complete."""
    lines = []
    while len(lines) < STEP:
        start = file.tell()
        line = file.readline()
        if not line.endswith("\n"):
            file.seek(start)
            break
        lines.append(line)
    return lines


def skip_to(file, position):
    file.seek(0)
    for _ in range(position):
        file.readline()


hear()  # the start line
say(type="ready")
with open(os.environ["OUTBOX"], encoding="utf-8") as outbox:
    at = how_far()
    skip_to(outbox, at)
    while True:
        lines = new_lines(outbox)
        if not lines:
            hear(timeout=0.1)
            continue
        tasks = []
        for number, line in enumerate(lines, at + 1):
            key, payload = line.rstrip("\n").split(" ", 1)
            tasks.append({"key": key, "payload": payload, "position": number})
        while not (answer := ask(type="emit", position=at + len(lines), tasks=tasks))["accepted"]:
            code = answer["error"]["code"]
            if code not in ("pool_full", "busy", "timed_out", "lost_history"):
                sys.exit(answer["error"]["message"])
            if code == "lost_history":
                break
            time.sleep(0.05)
        if answer["accepted"]:
            at += len(lines)
        else:
            at = how_far()
            skip_to(outbox, at)
        time.sleep(PAUSE)
