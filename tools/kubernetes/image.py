"""Writes a folder as a container image: an OCI layout in a tar file, as `ctr images import` takes it."""

import hashlib
import io
import json
import os
import tarfile


def write_image(folder, name, path, entrypoint, user="65532:65532", owner=lambda path: (0, 0), variables=()):
    """`owner`: user and group of a file, by its path in the image."""
    layer = io.BytesIO()
    with tarfile.open(fileobj=layer, mode="w") as tar:
        def plain(entry):
            entry.uid, entry.gid = owner("/" + entry.name)
            entry.uname = entry.gname = ""
            entry.mtime = 0
            return entry
        for entry in sorted(os.listdir(folder)):
            tar.add(os.path.join(folder, entry), arcname=entry, filter=plain)
    blobs = {}

    def blob(kind, data):
        digest = hashlib.sha256(data).hexdigest()
        blobs[digest] = data
        return {"mediaType": f"application/vnd.oci.image.{kind}", "digest": f"sha256:{digest}", "size": len(data)}

    tree = blob("layer.v1.tar", layer.getvalue())
    config = blob("config.v1+json", json.dumps({
        "architecture": "amd64", "os": "linux", "created": "1970-01-01T00:00:00Z",
        "config": {"User": user, "Entrypoint": entrypoint, "Env": ["PATH=/usr/bin", *variables]},
        "rootfs": {"type": "layers", "diff_ids": [tree["digest"]]},
        "history": [{"created": "1970-01-01T00:00:00Z", "created_by": "tenure"}]}).encode())
    manifest = blob("manifest.v1+json", json.dumps({
        "schemaVersion": 2, "mediaType": "application/vnd.oci.image.manifest.v1+json", "config": config,
        "layers": [tree]}).encode())
    manifest["annotations"] = {"io.containerd.image.name": name}
    index = {"schemaVersion": 2, "manifests": [manifest]}
    files = {"oci-layout": b'{"imageLayoutVersion":"1.0.0"}', "index.json": json.dumps(index).encode(),
             **{f"blobs/sha256/{digest}": data for digest, data in blobs.items()}}
    with tarfile.open(path, "w") as tar:
        for file, data in files.items():
            entry = tarfile.TarInfo(file)
            entry.size = len(data)
            tar.addfile(entry, io.BytesIO(data))
