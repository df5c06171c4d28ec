"""A pool while somebody removes, renames, empties or restores the data of its engine: Redis' keys, the files of the
embedded engine, or Kafka's topics and the broker's disk. Real workers hold residents, each a process. A thread checks every few milliseconds which of them live.
Two processes of one key may live at the same time only for one lease after the tampering, because the engine has lost
acknowledged entries (docs/guarantees.md). Within a lease and two seconds all keys are held again, or opening the pool fails
with an explanation; then the rest of it is removed, as the error says, and the pool is created again. Lost keys are
dispatched again, but for one case: if everything was lost at once, the members put the pool back by themselves.

Usage: tamper.py BUILD [--engine redis|sqlite|kafka] [--rounds N] [--lease S] [--seed S] [--only DEED,…] [--verbose]
"""

import argparse
import collections
import json
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

from redis_server import RedisServer

WORKERS = 3
RESIDENTS = [f"resident-{i}" for i in range(8)]
PAYLOAD_BYTES = 300_000  # so that the log is soon worth a snapshot
SLACK_S = 0.3  # for a machine that stands still now and then, and for the time between two looks
LOOK_EVERY_S = 0.01
GUARDS_END_S = 5
REFUSALS = ("corrupt", "refused", "version")


class Gauge:
    """Who lives, by key; and how long two lived side by side."""

    def __init__(self, folder):
        self.folder = folder
        self.alive = {}
        self.whole_since = None  # since when each key has had one process, and no more
        self.overlaps = collections.defaultdict(list)  # key -> moments
        self.stopping = False
        self.thread = threading.Thread(target=self.look_on)
        self.thread.start()

    def look_on(self):
        known = {}
        while not self.stopping:
            for path in os.listdir(self.folder):
                if path not in known:
                    key, epoch, process = path.rsplit(".", 2)
                    known[path] = (key, int(epoch), int(process))
            alive = collections.defaultdict(list)
            for path, (key, epoch, process) in list(known.items()):
                if lives(process):
                    alive[key].append(epoch)
                else:
                    del known[path]
                    os.unlink(self.folder / path)
            now = time.monotonic()
            for key, epochs in alive.items():
                if len(epochs) > 1:
                    self.overlaps[key].append(now)
            self.alive = dict(alive)
            if not all(len(alive[key]) == 1 for key in RESIDENTS):
                self.whole_since = None
            elif self.whole_since is None:
                self.whole_since = now
            time.sleep(LOOK_EVERY_S)

    def close(self):
        self.stopping = True
        self.thread.join()


def lives(process):
    """A process number is not given again for so long that it matters here."""
    try:
        with open(f"/proc/{process}/stat", "rb") as stat:
            return stat.read().rsplit(b") ", 1)[1][:1] not in b"ZX"
    except OSError:
        return False


def children(process):
    try:
        return [int(child) for task in pathlib.Path(f"/proc/{process}/task").iterdir()
                for child in (task / "children").read_text().split()]
    except OSError:
        return []


