"""The job of the tests: replicas in pods, installed with helm, and what the pool, the turns' history and the database say
of them.
"""

import json
import os
import pathlib
import subprocess
import sys
import time

from cluster import until
from postgres import Postgres

HERE = pathlib.Path(__file__).resolve().parent
CHART = HERE.parent.parent / "deploy" / "chart"
sys.path.insert(0, str(HERE.parent.parent / "tests" / "faults"))

from partition_judge import S, Story, epochs, overlaps, shared_epochs  # noqa: E402
from stalls import Stalls  # noqa: E402

PARTITIONS = 4
LEASE_S = 5
STOP_S = 5
GRACE_S = STOP_S + 10  # as the chart has it
POOL = "transform"
TABLES = """
CREATE TABLE fences (partition int PRIMARY KEY, epoch bigint NOT NULL);
CREATE TABLE items (id bigserial PRIMARY KEY, partition int, epoch bigint, worker text, version int)
"""


def now():
    """As the turns tell the time."""
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME)


class Job:
    def __init__(self, cluster, tenure):
        self.cluster = cluster
        self.tenure = tenure
        self.password = "not a secret"  # of Redis, as in servers.yaml
        folder = cluster.folder / "history"
        folder.mkdir()
        folder.chmod(0o777)
        self.history = folder / "turns"
        self.history.touch()
        self.history.chmod(0o666)
        self.stalls = Stalls(self.history)

    def start_servers(self):
        self.cluster.kubectl("apply", "-f", "-", text=(HERE / "servers.yaml").read_text(encoding="utf-8"))
        for name in ("redis", "postgres"):
            self.cluster.kubectl("rollout", "status", f"statefulset/{name}", "--timeout=100s")
        self.sql(TABLES)

    def address(self, pod):
        return self.cluster.get("pod", pod)["status"]["podIP"]

    def sql(self, text):
        database = Postgres(self.address("postgres-0"))
        try:
            return database.query(text)
        finally:
            database.close()

    def install(self, verb, release, *settings, timeout="100s"):
        """`verb`: install or upgrade."""
        values = {
            "image": {"repository": "localhost/transform", "tag": "1", "pullPolicy": "Never"},
            "command": ["/usr/bin/python3", "-S", "-E", "/job/turn.py"],
            "pool": POOL, "partitions": PARTITIONS, "anyone": True, "lease": f"{LEASE_S}s", "rest": "50ms",
            "stopTimeoutSeconds": STOP_S,
            "engine": {"url": "redis://redis:6379", "passwordSecret": {"name": "redis", "key": "password"}},
            "env": [{"name": "POSTGRES", "value": "postgres"}],
            "resources": {"requests": {"cpu": "10m", "memory": "16Mi"}, "limits": {"memory": "128Mi"}},
            "probes": {"readinessPeriodSeconds": 2, "livenessPeriodSeconds": 5},
            "extraVolumes": [{"name": "history", "hostPath": {"path": str(self.history.parent)}}],
            "extraVolumeMounts": [{"name": "history", "mountPath": "/history"}],
        }
        file = self.cluster.folder / "values.json"
        file.write_text(json.dumps(values), encoding="utf-8")
        flags = [word for setting in settings for word in ("--set", setting)]
        self.cluster.helm(verb, release, str(CHART), "-f", str(file), *flags, "--wait", f"--timeout={timeout}")

    def replicas(self):
        return self.cluster.pods("-l", "app.kubernetes.io/name=tenure-partitions")

    def ready(self):
        return sorted(name for name, pod in self.replicas().items() if is_ready(pod))

    def ask(self, *words):
        """From node 1, as an operator would. Nothing if it fails."""
        address = self.cluster.get("pod", "redis-0")["status"].get("podIP", "127.0.0.1")
        done = subprocess.run([self.tenure, *words, "--json", "--pool", POOL, "--engine", f"redis://{address}",
                               "--timeout", "10s"], capture_output=True, text=True, check=False,
                              env={**os.environ, "TENURE_REDIS_PASSWORD": self.password})
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def status(self):
        return self.ask("partition", "status").get("partitions", [])

    def holders(self):
        """Of the partitions that run."""
        return [one["holder"] if one["state"] == "running" else None for one in self.status()]

    def epochs(self):
        return [one["epoch"] for one in self.status()]

    def wait_home(self, release=POOL):
        """Each partition runs with its primary."""
        home = [f"{release}-{number}" for number in range(PARTITIONS)]
        until(f"all partitions with {release}", lambda: self.holders() == home)

    def turns(self):
        return Story(self.lines()).by_partition()

    def lines(self):
        text = self.history.read_text(encoding="utf-8", errors="replace")
        return [line for line in text.splitlines(keepends=True) if line.endswith("\n")]

    def wait_turn(self, partition, epoch):
        """Until a turn of a tenure with a higher epoch has begun. That turn, and the last one before."""
        def found():
            turns = self.turns().get(partition, [])
            later = [turn for turn in turns if turn.epoch > epoch]
            return later and (later[0], [turn for turn in turns if turn.epoch <= epoch][-1])
        return until(f"a turn of partition {partition} with an epoch above {epoch}", found)

    def gap_s(self, partition, epoch):
        """Between the last sign of life under this epoch and the first one of the next."""
        later, last = self.wait_turn(partition, epoch)
        return (later.begin - last.last) / S

    def tenures_since(self, before):
        """How many tenures each partition has had above these epochs."""
        return [len({turn.epoch for turn in self.turns().get(number, []) if turn.epoch > epoch})
                for number, epoch in enumerate(before)]

    def explain(self, before, moves):
        """What the pool has noted of the partitions that have moved more than once since these epochs."""
        return {number: [one for one in self.ask("explain", f"partition/{number}")["history"] if one["epoch"] >= before[number]]
                for number, count in enumerate(moves) if count > 1}

    def put_back(self):
        """After a check that has failed: the release as the others want it."""
        self.cluster.try_helm("uninstall", "green", "--wait", "--timeout=100s")
        present = self.cluster.try_helm("status", POOL).returncode == 0
        self.install("upgrade" if present else "install", POOL)
        self.wait_home()

    def judge(self):
        """What is wrong in the history and in the database."""
        story = Story(line for line in self.lines() if not line.startswith("refused"))
        found = shared_epochs(story)
        for turns in story.by_partition().values():
            found += overlaps(turns) + epochs(turns)
        found += [f"PostgreSQL has epoch {epoch} of partition {partition} after {before}"
                  for partition, epoch, before in self.sql("""
                    SELECT partition, epoch, before FROM (
                      SELECT *, lag(epoch) OVER (PARTITION BY partition ORDER BY id) AS before FROM items) AS each
                    WHERE epoch < before""")]
        return found


def is_ready(pod):
    return any(one["type"] == "Ready" and one["status"] == "True" for one in pod["status"].get("conditions", []))


def restarts(pod):
    return sum(one["restartCount"] for one in pod["status"].get("containerStatuses", []))


def node_of(pod):
    return pod["spec"].get("nodeName")
