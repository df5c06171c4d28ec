"""Faults of worker processes, for all engines. Each function takes the pool and the dice, and the fault is over when it
returns."""

import os
import pathlib
import signal
import time

from pool import LEASE_S, PATIENCE_S


def victim(pool, dice):
    return dice.choice(list(pool.workers))


def kill(pool, dice):
    process = pool.workers.pop(victim(pool, dice))
    process.kill()
    process.wait()
    pool.start_worker()


def freeze(pool, dice):
    process = pool.workers[victim(pool, dice)]
    process.send_signal(signal.SIGSTOP)
    time.sleep(LEASE_S * dice.uniform(0.2, 2))
    process.send_signal(signal.SIGCONT)


def freeze_and_kill(pool, dice):
    process = pool.workers.pop(victim(pool, dice))
    process.send_signal(signal.SIGSTOP)
    time.sleep(LEASE_S * dice.uniform(0.2, 2))
    process.kill()
    process.wait()
    pool.start_worker()


def terminate(pool, dice):
    process = pool.workers.pop(victim(pool, dice))
    process.terminate()
    pool.start_worker()
    process.wait(PATIENCE_S)


def kill_guard(pool, dice):
    process = pool.workers[victim(pool, dice)]
    children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    for child in children:
        os.kill(int(child), signal.SIGKILL)


def kill_pool(pool, dice):
    del dice
    count = len(pool.workers)
    pool.kill_all()
    pool.workers.clear()
    for _ in range(count):
        pool.start_worker()


FAULTS = [kill, kill, kill, freeze, freeze_and_kill, terminate, terminate, kill_guard, kill_pool]
