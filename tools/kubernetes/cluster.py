"""A Kubernetes cluster of real programs. This process runs on node 1, in namespaces that are gone with it (node), and
starts the control plane, the kubelets, and further nodes.
"""

import contextlib
import json
import os
import pathlib
import subprocess
import time

import config
from authority import Authority

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 120


class NotInTime(Exception):
    pass


def until(what, wanted, patience_s=PATIENCE_S, every_s=0.2):
    """Asks again and again. Returns what was wanted, once it is true."""
    deadline = time.monotonic() + patience_s
    while True:
        seen = wanted()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise NotInTime(f"{what}: not within {patience_s} s")
        time.sleep(every_s)


class Node:
    """Number 1 is the one that this process runs on."""

    def __init__(self, cluster, number):
        self.cluster = cluster
        self.number = number
        self.name = f"node{number}"
        self.folder = cluster.folder / self.name
        self.address = f"10.77.0.{number}"
        self.pods = f"10.244.{number}.0/24"
        # Guards remove what they believe is left of others: groups whose names begin with tenure-.
        self.cgroup = f"cluster-{self.name}"
        self.shell = None  # unshare, with the namespaces of another node below it
        self.inside = None  # the first process in these namespaces
        if number != 1:
            self.open()

    def open(self):
        self.folder.mkdir()
        with open(self.folder / "node.log", "w", encoding="utf-8") as log:
            self.shell = subprocess.Popen(
                ["unshare", "--net", "--mount", "--pid", "--uts", "--ipc", "--fork", "--mount-proc", "--kill-child",
                 HERE / "node", str(self.number), self.folder, "sleep", "infinity"], stdout=log, stderr=log)
        children = pathlib.Path(f"/proc/{self.shell.pid}/task/{self.shell.pid}/children")
        self.inside = until("the namespaces of a node", lambda: children.read_text(encoding="ascii").strip())
        link = f"to{self.number}"
        run("ip", "link", "add", link, "type", "veth", "peer", "name", "eth0", "netns", self.inside)
        run("ip", "link", "set", link, "master", "node0", "up")
        run("ip", "route", "add", self.pods, "via", self.address)
        # The node's file system is in place when it has its address.
        until("the node's network", lambda: self.address in self.output("ip", "addr", "show", "eth0"))

    def enter(self):
        return [] if self.number == 1 else ["nsenter", "-t", self.inside, "-n", "-m", "-p", "-u", "-i"]

    def output(self, *words):
        done = subprocess.run([*self.enter(), *words], capture_output=True, text=True, check=False)
        return done.stdout

    def start(self, name, command):
        with open(self.folder / f"{name}.log", "a", encoding="utf-8") as log:
            return subprocess.Popen([*self.enter(), *command], stdout=log, stderr=log, stdin=subprocess.DEVNULL)

    def join(self, authority):
        """Starts the container runtime and the kubelet."""
        for folder in ("cni", "plugins"):
            (self.folder / folder).mkdir(exist_ok=True)
        for hierarchy in hierarchies():
            (hierarchy / self.cgroup).mkdir(exist_ok=True)
            if hierarchy.name == "cpuset":
                for file in ("cpuset.cpus", "cpuset.mems"):
                    (hierarchy / self.cgroup / file).write_text((hierarchy / file).read_text(encoding="ascii"),
                                                                encoding="ascii")
        authority.issue(f"{self.name}-server", f"/CN={self.name}", [f"DNS:{self.name}", f"IP:{self.address}"])
        conf = authority.kubeconfig(f"{self.name}-kubelet", f"/O=system:nodes/CN=system:node:{self.name}", config.SERVER)
        for name, text in [("containerd.toml", config.containerd(self, self.cluster.programs)),
                           ("cni/10-pods.conflist", config.network(self)),
                           ("kubelet.json", config.kubelet(self, authority)),
                           ("resolv.conf", f"nameserver {config.DNS}\n")]:
            (self.folder / name).write_text(text, encoding="ascii")
        self.start("containerd", ["containerd", "-c", str(self.folder / "containerd.toml")])
        until("containerd", lambda: self.output("ctr", "version"))
        for image in sorted(self.cluster.images.glob("*.tar")):
            done = subprocess.run([*self.enter(), "ctr", "-n", "k8s.io", "images", "import", image], capture_output=True,
                                  text=True, check=False)
            if done.returncode != 0:
                raise RuntimeError(f"containerd does not import {image.name}: {done.stderr}")
        self.start("kubelet", ["kubelet", f"--config={self.folder}/kubelet.json", f"--kubeconfig={conf}",
                               f"--hostname-override={self.name}", f"--node-ip={self.address}",
                               f"--root-dir={self.folder}/kubelet", f"--cert-dir={self.folder}"])

    def cut(self):
        """Pulls the cable. Whatever runs there runs on."""
        run("ip", "link", "set", f"to{self.number}", "down")

    def mend(self):
        run("ip", "link", "set", f"to{self.number}", "up")

    def die(self):
        """At once, with everything on it."""
        os.kill(int(self.inside), 9)
        self.shell.wait()