class RedisWorld:
    """The pool's keys, and what somebody may do to them."""

    LOSES_EVERYTHING = ("flush",)

    def __init__(self, folder, pool, build):
        del build
        self.server = RedisServer(folder / "server", "no")
        self.url = f"unix:{self.server.socket}"
        self.prefix = f"tenure:{{{pool}}}:"
        self.copies = 0

    def keys(self):
        ours = [key for key in self.server.command("KEYS", "tenure:*").split() if key.startswith(self.prefix)]
        kinds = collections.defaultdict(list)
        current = self.server.command("HGET", self.prefix + "meta", "id")
        for key in ours:
            kind = key[len(self.prefix):]
            if kind.startswith("log:"):
                kind = "stream" if kind == f"log:{current}" else "old stream"
            kinds["chunks" if kind.startswith("snapshot:") else kind].append(key)
        return kinds

    def some(self, dice):
        kinds = self.keys()
        kind = dice.choice([kind for kind in ("meta", "snapshot", "chunks", "stream") if kinds[kind]])
        names = [kind] if dice.random() < 0.7 else dice.sample(sorted(kinds), k=min(2, len(kinds)))
        return [key for name in names for key in kinds[name]], "+".join(names)

    def remove(self, dice):
        keys, names = self.some(dice)
        self.server.command("DEL", *keys)
        return names

    def rename(self, dice):
        """Away, and back after a while, or not."""
        keys, names = self.some(dice)
        for key in keys:
            self.server.command("RENAME", key, "away:" + key)
        if dice.random() < 0.5:
            time.sleep(dice.uniform(0, 2))
            for key in keys:
                self.server.command("RENAME", "away:" + key, key)
            return names + " and back"
        return names

    def put_back_older(self, dice):
        keys, names = self.some(dice)
        self.copies += 1
        for key in keys:
            self.server.command("COPY", key, f"copy-{self.copies}:{key}", "REPLACE")
        time.sleep(dice.uniform(0.1, 2))
        for key in keys:
            self.server.command("COPY", f"copy-{self.copies}:{key}", key, "REPLACE")
        return names

    def another_type(self, dice):
        keys, names = self.some(dice)
        for key in keys:
            self.server.command("SET", key, "theirs")
        return names

    def evict(self, dice):
        """A server that may drop any key, and is made to."""
        self.server.command("CONFIG", "SET", "maxmemory-policy", dice.choice(["allkeys-lru", "allkeys-random"]))
        used = int(self.server.command("INFO", "memory").split("used_memory:")[1].split()[0])
        self.server.command("CONFIG", "SET", "maxmemory", str(used + (64 << 10)))
        for i in range(12):
            self.server.command("SET", f"ballast-{i}", "x" * (16 << 10))
        self.server.command("CONFIG", "SET", "maxmemory", "0")
        return ""

    def flush(self, dice):
        self.server.command(dice.choice(["FLUSHALL", "FLUSHDB"]))
        return ""

    def swap(self, dice):
        """The whole database changes place with an empty one, and back after a while."""
        self.server.command("SWAPDB", "0", "1")
        time.sleep(dice.uniform(0, 2))
        self.server.command("SWAPDB", "0", "1")
        return ""

    def deeds(self):
        return [self.remove, self.remove, self.rename, self.rename, self.put_back_older, self.another_type, self.evict,
                self.flush, self.swap]

    def clear(self):
        """As the refusal says: the pool's keys are deleted."""
        keys = [key for key in self.server.command("KEYS", "tenure:*").split() if key.startswith(self.prefix)]
        if keys:
            self.server.command("DEL", *keys)

    def close(self):
        self.server.kill()


