"""As much of PostgreSQL's protocol as the tests need: a query without parameters, and its rows as text. No login."""

import socket
import struct


class Postgres:
    def __init__(self, host, timeout_s=5):
        self.socket = socket.create_connection((host, 5432), timeout_s)
        self.rest = b""
        words = b"user\0postgres\0database\0postgres\0\0"
        self.socket.sendall(struct.pack("!ii", 8 + len(words), 196608) + words)
        self.answer()

    def query(self, text):
        words = text.encode() + b"\0"
        self.socket.sendall(b"Q" + struct.pack("!i", 4 + len(words)) + words)
        return self.answer()

    def answer(self):
        """Up to the next time that the server is ready."""
        rows, error = [], None
        while True:
            kind, body = self.message()
            if kind == b"D":
                rows.append(row_of(body))
            elif kind == b"E":
                error = body.decode(errors="replace").replace("\0", " ")
            elif kind == b"Z":
                if error:
                    raise RuntimeError(error)
                return rows

    def message(self):
        head = self.bytes(5)
        return head[:1], self.bytes(struct.unpack("!i", head[1:])[0] - 4)

    def bytes(self, count):
        while len(self.rest) < count:
            more = self.socket.recv(65536)
            if not more:
                raise ConnectionError("the server has closed the connection")
            self.rest += more
        taken, self.rest = self.rest[:count], self.rest[count:]
        return taken

    def close(self):
        self.socket.close()


def row_of(body):
    (count,), at, row = struct.unpack_from("!h", body), 2, []
    for _ in range(count):
        (size,) = struct.unpack_from("!i", body, at)
        at += 4
        row.append(None if size < 0 else body[at:at + size].decode())
        at += max(size, 0)
    return row
