"""Real Kafka brokers of a fault run: on free ports of the loopback, each with its data in a folder of its own."""

import pathlib
import shutil
import signal
import subprocess

from redis_server import free_port, start_program, wait_for_line

FILES = pathlib.Path(__file__).resolve().parent.parent.parent / "build/kafka"
# A broker that was killed is let in again when its session has ended.
SETTINGS = """
broker.session.timeout.ms=2000
broker.heartbeat.interval.ms=300
num.network.threads=2
num.io.threads=4
replica.lag.time.max.ms=3000
replica.fetch.wait.max.ms=100
controller.listener.names=CONTROLLER
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
log.segment.delete.delay.ms=1000
"""


class KafkaNode:
    """A process of Kafka. `roles` is "broker,controller" for a broker that is alone. `voters` names the controller of a
    cluster."""

    def __init__(self, folder, node, roles, voters=None, more="", ways=()):
        """`ways`: pairs of ports. A client that connects to the first port is sent on to the second."""
        self.folder = pathlib.Path(folder)
        self.node = node
        self.roles = roles
        self.port = free_port()
        self.controller_port = free_port()
        self.voters = voters or f"{node}@127.0.0.1:{self.controller_port}"
        self.more = more
        self.ways = ways
        self.process = None
        self.folder.mkdir()
        self.format()
        self.start()

    @property
    def address(self):
        return f"127.0.0.1:{self.port}"

    @property
    def data(self):
        return self.folder / "data"

    def format(self):
        """A new broker's data. Each node of a cluster names its folder with an id of its own."""
        shutil.copytree(FILES / "formatted", self.data)
        path = self.data / "meta.properties"
        lines = [line for line in path.read_text().splitlines() if not line.startswith(("node.id=", "directory.id="))]
        path.write_text("\n".join([*lines, f"node.id={self.node}", f"directory.id=AAAAAAAAAAAAAAAAAAA{self.node}QQ", ""]))

    def listeners(self):
        own = {"broker": f"PLAINTEXT://{self.address}", "controller": f"CONTROLLER://127.0.0.1:{self.controller_port}"}
        ways = [f"WAY{number}://127.0.0.1:{port}" for number, (port, _) in enumerate(self.ways)]
        return ",".join([own[role] for role in self.roles.split(",")] + ways)

    def way_settings(self):
        if not self.ways:
            return ""
        told = [f"WAY{number}://127.0.0.1:{port}" for number, (_, port) in enumerate(self.ways)]
        kinds = [f"WAY{number}:PLAINTEXT" for number in range(len(self.ways))]
        return (f"advertised.listeners={','.join([f'PLAINTEXT://{self.address}', *told])}\n"
                "inter.broker.listener.name=PLAINTEXT\n"
                f"listener.security.protocol.map={','.join(['PLAINTEXT:PLAINTEXT', 'CONTROLLER:PLAINTEXT', *kinds])}\n")

    def start(self, wait=True):
        properties = self.folder / "server.properties"
        properties.write_text(f"process.roles={self.roles}\nnode.id={self.node}\n"
                              f"controller.quorum.voters={self.voters}\nlisteners={self.listeners()}\n"
                              f"log.dirs={self.data}\n{SETTINGS}{self.way_settings()}{self.more}\n")
        self.process = start_program("java", "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC",
                                     "-Dorg.slf4j.simpleLogger.logFile=System.out",
                                     "-Dorg.slf4j.simpleLogger.defaultLogLevel=warn",
                                     "-Dorg.slf4j.simpleLogger.log.kafka.server.KafkaRaftServer=info", "-cp",
                                     f"{FILES}/jars/*", "kafka.Kafka", properties)
        if wait:
            self.wait_until_ready()

    def wait_until_ready(self):
        wait_for_line(self.process, "Kafka Server started")

    def freeze(self):
        self.process.send_signal(signal.SIGSTOP)

    def thaw(self):
        self.process.send_signal(signal.SIGCONT)

    def kill(self):
        """Without a word, as a crash would."""
        self.process.kill()
        self.process.wait()


class Brokers:
    """What another program asks of them (kafka_client.cc)."""

    def __init__(self, program, addresses):
        self.program = program
        self.addresses = ",".join(addresses)

    def ask(self, *words):
        asked = subprocess.run([self.program, self.addresses, *map(str, words)], capture_output=True, text=True,
                               timeout=120, check=False)
        if asked.returncode != 0:
            raise AssertionError(f"{words}: {asked.stderr}")
        return asked.stdout.splitlines()

    def leaders(self, topic):
        """Of each partition: (leader, copies in sync)."""
        return [tuple(map(int, line.split())) for line in self.ask("leaders", topic)]

    def ends(self, topic):
        """Of each partition. Its leader has to answer."""
        return [int(line) for line in self.ask("ends", topic)]

    def at(self, node):
        """The same of one of them."""
        return Brokers(self.program, [node.address])
