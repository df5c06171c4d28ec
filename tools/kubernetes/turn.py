"""A turn of the job in the pods. It works on items for a while, and gives each of them two signs of life: a line in a file
that all nodes share, which no network can delay, and a row in PostgreSQL, which refuses an epoch below the newest. It goes
on if PostgreSQL cannot be reached, so that only the guard ends it when its node is cut off. SIGTERM ends it after the item
at hand, or after $LINGER_S, if that is set.

The lines are as partition_judge.py in tests/faults wants them.
"""

import os
import signal
import socket
import time

from postgres import Postgres

ITEM_S = 0.05
ITEMS = 40
WRITE = """
WITH mine AS (
  INSERT INTO fences VALUES ({partition}, {epoch}) ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch
  WHERE fences.epoch <= excluded.epoch RETURNING epoch)
INSERT INTO items (partition, epoch, worker, version) SELECT {partition}, epoch, '{worker}', {version} FROM mine
RETURNING epoch
"""


class Rows:
    """The rows of this turn, as long as the database can be reached."""

    def __init__(self, words):
        self.words = words
        self.database = None
        try:
            self.database = Postgres(os.environ["POSTGRES"], 1)
        except OSError:
            pass

    def write(self):
        """False if the database refuses it."""
        if self.database is None:
            return True
        try:
            return bool(self.database.query(WRITE.format(**self.words)))
        except (OSError, socket.timeout):
            self.database = None
            return True


def main():
    history = os.open("/history/turns", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    partition, epoch, worker = (os.environ[name] for name in ("TENURE_PARTITION", "TENURE_EPOCH", "TENURE_WORKER"))
    stopped = []

    def note(what):
        line = f"{what} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {partition} {epoch} {worker} {os.getpid()}\n"
        os.write(history, line.encode())

    signal.signal(signal.SIGTERM, lambda *_: stopped.append(time.monotonic()))
    note("begin")
    rows = Rows({"partition": partition, "epoch": epoch, "worker": worker, "version": os.environ.get("VERSION", "0")})
    linger = float(os.environ.get("LINGER_S", "0"))
    for _ in range(ITEMS * (10 if linger else 1)):
        time.sleep(ITEM_S)
        note("item")
        if not rows.write():
            note("refused")
            break
        if stopped and time.monotonic() - stopped[0] >= linger:
            break
    note("end")


if __name__ == "__main__":
    main()
