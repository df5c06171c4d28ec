"""The hash of docs/partitions.md in SQL gives what the library gives.

Usage: partition_sql_test.py PATH_OF_HASHES PATH_OF_DOCUMENT [unittest arguments]. PATH_OF_HASHES prints partition_of() of
each line of its input. Runs the statements of the document itself on SQLite, PostgreSQL and MariaDB.
"""

import contextlib
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "examples/partitions"))
from scratch_postgresql import ScratchPostgresql  # noqa: E402

HASHES = os.path.abspath(sys.argv.pop(1))
DOCUMENT = pathlib.Path(sys.argv.pop(1)).read_text()
KEYS = ["a", "tenant-1", "tenant-2", "x" * 300, "Zoë", "日本語", "with 'quotes'", "0", "\u007f", "order-2026-11-19"]
KEYS += [f"row-{i}" for i in range(200)]
NUMBERS = [1, 2, 3, 4, 8, 1000, 1024]


def expected(partitions):
    done = subprocess.run([HASHES, str(partitions)], input="\n".join(KEYS) + "\n", capture_output=True, text=True,
                          check=True)
    return [int(line) for line in done.stdout.split()]


def statements(engine):
    """The code block below the engine's heading."""
    return re.search(rf"#### {engine}\n.*?```sql\n(.*?)```", DOCUMENT, re.S).group(1)


def client(command, environment=None):
    """A function that executes statements, and returns what they print."""
    def run(text):
        done = subprocess.run(command, input=text, capture_output=True, text=True, env=environment)
        if done.returncode != 0:
            raise AssertionError(done.stderr)
        return done.stdout
    return run


@contextlib.contextmanager
def scratch_mariadb():
    """A server of this test's own, on a unix socket."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        user = ["--user=root"] if os.geteuid() == 0 else []
        subprocess.run(["mariadb-install-db", "--no-defaults", *user, f"--datadir={folder}/data", "--skip-test-db",
                        "--auth-root-authentication-method=normal"], check=True, capture_output=True)
        server = subprocess.Popen(
            ["setpriv", "--pdeathsig", "KILL", "mariadbd", "--no-defaults", *user, f"--datadir={folder}/data",
             "--skip-networking", f"--socket={folder}/socket", f"--pid-file={folder}/pid"],
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        try:
            said = []
            for line in server.stderr:
                said.append(line)
                if "ready for connections" in line:
                    break
            else:
                raise AssertionError("mariadbd does not start:\n" + "".join(said))
            yield client(["mariadb", "--no-defaults", f"--socket={folder}/socket", "--user=root", "--batch",
                          "--skip-column-names", "--default-character-set=utf8mb4", "mysql"])
        finally:
            server.kill()
            server.wait()
            server.stderr.close()


class Sql(unittest.TestCase):
    def test_sqlite(self):
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT)")
            database.executemany("INSERT INTO rows (key) VALUES (?)", [(key,) for key in KEYS])
            for partitions in NUMBERS:
                query = statements("SQLite").replace(":partitions", str(partitions))
                self.assertEqual([row[0] for row in database.execute(query)], expected(partitions))
        database.close()

    def seen(self, run, keys):
        """What the database computes. `run` executes statements, and returns what they print."""
        values = "".join(f"INSERT INTO rows_of_keys VALUES ({i}, '{key}');\n" for i, key in enumerate(keys))
        run(f"CREATE TABLE rows_of_keys (id int, name {self.text});\n{values}")
        return {partitions: [int(line) for line in run(
            f"SELECT partition_of(name, {partitions}) FROM rows_of_keys ORDER BY id;").split()] for partitions in NUMBERS}

    def compare(self, run):
        quoted = [key.replace("'", "''") for key in KEYS]
        self.assertEqual(self.seen(run, quoted), {partitions: expected(partitions) for partitions in NUMBERS})

    def test_postgresql(self):
        self.text = "text"
        server = self.enterContext(ScratchPostgresql())
        run = client(["psql", "-v", "ON_ERROR_STOP=1", "-qAt", "-f", "-"], {**os.environ, **server.environment})
        run(statements("PostgreSQL"))
        self.compare(run)
        # The document's index is used.
        run("CREATE TABLE rows (key text, state text)")
        run(re.search(r"`(CREATE INDEX .*?)`", DOCUMENT).group(1))
        plan = run("SET enable_seqscan = off; EXPLAIN SELECT 1 FROM rows WHERE partition_of(key, 4) = 2 AND state = 'waiting';")
        self.assertIn("rows_partition_of", plan)

    def test_mysql(self):
        """MariaDB, as Debian has no MySQL."""
        self.text = "text CHARACTER SET utf8mb4"
        run = self.enterContext(scratch_mariadb())
        run("DELIMITER //\n" + statements("MySQL") + "//\n")
        self.compare(run)


if __name__ == "__main__":
    unittest.main()
