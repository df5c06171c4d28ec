"""A turn of the job in the pods. It works on items for a while, and gives each of them two signs of life: a line in a file
that all nodes share, which no network can delay, and a row in PostgreSQL, which refuses an epoch below the newest. It does
not wait for PostgreSQL, so that nothing but the guard ends it when its node is cut off. SIGTERM ends it after the item at
hand. While there is a file /history/stubborn, SIGTERM does nothing, and turns do not end.

The lines are as partition_judge.py in tests/faults wants them.
"""

import os
import queue
import signal
import threading
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
    """The rows of this turn, as long as the database can be reached. A thread writes them."""

    def __init__(self, words):
        self.query = WRITE.format(**words)
        self.wanted = queue.SimpleQueue()
        self.refused = False
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        try:
            database = Postgres(os.environ["POSTGRES"], 2)
            while self.wanted.get():
                self.refused = self.refused or not database.query(self.query)
        except OSError:
            pass  # the other turns show whether the database has missed anything

    def add(self):
        self.wanted.put(True)

    def finish(self):
        """Waits for a moment, no longer."""
        self.wanted.put(False)
        self.thread.join(0.3)


def main():
    history = os.open("/history/turns", os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o666)
    partition, epoch, worker = (os.environ[name] for name in ("TENURE_PARTITION", "TENURE_EPOCH", "TENURE_WORKER"))
    stopped = []

    def note(what):
        line = f"{what} {time.clock_gettime_ns(time.CLOCK_BOOTTIME)} {partition} {epoch} {worker} {os.getpid()}\n"
        os.write(history, line.encode())

    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    note("begin")
    rows = Rows({"partition": partition, "epoch": epoch, "worker": worker, "version": os.environ.get("VERSION", "0")})
    items = 0
    while not rows.refused and (os.path.exists("/history/stubborn") or (items < ITEMS and not stopped)):
        time.sleep(ITEM_S)
        note("item")
        rows.add()
        items += 1
    rows.finish()
    note("refused" if rows.refused else "end")
    # Not by return: the interpreter would wait for the thread, or abort it.
    os._exit(0)


if __name__ == "__main__":
    main()
