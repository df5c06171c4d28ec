"""What partitioned replicas get done while nothing fails: 1, 2, 4 and 8 of them, each beside as many independent loops
that start the same program. A turn works on items that wait for 2 ms, as for a database. Prints rates and judges none.

Usage: partition_rates.py BUILD [--engine sqlite|redis] [--seconds S]
"""

import argparse
import contextlib
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

from faults import place_for
from partition_replicas import SECONDARIES, engine_in

ITEM_S = 0.002
ITEMS = 500
REST_S = 0.02
# Writes a byte to a file for each item.
TURN = f"""
import os, sys, time
done = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
for _ in range({ITEMS}):
    time.sleep({ITEM_S})
    os.write(done, b".")
"""
ALONE = f"""while :; do "$@"; sleep {REST_S}; done"""


def items_per_second(commands, done, seconds):
    """Of all commands together, once each has begun."""
    running = [subprocess.Popen(command, start_new_session=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
               for command in commands]
    try:
        files = [pathlib.Path(f"{done}{number}") for number in range(len(commands))]
        deadline = time.monotonic() + 30
        while not all(file.exists() for file in files):
            if time.monotonic() > deadline:
                raise AssertionError("not all partitions begin")
            time.sleep(0.02)
        began, before = time.monotonic(), sum(file.stat().st_size for file in files)
        time.sleep(seconds)
        return (sum(file.stat().st_size for file in files) - before) / (time.monotonic() - began)
    finally:
        for process in running:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
        for process in running:
            process.wait(30)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--engine", choices=["sqlite", "redis"], default="sqlite")
    parser.add_argument("--seconds", type=float, default=8)
    arguments = parser.parse_args()
    tenure = pathlib.Path(arguments.build).absolute() / "tenure"
    print(f"items per second on {arguments.engine}, of replicas and of independent loops:")
    with tempfile.TemporaryDirectory(dir=place_for(arguments.engine)) as name:
        folder = pathlib.Path(name)
        program = folder / "turn.py"
        program.write_text(TURN, encoding="utf-8")
        script = folder / "turn.sh"
        script.write_text(f'#!/bin/sh\nexec {sys.executable} -IS {program} "$1$TENURE_PARTITION"\n', encoding="utf-8")
        script.chmod(0o755)
        with engine_in(folder, arguments.engine) as engine:
            for count in (1, 2, 4, 8):
                partitioned = [[tenure, "partition", "--engine", engine, "--pool", f"rates-{os.getpid()}-{count}",
                                "--partitions", str(count), "--secondaries", str(min(SECONDARIES, count - 1)),
                                "--ordinal", str(ordinal), "--rest", f"{int(REST_S * 1000)}ms", "--exec", script,
                                folder / f"held-{count}-"] for ordinal in range(count)]
                alone = [["env", f"TENURE_PARTITION={number}", "sh", "-c", ALONE, "sh", script, folder / f"alone-{count}-"]
                         for number in range(count)]
                rates = [items_per_second(partitioned, folder / f"held-{count}-", arguments.seconds),
                         items_per_second(alone, folder / f"alone-{count}-", arguments.seconds)]
                print(f"  {count}: {rates[0]:6.0f} and {rates[1]:6.0f}, {rates[0] / rates[1]:.1%}", flush=True)


if __name__ == "__main__":
    main()
