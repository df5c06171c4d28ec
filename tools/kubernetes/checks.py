"""The checks on pods, in their order. Each returns a line about what it has measured, or raises. It leaves every partition
with its primary.
"""

import json
import signal
import time

from cluster import until
from job import CHART, GRACE_S, LEASE_S, PARTITIONS, POOL, S, is_ready, node_of, now, restarts

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
    """deploy/manifests: the API server accepts each of them"""
    folder = CHART.parent / "manifests"
    answer = job.cluster.kubectl("apply", "--dry-run=server", "-f", str(folder))
    return f"{len(answer.splitlines())} objects"


def shown(job):
    """partition status, in a pod: holder, role and epoch of each"""
    seen = json.loads(job.cluster.kubectl("exec", f"{POOL}-0", "--", TENURE, "partition", "status", "--json", "--pool",
                                          POOL))["partitions"]
    require([(one["holder"], one["role"]) for one in seen] ==
            [(f"{POOL}-{number}", "primary") for number in range(PARTITIONS)], str(seen))
    return f"{len(seen)} partitions, all with their primaries"


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


def delete_pod(job):
    """a pod is deleted: a neighbour stands in, and the new pod gets the partition back; SIGTERM ends the turn in time"""
    epoch, old = job.epochs()[1], job.replicas()[f"{POOL}-1"]["metadata"]["uid"]
    began = time.monotonic()
    job.cluster.kubectl("delete", "pod", f"{POOL}-1", "--wait=false")
    until("the old pod is gone", lambda: job.replicas().get(f"{POOL}-1", {"metadata": {"uid": ""}})["metadata"]["uid"] != old)
    gone = time.monotonic() - began
    require(gone < GRACE_S, f"the pod took {gone:.1f} s, which is more than its grace period")
    gap = job.gap_s(1, epoch)
    last = [line.split() for line in job.lines() if line.split()[2:4] == ["1", str(epoch)]][-1]
    require(last[0] == "end", f"the last sign of the turn is '{last[0]}': it did not end by itself")
    job.wait_home()
    return f"the turn ended by itself, gone after {gone:.1f} s of {GRACE_S}; {gap * 1000:.0f} ms between the two holders; " \
           f"home again after {time.monotonic() - began:.1f} s"


def process_of(job, pod):
    """The first process of its container, as a process of node 1."""
    container = job.replicas()[pod]["status"]["containerStatuses"][0]["containerID"].removeprefix("containerd://")
    tasks = job.cluster.nodes[1].output("ctr", "-n", "k8s.io", "tasks", "ls")
    return next(int(line.split()[1]) for line in tasks.splitlines() if line.startswith(container))


def kill(job):
    """kill -9 of a container's first process: others stand in, it is restarted and gets its partition back"""
    pod = next(name for name, one in sorted(job.replicas().items()) if node_of(one) == "node1")
    number, before = int(pod[-1]), restarts(job.replicas()[pod])
    epoch, process = job.epochs()[number], process_of(job, pod)
    began = time.monotonic()
    signal_process(process, signal.SIGKILL)
    until("the container is restarted", lambda: restarts(job.replicas()[pod]) > before)
    restarted = time.monotonic() - began
    gap = job.gap_s(number, epoch)
    job.wait_home()
    return f"restarted after {restarted:.1f} s; {gap:.1f} s without a holder (the lease is {LEASE_S} s); home again after " \
           f"{time.monotonic() - began:.1f} s"


def freeze(job):
    """SIGSTOP of a worker: the liveness probe restarts its container"""
    pod = next(name for name, one in sorted(job.replicas().items()) if node_of(one) == "node1")
    number, before = int(pod[-1]), restarts(job.replicas()[pod])
    epoch, process = job.epochs()[number], process_of(job, pod)
    began = time.monotonic()
    signal_process(process, signal.SIGSTOP)
    gap = job.gap_s(number, epoch)
    until("the container is restarted", lambda: restarts(job.replicas()[pod]) > before)
    restarted = time.monotonic() - began
    job.wait_home()
    return f"{gap:.1f} s without a holder; restarted after {restarted:.1f} s; home again after {time.monotonic() - began:.1f} s"


def signal_process(process, number):
    import os
    os.kill(process, number)


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


def replace(job):
    """a rolling update by a second release with `replaces`: each partition moves once"""
    before = job.epochs()
    began = time.monotonic()
    job.install("install", "green", f"replaces={POOL}")
    job.wait_home("green")
    took = time.monotonic() - began
    job.cluster.helm("uninstall", POOL, "--wait", "--timeout=100s")
    job.wait_home("green")
    gaps = [job.gap_s(number, epoch) for number, epoch in enumerate(before)]
    moves = job.tenures_since(before)
    require(moves == [1] * PARTITIONS, f"tenures of the partitions: {moves}")
    # And back to the release that the other checks use.
    job.install("install", POOL, "replaces=green")
    job.cluster.helm("uninstall", "green", "--wait", "--timeout=100s")
    job.wait_home()
    return f"moved after {took:.1f} s, each once; at most {max(gaps) * 1000:.0f} ms between two holders"


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


def redis_lost(job):
    """the Redis pod is deleted with all its data: the members put the pool back, and no worker is restarted"""
    before = {name: (pod["metadata"]["uid"], restarts(pod)) for name, pod in job.replicas().items()}
    epochs_before, old = job.epochs(), job.cluster.get("pod", "redis-0")["metadata"]["uid"]
    began = time.monotonic()
    job.cluster.kubectl("delete", "pod", "redis-0", "--wait=false")
    until("another Redis", lambda: (pod := job.cluster.pods().get("redis-0")) and pod["metadata"]["uid"] != old and
          is_ready(pod))
    job.wait_home()
    took = time.monotonic() - began
    after = {name: (pod["metadata"]["uid"], restarts(pod)) for name, pod in job.replicas().items()}
    require(before == after, f"restarted: {before} {after}")
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
    return f"{sum(map(len, turns.values()))} turns in {tenures} tenures, {rows} rows, {refused} late writes refused; no overlap, " \
           "epochs only grow"


ALONE = [install, manifests, shown, confined, delete_pod, kill, freeze, update, replace, scale, redis_lost]
assert now and S
