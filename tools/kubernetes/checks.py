"""The checks on pods, in their order. Each returns a line about what it has measured, or raises. It leaves every partition
with its primary.
"""

import json
import os
import pathlib
import signal
import time

from cluster import until
from job import CHART, GRACE_S, LEASE_S, PARTITIONS, POOL, STOP_S, is_ready, node_of, restarts

TENURE = "/usr/bin/tenure"


def require(sound, text):
    if not sound:
        raise AssertionError(text)


def install(job):
    """helm install: every partition runs with its primary"""
    job.cluster.helm("lint", str(CHART), "--set", "command={/job}")
    began = time.monotonic()
    job.install("install", POOL)
    ready = time.monotonic() - began
    job.wait_home()
    nodes = {node_of(pod) for pod in job.replicas().values()}
    return f"{PARTITIONS} pods on {len(nodes)} node(s) ready after {ready:.1f} s, all partitions home after " \
           f"{time.monotonic() - began:.1f} s"


def manifests(job):
    """deploy/manifests, and the chart with more settings: the API server accepts them where pods are restricted"""
    job.cluster.kubectl("create", "namespace", "strict")
    job.cluster.kubectl("label", "namespace", "strict", "pod-security.kubernetes.io/enforce=restricted")
    rendered = job.cluster.helm("template", POOL, str(CHART), "--kube-version=1.32.2", "--set", "command={/job}", "--set",
                                "autoscaling.enabled=true,anyone=true,turn=30s,engine.urlSecret.name=url,replaces=former")
    objects = 0
    for source, text in [(str(CHART.parent / "manifests"), None), ("-", rendered)]:
        done = job.cluster.try_kubectl("apply", "--dry-run=server", "-n", "strict", "-f", source, text=text)
        require(done.returncode == 0 and not done.stderr, done.stderr)
        objects += len(done.stdout.splitlines())
    return f"{objects} objects, no warning"


def shown(job):
    """partition status, in a pod, and from a pod with nothing but our program: holder, role and epoch of each"""
    words = ["partition", "status", "--json", "--pool", POOL]
    inside = job.cluster.kubectl("exec", f"{POOL}-0", "--", TENURE, *words)
    job.cluster.kubectl("run", "status", "--image=localhost/tenure:1", "--image-pull-policy=Never", "--restart=Never",
                        "--env=TENURE_ENGINE=redis://redis", f"--env=TENURE_REDIS_PASSWORD={job.password}", "--", *words)
    job.cluster.kubectl("wait", "pod/status", "--for=jsonpath={.status.phase}=Succeeded", "--timeout=60s")
    for text in (inside, job.cluster.kubectl("logs", "status")):
        seen = [(one["holder"], one["role"]) for one in json.loads(text)["partitions"]]
        require(seen == [(f"{POOL}-{number}", "primary") for number in range(PARTITIONS)], str(seen))
    return f"{PARTITIONS} partitions, all with their primaries"


CONFINED = """
import os, json
status = dict(line.split(":\\t", 1) for line in open("/proc/1/status").read().splitlines() if ":\\t" in line)
try:
    open("/file", "w")
    root = "writable"
except OSError as error:
    root = error.strerror
print(json.dumps({"user": status["Uid"].split()[0], "capabilities": status["CapEff"].strip("0"),
                  "bounding": status["CapBnd"].strip("0"), "privileges": status["NoNewPrivs"],
                  "seccomp": status["Seccomp"], "root": root, "token": os.path.exists("/var/run/secrets/kubernetes.io")}))
"""


def confined(job):
    """the pods: not root, root file system read-only, no capabilities, seccomp, no token"""
    seen = json.loads(job.cluster.kubectl("exec", f"{POOL}-0", "--", "/usr/bin/python3", "-S", "-E", "-c", CONFINED))
    wanted = {"user": "65532", "capabilities": "", "bounding": "", "privileges": "1", "seccomp": "2",
              "root": "Read-only file system", "token": False}
    require(seen == wanted, str(seen))
    done = job.cluster.try_kubectl("exec", f"{POOL}-0", "--", "sh", "-c", "true")
    require(done.returncode != 0 and "not found" in done.stderr, f"there is a shell: {done.stderr}")
    return "user 65532, read-only, no shell in the image"


def last_line(job, partition, epoch):
    """What the last turn of this tenure wrote last."""
    return [line.split() for line in job.lines() if line.split()[2:4] == [str(partition), str(epoch)]][-1][0]