class SqliteWorld:
    """The database and the files beside it, and what somebody may do to them."""

    LOSES_EVERYTHING = ("remove_all",)

    def __init__(self, folder, pool, build):
        del pool, build
        self.folder = folder / "database"
        self.folder.mkdir()
        self.path = self.folder / "pool.db"
        self.url = f"sqlite:{self.path}?sync=normal"
        self.copies = folder / "copies"
        self.copies.mkdir()

    def some(self, dice):
        files = sorted(path.name for path in self.folder.iterdir() if path.name.startswith("pool.db"))
        names = dice.sample(files, k=1 if dice.random() < 0.7 else min(2, len(files)))
        return [self.folder / name for name in names], "+".join(name[len("pool.db"):] or "database" for name in names)

    def remove(self, dice):
        paths, names = self.some(dice)
        for path in paths:
            path.unlink(missing_ok=True)
        return names

    def remove_all(self, dice):
        """As when a volume is lost."""
        del dice
        for path in self.folder.iterdir():
            if path.name.startswith("pool.db"):
                path.unlink(missing_ok=True)
        return ""

    def rename(self, dice):
        paths, names = self.some(dice)
        moved = []
        for path in paths:
            if path.exists():
                moved.append((path, path.rename(self.copies / f"away-{len(os.listdir(self.copies))}")))
        if dice.random() < 0.5:
            time.sleep(dice.uniform(0, 2))
            for path, away in moved:
                away.rename(path)
            return names + " and back"
        return names

    def truncate(self, dice):
        paths, names = self.some(dice)
        for path in paths:
            if path.exists():
                os.truncate(path, 0)
        return names

    def put_back_older(self, dice):
        """By another file of the name, or into the same."""
        paths, names = self.some(dice)
        kept = []
        for path in paths:
            if path.exists():
                kept.append((path, shutil.copy(path, self.copies / f"copy-{len(os.listdir(self.copies))}")))
        time.sleep(dice.uniform(0.1, 2))
        in_place = dice.random() < 0.5
        for path, copy in kept:
            if in_place and path.exists():
                path.write_bytes(pathlib.Path(copy).read_bytes())
            else:
                os.replace(copy, path)
        return names + (" in place" if in_place else "")

    def garbage(self, dice):
        paths, names = self.some(dice)
        for path in paths:
            if path.exists():
                with open(path, "r+b") as file:
                    file.write(dice.randbytes(200))
        return names

    def deeds(self):
        return [self.remove, self.remove, self.remove_all, self.rename, self.rename, self.truncate, self.put_back_older,
                self.garbage]

    def clear(self):
        for path in self.folder.iterdir():
            path.unlink()

    def close(self):
        pass


