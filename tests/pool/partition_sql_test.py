"""The hash of docs/partitions.md in SQL gives what the library gives.

Usage: partition_sql_test.py PATH_OF_HASHES PATH_OF_DOCUMENT [unittest arguments]. PATH_OF_HASHES prints partition_of() of
each line of its input. Runs the statements of the document itself: on SQLite, and on PostgreSQL where it is installed.
"""

import glob
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

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


class Sql(unittest.TestCase):
    def test_sqlite(self):
        with sqlite3.connect(":memory:") as database:
            database.execute("CREATE TABLE rows (id INTEGER PRIMARY KEY, key TEXT)")
            database.executemany("INSERT INTO rows (key) VALUES (?)", [(key,) for key in KEYS])
            for partitions in NUMBERS:
                query = statements("SQLite").replace(":partitions", str(partitions))
                self.assertEqual([row[0] for row in database.execute(query)], expected(partitions))
        database.close()

    def test_postgresql(self):
        found = next(iter(sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))), None) or shutil.which("initdb")
        if found is None:
            self.skipTest("PostgreSQL is not installed (apt-get install postgresql)")
        tools = pathlib.Path(found).parent
        folder = tempfile.mkdtemp()
        as_user = []
        if os.geteuid() == 0:  # the server refuses to run as root
            shutil.chown(folder, "postgres")
            as_user = ["runuser", "-u", "postgres", "--"]
        self.addCleanup(shutil.rmtree, folder, True)

        def run(*command, **options):
            done = subprocess.run([*as_user, *map(str, command)], capture_output=True, text=True, cwd=folder, **options)
            self.assertEqual(done.returncode, 0, done.stderr)
            return done

        run(tools / "initdb", "-D", f"{folder}/data", "-A", "trust", "-E", "UTF8", "--locale", "C.UTF-8", "-U", "postgres")
        run(tools / "pg_ctl", "-D", f"{folder}/data", "-w", "-l", f"{folder}/log", "-o",
            f"-c listen_addresses= -c unix_socket_directories={folder}", "start")
        self.addCleanup(run, tools / "pg_ctl", "-D", f"{folder}/data", "-m", "immediate", "stop")

        def sql(text):
            return run(tools / "psql", "-h", folder, "-U", "postgres", "-v", "ON_ERROR_STOP=1", "-At", "-f", "-",
                       input=text).stdout

        sql(statements("PostgreSQL"))
        values = ", ".join("({}, '{}')".format(i, key.replace("'", "''")) for i, key in enumerate(KEYS))
        for partitions in NUMBERS:
            seen = sql(f"SELECT partition_of(key, {partitions}) FROM (VALUES {values}) AS rows (id, key) ORDER BY id;")
            self.assertEqual([int(line) for line in seen.split()], expected(partitions))


if __name__ == "__main__":
    unittest.main()
