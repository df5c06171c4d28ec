"""The cluster's certificate authority: certificates and kubeconfig files for its programs, by openssl."""

import os
import pathlib
import subprocess


def openssl(*words):
    subprocess.run(["openssl", *(str(word) for word in words)], check=True, capture_output=True)


class Authority:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.folder.mkdir(mode=0o700)
        self.key("ca")
        openssl("req", "-x509", "-new", "-key", self.path("ca.key"), "-subj", "/CN=test", "-days", "2", "-out",
                self.path("ca.crt"))
        # With this key the control plane signs the tokens of service accounts.
        self.key("tokens")
        openssl("ec", "-in", self.path("tokens.key"), "-pubout", "-out", self.path("tokens.pub"))

    def path(self, name):
        return self.folder / name

    def key(self, name):
        openssl("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", self.path(f"{name}.key"))
        os.chmod(self.path(f"{name}.key"), 0o600)

    def issue(self, name, subject, names=()):
        """`names`: DNS:NAME and IP:ADDRESS, for a server."""
        self.key(name)
        openssl("req", "-new", "-key", self.path(f"{name}.key"), "-subj", subject, "-out", self.path(f"{name}.csr"))
        extensions = f"extendedKeyUsage={'serverAuth' if names else 'clientAuth'}\n"
        if names:
            extensions += f"subjectAltName={','.join(names)}\n"
        self.path(f"{name}.ext").write_text(extensions, encoding="ascii")
        openssl("x509", "-req", "-in", self.path(f"{name}.csr"), "-CA", self.path("ca.crt"), "-CAkey", self.path("ca.key"),
                "-CAcreateserial", "-days", "2", "-extfile", self.path(f"{name}.ext"), "-out", self.path(f"{name}.crt"))

    def kubeconfig(self, name, subject, server):
        self.issue(name, subject)
        path = self.path(f"{name}.conf")
        path.write_text(f"""apiVersion: v1
kind: Config
clusters: [{{name: c, cluster: {{server: "{server}", certificate-authority: {self.path("ca.crt")}}}}}]
users: [{{name: u, user: {{client-certificate: {self.path(f"{name}.crt")}, client-key: {self.path(f"{name}.key")}}}}}]
contexts: [{{name: x, context: {{cluster: c, user: u}}}}]
current-context: x
""", encoding="ascii")
        path.chmod(0o600)
        return path
