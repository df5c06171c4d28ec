"""Starts a cluster and runs the checks. On node 1, in namespaces of its own (node).

Usage: run.py TENURE PROGRAMS IMAGES FOLDER [CHECK…]
"""

import sys
import time
import traceback

import checks
import checks_nodes
from cluster import Cluster
from job import Job


def put_back(job, folder):
    """So that the next check can pass."""
    with open(f"{folder}/failures", "a", encoding="utf-8") as file:
        traceback.print_exc(file=file)
        try:
            job.put_back()
        except Exception:  # pylint: disable=broad-except
            traceback.print_exc(file=file)


def main():
    tenure, programs, images, folder = sys.argv[1:5]
    only = sys.argv[5:]
    began = time.monotonic()
    cluster = Cluster(programs, images, folder)
    cluster.start()
    print(f"ok    the cluster: node 1 is ready after {time.monotonic() - began:.1f} s", flush=True)
    job = Job(cluster, tenure)
    job.start_servers()
    print(f"ok    Redis and PostgreSQL: ready {time.monotonic() - began:.1f} s after the start", flush=True)
    wanted = [*checks.ALONE, *checks_nodes.WITH_NODES, checks.single]
    needed = (checks.install, checks_nodes.second_node, checks.single)
    failed = 0
    ran = [check for check in wanted if not only or check.__name__ in only or check in needed]
    for check in ran:
        try:
            print(f"ok    {check.__doc__}: {check(job)}", flush=True)
        except Exception as error:  # pylint: disable=broad-except
            failed += 1
            print(f"FAIL  {check.__doc__}: {error}", flush=True)
            put_back(job, folder)
    stall = job.stalls.end()
    print(f"{len(ran) - failed} of {len(ran)} checks passed in {time.monotonic() - began:.0f} s; the machine stood still for "
          f"{stall:.1f} s at most")
    return 1 if failed else 0


sys.exit(main())
