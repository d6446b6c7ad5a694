#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: container.py SOURCE_ROOT LK [SERVER]

The container's image and its examples: on a PostgreSQL server the one of services that share a database. What the Dockerfile sets is tried with a real service on this machine:
its environment, its health check, its end. Where docker or podman can run a container, the image is built and run too.
Prints TAP.
"""

import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

import yaml

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cases

ROOT = pathlib.Path(sys.argv[1])
LK = os.path.abspath(sys.argv[2])
PATIENCE_S = 60


def instructions():
    """The Dockerfile's instructions, as pairs of a word and its arguments."""
    text = (ROOT / "container/Dockerfile").read_text()
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE).replace("\\\n", " ")
    return [tuple(line.split(None, 1)) for line in text.splitlines() if line.strip()]


def of(word):
    return [arguments for name, arguments in instructions() if name == word]


def environment():
    return dict(pair.split("=", 1) for line in of("ENV") for pair in line.split())


def composed(name="compose.yaml"):
    return yaml.safe_load((ROOT / "container" / name).read_text())


def shared():
    """The services of the example that shares a database, by their names."""
    return {name: service for name, service in composed("compose.ha.yaml")["services"].items()
            if name != "database"}


class Container:
    """lk serve with the image's environment, its places moved below a directory, its ports to free ones."""

    def __init__(self, place, extra):
        moved = {"/var/lib/lockkeeper-service": f"{place}/dir", "/run/lockkeeper": f"{place}",
                 "0.0.0.0:7420": "0.0.0.0:0", "0.0.0.0:7421": "0.0.0.0:0"}
        self.environment = {"PATH": f"{place}:/usr/bin:/bin"}
        os.symlink(LK, f"{place}/lk")
        for name, value in {**environment(), **extra}.items():  # an empty one counts as none
            for former, now in moved.items():
                value = value.replace(former, now)
            self.environment[name] = value
        command = json.loads(of("ENTRYPOINT")[0]) + json.loads(of("CMD")[0])
        self.process = subprocess.Popen(command, env=self.environment, text=True,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def is_healthy(self):
        check = of("HEALTHCHECK")[0]
        command = json.loads(check[check.index("["):])
        return subprocess.run(command, env=self.environment, check=False).returncode == 0

    def end(self):
        self.process.send_signal(getattr(signal, of("STOPSIGNAL")[0]))
        said = self.process.communicate(timeout=PATIENCE_S)
        return self.process.returncode, said


def password_in(place):
    file = pathlib.Path(place) / "password"
    file.write_text("sesame\n")
    file.chmod(0o600)
    return str(file)


def starts_and_ends():
    """the environment of the image starts a service, which is healthy, keeps its locks, and ends"""
    with tempfile.TemporaryDirectory() as place:
        service = composed()["services"]["lockkeeper"]["environment"]
        extra = {**service, "LK_SERVE_PASSWORD_FILE": password_in(place)}
        container = Container(place, extra)
        assert len([container.process.stdout.readline() for _ in range(3)]) == 3
        assert container.is_healthy()
        url = f"lk+unix:{place}/socket?password-file={place}/password"
        subprocess.run([LK, "-S", url, "acquire", "kept", "--owner", "ana", "--ttl", "1h"],
                       check=True, stdout=subprocess.DEVNULL)
        code, (_, said) = container.end()
        assert code == 0, said
        assert "no such option" not in said, said
        assert not container.is_healthy()
        listed = subprocess.run([LK, "-S", f"sqlite:{place}/dir/locks.db", "ls"], check=True,
                                capture_output=True, text=True).stdout
        assert "kept" in listed, listed


def refuses():
    """without a password it does not start, and says what to do"""
    with tempfile.TemporaryDirectory() as place:
        container = Container(place, {})
        _, said = container.process.communicate(timeout=PATIENCE_S)
        assert container.process.returncode != 0
        assert "password" in said, said


def is_modest():
    """the image has a user of its own, no build tools, and fixed bases; what is copied is there"""
    assert of("USER")[-1] not in ("root", "0")
    assert all(re.match(r"debian:\d+-slim( AS \w+)?$", base) for base in of("FROM")), of("FROM")
    for sources in of("COPY"):
        for source in sources.split()[:-1]:
            assert (ROOT / source).exists(), source
    last = [name for name, _ in instructions()].index("FROM", 1)
    assert all("install-deps" not in arguments for name, arguments in instructions()[last:])
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert "/.git" in ignored and "/build*" in ignored


def example_is_closed():
    """the example publishes its ports on this machine alone, and gives up what it does not need"""
    service = composed()["services"]["lockkeeper"]
    assert all(port.startswith("127.0.0.1:") for port in service["ports"])
    assert service["read_only"] and service["cap_drop"] == ["ALL"]
    assert {volume.split(":")[1] for volume in service["volumes"]} == set(of("VOLUME"))
    assert composed()["secrets"].keys() == set(service["secrets"])


def shared_example_is_closed():
    """the example with a database publishes nothing, keeps its secrets in files, and names each service"""
    whole = composed("compose.ha.yaml")
    single = composed()["services"]["lockkeeper"]
    assert len(shared()) == 3
    for name, service in whole["services"].items():
        assert "ports" not in service, name
        assert set(service["secrets"]) <= whole["secrets"].keys()
        assert "depends_on" not in service or service["depends_on"].keys() <= whole["services"].keys()
    for name, service in shared().items():
        assert service["environment"]["LK_SERVE_ADVERTISE"] == f"{name}:7420"
        for key in ("image", "build", "read_only", "cap_drop", "security_opt", "stop_grace_period"):
            assert service[key] == single[key], key
        places = {place.split(":")[0] for place in service["tmpfs"]}
        assert set(of("VOLUME")) <= places, places  # else each start leaves a volume behind


def shared_example_starts():
    """the services of the example share a database: one leads, and another takes over from it"""
    with tempfile.TemporaryDirectory() as place:
        containers, urls = {}, {}
        for name, service in shared().items():
            own = pathlib.Path(place) / name
            own.mkdir()
            extra = {**service["environment"], "LK_SERVE_PASSWORD_FILE": password_in(own),
                     "LK_SERVE_STORE": f"postgresql://postgres@/postgres?host={sys.argv[3]}"}
            containers[name] = Container(str(own), extra)
            assert len([containers[name].process.stdout.readline() for _ in range(3)]) == 3
            assert containers[name].is_healthy()
            urls[name] = f"lk+unix:{own}/socket?password-file={own}/password"
        former = leader_of(urls)
        assert not (pathlib.Path(place) / former / "dir").exists()
        code, (_, said) = containers.pop(former).end()
        assert code == 0, said
        del urls[former]
        assert leader_of(urls) in containers
        for container in containers.values():
            assert container.is_healthy()
            assert container.end()[0] == 0


def leader_of(urls):
    """The service that leads; all of them must name the same one."""
    end = time.monotonic() + PATIENCE_S
    while time.monotonic() < end:
        reports = [subprocess.run([LK, "-S", url, "doctor", "-v"], capture_output=True, text=True,
                                  check=False).stdout for url in urls.values()]
        named = {found[1] for report in reports
                 if (found := re.search(r"^leader: *(\S+):7420$", report, re.MULTILINE))}
        if len(named) == 1 and named <= urls.keys():
            return named.pop()
        time.sleep(0.1)
    raise AssertionError(f"none of the services leads: {reports}")


def builder():
    """A program that runs containers of the image's base here; one that is installed may be unable to."""
    for program in filter(shutil.which, ("docker", "podman")):
        tried = subprocess.run([program, "run", "--rm", of("FROM")[-1].split()[0], "true"], check=False,
                               capture_output=True, text=True)
        if tried.returncode == 0:
            return program
        print(f"# no image is built: {program}: {(tried.stderr.strip().splitlines() or [''])[-1]}")
    return None


def is_built():
    """the image is built, is healthy as a container, and ends"""
    program = builder()
    with tempfile.TemporaryDirectory() as place:
        subprocess.run([program, "build", "-q", "-t", "lockkeeper-test", "-f", "container/Dockerfile", "."],
                       cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
        secret = password_in(place)
        os.chmod(secret, 0o644)
        name = subprocess.run([program, "run", "-d", "--rm", "-v", f"{secret}:/password:ro",
                               "-e", "LK_SERVE_PASSWORD_FILE=/password", "-e",
                               "LK_SERVE_INSECURE=yes", "lockkeeper-test"],
                              check=True, capture_output=True, text=True).stdout.strip()
        check = json.loads(of("HEALTHCHECK")[0][of("HEALTHCHECK")[0].index("["):])
        end = time.monotonic() + PATIENCE_S
        while subprocess.run([program, "exec", name, *check], check=False).returncode != 0:
            assert time.monotonic() < end, "it is not healthy"
            time.sleep(0.2)
        subprocess.run([program, "stop", name], check=True, stdout=subprocess.DEVNULL)


def main():
    chosen = [is_modest, example_is_closed, shared_example_is_closed, starts_and_ends, refuses]
    chosen += [is_built] if builder() else []
    chosen = [shared_example_starts] if len(sys.argv) > 3 else chosen
    return cases.run(chosen)


sys.exit(main())