class KafkaWorld:
    """The topics of the pool and the disk of the only broker, and what somebody may do to them."""

    LOSES_EVERYTHING = ("delete_topics",)

    def __init__(self, folder, pool, build):
        del folder
        self.pool = pool
        self.hand = subprocess.Popen([build / "tests/kafka/kafka_hand"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                     text=True)
        self.url = f"kafka://{self.hand.stdout.readline().strip()}?replication=1&timeout=2000"
        self.log = f"tenure.{pool}.0"

    def tell(self, *words):
        self.hand.stdin.write(" ".join(words) + "\n")
        self.hand.stdin.flush()
        answer = self.hand.stdout.readline()
        if not answer.endswith("\n"):
            raise AssertionError(f"the broker has ended: {words}")
        return answer.strip()

    def do(self, *words):
        answer = self.tell(*words)
        if answer != "done":
            raise AssertionError(f"{words}: {answer}")

    def topics(self):
        return self.tell("topics", self.log).split()

    def delete_log(self, dice):
        del dice
        self.do("delete", self.log)
        return ""

    def delete_snapshots(self, dice):
        del dice
        self.do("delete", self.log + ".snapshots")
        return ""

    def delete_topics(self, dice):
        del dice
        self.do("delete", *self.topics())
        return ""

    def drop_records(self, dice):
        topic = dice.choice(self.topics())
        self.do("drop", topic, "0")
        return topic[len(self.log):] or "log"

    def write_among_them(self, dice):
        for topic in self.topics():
            self.do("write", topic, "0", dice.choice(["key", "T1E", "T1Bshort"]), "theirs")
        return ""

    def restart(self, dice):
        del dice
        self.do("restart")
        return ""

    def put_back_older(self, dice):
        """As when a backup of the broker's disk is restored."""
        self.do("save")
        time.sleep(dice.uniform(0.1, 2))
        self.do("restore")
        return ""

    def lose_disk(self, dice):
        del dice
        self.do("forget")
        return ""

    def deeds(self):
        return [self.delete_log, self.delete_snapshots, self.delete_topics, self.drop_records, self.write_among_them,
                self.restart, self.put_back_older, self.lose_disk]

    def clear(self):
        self.do("delete", *self.topics())

    def close(self):
        self.hand.stdin.close()
        self.hand.wait()


WORLDS = {"redis": RedisWorld, "sqlite": SqliteWorld, "kafka": KafkaWorld}


class Run:
    def __init__(self, arguments, folder):
        self.arguments = arguments
        self.lease = arguments.lease
        build = pathlib.Path(arguments.build).absolute()
        self.tenure = build / "tenure"
        self.pool = f"tamper-{os.getpid()}"
        self.world = WORLDS[arguments.engine](folder, self.pool, build)
        self.dice = random.Random(arguments.seed)
        self.folder = folder
        self.holds = folder / "holds"
        self.holds.mkdir()
        self.gauge = Gauge(self.holds)
        self.workers = {}
        self.lives = 0
        self.lives_of_jobs = 0
        self.windows = []  # in which two may live side by side
        self.found = []
        self.refusals = 0
        self.back_s = []

    def start_worker(self):
        self.lives += 1
        log = open(self.folder / f"worker-{self.lives}.log", "w")
        self.workers[self.lives] = subprocess.Popen(
            [self.tenure, "work", "--json", "--engine", self.world.url, "--pool", self.pool, "--lease",
             f"{self.lease:g}s", "--id", f"w{self.lives}", "--exec", "sh", "-c",
             f': >"{self.holds}/$TENURE_KEY.$TENURE_EPOCH.$$"; exec sleep 100000'], stdout=log, stderr=log)
        log.close()

    def ask(self, *arguments, text=None):
        return subprocess.run([self.tenure, *arguments, "--json", "--engine", self.world.url, "--pool", self.pool],
                              input=text, capture_output=True, text=True, timeout=60)

    def dispatch_residents(self):
        """Those that the pool still has are refused."""
        self.lives_of_jobs += 1
        payload = f"{self.lives_of_jobs}." + "x" * PAYLOAD_BYTES
        lines = "".join(json.dumps({"key": key, "payload": payload}) + "\n" for key in RESIDENTS)
        return self.ask("dispatch", "--from", "-", "--timeout", "5s", text=lines)

    def start_dead_workers(self):
        """As a supervisor would. A worker that was refused may end; one that ended otherwise should not have."""
        for number, process in list(self.workers.items()):
            if process.poll() is not None:
                said = (self.folder / f"worker-{number}.log").read_text()[-600:]
                if not any(word in said for word in REFUSALS):
                    self.found.append(f"a worker died: {said}")
                del self.workers[number]
                self.start_worker()

    def wait_whole(self, since, allowed_s, alone=False):
        """Returns what is wrong, or nothing. The keys that were lost are dispatched again, unless the pool is left alone."""
        asked_again = 0.0
        refused = ""  # the last refusal
        still = ""  # the last answer, if it was one
        while True:
            took = time.monotonic() - since
            whole_since = self.gauge.whole_since
            # By then everybody has noticed. A member that lives may make whole what newcomers miss.
            if whole_since is not None and not still and took >= self.lease + 0.5:
                self.back_s.append(max(0, whole_since - since))
                return ""
            if took - asked_again > 0.3:
                asked_again = took
                self.start_dead_workers()
                still = "" if alone else self.refusal(self.dispatch_residents())
                refused = still or refused
            # First: without further patience both limits are the same.
            if refused and took > self.lease + 2:
                return "refused: " + refused
            if took > allowed_s:
                return f"after {took:.1f} s: {self.gauge.alive}"
            time.sleep(0.02)

    @staticmethod
    def refusal(answer):
        for line in (answer.stdout + answer.stderr).splitlines():
            if line.startswith("{"):
                error = json.loads(line).get("error") or {}
                if error.get("code") in REFUSALS:
                    return f"{error['code']}: {error['message']}"
        return ""

    def churn(self):
        """Dispatches all residents again, which fills the log."""
        for key in RESIDENTS:
            self.ask("stop", key)
        self.dispatch_residents()
        wrong = self.wait_whole(time.monotonic(), 30)
        if wrong:
            raise AssertionError(f"the pool does not take its jobs: {wrong}")

    def round(self, number, deed):
        if number % 3 == 0:
            self.churn()
        began = time.monotonic()
        names = deed(self.dice)
        ended = time.monotonic()
        if self.arguments.verbose:
            print(f"{time.strftime('%T')} round {number}: {deed.__name__} {names}", flush=True)
        alone = deed.__name__ in self.world.LOSES_EVERYTHING
        wrong = self.wait_whole(ended, self.lease + 2 + self.arguments.patience, alone)
        until = ended
        if wrong.startswith("refused: "):
            self.refusals += 1
            if self.arguments.verbose:
                print(f"  {wrong}", flush=True)
            self.world.clear()
            until = time.monotonic()
            wrong = self.wait_whole(until, 2 * self.lease + 5 + self.arguments.patience)
        if wrong:
            self.found.append(f"round {number}, {deed.__name__} {names}: {wrong}")
            self.world.clear()
            until = time.monotonic()
            wrong = self.wait_whole(until, 3 * self.lease + 30)
            if wrong:
                raise AssertionError(f"the pool cannot be made anew: {wrong}")
        self.windows.append((began, until + self.lease + SLACK_S))

    def whole_run(self):
        for _ in range(WORKERS):
            self.start_worker()
        wrong = self.wait_whole(time.monotonic(), 30)
        if wrong:
            raise AssertionError(f"the pool does not begin: {wrong}")
        deeds = [deed for deed in self.world.deeds()
                 if not self.arguments.only or deed.__name__ in self.arguments.only]
        each = list(dict.fromkeys(deeds))
        plan = self.dice.sample(each, len(each)) + self.dice.choices(deeds, k=self.arguments.rounds)
        for number, deed in enumerate(plan[:self.arguments.rounds]):
            self.round(number, deed)
            time.sleep(self.dice.uniform(0, self.lease))

    def verdict(self):
        for key, moments in self.gauge.overlaps.items():
            outside = [at for at in moments if not any(begin <= at <= end for begin, end in self.windows)]
            if outside:
                self.found.append(f"{key} was held twice for about {len(outside) * LOOK_EVERY_S:.2f} s, not just after "
                                  "the engine had been tampered with")
        back = sorted(self.back_s)
        print(f"{self.arguments.rounds} rounds on {self.arguments.engine}, lease {self.lease:g} s: refused {self.refusals} "
              f"times, whole again after {back[len(back) // 2]:.2f} s (median), {back[-1]:.2f} s at most; "
              f"{len(self.found)} complaints")
        for text in self.found:
            print("  " + text)
        return self.found

    def close(self):
        """A guard writes its worker's death into the log, so the folder stays until the guards are gone."""
        guards = [child for process in self.workers.values() for child in children(process.pid)]
        for process in self.workers.values():
            process.kill()
        for process in self.workers.values():
            process.wait()
        deadline = time.monotonic() + GUARDS_END_S
        while any(map(lives, guards)) and time.monotonic() < deadline:
            time.sleep(LOOK_EVERY_S)
        self.gauge.close()
        self.world.close()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("build")
    parser.add_argument("--engine", choices=WORLDS, default="redis")
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--lease", type=float, default=1)
    parser.add_argument("--seed", type=int, default=random.randrange(1 << 31))
    parser.add_argument("--patience", type=float, default=0, help="seconds more than a lease and two, on a busy machine")
    parser.add_argument("--only", type=lambda names: names.split(","), default=[])
    parser.add_argument("--verbose", action="store_true")
    arguments = parser.parse_args()
    print(f"seed {arguments.seed}", flush=True)
    with tempfile.TemporaryDirectory() as name:
        run = Run(arguments, pathlib.Path(name))
        try:
            run.whole_run()
            found = run.verdict()
        except BaseException:
            for log in sorted(pathlib.Path(name).glob("worker-*.log"), key=lambda path: path.stat().st_mtime)[-3:]:
                print(log.name, log.read_text()[-1500:])
            raise
        finally:
            run.close()
    if found:
        print(f"to run it again: python3 tests/faults/tamper.py {arguments.build} --engine {arguments.engine} --rounds "
              f"{arguments.rounds} --lease {arguments.lease:g} --seed {arguments.seed}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
