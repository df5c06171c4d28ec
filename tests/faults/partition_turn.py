"""A turn of a partition, run by `tenure partition --exec` in the fault tests. It works on items for a while, and writes a
line for each step, with the time of CLOCK_BOOTTIME, in one write. SIGTERM ends it after the item at hand, but one in ten
ignores SIGTERM and has to be killed.

Usage: partition_turn.py HISTORY
"""

import os
import random
import signal
import sys
import time

ITEM_S = 0.02
ITEMS = (10, 60)
STUBBORN = 0.1


def main():
    history = os.open(sys.argv[1], os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
    words = [os.environ[name] for name in ("TENURE_PARTITION", "TENURE_EPOCH", "TENURE_WORKER")] + [str(os.getpid())]
    stopped = []

    def note(what):
        line = f"{what} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {' '.join(words)}\n"
        os.write(history, line.encode())

    stubborn = random.random() < STUBBORN
    signal.signal(signal.SIGTERM, signal.SIG_IGN if stubborn else lambda *_: stopped.append(True))
    note("begin")
    for _ in range(random.randint(*ITEMS)):
        time.sleep(ITEM_S)
        note("item")
        if stopped:
            break
    note("end")


if __name__ == "__main__":
    main()
