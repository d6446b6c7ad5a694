#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""cluster.py NODES PROGRAM [ARGUMENT...]

Runs the program beside a private etcd cluster of so many nodes, and exits as it does. {etcd} in an
argument, and LK_TEST_ETCD, are its addresses: HOST:PORT,HOST:PORT,..."""

import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "procedures"))
from ports import free_ports  # noqa: E402

START_S = 60


class Node:
    """One member of a cluster, which is started again with what it had."""

    def __init__(self, directory, name, ports, extra):
        self.directory, self.name, self.extra = directory, name, extra
        self.client, self.peer, self.health = (f"127.0.0.1:{port}" for port in ports)
        self.scheme = "https" if "--cert-file" in extra else "http"
        self.process = None

    def start(self, cluster):
        client, peer = f"{self.scheme}://{self.client}", f"http://{self.peer}"
        log = open(os.path.join(self.directory, f"{self.name}.log"), "ab")  # noqa: SIM115
        self.process = subprocess.Popen(
            ["etcd", "--name", self.name, "--data-dir", os.path.join(self.directory, self.name),
             "--listen-client-urls", client, "--advertise-client-urls", client,
             "--listen-metrics-urls", f"http://{self.health}", "--listen-peer-urls", peer, "--initial-advertise-peer-urls", peer,
             "--initial-cluster", cluster, "--unsafe-no-fsync", "--heartbeat-interval", "100",
             "--election-timeout", "1000", "--log-level", "error", "--logger", "zap", *self.extra],
            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        log.close()

    def stop(self):
        """Until SIGCONT. A thread of it may do some more after the signal was sent, so waits for the stop."""
        self.process.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.pid, os.WSTOPPED)

    def end(self, number=signal.SIGKILL):
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait(60)
        self.process = None


class Cluster:
    def __init__(self, count, extra=()):
        self.directory = tempfile.mkdtemp(prefix="lk-etcd-")
        ports = free_ports(3 * count)
        self.nodes = [Node(self.directory, f"n{i}", ports[3 * i:3 * i + 3], list(extra))
                      for i in range(count)]
        self.members = ",".join(f"{node.name}=http://{node.peer}" for node in self.nodes)
        for node in self.nodes:
            node.start(self.members)

    @property
    def addresses(self):
        return ",".join(node.client for node in self.nodes)

    @staticmethod
    def is_healthy(node):
        try:
            with urllib.request.urlopen(f"http://{node.health}/health", timeout=2) as answer:
                return b'"true"' in answer.read()
        except (OSError, urllib.error.URLError, ValueError):
            return False

    def wait(self):
        """Until each node answers for a cluster that has a leader."""
        end = time.monotonic() + START_S
        while not all(self.is_healthy(node) for node in self.nodes):
            for node in self.nodes:
                if node.process.poll() is not None:
                    self.show()
                    raise AssertionError(f"etcd has ended: {node.name}")
            if time.monotonic() > end:
                self.show()
                raise AssertionError("etcd does not become healthy")
            time.sleep(0.02)

    def show(self):
        for node in self.nodes:
            path = pathlib.Path(self.directory, f"{node.name}.log")
            sys.stderr.write(path.read_text(errors="replace")[-2000:])

    def end(self):
        for node in self.nodes:
            node.end()
        shutil.rmtree(self.directory, ignore_errors=True)


def main():
    cluster = Cluster(int(sys.argv[1]))
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        cluster.wait()
        words = [word.replace("{etcd}", cluster.addresses) for word in sys.argv[2:]]
        code = subprocess.run(words, env={**os.environ, "LK_TEST_ETCD": cluster.addresses},
                              check=False).returncode
    finally:
        cluster.end()
    sys.exit(code if code >= 0 else 128 - code)


if __name__ == "__main__":
    main()
