#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside Redis servers whose masters fail over: failovers.py pair|cluster COMMAND...

{url} in the command's words is replaced by the store's URL. `pair` is a master and a replica, `cluster`
three of them. As failovers.py --restart MS URL it is what a concurrent history calls: the replica of
a master has all that was answered, and nothing of what comes in the MS milliseconds until the master
is killed; then it takes over, and the killed one comes back as its replica. What is printed is for
the checker of the histories.
"""
import os
import random
import signal
import subprocess
import sys
import time

from with_servers import Servers, free_ports

ROOTS = ("s", "r", "pool", "t")  # of tests/conformance/concurrent


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


class Failovers(Servers):
    def at(self, port, *words):
        return self.cli("-p", str(port), *words).strip()

    def replication(self, port):
        """What a server tells of it, as a dictionary."""
        lines = self.at(port, "INFO", "replication").splitlines()
        return dict(line.strip().split(":", 1) for line in lines if ":" in line)

    def pid_file(self, name):
        return os.path.join(self.folder, name, "pid")

    def kill(self, port):
        with open(self.pid_file(str(port)), encoding="ascii") as file:
            pid = int(file.read())
        os.kill(pid, signal.SIGKILL)
        self.wait("the end", lambda: "PONG" not in self.at(port, "PING"))

    def stop(self):
        for name in os.listdir(self.folder):  # also those that another process has started
            if os.path.exists(self.pid_file(name)):
                self.kill(int(name))
        super().stop()

    def fail_over(self, lost_ms):
        master, replica, roots = self.choose()
        kept = now_us()
        offset = int(self.replication(master)["master_repl_offset"])
        self.wait("the replica", lambda: int(self.replication(replica)["slave_repl_offset"])
                  >= offset)
        self.at(master, "ACL", "SETUSER", "default", "-psync", "-sync")
        self.at(master, "CLIENT", "KILL", "TYPE", "replica")
        self.wait("the link's end", lambda: self.replication(replica)["master_link_status"]
                  == "down")
        taken = now_us()
        time.sleep(lost_ms / 1000)
        gone = now_us()
        self.kill(master)
        self.take_over(replica)
        print(f"restart {gone} {now_us()} {kept} {taken}{roots}", flush=True)
        self.come_back(master, replica)
        self.wait("the new replica", lambda: self.replication(master).get("master_link_status")
                  == "up" and self.replication(master)["master_port"] == str(replica))


class Pair(Failovers):
    def run(self):
        ports = free_ports(2)
        self.serve(ports[0])
        self.serve(ports[1], "--replicaof", "127.0.0.1", str(ports[0]))
        self.url = "redis://" + ",".join(f"127.0.0.1:{port}" for port in ports)
        self.wait("the replica", lambda: self.replication(ports[1]).get("master_link_status")
                  == "up")

    def serve(self, port, *options):
        self.start(str(port), "--port", str(port), "--bind", "127.0.0.1",
                   "--repl-diskless-sync-delay", "0", *options)
        self.wait("the server", lambda: "PONG" in self.at(port, "PING"))

    def choose(self):
        ports = [int(name) for name in os.listdir(self.folder)]
        ports.sort(key=lambda port: self.replication(port)["role"])  # master, slave
        return *ports, ""

    def take_over(self, replica):
        self.at(replica, "REPLICAOF", "NO", "ONE")

    def come_back(self, master, replica):
        self.serve(master, "--replicaof", "127.0.0.1", str(replica))


class Cluster(Failovers):
    def run(self):
        self.cluster()

    def choose(self):
        """One that has a root of the histories; its roots alone go back."""
        found = []
        self.wait("a master with a replica", lambda: found.extend(self.candidates()) or found)
        return random.choice(found)

    def candidates(self):
        """By what some node knows, which may have come back a moment ago."""
        some = random.choice([name for name in os.listdir(self.folder) if name.isdigit()])
        port_of, replica_of = {}, {}
        for words in map(str.split, self.at(some, "CLUSTER", "NODES").splitlines()):
            if len(words) < 8 or "fail" in words[2] or words[7] != "connected":
                continue
            port_of[words[0]] = int(words[1].split("@")[0].split(":")[1])
            if "slave" in words[2]:
                replica_of[words[3]] = words[0]
        roots = {}
        for root in ROOTS:
            slot = int(self.at(some, "CLUSTER", "KEYSLOT", root))
            for low, high, node in self.slots(some):
                if low <= slot <= high and node in port_of and node in replica_of:
                    roots.setdefault(node, []).append(root)
        pairs = [(port_of[node], port_of[replica_of[node]], " of " + " ".join(roots[node]))
                 for node in roots]
        return [pair for pair in pairs if self.replication(pair[1]).get("master_port")
                == str(pair[0]) and self.replication(pair[1])["master_link_status"] == "up"]

    def slots(self, port):
        for words in map(str.split, self.at(port, "CLUSTER", "NODES").splitlines()):
            for span in words[8:]:  # of masters only
                low, _, high = span.partition("-")
                yield int(low), int(high or low), words[0]

    def take_over(self, replica):
        self.at(replica, "CLUSTER", "FAILOVER", "TAKEOVER")
        self.wait("the fail-over", lambda: self.replication(replica)["role"] == "master")

    def come_back(self, master, replica):
        self.start_node(master)


def main():
    kinds = {"pair": Pair, "cluster": Cluster}
    if sys.argv[1:2] == ["--restart"]:
        servers = kinds[os.environ["LK_TEST_KIND"]](folder=os.environ["LK_TEST_FOLDER"])
        servers.fail_over(int(sys.argv[2]))
        return 0
    if len(sys.argv) < 3 or sys.argv[1] not in kinds:
        print("usage: failovers.py pair|cluster COMMAND...", file=sys.stderr)
        return 2
    servers = kinds[sys.argv[1]]()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    try:
        servers.run()
        words = [word.replace("{url}", servers.url) for word in sys.argv[2:]]
        return subprocess.run(words, check=False, env={
            **os.environ, "LK_TEST_KIND": sys.argv[1], "LK_TEST_FOLDER": servers.folder}).returncode
    finally:
        servers.stop()


if __name__ == "__main__":
    sys.exit(main())
