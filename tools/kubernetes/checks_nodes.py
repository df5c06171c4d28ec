"""The checks with a second node: it is drained, cut off, and dies. As in checks.py."""

import subprocess
import time

from checks import require
from cluster import until
from job import LEASE_S, PARTITIONS, POOL, S, node_of, now


def there(job, node="node2"):
    """The partitions of the replicas on a node."""
    return sorted(int(name[-1]) for name, pod in job.replicas().items() if node_of(pod) == node)


def spread(job):
    """Half of the replicas on each node."""
    for _ in range(4):
        if len(there(job)) == PARTITIONS // 2:
            return
        crowded = "node1" if len(there(job)) < PARTITIONS // 2 else "node2"
        job.cluster.kubectl("delete", "pod", f"{POOL}-{there(job, crowded)[-1]}")
        until("all replicas are ready", lambda: len(job.ready()) == PARTITIONS)
    raise AssertionError("the scheduler does not spread the replicas")


def second_node(job):
    """a second node joins, and replicas are spread over both"""
    began = time.monotonic()
    job.cluster.add_node(2)
    ready = time.monotonic() - began
    spread(job)
    job.wait_home()
    return f"ready after {ready:.1f} s; partitions {there(job)} are there"


def drain(job):
    """drain with a PodDisruptionBudget of 1: one pod after the other"""
    began, least = time.monotonic(), PARTITIONS
    draining = subprocess.Popen(["kubectl", "drain", "node2", "--ignore-daemonsets", "--delete-emptydir-data",
                                 "--timeout=150s"], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while draining.poll() is None:
        least = min(least, len(job.ready()))
    said = draining.stdout.read()
    job.cluster.kubectl("uncordon", "node2")
    require(draining.returncode == 0, said)
    refused = said.count("violate the pod's disruption budget")
    require(refused > 0, f"no eviction was refused: {said}")
    require(least >= PARTITIONS - 1, f"only {least} replicas were ready")
    job.wait_home()
    took = time.monotonic() - began
    spread(job)
    job.wait_home()
    return f"{took:.1f} s; {refused} evictions refused; never fewer than {least} replicas ready"


def cut_off(job):
    """a node is cut off while its pods run on: they stop before others begin"""
    cluster, node = job.cluster, job.cluster.nodes[2]
    gone, before = there(job), job.epochs()
    held = job.cluster.pods("-l", "app.kubernetes.io/name=tenure-partitions")
    began, cut = time.monotonic(), now()
    node.cut()
    gaps = {number: job.wait_turn(number, before[number]) for number in gone}
    last = max((old.last - cut) / S for _, old in gaps.values())
    first = min((new.begin - cut) / S for new, _ in gaps.values())
    require(all(old.last < new.begin for new, old in gaps.values()), "two holders")
    until("node 2 is not ready", lambda: not cluster.is_ready(2))
    unready = time.monotonic() - began
    until("its pods are to end", lambda: all("deletionTimestamp" in pod["metadata"] for name, pod in job.replicas().items()
                                             if int(name[-1]) in gone))
    # Kubernetes says that they end, but nobody can tell them.
    running = [line for line in node.output("ps", "-e", "-o", "args").splitlines() if " partition --pool=" in line]
    workers = len(running) // 2  # each has a first process above it
    require(workers >= len(gone), f"their workers have ended: {running}")
    node.mend()
    mended = time.monotonic()
    until("new pods", lambda: len(job.ready()) == PARTITIONS and not any(
        pod["metadata"]["uid"] in [old["metadata"]["uid"] for name, old in held.items() if int(name[-1]) in gone]
        for pod in job.replicas().values()))
    job.wait_home()
    return f"the last turns there ended {last:.1f} s after the cut, others began after {first:.1f} s (the lease is " \
           f"{LEASE_S} s); not ready after {unready:.1f} s, with {workers} workers still running; home again " \
           f"{time.monotonic() - mended:.1f} s after the cable was back"


def dies(job):
    """a node dies: others hold its partitions after the lease; its pods come back once it is marked as out of service"""
    spread(job)
    job.wait_home()
    gone, before = there(job), job.epochs()
    began = time.monotonic()
    job.cluster.nodes[2].die()
    gaps = [job.gap_s(number, before[number]) for number in gone]
    until("node 2 is not ready", lambda: not job.cluster.is_ready(2))
    until("its pods are to end", lambda: sum("deletionTimestamp" in pod["metadata"] for pod in job.replicas().values()) ==
          len(gone))
    require(len(job.ready()) == PARTITIONS - len(gone), "its pods were replaced although it may still run")
    unready = time.monotonic() - began
    job.cluster.kubectl("taint", "node", "node2", "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute")
    marked = time.monotonic()
    until("all replicas on node 1", lambda: len(job.ready()) == PARTITIONS and not there(job))
    job.wait_home()
    return f"{max(gaps):.1f} s without a holder at most; its pods were to end after {unready:.1f} s; home again " \
           f"{time.monotonic() - marked:.1f} s after it was marked"


WITH_NODES = [second_node, drain, cut_off, dies]
