"""What deploy/ says fits together, and fits the program. Without a cluster and without helm; `make kubernetes` has both.

Usage: deploy_test.py PATH_OF_TENURE [unittest arguments]
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import yaml

TENURE = os.path.abspath(sys.argv.pop(1))
ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "chart"
TEMPLATE = CHART / "templates" / "statefulset.yaml"
MANIFESTS = DEPLOY / "manifests" / "partitions.yaml"
LINE = re.compile(r"^\s*\{\{.*\}\}\s*$")
BRACES = re.compile(r"\{\{.*?\}\}")


def help_of(command):
    return subprocess.run([TENURE, "help", command], capture_output=True, text=True, check=True).stdout


def without_templates(text):
    """As YAML: lines of template alone are left out, and what a template gives within a line is a word."""
    return "\n".join(BRACES.sub("word", line) for line in text.splitlines() if not LINE.match(line))


def keys_of(values, name=""):
    """The names of all values, those within others too."""
    found = set()
    for key, value in values.items():
        found |= {name + key} | (keys_of(value, f"{name}{key}.") if isinstance(value, dict) else set())
    return found


def properties_of(schema, name=""):
    found = set()
    for key, part in schema.get("properties", {}).items():
        found |= {name + key} | properties_of(part, f"{name}{key}.")
    return found


class Deploy(unittest.TestCase):
    def stateful_sets(self):
        """Of the manifests and of the chart."""
        for text in (MANIFESTS.read_text(encoding="utf-8"), without_templates(TEMPLATE.read_text(encoding="utf-8"))):
            yield next(each for each in yaml.safe_load_all(text) if each["kind"] == "StatefulSet")

    def test_every_template_and_manifest_is_yaml_with_a_kind_and_a_name(self):
        for file in [*CHART.glob("templates/*.yaml"), *DEPLOY.glob("manifests/*.yaml")]:
            for each in yaml.safe_load_all(without_templates(file.read_text(encoding="utf-8"))):
                self.assertTrue(each["apiVersion"] and each["kind"] and each["metadata"]["name"], file)

    def test_the_schema_knows_every_value_and_no_other(self):
        values = yaml.safe_load((CHART / "values.yaml").read_text(encoding="utf-8"))
        schema = json.loads((CHART / "values.schema.json").read_text(encoding="utf-8"))
        # What Kubernetes itself checks is not listed.
        free = tuple(f"{key}." for key, part in schema["properties"].items() if part == {"type": "object"})
        named = {key for key in keys_of(values) if not key.startswith(free)}
        self.assertEqual(named, properties_of(schema) - {"global"})
        used = set()
        for file in CHART.glob("templates/*"):
            used |= set(re.findall(r"\.Values\.([\w.]+)", file.read_text(encoding="utf-8")))
        self.assertEqual(used - keys_of(values), set())

    def test_the_flags_exist(self):
        known = {"partition": help_of("partition"), "probe": help_of("probe")}
        for each in self.stateful_sets():
            pod = each["spec"]["template"]["spec"]["containers"][0]
            self.assertEqual(pod["args"][0], "partition")
            for word in pod["args"]:
                if word.startswith("--"):
                    self.assertIn(word.split("=")[0] + " ", known["partition"], word)
            for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
                program, command, file, *flags = pod[probe]["exec"]["command"]
                self.assertEqual((program, command), ("/usr/bin/tenure", "probe"))
                self.assertIn(f"--health={file}", pod["args"])
                for flag in flags:
                    self.assertIn(flag, known["probe"])
        # Flags that a condition of the chart adds stand in lines of their own.
        for flag in re.findall(r"--[a-z-]+", TEMPLATE.read_text(encoding="utf-8")):
            self.assertTrue(any(flag + " " in text for text in known.values()), flag)

    def test_a_pod_has_more_time_to_end_than_its_turns_have(self):
        manifest, _ = self.stateful_sets()
        spec = manifest["spec"]["template"]["spec"]
        stop = next(word for word in spec["containers"][0]["args"] if word.startswith("--stop-timeout="))
        self.assertEqual(stop, f"--stop-timeout={spec['terminationGracePeriodSeconds'] - 10}s")
        self.assertIn("terminationGracePeriodSeconds: {{ add $stop 10 }}", TEMPLATE.read_text(encoding="utf-8"))

    def test_pods_are_confined(self):
        for each in self.stateful_sets():
            spec = each["spec"]["template"]["spec"]
            self.assertFalse(spec["automountServiceAccountToken"])
            self.assertTrue(spec["securityContext"]["runAsNonRoot"])
            self.assertEqual(spec["securityContext"]["seccompProfile"], {"type": "RuntimeDefault"})
            self.assertEqual(spec["containers"][0]["securityContext"],
                             {"allowPrivilegeEscalation": False, "readOnlyRootFilesystem": True,
                              "capabilities": {"drop": ["ALL"]}})

    def test_the_image_has_the_program_and_all_its_libraries(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([DEPLOY / "rootfs", folder, TENURE], check=True)
            loader = f"{folder}/lib64/ld-linux-x86-64.so.2"
            program = [loader, "--library-path", f"{folder}/usr/lib", f"{folder}/usr/bin/tenure"]
            done = subprocess.run([*program, "--version"], capture_output=True, text=True, check=True)
            self.assertTrue(done.stdout)
            listed = subprocess.run([loader, "--list", *program[1:]], capture_output=True, text=True, check=True).stdout
            for line in listed.splitlines():
                if "=>" in line and "ld-linux" not in line:
                    self.assertIn(f"=> {folder}/usr/lib/", line)
            self.assertTrue(pathlib.Path(folder, "usr/lib/libgcc_s.so.1").exists())
            self.assertFalse(any(pathlib.Path(folder).rglob("*sh")))

    def test_the_container_file_copies_what_exists(self):
        text = re.sub(r"^#.*\n", "", (DEPLOY / "Containerfile").read_text(encoding="utf-8"), flags=re.MULTILINE)
        for words in re.findall(r"^COPY (?!--from)(.*)$", text, re.MULTILINE):
            *sources, _ = words.split()
            for source in sources:
                self.assertTrue((ROOT / source).exists(), source)
        self.assertIn("deploy/rootfs /image", text)
        self.assertTrue(text.rstrip().endswith('USER 65532:65532\nENTRYPOINT ["/usr/bin/tenure"]'))


if __name__ == "__main__":
    unittest.main()
