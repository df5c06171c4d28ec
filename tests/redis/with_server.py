"""Runs a command with a new redis-server. The word URL in the command is replaced by the server's URL.

Usage: with_server.py COMMAND ARGUMENT…
"""

import socket
import subprocess
import sys
import tempfile


def start(folder):
    """The server and its port. setpriv, so that it does not outlive a test that is killed."""
    for _ in range(5):  # somebody may take the port in between
        with socket.socket() as listener:
            listener.bind(("127.0.0.1", 0))
            port = listener.getsockname()[1]
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "redis-server", "--port", str(port), "--bind", "127.0.0.1", "--dir",
             folder, "--save", "", "--appendonly", "no"], stdout=subprocess.PIPE, text=True)
        if any("Ready to accept connections" in line for line in server.stdout):
            return server, port
        server.wait()
    raise AssertionError("redis-server does not start")


def main():
    with tempfile.TemporaryDirectory() as folder:
        server, port = start(folder)
        try:
            return subprocess.run([f"redis://127.0.0.1:{port}" if word == "URL" else word for word in sys.argv[1:]],
                                  check=False).returncode
        finally:
            server.kill()
            server.wait()


if __name__ == "__main__":
    sys.exit(main())
