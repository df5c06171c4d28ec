"""Records in the history when the machine stood still: delays during that time are not violations.

A hypervisor can take away single processors of a virtual machine. Processes on such a processor stand still while the
others go on: for example a guard, or the programs that it has to end. So each processor has a watcher, a process that runs
only there and reads the clock a hundred times a second.

Usage: stalls.py PROCESSOR HISTORY
"""

import os
import subprocess
import sys
import time

TICK_S = 0.01
LATE_S = 0.1


class Stalls:
    """The watchers, from now on."""

    def __init__(self, history):
        self.history = history
        self.watchers = [subprocess.Popen(["setpriv", "--pdeathsig", "KILL", sys.executable, "-ES", __file__,
                                           str(processor), history])
                         for processor in sorted(os.sched_getaffinity(0))]

    def end(self):
        """How long the longest stall was, in seconds."""
        for watcher in self.watchers:
            watcher.kill()
            watcher.wait()
        with open(self.history, encoding="utf-8", errors="replace") as lines:
            noted = [line.split() for line in lines if line.startswith("stalled ")]
        return max([(int(until) - int(since)) / 1e9 for _, until, since in noted], default=0.0)


def watch(processor, history):
    os.sched_setaffinity(0, {processor})
    file = os.open(history, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    before = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
    while True:
        time.sleep(TICK_S)
        now = time.clock_gettime_ns(time.CLOCK_BOOTTIME)
        if now - before > LATE_S * 1e9:
            os.write(file, f"stalled {now} {before}\n".encode())
        before = now


if __name__ == "__main__":
    watch(int(sys.argv[1]), sys.argv[2])
