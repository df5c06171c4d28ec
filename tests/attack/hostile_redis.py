"""Servers that send what no Redis sends, and a proxy between a worker and its Redis that can start to do so."""

import socket
import threading

MIB = 1 << 20


def endless(piece, most):
    """Pieces, up to so many bytes."""
    return lambda: (piece for _ in range(most // len(piece)))


def once(data):
    return lambda: iter([data])


def in_pieces(data):
    return lambda: (data[i:i + 1] for i in range(len(data)))


# The answer to every client, whatever the request.
SAYINGS = {
    "sixteen million elements": once(b"*16777216\r\n$5\r\nhello\r\n"),
    "as many as may be": once(b"*65536\r\n$5\r\nhello\r\n"),
    "arrays in arrays": once(b"*60000\r\n" * 1000),
    "deep arrays": once(b"*1\r\n" * 100_000),
    "a text of 64 MiB that does not come": once(b"$67108000\r\nfew"),
    "a text that is too long": once(b"$999999999999\r\nfew"),
    "a line without an end": endless(b"+" + b"x" * 65535, 512 * MIB),
    "an error without an end": endless(b"-ERR" + b" x" * 30000, 512 * MIB),
    "a number without an end": endless(b":" + b"1" * 65535, 64 * MIB),
    "tiny pieces of a line": in_pieces(b"+" + b"x" * 60_000),
    "answers to nothing": endless(b":1\r\n" * 10_000, 64 * MIB),
    "empty arrays": endless(b"*0\r\n" * 10_000, 64 * MIB),
    "another protocol": endless(b"HTTP/1.1 200 OK\r\n\r\n" * 1000, 16 * MIB),
}


class HostileRedis:
    """Says one of these to each who connects, as soon as he has asked anything."""

    def __init__(self, saying):
        self.saying = saying
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(peer,), daemon=True).start()

    def serve(self, peer):
        with peer:
            try:
                if peer.recv(4096):
                    self.say(peer)
                    while peer.recv(65536):
                        pass
            except OSError:
                pass

    def say(self, peer):
        peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        for piece in self.saying():
            peer.sendall(piece)

    def close(self):
        self.listener.close()


class Between(HostileRedis):
    """Forwards everything to a Redis and back. While `hostile` is set, the client gets that instead."""

    def __init__(self, redis_port):
        self.redis_port = redis_port
        self.hostile = None
        self.open = set()
        super().__init__(None)

    def serve(self, peer):
        if self.hostile is not None:
            self.saying = self.hostile
            return super().serve(peer)
        with peer, socket.create_connection(("127.0.0.1", self.redis_port)) as redis:
            self.open |= {peer, redis}
            there = threading.Thread(target=self.carry, args=(peer, redis), daemon=True)
            there.start()
            self.carry(redis, peer)
            there.join()
            self.open -= {peer, redis}

    @staticmethod
    def carry(source, target):
        try:
            while data := source.recv(65536):
                target.sendall(data)
        except OSError:
            pass
        for end in (source, target):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    def turn(self, saying):
        """Hostile from now on, or, with an empty answer, no longer. Connected clients have to connect again."""
        self.hostile = saying
        for end in list(self.open):
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
