"""Real redis-servers of a fault run: on a free port of the loopback, with an append-only file in its own folder."""

import collections
import pathlib
import shutil
import signal
import socket
import subprocess
import threading
import time


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def start_program(program, *options):
    """setpriv, so that none outlives a run that is killed."""
    return subprocess.Popen(["setpriv", "--pdeathsig", "KILL", program, *map(str, options)], stdout=subprocess.PIPE,
                            text=True, errors="replace")


def wait_for_line(process, words):
    """And let the rest of what it says go by: a pipe that is full would stop it."""
    if not any(words in line for line in process.stdout):
        raise AssertionError(f"{process.args[3]} does not say '{words}'")
    threading.Thread(target=collections.deque, args=(process.stdout, 0), daemon=True).start()


class RedisServer:
    """`fsync` is Redis' appendfsync, `data` what it begins with."""

    def __init__(self, folder, fsync, *options, data=None):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir()
        if data is not None:
            shutil.copytree(data, self.data)
        self.fsync = fsync
        self.options = options
        self.port = free_port()
        self.socket = self.folder / "redis.sock"
        self.process = None
        self.start()

    def start(self, *more):
        self.process = start_program(
            "redis-server", "--port", self.port, "--bind", "127.0.0.1", "--unixsocket", self.socket, "--dir",
            self.folder, "--save", "", "--appendonly", "yes", "--appendfsync", self.fsync, *self.options, *more)
        wait_for_line(self.process, "ready to accept connections at")

    def command(self, *words):
        """A sentinel that changes a server's role closes all its connections. Then the command is sent again."""
        for _ in range(50):
            asked = subprocess.run(["redis-cli", "-s", self.socket, *map(str, words)], capture_output=True, timeout=30,
                                   check=False)
            if asked.returncode == 0:
                return asked.stdout.decode(errors="replace").strip()
            time.sleep(0.02)
        raise AssertionError(f"{self.folder.name} does not answer {words}: {asked.stderr}")

    def last_positions(self, pool, shards):
        """Of the last entry in each of a pool's logs."""
        return [self.last_position(tag) for tag in [pool] + [f"{pool}/{shard}" for shard in range(1, shards)]]

    def last_position(self, tag):
        log = self.command("HGET", f"tenure:{{{tag}}}:meta", "id")
        lines = self.command("XREVRANGE", f"tenure:{{{tag}}}:log:{log}", "+", "-", "COUNT", "1").splitlines()
        if not lines:
            return 0
        milliseconds, count = map(int, lines[0].split("-"))
        return milliseconds << 22 | count  # as src/log/redis/entry_id.h has it

    def signal(self, number):
        self.process.send_signal(number)

    def freeze(self):
        self.signal(signal.SIGSTOP)

    def thaw(self):
        self.signal(signal.SIGCONT)

    def kill(self):
        """Without a word, as a crash would."""
        self.process.kill()
        self.process.wait()

    @property
    def data(self):
        return self.folder / "appendonlydir"

    def copy_data(self, to):
        """Also of one that runs: what is not whole at the end of the copy is dropped when it is read."""
        shutil.copytree(self.data, to)
        return to

    def replace_data(self, by):
        """While it is dead; by nothing if `by` is none."""
        shutil.rmtree(self.data)
        if by is not None:
            shutil.copytree(by, self.data)