def delete_pod(job):
    """a pod is deleted: a neighbour stands in, and the new pod gets the partition back; SIGTERM ends the turn in time"""
    epoch, old = job.epochs()[1], job.replicas()[f"{POOL}-1"]["metadata"]["uid"]
    began = time.monotonic()
    job.cluster.kubectl("delete", "pod", f"{POOL}-1", "--wait=false")
    until("the old pod is gone", lambda: job.replicas().get(f"{POOL}-1", {"metadata": {"uid": ""}})["metadata"]["uid"] != old)
    gone = time.monotonic() - began
    require(gone < GRACE_S, f"the pod took {gone:.1f} s, which is more than its grace period")
    gap = job.gap_s(1, epoch)
    last = last_line(job, 1, epoch)
    require(last == "end", f"the last sign of the turn is '{last}': it did not end by itself")
    job.wait_home()
    return f"the turn ended by itself, the pod within {gone:.1f} s of {GRACE_S}; {gap * 1000:.0f} ms between the two " \
           f"holders; home again after {time.monotonic() - began:.1f} s"


def stubborn(job):
    """a pod is deleted whose turn ignores SIGTERM: it is killed after the stop timeout, within the grace period"""
    mark = job.history.parent / "stubborn"
    epoch = job.epochs()[1]
    mark.touch()
    try:
        began = time.monotonic()
        job.cluster.kubectl("delete", "pod", f"{POOL}-1")
        gone = time.monotonic() - began
    finally:
        mark.unlink()
    require(STOP_S - 1 < gone < GRACE_S, f"the pod took {gone:.1f} s")
    last = last_line(job, 1, epoch)
    require(last == "item", f"the last sign of the turn is '{last}': it was not killed")
    job.wait_home()
    return f"gone after {gone:.1f} s (the stop timeout is {STOP_S} s, the grace period {GRACE_S} s)"


