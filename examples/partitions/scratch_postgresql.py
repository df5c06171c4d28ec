"""A PostgreSQL server of one's own, for as long as a program runs: in a temporary folder, on a unix socket only."""

import collections
import glob
import os
import pathlib
import pwd
import shutil
import signal
import subprocess
import tempfile
import threading


def tools():
    """The folder with initdb and postgres. Debian keeps them off the PATH."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb")) or [shutil.which("initdb")]
    if found[-1] is None:
        raise FileNotFoundError("PostgreSQL's server is not installed; on Debian: apt-get install postgresql-15")
    return pathlib.Path(os.path.realpath(found[-1])).parent


class ScratchPostgresql:
    """Its `environment` has PGHOST and the like, by which psql and libpq find the server."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="postgresql-")
        self.environment = {"PGHOST": self.folder, "PGUSER": "postgres", "PGDATABASE": "postgres"}
        self._server = None
        self._reader = None

    def __enter__(self):
        try:
            self._start()
        except BaseException:
            self._end()
            raise
        return self

    def __exit__(self, *_):
        self._end()

    def _start(self):
        # The server refuses to run as root. It ends with its parent, even if that is killed.
        as_user = []
        if os.geteuid() == 0:
            user = pwd.getpwnam("postgres" if any(one.pw_name == "postgres" for one in pwd.getpwall()) else "nobody")
            os.chown(self.folder, user.pw_uid, user.pw_gid)
            as_user = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups"]
        as_user += ["setpriv", "--pdeathsig", "INT"]  # after the change of user, which would undo it
        data = f"{self.folder}/data"
        subprocess.run([*as_user, tools() / "initdb", "-D", data, "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "-U",
                        "postgres", "--no-sync"], cwd=self.folder, check=True, stdout=subprocess.DEVNULL)
        self._server = subprocess.Popen(
            [*as_user, tools() / "postgres", "-D", data, "-c", "listen_addresses=", "-c",
             f"unix_socket_directories={self.folder}"],
            cwd=self.folder, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        said = []
        for line in self._server.stderr:
            said.append(line)
            if "ready to accept connections" in line:
                break
        else:
            raise RuntimeError("PostgreSQL does not start:\n" + "".join(said))
        # What it says later interests nobody, but it must not wait for a reader.
        self._reader = threading.Thread(target=collections.deque, args=(self._server.stderr, 0), daemon=True)
        self._reader.start()

    def _end(self):
        if self._server is not None:
            self._server.send_signal(signal.SIGINT)  # it ends its sessions, and then itself
            self._server.wait(30)
            if self._reader is not None:
                self._reader.join()
            self._server.stderr.close()
        shutil.rmtree(self.folder, ignore_errors=True)
