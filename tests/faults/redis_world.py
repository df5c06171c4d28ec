"""One redis-server, and a wire to it for each process of the pool. The server is killed, frozen and loses its data; the
wires are cut, silenced, slowed down and lose answers."""

import time

import process_faults
from pool import LEASE_S
from process_faults import victim
from redis_server import RedisServer
from wire_faults import cut_all, cut_often, cut_one, half_open, pause, silence, slow_links
from wires import Wires


class RedisWorld:
    def __init__(self, folder):
        self.folder = folder
        self.server = RedisServer(folder / "server", "always")
        self.wires = Wires()
        self.by_name = {}
        self.asides = 0

    def engine(self, name):
        """The witness sees the server itself, all others through a wire of their own."""
        if name == "witness":
            return f"redis://127.0.0.1:{self.server.port}"
        if name not in self.by_name:
            self.by_name[name] = self.wires.add(self.server.port)
        return f"redis://127.0.0.1:{self.by_name[name].port}"

    def wire(self, number):
        return self.by_name[f"w{number}"]

    def show_aside(self, witness, data):
        """The data that a server had and has lost."""
        self.asides += 1
        server = RedisServer(self.folder / f"aside-{self.asides}", "no", data=data)
        witness.ask("aside", f"unix:{server.socket}")
        server.kill()

    def close(self):
        self.wires.close()
        self.server.kill()

    faults = None  # below


def kill_server(pool, dice):
    """It is back before long, with all that it acknowledged."""
    world = pool.world
    world.server.kill()
    pause(dice, 0, 2)
    world.server.start()


def kill_server_everysec(pool, dice):
    """What it acknowledged may be still in its memory where the disk is slow, so that it may be lost; the witness has
    seen it then."""
    world = pool.world
    world.server.command("CONFIG", "SET", "appendfsync", "everysec")
    pause(dice, 0, 0.3)
    world.server.command("CLIENT", "PAUSE", "10000", "WRITE")
    pool.witness.wait_for(world.server.last_positions(pool.name, pool.shards))
    pool.expected_losses = True
    kill_server(pool, dice)


def kill_server_and_worker(pool, dice):
    """The guard cannot say that its worker is dead until the server is back."""
    process = pool.workers.pop(victim(pool, dice))
    pool.world.server.kill()
    process.kill()
    process.wait()
    pause(dice, 0, 2)
    pool.world.server.start()
    pool.start_worker()


def freeze_server(pool, dice):
    """For twice the lease. Nobody dies of it: all fence themselves, and go on when it is thawed."""
    del dice
    pool.world.server.freeze()
    time.sleep(2 * LEASE_S)
    pool.world.server.thaw()


def lose_answers(pool, dice):
    """Appends take effect and their senders never hear of it: workers', and a dispatcher's."""
    wires = [pool.world.wire(number) for number in pool.workers] + [pool.world.by_name["client"]]
    for wire in wires:
        wire.lose_answers(dice.randrange(1, 4))
    pool.dispatch([(f"task-{i}", f"{pool.lives}.unheard.{dice.random()}") for i in range(2)], "task")
    pause(dice, 0.2, 1)
    for wire in wires:
        wire.mend()


def lose_everything(pool, dice):
    """The members put the pool back from memory: nobody has to dispatch the residents again."""
    pool.wait_whole(time.monotonic())
    replace_data(pool, dice, None)
    pool.wait_residents()


def replace_data(pool, dice, data):
    """The server dies, and comes back with that."""
    world = pool.world
    pool.expected_losses = True
    pool.dispatch([(f"task-{i}", f"{pool.lives}.lost.{dice.random()}") for i in range(4)], "task")
    pool.witness.ask("hold")
    world.server.kill()
    world.show_aside(pool.witness, world.server.data)
    world.server.replace_data(data)
    world.server.start()
    pool.witness.ask("go")


def restore_backup(pool, dice):
    world = pool.world
    backup = world.server.copy_data(world.folder / f"backup-{world.asides}")
    pause(dice, 0.1, 0.5)
    replace_data(pool, dice, backup)
    pool.dispatch_residents()


RedisWorld.faults = [
    process_faults.kill, process_faults.freeze, process_faults.kill_guard, process_faults.kill_pool,
    process_faults.terminate, kill_server, kill_server, kill_server_everysec, kill_server_and_worker, freeze_server, cut_one,
    cut_one, cut_all, cut_often, silence, silence, half_open, half_open, slow_links, lose_answers, lose_answers,
    restore_backup, lose_everything
]
