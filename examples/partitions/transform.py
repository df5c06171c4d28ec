#!/usr/bin/python3
"""Writes an invoice for each order of a partition that waits for one: what `tenure partition --exec` runs for each turn.

It finds its database by PGHOST, PGUSER and PGDATABASE, and everything else in the environment that Tenure gives it.
"""

import os
import signal
import sys
import time

import psycopg2

PARTITION = int(os.environ["TENURE_PARTITION"])
PARTITIONS = int(os.environ["TENURE_PARTITIONS"])
EPOCH = int(os.environ["TENURE_EPOCH"])
REPLICA = os.environ["TENURE_WORKER"]
AT_ONCE = 20  # orders for each transaction


class Stale(Exception):
    """A newer holder of the partition has begun."""


def raise_fence(cursor):
    """Shuts out the holders before this one, and refuses to go on behind a newer one. The row stays locked until the end of
    the transaction, so the writers of a partition come one after the other."""
    cursor.execute("""INSERT INTO fences VALUES (%s, %s)
                      ON CONFLICT (partition) DO UPDATE SET epoch = excluded.epoch WHERE fences.epoch <= excluded.epoch""",
                   (PARTITION, EPOCH))
    if cursor.rowcount == 0:
        raise Stale(f"epoch {EPOCH} of partition {PARTITION} is over")


def waiting(cursor):
    cursor.execute("""SELECT id, cents FROM orders
                      WHERE state = 'waiting' AND partition_of(customer, %s) = %s LIMIT %s""",
                   (PARTITIONS, PARTITION, AT_ONCE))
    return cursor.fetchall()


def count_waiting(cursor):
    cursor.execute("SELECT count(*) FROM orders WHERE state = 'waiting' AND partition_of(customer, %s) = %s",
                   (PARTITIONS, PARTITION))
    return cursor.fetchone()[0]


def transform(cents):
    time.sleep(0.002)  # in place of the service that computes taxes
    return cents + cents * 19 // 100


def write(cursor, invoices):
    raise_fence(cursor)
    for order, cents in invoices:
        cursor.execute("INSERT INTO invoices VALUES (%s, %s, %s, %s)", (order, cents, REPLICA, EPOCH))
        cursor.execute("UPDATE orders SET state = 'done' WHERE id = %s", (order,))


def report_backlog(rows):
    """`tenure partition status` shows it."""
    path = os.path.join(os.environ["TENURE_DIR"], "checkpoint")
    with open(path + ".new", "w", encoding="ascii") as file:
        file.write(str(rows))
    os.rename(path + ".new", path)


def main():
    stopped = []
    signal.signal(signal.SIGTERM, lambda *_: stopped.append(True))
    database = psycopg2.connect("")
    # Before it reads anything: what an older holder has written by now can be seen, and nothing can follow.
    with database, database.cursor() as cursor:
        raise_fence(cursor)
    while not stopped:
        with database, database.cursor() as cursor:
            orders = waiting(cursor)
            report_backlog(count_waiting(cursor))
        if not orders:
            break
        invoices = [(order, transform(cents)) for order, cents in orders]
        with database, database.cursor() as cursor:  # one transaction: the invoices, the orders' states and the fence
            write(cursor, invoices)
    database.close()


if __name__ == "__main__":
    try:
        main()
    except Stale as error:
        sys.exit(f"transform: {error}")
