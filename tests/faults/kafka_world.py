"""Kafka brokers, of which one holds the pool's log and the topic with the orders, or three do. They are killed, frozen,
failed over, and lose the end of what they had. To one that is alone the workers have wires."""

import time

import process_faults
from kafka_broker import Brokers, KafkaNode
from pool import PATIENCE_S, WORKERS
from process_faults import victim
from redis_server import free_port
from wire_faults import cut_all, cut_often, cut_one, half_open, pause, silence, slow_links
from wires import Wires

ORDERS = "orders"
PARTITIONS = 4
# What the engine gives its topics, apart from what an unclean election needs.
LOG_SETTINGS = ("cleanup.policy=delete", "retention.ms=-1", "retention.bytes=-1", "message.timestamp.type=LogAppendTime",
                "max.message.bytes=1048588")
UNCLEAN = ("min.insync.replicas=1", "unclean.leader.election.enable=true")


def wait_until(what, reached):
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited for {what} in vain")
        time.sleep(0.05)


class KafkaWorld:
    """One broker, and a few wires to it, which the workers share."""

    def __init__(self, folder, build):
        self.network = Wires()
        self.wires = []
        self.nodes = self.start_nodes(folder)
        self.brokers = Brokers(build / "tests/faults/faults_kafka", [node.address for node in self.nodes])
        self.brokers.ask("make", ORDERS, PARTITIONS, len(self.nodes), *self.order_settings())
        self.log = None  # the topic

    def start_nodes(self, folder):
        ports = [free_port() for _ in range(WORKERS)]
        self.wires = [self.network.add(port) for port in ports]
        ways = [(port, wire.port) for port, wire in zip(ports, self.wires)]
        return [KafkaNode(folder / "broker", 1, "broker,controller", ways=ways)]

    def wire(self, number):
        return self.wires[number % len(self.wires)]

    def address(self, name):
        """By its wire for a worker; the brokers themselves for all others."""
        by_wire = self.wires and name.startswith("w") and name[1:].isdigit()
        return f"127.0.0.1:{self.wire(int(name[1:])).port}" if by_wire else self.brokers.addresses

    def order_settings(self):
        return ()

    def prepare(self, pool):
        self.log = f"tenure.{pool}.0"

    def engine(self, name):
        return f"kafka://{self.address(name)}?timeout=2000"

    def source(self, name):
        return f"kafka://{self.address(name)}/{ORDERS}?timeout=2000&start=oldest"

    def in_sync(self):
        """Every copy of every partition."""
        topics = [ORDERS, self.log, f"{self.log}.snapshots"]
        return all(leader > 0 and copies == len(self.nodes) for topic in topics
                   for leader, copies in self.brokers.leaders(topic))

    def leader(self):
        """The broker that the log depends on."""
        number = self.brokers.leaders(self.log)[0][0]
        return next(node for node in self.nodes if node.node == number)

    def restart(self, *nodes):
        for node in nodes:
            node.start(wait=False)
        for node in nodes:
            node.wait_until_ready()
        wait_until("all copies in sync", self.in_sync)

    def close(self):
        self.network.close()
        for node in self.nodes:
            node.kill()

    faults = None  # below


class ClusterWorld(KafkaWorld):
    """Three brokers, and a controller that no fault touches. Nothing that was acknowledged may be lost."""

    def start_nodes(self, folder):
        self.controller = KafkaNode(folder / "controller", 9, "controller", more="unclean.leader.election.interval.ms=500")
        return [KafkaNode(folder / f"broker-{i}", i, "broker", self.controller.voters) for i in (1, 2, 3)]

    def order_settings(self):
        return ("min.insync.replicas=2",)

    def close(self):
        super().close()
        self.controller.kill()


class UncleanWorld(ClusterWorld):
    """The same, but a broker that is behind may become the leader."""

    def order_settings(self):
        return UNCLEAN

    def prepare(self, pool):
        super().prepare(pool)
        self.brokers.ask("make", self.log, 1, 3, *LOG_SETTINGS, *UNCLEAN)
        self.brokers.ask("make", f"{self.log}.snapshots", 2, 3, *LOG_SETTINGS, *UNCLEAN)


def kill_broker(pool, dice):
    node = pool.world.leader()
    node.kill()
    pause(dice, 0, 2)
    pool.world.restart(node)


def kill_broker_and_worker(pool, dice):
    """The guard cannot say that its worker is dead until there is a leader again."""
    process = pool.workers.pop(victim(pool, dice))
    node = pool.world.leader()
    node.kill()
    process.kill()
    process.wait()
    pause(dice, 0, 1)
    pool.world.restart(node)
    pool.start_worker()


def freeze_broker(pool, dice):
    """For longer than the lease. With others, they take over, and the frozen one is no leader any more when it wakes."""
    node = pool.world.leader()
    node.freeze()
    pause(dice, 1, 4)
    node.thaw()
    wait_until("all copies in sync", pool.world.in_sync)


def kill_follower(pool, dice):
    leader = pool.world.leader()
    node = dice.choice([node for node in pool.world.nodes if node is not leader])
    node.kill()
    pause(dice)
    pool.world.restart(node)


def kill_all_brokers(pool, dice):
    for node in pool.world.nodes:
        node.kill()
    pause(dice, 0, 1)
    pool.world.restart(*pool.world.nodes)


def let_witness_catch_up(pool, at):
    """While nobody appends: what a worker has read is what the witness has read."""
    for process in pool.workers.values():
        pool.stop_running(process)
    end = -1
    while end != (now := at.ends(pool.world.log)[0]):
        end = now
    pool.witness.wait_for([end])


def unclean_election(pool, dice):
    """The leader goes on alone, is killed, and those that stood still come back without what it had taken meanwhile. Others
    write the end of the log anew."""
    world = pool.world
    pool.expected_losses = True
    pool.orders.expect_cut()
    leader = world.leader()
    others = [node for node in world.nodes if node is not leader]
    for node in others:
        node.freeze()
    alone = world.brokers.at(leader)
    wait_until("a leader that is alone", lambda: all(
        of == (leader.node, 1) for topic in (ORDERS, world.log) for of in alone.leaders(topic)))
    pool.orders.send(20)
    pool.dispatch([(f"task-{i}", f"{pool.lives}.cut.{dice.random()}") for i in range(4)], "task")
    pool.orders.rest()
    pause(dice, 0.1, 0.5)
    let_witness_catch_up(pool, alone)
    leader.kill()
    for process in pool.workers.values():
        pool.let_run(process)
    for node in others:
        node.thaw()
    wait_until("another leader", lambda: world.brokers.at(others[0]).leaders(world.log)[0][0] not in (-1, leader.node))
    world.restart(leader)
    pool.dispatch_residents()


PROCESSES = [process_faults.kill, process_faults.freeze, process_faults.kill_guard, process_faults.kill_pool,
             process_faults.terminate]
WIRES = [cut_one, cut_all, cut_often, silence, half_open, slow_links]
KafkaWorld.faults = [*PROCESSES, *WIRES, kill_broker, kill_broker_and_worker, freeze_broker]
ClusterWorld.faults = [*PROCESSES, kill_broker, kill_broker, kill_broker_and_worker, freeze_broker, freeze_broker,
                       kill_follower, kill_all_brokers]
UncleanWorld.faults = [*PROCESSES, kill_broker, freeze_broker, unclean_election, unclean_election]
