#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside Redis servers of its own:
with_servers.py [--clock LIBRARY] [--tls] single|cluster COMMAND...

In the command's words, {url} is replaced by the store's URL, {flush} by a program that empties it,
{folder} by the servers' folder, and {clock} by the file that LIBRARY (clock.c), which the servers
load first, has their time from. `cluster` is three masters with a replica each, on free ports of
the loopback; `single` is one server on a socket. With --tls the servers have ports for TLS only, and those of the
cluster want a certificate of clients, too. The servers end with the command, whatever it does.
"""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "procedures"), str(TESTS / "listeners")]
from ports import free_ports  # noqa: E402

BUS = 10000  # a node's port for the others is so far above its own
SECONDS_MAX = 60  # to be ready
NODE_TIMEOUT_MS = 3000


def fail(text):
    print(f"Bail out! with_servers: {text}", flush=True)
    sys.exit(99)


class Tls:
    """What servers show, and clients trust; all of an authority of their own, in the folder."""

    def __init__(self, folder):
        from credentials import Authority  # reads the command line of its own tests

        self.ours = Authority(folder, "ours")
        self.certificate, self.key = self.ours.sign("redis")

    def of_server(self, port, *certificate):
        """Options of a server: another certificate with its key, or its own."""
        file, key = certificate or (self.certificate, self.key)
        return ["--port", "0", "--tls-port", str(port), "--tls-cert-file", file, "--tls-key-file", key,
                "--tls-ca-cert-file", str(self.ours.file)]

    def of_cli(self):
        return ["--tls", "--cacert", str(self.ours.file), "--cert", self.certificate, "--key", self.key]

    def options(self, shows_certificate):
        """Of a URL."""
        own = f"&cert={self.certificate}&key={self.key}" if shows_certificate else ""
        return f"?ca={self.ours.file}{own}"


class Servers:
    def __init__(self, clock=None, folder=None, has_tls=False):
        self.folder = folder or tempfile.mkdtemp(prefix="lk-redis-")
        self.tls = Tls(self.folder) if has_tls else None
        self.environment = dict(os.environ)
        self.clock = os.path.join(self.folder, "clock")
        self.node_timeout_ms = NODE_TIMEOUT_MS
        if clock:
            self.node_timeout_ms = 1000000000  # the clock leaps
            with open(self.clock, "wb") as file:
                file.write(bytes(8))
            self.environment.update(LD_PRELOAD=clock, LK_TEST_CLOCK=self.clock)
        self.processes = []
        self.url = None
        self.flush = []

    def start(self, name, *options):
        folder = os.path.join(self.folder, name)
        os.makedirs(folder, exist_ok=True)  # it may start again
        words = ["redis-server", "--dir", folder, "--save", "", "--logfile", "log", *options]
        self.processes.append(subprocess.Popen(words, stdin=subprocess.DEVNULL,
                                               stdout=subprocess.DEVNULL,
                                               env=self.environment))
        with open(os.path.join(folder, "pid"), "w", encoding="ascii") as file:
            file.write(f"{self.processes[-1].pid}\n")

    def command(self, *words):
        """Of redis-cli, to a port with TLS if the servers have it."""
        is_encrypted = self.tls is not None and "-s" not in words
        return ["redis-cli", *(self.tls.of_cli() if is_encrypted else []), *words]

    def cli(self, *words):
        result = subprocess.run(self.command(*words), capture_output=True, text=True, check=False)
        return result.stdout + result.stderr

    def wait(self, what, is_done):
        until = time.monotonic() + SECONDS_MAX
        while not is_done():
            if time.monotonic() > until:
                fail(f"{what} takes too long")
            time.sleep(0.02)

    def single(self, *options):
        path = os.path.join(self.folder, "socket")
        if self.tls:
            port = free_ports(1)[0]
            options = [*self.tls.of_server(port), "--tls-auth-clients", "no", *options]
        self.start("server", "--port", "0", "--unixsocket", path, "--databases", "16384",
                   *options)
        self.url = f"rediss://127.0.0.1:{port}{self.tls.options(False)}" if self.tls else f"redis://{path}"
        # Not FLUSHALL, which takes Redis 8 seconds for so many databases: the tests that flush use the first.
        self.flush = [f"redis-cli -s {path} FLUSHDB"]
        self.wait("the server", lambda: "PONG" in self.cli("-s", path, "PING"))

    def start_node(self, port):
        place = ["--port", str(port)]
        if self.tls:
            place = [*self.tls.of_server(port), "--tls-cluster", "yes", "--tls-replication", "yes"]
        self.start(str(port), *place, "--bind", "127.0.0.1",
                   "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                   "--cluster-node-timeout", str(self.node_timeout_ms),
                   "--cluster-replica-validity-factor", "0", "--repl-diskless-sync-delay", "0",
                   "--appendonly", "no")

    def cluster(self):
        ports = free_ports(6, BUS)
        for port in ports:
            self.start_node(port)
        for port in ports:
            self.wait("a node", lambda port=port: "PONG" in self.cli("-p", str(port), "PING"))
        nodes = [f"127.0.0.1:{port}" for port in ports]
        made = self.cli("--cluster", "create", *nodes, "--cluster-replicas", "1", "--cluster-yes")
        if "All 16384 slots covered" not in made:
            fail(f"the cluster was not made: {made[-500:]}")
        for port in ports:
            self.wait("the cluster", lambda port=port:
                      "cluster_state:ok" in self.cli("-p", str(port), "CLUSTER", "INFO"))
        self.wait_for_agreement(ports, replicas=3)
        self.url = self.url_of(nodes[:3])
        self.flush = [" ".join(self.command("-p", str(port), "FLUSHALL")) for port in ports]

    def url_of(self, nodes):
        """The cluster's, whose nodes want a certificate if they have TLS."""
        hosts = ",".join(nodes)
        return f"rediss://{hosts}{self.tls.options(True)}" if self.tls else f"redis://{hosts}"

    def wait_for_agreement(self, ports, replicas):
        """Waits until each node has heard who is a replica, and all say the same of the slots. A
        replica is a master without slots to the nodes that have not heard of it yet."""
        for port in ports:
            self.wait("the replicas' names", lambda port=port: replicas == sum(
                "slave" in line.split()[2]
                for line in self.cli("-p", str(port), "CLUSTER", "NODES").splitlines()))
        self.wait("the nodes' agreement", lambda: "All nodes agree" in self.cli(
            "--cluster", "check", f"127.0.0.1:{ports[0]}"))

    def flush_program(self):
        path = os.path.join(self.folder, "flush")
        with open(path, "w", encoding="ascii") as file:
            file.write("#!/bin/sh\n" + "".join(f"{line} >/dev/null\n" for line in self.flush))
        os.chmod(path, 0o700)
        return path

    def stop(self):
        for process in self.processes:
            process.kill()
        for process in self.processes:
            process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


def main():
    arguments = sys.argv[1:]
    clock = None
    if arguments[:1] == ["--clock"]:
        clock = arguments[1]
        arguments = arguments[2:]
    has_tls = arguments[:1] == ["--tls"]
    arguments = arguments[has_tls:]
    if len(arguments) < 2 or arguments[0] not in ("single", "cluster"):
        print("usage: with_servers.py [--clock LIBRARY] [--tls] single|cluster COMMAND...",
              file=sys.stderr)
        return 2
    servers = Servers(clock, has_tls=has_tls)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        getattr(servers, arguments[0])()
        known = {"{url}": servers.url, "{flush}": servers.flush_program(),
                 "{folder}": servers.folder, "{clock}": servers.clock}
        words = []
        for word in arguments[1:]:
            for mark, value in known.items():
                word = word.replace(mark, value)
            words.append(word)
        return subprocess.run(words, check=False).returncode
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