class Cluster:
    def __init__(self, programs, images, folder):
        self.programs, self.images, self.folder = (pathlib.Path(path) for path in (programs, images, folder))
        debian = self.programs / "debian"
        os.environ["PATH"] = ":".join([*(str(place) for place in (self.programs / "bin", debian / "usr/bin",
                                                                  debian / "usr/sbin")), os.environ["PATH"]])
        self.authority = Authority(self.folder / "authority")
        self.nodes = {}

    def start(self):
        """Until node 1 is ready."""
        authority, node = self.authority, Node(self, 1)
        authority.issue("apiserver", "/CN=kube-apiserver",
                        ["DNS:kubernetes.default.svc", "DNS:localhost", "IP:127.0.0.1", "IP:10.77.0.1", "IP:10.96.0.1"])
        os.environ["KUBECONFIG"] = str(authority.kubeconfig("admin", "/O=system:masters/CN=admin", config.SERVER))
        os.environ["HOME"] = str(self.folder)
        authority.kubeconfig("controller-manager", "/CN=system:kube-controller-manager", config.SERVER)
        authority.kubeconfig("scheduler", "/CN=system:kube-scheduler", config.SERVER)
        (self.folder / "Corefile").write_text(config.names(authority), encoding="ascii")
        node.start("etcd", config.etcd(self.folder))
        node.start("apiserver", config.apiserver(authority))
        until("the API server", lambda: self.try_kubectl("get", "--raw", "/readyz").returncode == 0)
        node.start("controller-manager", config.controller_manager(authority, self.folder))
        node.start("scheduler", config.scheduler(authority))
        node.start("names", ["coredns", "-conf", str(self.folder / "Corefile")])
        self.nodes[1] = node
        node.join(authority)
        self.wait_ready(1)

    def add_node(self, number):
        self.nodes[number] = Node(self, number)
        self.nodes[number].join(self.authority)
        self.wait_ready(number)

    def is_ready(self, number):
        status = self.try_kubectl("get", "node", f"node{number}", "-o", "json")
        if status.returncode != 0:
            return False
        conditions = json.loads(status.stdout)["status"].get("conditions", [])
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def wait_ready(self, number):
        until(f"node {number} is ready", lambda: self.is_ready(number))

    def try_kubectl(self, *words, text=None):
        return subprocess.run(["kubectl", "--request-timeout=20s", *words], input=text, capture_output=True, text=True,
                              check=False)

    def kubectl(self, *words, text=None):
        done = self.try_kubectl(*words, text=text)
        if done.returncode != 0:
            raise RuntimeError(f"kubectl {' '.join(words)}: {done.stderr.strip()}")
        return done.stdout

    def get(self, *words):
        return json.loads(self.kubectl("get", *words, "-o", "json"))

    def pods(self, *words):
        """By name."""
        return {pod["metadata"]["name"]: pod for pod in self.get("pods", *words)["items"]}

    def try_helm(self, *words):
        return subprocess.run(["helm", *words], capture_output=True, text=True, check=False)

    def helm(self, *words):
        done = self.try_helm(*words)
        if done.returncode != 0:
            raise RuntimeError(f"helm {' '.join(words)}: {done.stdout.strip()} {done.stderr.strip()}")
        return done.stdout


def run(*words):
    subprocess.run([str(word) for word in words], check=True)


def hierarchies():
    """Of control groups: one, or the former ones with one for each resource."""
    root = pathlib.Path("/sys/fs/cgroup")
    if (root / "cgroup.controllers").exists():
        return [root]
    return [place for place in root.iterdir() if place.is_dir() and not place.is_symlink()]


def remove_groups():
    """Those that nodes have left. The processes in them may take a moment to end."""
    deadline = time.monotonic() + 10
    while time.monotonic() < deadline:
        left = [group for place in hierarchies() for group in place.glob("cluster-node*")]
        if not left:
            return
        for group in left:
            for folder, _, _ in os.walk(group, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(folder)
        time.sleep(0.1)
