#!/usr/bin/env python3
"""A warm handler in Python (`tenure work --task --warm 2 --exec warm.py`). It handles one task after the other, each as a
JSON line."""
import json
import sys

for line in sys.stdin:
    task = json.loads(line)
    if task["type"] != "start":
        continue
    words = task["payload"].split()
    if words:
        answer = {"type": "result", "epoch": task["epoch"], "data": f"{len(words)} words for {task['key']}"}
    else:
        answer = {"type": "fail", "error": "there are no words to count", "retry": task["attempt"] < 3}
    print(json.dumps(answer), flush=True)
