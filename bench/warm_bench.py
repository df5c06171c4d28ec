#!/usr/bin/env python3
"""Compares tasks a second through warm programs with a new program for each task, in the same run.

Usage: warm_bench.py PATH_OF_TENURE [--repetitions N] [--tasks N] [--programs N]

All tasks are dispatched at once. The pool is in a temporary folder with sync=off, because the programs are compared. The
warm program is examples/handlers/warm.py. The programs that are started for each task are /bin/true, which is as cheap as
a program can be, and a Python interpreter that does the same work.
"""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent


def rate(tenure, tasks, *work):
    with tempfile.TemporaryDirectory() as folder:
        engine = f"sqlite:{folder}/pool.db?sync=off"
        worker = subprocess.Popen([tenure, "work", "--json", "--engine", engine, "--max-queued", str(tasks + 1), *work],
                                  stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        try:
            next(line for line in worker.stdout if '"ready"' in line)
            drain = subprocess.Popen(["cat"], stdin=worker.stdout, stdout=subprocess.DEVNULL)
            dispatch = [tenure, "dispatch", "--from", "-", "--task", "--wait", "done", "--timeout", "10m",
                        "--engine", engine]
            subprocess.run(dispatch, input='{"key":"first","payload":"a b"}\n', text=True, check=True,
                           stdout=subprocess.DEVNULL)  # programs that stay are there now
            lines = "".join(json.dumps({"key": f"k{i % 1000}", "payload": "a b c"}) + "\n" for i in range(tasks))
            begun = time.monotonic()
            subprocess.run(dispatch, input=lines, text=True, check=True, stdout=subprocess.DEVNULL)
            return tasks / (time.monotonic() - begun)
        finally:
            worker.terminate()
            worker.wait()
            drain.wait()


def main():
    tenure = sys.argv[1]
    flags = dict(zip(sys.argv[2::2], sys.argv[3::2]))
    repetitions, tasks = int(flags.get("--repetitions", 3)), int(flags.get("--tasks", 20000))
    programs = flags.get("--programs", "2")
    kinds = {
        "warm": (tasks, "--task", "--warm", programs, "--exec", "python3", ROOT / "examples/handlers/warm.py"),
        "a /bin/true each": (tasks // 20, "--concurrency", "4", "--exec", "/bin/true"),
        "a Python each": (tasks // 100, "--concurrency", "4", "--exec", "python3", ROOT / "examples/handlers/task.py"),
    }
    rates = {kind: [] for kind in kinds}
    for _ in range(repetitions):
        for kind, (count, *work) in kinds.items():
            rates[kind].append(rate(tenure, count, *work))
    for kind, values in rates.items():
        print(f"{kind:18} {statistics.median(values):9.0f} tasks/s ({min(values):.0f}-{max(values):.0f})")
    for other in list(kinds)[1:]:
        shares = [one / each for one, each in zip(rates["warm"], rates[other])]
        print(f"warm is {statistics.median(shares):.0f} ({min(shares):.0f}-{max(shares):.0f}) times {other}")


if __name__ == "__main__":
    main()