def first_process(job, pod):
    """Of its container, as a process of node 1."""
    container = job.replicas()[pod]["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    tasks = job.cluster.nodes[1].output("ctr", "-n", "k8s.io", "tasks", "ls")
    return next(int(line.split()[1]) for line in tasks.splitlines() if line.startswith(container))


def worker_of(job, pod):
    """The only child of the first process."""
    first = first_process(job, pod)
    return int(pathlib.Path(f"/proc/{first}/task/{first}/children").read_text(encoding="ascii").split()[0])


def signalled(job, process_of, number):
    """Sends a signal to a process in the container of partition 1, and returns what the job did then."""
    pod = f"{POOL}-1"
    before, epoch = restarts(job.replicas()[pod]), job.epochs()[1]
    began = time.monotonic()
    os.kill(process_of(job, pod), number)
    gap = job.gap_s(1, epoch)
    until("the container is restarted", lambda: restarts(job.replicas()[pod]) > before)
    restarted = time.monotonic() - began
    job.wait_home()
    return f"{gap:.2f} s without a holder (the lease is {LEASE_S} s); restarted after {restarted:.1f} s; home again after " \
           f"{time.monotonic() - began:.1f} s"


def kill_worker(job):
    """kill -9 of a worker: its guard tells the others, and the container is restarted"""
    return signalled(job, worker_of, signal.SIGKILL)


def kill_container(job):
    """kill -9 of a container's first process, which is the end of everything in it: the others wait for the lease"""
    return signalled(job, first_process, signal.SIGKILL)


def freeze(job):
    """SIGSTOP of a worker: its guard stops the turn in time, and the liveness probe restarts the container"""
    return signalled(job, worker_of, signal.SIGSTOP)


def update(job):
    """a rolling update of the StatefulSet: neighbours stand in meanwhile"""
    before = job.epochs()
    began = time.monotonic()
    job.install("upgrade", POOL, "image.tag=2", timeout="200s")
    took = time.monotonic() - began
    job.wait_home()
    moves = job.tenures_since(before)
    require(all(1 <= count <= 4 for count in moves), f"tenures of the partitions: {moves}")
    versions = {row[0] for row in job.sql("SELECT DISTINCT version FROM items WHERE id > (SELECT max(id) - 20 FROM items)")}
    require(versions == {"2"}, f"versions at work: {versions}")
    return f"{took:.1f} s; tenures of each partition: {moves}"


def replaced(job, old, new):
    """A release takes over from another one, which is then removed. The longest time between two holders."""
    before = job.epochs()
    job.install("install", new, f"replaces={old}")
    job.wait_home(new)
    job.cluster.helm("uninstall", old, "--wait", "--timeout=100s")
    job.wait_home(new)
    gap = max(job.gap_s(number, epoch) for number, epoch in enumerate(before))
    moves = job.tenures_since(before)
    require(moves == [1] * PARTITIONS, f"tenures of the partitions: {moves}; {job.explain(before, moves)}")
    return gap


def replace(job):
    """a rolling update by a second release with `replaces`, and back: each partition moves once"""
    began = time.monotonic()
    gaps = [replaced(job, POOL, "green"), replaced(job, "green", POOL)]
    return f"each way {(time.monotonic() - began) / 2:.1f} s; at most {max(gaps) * 1000:.0f} ms between two holders"


def bad_version(job):
    """an update to a program that does not exist: it stops at the first pod, and a correction goes through"""
    try:
        job.install("upgrade", POOL, "command={/nowhere}", timeout="15s")
        raise AssertionError("helm says that all is well")
    except RuntimeError:
        pass
    ready = job.ready()
    require(len(ready) == PARTITIONS - 1, f"ready: {ready}")
    until("all partitions run", lambda: (held := job.holders()) and set(held) <= set(ready) and len(held) == PARTITIONS)
    began = time.monotonic()
    job.install("upgrade", POOL)
    job.wait_home()
    return f"the other {len(ready)} replicas held all partitions; corrected in {time.monotonic() - began:.1f} s"


def resize(job):
    """4 partitions become 6 and 4 again, while the replicas run"""
    took = []
    for count in (6, PARTITIONS):
        began = time.monotonic()
        job.ask("partition", "resize", str(count))
        job.install("upgrade", POOL, f"partitions={count}", timeout="200s")
        until(f"{count} partitions", lambda: job.holders() == [f"{POOL}-{number}" for number in range(count)])
        took.append(time.monotonic() - began)
    until("the surplus is gone", lambda: len(job.replicas()) == PARTITIONS)
    return f"6 after {took[0]:.1f} s, 4 after {took[1]:.1f} s"


def scale(job):
    """4 replicas become 2 and 4 again: every partition is held all the time"""
    began = time.monotonic()
    job.cluster.kubectl("scale", f"statefulset/{POOL}", "--replicas=2")
    few = {f"{POOL}-0", f"{POOL}-1"}
    until("two replicas hold all", lambda: len(job.replicas()) == 2 and set(job.holders()) == few)
    down = time.monotonic() - began
    began = time.monotonic()
    job.cluster.kubectl("scale", f"statefulset/{POOL}", f"--replicas={PARTITIONS}")
    job.wait_home()
    return f"two replicas hold all after {down:.1f} s; four again after {time.monotonic() - began:.1f} s"


def lives(job):
    """What changes when a pod is replaced or a container restarted."""
    return {name: (pod["metadata"]["uid"], restarts(pod)) for name, pod in job.replicas().items()}


def password(job):
    """Redis gets another password, and the secret too: the workers log in with it, and none is restarted"""
    before, epochs = lives(job), job.epochs()

    def redis(*words):
        return job.cluster.kubectl("exec", "redis-0", "--", "/usr/bin/redis-cli", "--no-auth-warning", "-a", job.password,
                                   *words)

    def seen(pod):
        """By the pod."""
        read = "print(open('/run/secrets/tenure/password').read())"
        return job.cluster.kubectl("exec", pod, "--", "/usr/bin/python3", "-S", "-E", "-c", read).strip()

    redis("config", "set", "requirepass", "another")
    job.password = "another"
    began = time.monotonic()
    job.cluster.kubectl("patch", "secret", "redis", "-p", json.dumps({"stringData": {"password": job.password}}))
    until("the pods have the new password", lambda: all(seen(pod) == job.password for pod in before))
    there = time.monotonic() - began
    redis("client", "kill", "type", "normal")
    redis("client", "kill", "type", "pubsub")
    job.wait_home()
    require(lives(job) == before and job.epochs() == epochs, f"restarted or moved: {before} {lives(job)}")
    return f"in all pods after {there:.1f} s; no partition has moved"


def redis_lost(job):
    """the Redis pod is deleted with all its data: the members put the pool back, and no worker is restarted"""
    before = lives(job)
    epochs_before, old = job.epochs(), job.cluster.get("pod", "redis-0")["metadata"]["uid"]
    began = time.monotonic()
    job.cluster.kubectl("delete", "pod", "redis-0", "--wait=false")
    until("another Redis", lambda: (pod := job.cluster.pods().get("redis-0")) and pod["metadata"]["uid"] != old and
          is_ready(pod))
    job.wait_home()
    took = time.monotonic() - began
    require(lives(job) == before, f"restarted: {before} {lives(job)}")
    require(all(new > old for new, old in zip(job.epochs(), epochs_before)), "epochs do not grow")
    return f"home again after {took:.1f} s, under higher epochs"


def single(job):
    """never two holders: the history of all turns, and what PostgreSQL took in"""
    found = job.judge()
    require(not found, "; ".join(found[:5]))
    turns = job.turns()
    rows = job.sql("SELECT count(*) FROM items")[0][0]
    tenures = len({turn.epoch for each in turns.values() for turn in each})
    refused = sum(line.startswith("refused") for line in job.lines())
    return f"{sum(map(len, turns.values()))} turns in {tenures} tenures, {rows} rows, {refused} late writes refused; no " \
           "overlap, epochs only grow"


ALONE = [install, manifests, shown, confined, delete_pod, stubborn, kill_worker, kill_container, freeze, update, bad_version,
         replace, scale, resize, password, redis_lost]
