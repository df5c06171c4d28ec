"""A test network on the loopback: each wire is a port whose connections are forwarded to another one, and can be cut,
silenced, slowed down, or lose an answer. All wires run on one thread."""

import asyncio
import collections
import threading

# How an append begins on its way to the server (src/log/redis/append_lane.cc): EVALSHA with eight more words. Opening a
# log has as many; to lose its answer is no less of a fault.
APPEND = b"*9\r\n$7\r\nEVALSHA"


class Wires:
    """The thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()
        self.wires = []

    def add(self, target):
        """A wire that leads to a port of this host."""
        wire = Wire(self, target)
        server = asyncio.run_coroutine_threadsafe(
            self.loop.create_server(lambda: Side(wire), "127.0.0.1", 0), self.loop).result()
        wire.port = server.sockets[0].getsockname()[1]
        self.wires.append(wire)
        return wire

    def call(self, act, *arguments):
        """Runs on the thread, and is done when this returns."""
        async def run():
            return act(*arguments)
        return asyncio.run_coroutine_threadsafe(run(), self.loop).result()

    def close(self):
        for wire in self.wires:
            self.call(wire.cut_now)
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()


class Wire:
    """What is done to it holds for its present connections, and, but for half_open(), for those to come."""

    def __init__(self, wires, target):
        self.wires = wires
        self.target = target
        self.port = 0
        self.links = set()
        self.refusing = False
        self.silent = False
        self.delay_s = 0
        self.answers_to_lose = 0

    def cut(self):
        self.wires.call(self.cut_now)

    def silence(self):
        """Nothing arrives any more on either side, without an error."""
        self.wires.call(setattr, self, "silent", True)

    def half_open(self):
        """The current connections are dead, without an error; new ones work."""
        self.wires.call(lambda: [setattr(link, "dead", True) for link in self.links])

    def slow_down(self, delay_s):
        self.wires.call(setattr, self, "delay_s", delay_s)

    def lose_answers(self, count):
        """To the next appends: they take effect, and the connection breaks before anybody hears of it."""
        self.wires.call(setattr, self, "answers_to_lose", count)

    def mend(self):
        self.wires.call(self.mend_now)

    def cut_now(self):
        self.refusing = True
        for link in list(self.links):
            link.abort()

    def mend_now(self):
        self.refusing = self.silent = False
        self.delay_s = self.answers_to_lose = 0
        for link in self.links:
            link.up.pump()
            link.down.pump()


class Link:
    """A client's connection and the one that carries it on."""

    def __init__(self, wire, client):
        self.wire = wire
        self.dead = False
        self.robbed = False  # an append has gone through whose answer must not
        self.up = Lane(self)
        self.down = Lane(self)
        self.down.transport = client
        wire.links.add(self)
        wire.wires.loop.create_task(self.connect())

    async def connect(self):
        try:
            await self.wire.wires.loop.create_connection(lambda: Answers(self), "127.0.0.1", self.wire.target)
        except OSError:
            self.abort()

    def asked(self, data):
        if self.wire.answers_to_lose > 0 and APPEND in data and not self.robbed:
            self.wire.answers_to_lose -= 1
            self.robbed = True
        self.up.push(data)

    def answered(self, data):
        if self.robbed:
            self.abort()
        else:
            self.down.push(data)

    def abort(self):
        self.wire.links.discard(self)
        for lane in (self.up, self.down):
            if lane.transport is not None:
                lane.transport.abort()


class Lane:
    """One direction: bytes, and when they are due on the other side."""

    def __init__(self, link):
        self.link = link
        self.transport = None
        self.waiting = collections.deque()
        self.timer = None

    def push(self, data):
        now = self.link.wire.wires.loop.time()
        due = now + self.link.wire.delay_s
        self.waiting.append((max(due, self.waiting[-1][0]) if self.waiting else due, data))
        self.pump()

    def pump(self):
        if self.transport is None or self.link.dead or self.link.wire.silent or self.timer is not None:
            return
        loop = self.link.wire.wires.loop
        while self.waiting and self.waiting[0][0] <= loop.time():
            self.transport.write(self.waiting.popleft()[1])
        if self.waiting:
            self.timer = loop.call_at(self.waiting[0][0], self.again)

    def again(self):
        self.timer = None
        self.pump()


class Side(asyncio.Protocol):
    """The client's side of a link."""

    def __init__(self, wire):
        self.wire = wire
        self.link = None

    def connection_made(self, transport):
        if self.wire.refusing:
            transport.abort()
        else:
            self.link = Link(self.wire, transport)

    def data_received(self, data):
        if self.link is not None:
            self.link.asked(data)

    def connection_lost(self, error):
        del error
        if self.link is not None:
            self.link.abort()


class Answers(asyncio.Protocol):
    """The server's side of a link. While the wire is silent, it does not report the end of the other side, either."""

    def __init__(self, link):
        self.link = link

    def connection_made(self, transport):
        self.link.up.transport = transport
        if self.link not in self.link.wire.links:
            transport.abort()
        self.link.up.pump()

    def data_received(self, data):
        self.link.answered(data)

    def connection_lost(self, error):
        del error
        if not self.link.dead and not self.link.wire.silent:
            self.link.abort()
