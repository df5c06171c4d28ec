"""A master, two replicas, and a sentinel that promotes one of them. The master is killed or frozen while jobs arrive, with
replicas that are in step or behind."""

import subprocess
import time

import process_faults
from pool import LEASE_S, PATIENCE_S
from redis_server import RedisServer, free_port, start_program

# Nothing is acknowledged that no replica has, and a master without replicas takes nothing.
SAFE = ("--min-replicas-to-write", "1", "--min-replicas-max-lag", "1")
PROMPT = ("--repl-diskless-sync-delay", "0", "--repl-ping-replica-period", "1")


class SentinelWorld:
    """`safe`: set up so that no failover loses what was acknowledged."""

    def __init__(self, folder, safe):
        self.folder = folder
        self.safe = safe
        self.asides = 0
        # Written at once and never synced: what a killed server had can be read from its file.
        options = PROMPT + (SAFE if safe else ())
        self.master = RedisServer(folder / "a", "no", *options)
        self.replicas = [RedisServer(folder / name, "no", *options, "--replicaof", "127.0.0.1", self.master.port)
                         for name in ("b", "c")]
        self.wait_in_step()
        self.port = free_port()
        config = folder / "sentinel.conf"
        self.log = folder / "sentinel.log"
        config.write_text(f"port {self.port}\nbind 127.0.0.1\ndir {folder}\nlogfile {self.log}\n"
                          f"sentinel monitor main 127.0.0.1 "
                          f"{self.master.port} 1\nsentinel down-after-milliseconds main 60000\n"
                          "sentinel failover-timeout main 10000\nsentinel parallel-syncs main 2\n")
        self.sentinel = start_program("redis-sentinel", config)
        wait_until("replicas at the sentinel",
                   lambda: self.log.exists() and self.log.read_text().count("+slave ") == len(self.replicas))

    def engine(self, name):
        del name
        return f"redis+sentinel://127.0.0.1:{self.port}/main" + ("?wait_replicas=1" if self.safe else "")

    def ask_sentinel(self, *words):
        return subprocess.run(["redis-cli", "-p", str(self.port), "sentinel", *words, "main"], capture_output=True,
                              text=True, timeout=30, check=True).stdout.split()

    def master_port(self):
        return int(self.ask_sentinel("get-master-addr-by-name")[1])

    def wait_in_step(self):
        wait_until("replicas in step", lambda: all(
            "master_link_status:up" in replica.command("INFO", "replication") and
            f"master_port:{self.master.port}" in replica.command("INFO", "replication") for replica in self.replicas))

    def show_aside(self, witness):
        """The data that the master had and has lost."""
        self.asides += 1
        server = RedisServer(self.folder / f"aside-{self.asides}", "no", data=self.master.data)
        witness.ask("aside", f"unix:{server.socket}")
        server.kill()

    def wait_settled(self):
        """Until the sentinel is done with its last failover. It begins no other one before, and if one of the servers it
        waits for dies, it takes ten seconds to give up: all that time the pool would have no master."""
        wait_until("end of the last failover", lambda: "failover_in_progress" not in " ".join(self.ask_sentinel("master")))

    def fail_over(self):
        """On our word, not by its own: on a busy machine a sentinel takes much for dead. A failover that it gives up is
        asked for again; one that is under way is not begun twice."""
        before = self.master.port

        def followed():
            if self.master_port() != before:
                return True
            self.ask_sentinel("failover")
            return False

        wait_until("failover", followed)
        port = self.master_port()
        old = self.master
        self.master = next(replica for replica in self.replicas if replica.port == port)
        self.replicas = [replica for replica in self.replicas if replica.port != port] + [old]

    def close(self):
        self.sentinel.kill()
        self.sentinel.wait()
        for server in [self.master, *self.replicas]:
            server.kill()

    faults = None  # below


def wait_until(what, reached):
    deadline = time.monotonic() + PATIENCE_S
    while not reached():
        if time.monotonic() > deadline:
            raise AssertionError(f"no {what}")
        time.sleep(0.02)


def fail_over(pool, dice, behind, freeze):
    """The replicas are `behind` what the master has, which is killed, or frozen and thawed when it is too late."""
    world = pool.world
    pool.expected_losses = not world.safe
    world.wait_settled()
    old = world.master
    if behind:
        for replica in world.replicas:
            replica.freeze()
        old.command("CLIENT", "KILL", "TYPE", "replica")  # or its socket would still take what comes
    sending = pool.dispatching([(f"task-{i}", f"{pool.lives}.failover.{dice.random()}") for i in range(4)], "task")
    time.sleep(LEASE_S * dice.uniform(0, 0.6))
    pool.witness.ask("hold")
    if freeze:
        old.freeze()
    else:
        old.kill()
    world.show_aside(pool.witness)
    if behind:
        for replica in world.replicas:
            replica.thaw()
    world.fail_over()
    pool.witness.ask("go")
    if freeze and world.safe:
        old.thaw()
        old.command("REPLICAOF", "127.0.0.1", world.master.port)
    else:
        if freeze:
            old.kill()
        old.start("--replicaof", "127.0.0.1", world.master.port)
    sending.finish()
    world.wait_in_step()
    if not world.safe:
        pool.dispatch_residents()


def failover(pool, dice):
    fail_over(pool, dice, behind=False, freeze=False)


def failover_behind(pool, dice):
    fail_over(pool, dice, behind=True, freeze=False)


def failover_of_a_frozen_master(pool, dice):
    fail_over(pool, dice, behind=dice.random() < 0.3, freeze=True)


def kill_replica(pool, dice):
    replica = dice.choice(pool.world.replicas)
    replica.kill()
    time.sleep(LEASE_S * dice.uniform(0, 1))
    replica.start("--replicaof", "127.0.0.1", pool.world.master.port)
    pool.world.wait_in_step()


SentinelWorld.faults = [
    process_faults.kill, process_faults.freeze, kill_replica, failover, failover, failover_behind, failover_behind,
    failover_of_a_frozen_master
]
