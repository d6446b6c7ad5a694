#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: kubernetes.py SOURCE_ROOT LK

The manifests for Kubernetes: container/kubernetes.yaml and those of docs/guides/kubernetes.md have only fields that
kubernetes.schema.json knows, name what there is, and say what lk takes. Prints TAP.
"""

import copy
import json
import pathlib
import re
import subprocess
import sys

import jsonschema
import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cases

ROOT = pathlib.Path(sys.argv[1])
LK = sys.argv[2]
GUIDE = (ROOT / "docs/guides/kubernetes.md").read_text(encoding="utf-8")
MANIFEST = list(yaml.safe_load_all((ROOT / "container/kubernetes.yaml").read_text(encoding="utf-8")))
EXAMPLES = [yaml.safe_load(text) for text in re.findall(r"^```yaml\n(.*?)^```", GUIDE, re.MULTILINE | re.DOTALL)]
SCHEMA = json.loads((pathlib.Path(__file__).parent / "kubernetes.schema.json").read_text(encoding="utf-8"))


def one(kind, name="lockkeeper"):
    return next(each for each in MANIFEST if (each["kind"], each["metadata"]["name"]) == (kind, name))


def pod_of(document):
    spec = document["spec"]
    return spec.get("jobTemplate", {"spec": spec})["spec"]["template"]["spec"]


def complaints(document):
    return list(jsonschema.Draft202012Validator(SCHEMA).iter_errors(document))


def instructions(word):
    lines = (ROOT / "container/Dockerfile").read_text(encoding="utf-8").replace("\\\n", " ").splitlines()
    return [line.split(None, 1)[1] for line in lines if line.startswith(word + " ")]


def has_known_fields():
    """every manifest has fields that are known, and no others"""
    assert len(MANIFEST) == 3 and len(EXAMPLES) == 2
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    for document in MANIFEST + EXAMPLES:
        assert not complaints(document), (document["metadata"]["name"], complaints(document))


def places(value, path=()):
    """Each object within a document."""
    if isinstance(value, dict):
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else []):
        yield from places(inner, path + (key,))


def finds_unknown_fields():
    """a field that is not known is found wherever it is put"""
    tried = 0
    for document in MANIFEST + EXAMPLES:
        for path in places(document):
            if path and path[-1] in ("labels", "matchLabels", "selector") and path[-2:-1] != ("spec",):
                continue
            if path[-1:] == ("selector",) and document["kind"] == "Service":
                continue  # labels have names of one's own
            changed = copy.deepcopy(document)
            inner = changed
            for key in path:
                inner = inner[key]
            inner["replica"] = 3
            assert complaints(changed), path
            tried += 1
    assert tried > 50, tried


def names_what_there_is():
    """selectors, ports, volumes and secrets name what there is"""
    for document in MANIFEST + EXAMPLES:
        if document["kind"] == "Service":
            assert document["spec"]["selector"].items() <= one("StatefulSet")["spec"]["template"]["metadata"]["labels"].items()
            ports = {port["name"] for port in pod_of(one("StatefulSet"))["containers"][0]["ports"]}
            assert {port["targetPort"] for port in document["spec"]["ports"]} <= ports
            continue
        if "selector" in document["spec"]:
            labels = document["spec"]["template"]["metadata"]["labels"]
            assert document["spec"]["selector"]["matchLabels"].items() <= labels.items()
        pod = pod_of(document)
        volumes = {volume["name"] for volume in pod["volumes"]}
        for container in pod["containers"]:
            assert {mount["name"] for mount in container["volumeMounts"]} <= volumes
    assert one("Service", one("StatefulSet")["spec"]["serviceName"])["spec"]["clusterIP"] == "None"
    keys = {"password", "database-password"}
    assert all(f"--from-literal={key}=" in GUIDE for key in keys)
    for reference in re.findall(r"secretKeyRef: \{name: lockkeeper, key: ([\w-]+)\}",
                                (ROOT / "container/kubernetes.yaml").read_text(encoding="utf-8")):
        assert reference in keys


def escapes_the_trap():
    """nothing waits for a pod that follows to be ready, and none is ended for it"""
    spec = one("StatefulSet")["spec"]
    container = pod_of(one("StatefulSet"))["containers"][0]
    assert spec["podManagementPolicy"] == "Parallel" and spec["updateStrategy"]["type"] == "OnDelete"
    assert container["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert container["livenessProbe"]["httpGet"]["path"] == "/healthz"
    assert one("Service", "lockkeeper-pods")["spec"]["publishNotReadyAddresses"] is True
    assert "publishNotReadyAddresses" not in one("Service")["spec"]


def fits_the_image():
    """the image is that of the Dockerfile: its user, its ports, its directories and its options"""
    pod = pod_of(one("StatefulSet"))
    container = pod["containers"][0]
    version = subprocess.run([ROOT / "tools/version"], check=True, capture_output=True, text=True).stdout.strip()
    assert container["image"] == f"registry.example/lockkeeper:{version}"
    assert f"docker build -t {container['image']} -f container/Dockerfile ." in GUIDE
    assert f"--uid {pod['securityContext']['runAsUser']} " in " ".join(instructions("RUN"))
    assert {str(port["containerPort"]) for port in container["ports"]} == set(instructions("EXPOSE")[0].split())
    own = dict(pair.split("=", 1) for line in instructions("ENV") for pair in line.split())
    assert own["LK_SERVE_UNIX"].startswith("/run/lockkeeper/")
    assert "/run/lockkeeper" in {mount["mountPath"] for mount in container["volumeMounts"]}
    options = subprocess.run([LK, "help", "serve"], check=True, capture_output=True, text=True).stdout
    for variable in container["env"]:
        if variable["name"].startswith("LK_"):
            name = variable["name"].removeprefix("LK_SERVE_").lower().replace("_", "-")
            assert f"--{name} " in options or f"--{name}\n" in options, name
    mounted = next(m["mountPath"] for m in container["volumeMounts"] if m["name"] == "password")
    item = pod["volumes"][0]["secret"]["items"][0]["path"]
    assert {"name": "LK_SERVE_PASSWORD_FILE", "value": f"{mounted}/{item}"} in container["env"]


def commands_run():
    """what the examples start is a command that lk takes"""
    for document in EXAMPLES:
        command = pod_of(document)["containers"][0]["command"]
        assert command[0] == "lk", command
        command = [word.replace("$(POD_NAME)", "pod-1") for word in command]
        end = command.index("--")
        said = subprocess.run([LK, "-S", "mem:", *command[1:end], "--", "sh", "-c", 'echo "$LK_PATH"'], check=True,
                              capture_output=True, text=True).stdout
        assert said.strip() == command[end - 1], said


def main():
    chosen = [has_known_fields, finds_unknown_fields, names_what_there_is, escapes_the_trap, fits_the_image, commands_run]
    return cases.run(chosen)


sys.exit(main())
