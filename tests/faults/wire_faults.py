"""What happens to the wires between workers and their servers (wires.py), on any engine. `pool.world.wire(number)` is that of
a worker."""

import time

from pool import LEASE_S
from process_faults import victim


def pause(dice, low=0.2, high=2):
    time.sleep(LEASE_S * dice.uniform(low, high))


def cut_one(pool, dice):
    wire = pool.world.wire(victim(pool, dice))
    wire.cut()
    pause(dice)
    wire.mend()


def cut_all(pool, dice):
    wires = [pool.world.wire(number) for number in pool.workers]
    for wire in wires:
        wire.cut()
    pause(dice)
    for wire in wires:
        wire.mend()


def cut_often(pool, dice):
    """Connections that break again and again."""
    wire = pool.world.wire(victim(pool, dice))
    for _ in range(10):
        wire.cut()
        wire.mend()
        pause(dice, 0.01, 0.1)


def silence(pool, dice):
    """Nothing comes through, and then all of it, late."""
    wire = pool.world.wire(victim(pool, dice))
    wire.silence()
    pause(dice, 0.2, 3)
    wire.mend()


def half_open(pool, dice):
    """Each side believes in a connection that is none."""
    pool.world.wire(victim(pool, dice)).half_open()


def slow_links(pool, dice):
    wires = [pool.world.wire(number) for number in pool.workers]
    for wire in wires:
        wire.slow_down(dice.uniform(0.01, 0.2))
    pause(dice, 0.5, 2)
    for wire in wires:
        wire.mend()
