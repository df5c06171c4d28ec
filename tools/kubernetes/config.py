"""The settings of a node's programs."""

import json

SERVER = "https://10.77.0.1:6443"
DNS = "10.77.0.1"


def containerd(node, programs):
    """restrict_oom_score_adj: a sandbox may not be permitted to lower it."""
    return f"""version = 2
root = "{node.folder}/containerd/root"
state = "/run/containerd"
[grpc]
  address = "/run/containerd/containerd.sock"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "localhost/pause:1"
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "{programs}/debian/usr/lib/cni"
    conf_dir = "{node.folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
      [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc.options]
        SystemdCgroup = false
"""


def network(node):
    """A bridge on each node. No masquerading: pods reach only the cluster."""
    return json.dumps({"cniVersion": "0.4.0", "name": "pods", "plugins": [
        {"type": "bridge", "bridge": "pods0", "isDefaultGateway": True, "ipam": {
            "type": "host-local", "dataDir": "/run/cni-addresses", "ranges": [[{"subnet": node.pods}]]}},
        {"type": "loopback"}]})


def kubelet(node, authority):
    return json.dumps({
        "apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration", "address": "0.0.0.0",
        "authentication": {"anonymous": {"enabled": False}, "webhook": {"enabled": True},
                           "x509": {"clientCAFile": str(authority.path("ca.crt"))}},
        "authorization": {"mode": "Webhook"},
        "tlsCertFile": str(authority.path(f"{node.name}-server.crt")),
        "tlsPrivateKeyFile": str(authority.path(f"{node.name}-server.key")),
        "containerRuntimeEndpoint": "unix:///run/containerd/containerd.sock",
        "cgroupDriver": "cgroupfs", "cgroupRoot": "/" + node.cgroup, "failCgroupV1": False,
        "failSwapOn": False, "oomScoreAdj": 0, "makeIPTablesUtilChains": False,
        "clusterDNS": [DNS], "clusterDomain": "cluster.local", "resolvConf": f"{node.folder}/resolv.conf",
        "podLogsDir": "/var/log/pods", "volumePluginDir": f"{node.folder}/plugins",
        "evictionHard": {"memory.available": "50Mi", "nodefs.available": "1%", "nodefs.inodesFree": "1%",
                         "imagefs.available": "1%"},
        "imageGCHighThresholdPercent": 100, "nodeStatusUpdateFrequency": "2s", "nodeLeaseDurationSeconds": 8,
        "syncFrequency": "5s"})


def names(authority):
    """For CoreDNS."""
    return f""".:53 {{
  bind {DNS}
  errors
  kubernetes cluster.local in-addr.arpa {{
    kubeconfig {authority.path("admin.conf")}
    pods insecure
    ttl 1
  }}
}}
"""


def etcd(folder):
    return ["etcd", "--data-dir", f"{folder}/etcd", "--unsafe-no-fsync", "--listen-client-urls", "http://127.0.0.1:2379",
            "--advertise-client-urls", "http://127.0.0.1:2379", "--listen-peer-urls", "http://127.0.0.1:2380"]


def apiserver(authority):
    """Pods are evicted from a node that is away after three seconds, not five minutes."""
    return ["kube-apiserver", "--etcd-servers=http://127.0.0.1:2379", "--bind-address=0.0.0.0", "--secure-port=6443",
            "--advertise-address=10.77.0.1", "--service-cluster-ip-range=10.96.0.0/16",
            f"--tls-cert-file={authority.path('apiserver.crt')}",
            f"--tls-private-key-file={authority.path('apiserver.key')}",
            f"--client-ca-file={authority.path('ca.crt')}", "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={authority.path('tokens.pub')}",
            f"--service-account-signing-key-file={authority.path('tokens.key')}", "--authorization-mode=Node,RBAC",
            "--enable-admission-plugins=NodeRestriction", "--default-not-ready-toleration-seconds=3",
            "--default-unreachable-toleration-seconds=3", f"--kubelet-client-certificate={authority.path('admin.crt')}",
            f"--kubelet-client-key={authority.path('admin.key')}",
            f"--kubelet-certificate-authority={authority.path('ca.crt')}",
            "--kubelet-preferred-address-types=InternalIP"]


def controller_manager(authority, folder):
    return ["kube-controller-manager", f"--kubeconfig={authority.path('controller-manager.conf')}",
            "--use-service-account-credentials", f"--service-account-private-key-file={authority.path('tokens.key')}",
            f"--root-ca-file={authority.path('ca.crt')}", "--leader-elect=false", "--allocate-node-cidrs=false",
            f"--flex-volume-plugin-dir={folder}/plugins", "--bind-address=127.0.0.1", "--node-monitor-period=1s",
            "--node-monitor-grace-period=8s"]


def scheduler(authority):
    return ["kube-scheduler", f"--kubeconfig={authority.path('scheduler.conf')}", "--leader-elect=false",
            "--bind-address=127.0.0.1"]
