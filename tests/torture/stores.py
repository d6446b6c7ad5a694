# SPDX-License-Identifier: Apache-2.0
"""The stores of with_faults.py: how each is started, killed, stopped for a while and started again.

All of one store's processes are in `pids()`. `near` is where clients find it: behind a proxy, if it
has one, which passes on what comes there to where the store really is.
"""
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent / "redis"), str(HERE.parent / "procedures")]

from failovers import Cluster  # noqa: E402
from ports import free_ports  # noqa: E402
from with_servers import BUS, Servers  # noqa: E402

SECONDS_MAX = 60  # to be back
ROOTS = ("s", "r", "pool", "t", "v")  # of tests/conformance/concurrent


class Failed(Exception):
    """The store does not do what a fault needs of it."""


def wait(what, is_done):
    until = time.monotonic() + SECONDS_MAX
    while not is_done():
        if time.monotonic() > until:
            raise Failed(f"{what} takes too long")
        time.sleep(0.02)


def state_of(pid):
    """Of a process: the letter of its state, and its parent."""
    try:
        text = pathlib.Path(f"/proc/{pid}/stat").read_text(encoding="ascii", errors="replace")
    except OSError:
        return "X", 0
    words = text.rpartition(")")[2].split()
    return words[0], int(words[1])


def is_gone(pid):
    """Its parent can wait for it: after SIGKILL its first thread may end before the others."""
    try:
        return state_of(pid)[0] in "ZX" and len(os.listdir(f"/proc/{pid}/task")) <= 1
    except OSError:
        return True


def children_of(parent):
    found = [int(name) for name in os.listdir("/proc") if name.isdigit()]
    return [pid for pid in found if state_of(pid)[1] == parent]


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    for pid in pids:
        wait("the end of a process", lambda pid=pid: is_gone(pid))


class Store:
    """A file, which no process serves."""

    faults = ("fill",)
    url = "sqlite:{folder}/store.db"

    def __init__(self, folder, program):
        self.folder = folder
        self.program = program
        self.proxied = {}  # where clients find it: where it is

    def start(self):
        pass

    def pids(self):
        return []

    def kill(self, _rng):
        """Returns what a line about the restart has behind its instants."""
        end(self.pids())
        return ""

    def revive(self):
        """Starts again what is not there."""

    def stop(self):
        self.kill(None)


class Service(Store):
    faults = ("kill", "pause", "cut", "lose", "stall", "fill")
    url = "lk+unix:{folder}/near"
    place = "--dir"

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.proxied = {f"{folder}/near": f"{folder}/socket"}
        self.process = None

    def start(self):
        words = [self.program, "serve", "--unix", f"{self.folder}/socket", "--http", "none",
                 self.place] + ([f"{self.folder}/data"] if self.place == "--dir" else [])
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE)
        if not self.process.stdout.read(1):  # its address, or its end
            self.process.wait()
            raise Failed("the service does not start")

    def pids(self):
        return [self.process.pid] if self.process and self.process.poll() is None else []

    def revive(self):
        while not self.pids():
            self.process.stdout.close()
            self.start()


class Ephemeral(Service):
    """Which keeps nothing when it is killed, and has no file."""

    faults = ("pause", "cut", "lose", "stall")
    place = "--ephemeral"


class Postgresql(Store):
    """Of with_server.sh."""

    faults = ("kill", "pause", "cut", "lose", "stall", "fill")
    url = "postgresql://postgres@/postgres?host={folder}&schema=torture"

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.server = os.environ["LK_TEST_SERVER"]
        self.proxied = {f"{folder}/.s.PGSQL.5432": f"{self.server}/.s.PGSQL.5432"}

    def start(self):  # it is there; its log stays small
        self.control("reload", setting="max_wal_size = '64MB'\n")

    def control(self, *words, setting=""):
        with open(f"{self.server}/data/postgresql.conf", "a", encoding="ascii") as file:
            file.write(setting)
        script = f'. {HERE}/../postgresql/servers.sh; cd /; unprivileged "$@" >/dev/null 2>&1'
        control = [f"{os.environ['LK_TEST_POSTGRES_BIN']}/pg_ctl", "-D", f"{self.server}/data", "-w",
                   "-s", "-l", f"{self.server}/log"]
        return subprocess.run(["sh", "-c", script, "sh", *control, *words], check=False).returncode

    def pids(self):
        try:
            with open(f"{self.server}/data/postmaster.pid", encoding="ascii") as file:
                first = int(file.readline())
        except (OSError, ValueError):
            return []
        return [] if is_gone(first) else [first, *children_of(first)]

    def kill(self, rng):
        for first in self.pids()[:1]:
            os.kill(first, signal.SIGSTOP)  # it starts no others, which would keep its memory
            wait("the stop of a process", lambda first=first: state_of(first)[0] in "TZX")
        return super().kill(rng)

    def revive(self):
        until = time.monotonic() + SECONDS_MAX
        while self.control("status") != 0 or not self.answers():
            if time.monotonic() > until:
                raise Failed("the server does not come back")
            if not self.pids():
                self.control("restart")  # with the options that it was started with
            time.sleep(0.05)

    def answers(self):
        return subprocess.run(
            [f"{os.environ['LK_TEST_POSTGRES_BIN']}/pg_isready", "-q", "-h", self.server],
            check=False).returncode == 0


class Mysql(Store):
    """Of with_server.sh."""

    faults = ("kill", "pause", "cut", "lose", "stall", "fill")
    url = "mysql://root@/test?socket={folder}/socket&prefix=torture_"

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.server = os.environ["LK_TEST_SERVER"]
        self.proxied = {f"{folder}/socket": f"{self.server}/socket"}

    def pids(self):
        try:
            pid = int(pathlib.Path(f"{self.server}/pid").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return []
        return [] if is_gone(pid) else [pid]

    def revive(self):
        until = time.monotonic() + SECONDS_MAX
        while not self.pids():
            if time.monotonic() > until:
                raise Failed("the server does not come back")
            subprocess.run([f"{self.server}/start", os.environ["LK_TEST_PORT"]], check=False)


class Redis(Store):
    faults = ("kill", "pause", "cut", "lose", "stall", "fill")
    url = "redis://{folder}/near"
    durable = ("--appendonly", "yes", "--appendfsync", "always", "--dbfilename", "none.rdb")

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.servers = Servers(folder=f"{folder}/redis")
        self.proxied = {f"{folder}/near": f"{folder}/redis/socket"}

    def start(self):
        os.makedirs(self.servers.folder, exist_ok=True)
        self.servers.single(*self.durable)
        self.wait_for_load()

    def wait_for_load(self):
        wait("the server's file", lambda: "loading:0" in self.servers.cli(
            "-s", f"{self.servers.folder}/socket", "INFO", "persistence"))

    def pids(self):
        return [process.pid for process in self.servers.processes if process.poll() is None]

    def revive(self):
        while not self.pids():
            self.start()

    def stop(self):
        self.servers.stop()


class RedisWithoutFile(Redis):
    """Which forgets all when it is killed: what that does must be found."""

    faults = ("kill",)
    durable = ("--appendonly", "no")


class RedisCluster(Store):
    """Three masters with their files and without replicas, each behind a proxy of its own."""

    faults = ("kill", "pause", "cut", "lose", "stall", "fill")

    def __init__(self, folder, program):
        super().__init__(folder, program)
        self.servers = Cluster(folder=f"{folder}/redis")
        ports = free_ports(6, BUS)
        self.near = dict(zip(ports[:3], ports[3:]))  # of each node, the proxy's port
        self.proxied = {near: port for port, near in self.near.items()}
        self.url = "redis://" + ",".join(f"127.0.0.1:{near}" for near in self.near.values())
        self.processes = {}
        self.roots = {}

    def serve(self, port):
        self.servers.start(str(port), "--port", str(port), "--bind", "127.0.0.1",
                           "--cluster-enabled", "yes", "--cluster-config-file", "nodes.conf",
                           "--cluster-node-timeout", "3000",
                           "--cluster-announce-port", str(self.near[port]),
                           "--cluster-announce-bus-port", str(port + BUS), *Redis.durable)
        self.processes[port] = self.servers.processes[-1]

    def start(self):
        os.makedirs(self.servers.folder, exist_ok=True)
        for port in self.near:
            self.serve(port)
        for port in self.near:
            wait("a node", lambda port=port: "PONG" in self.servers.at(port, "PING"))
        for index, port in enumerate(self.near):
            slots = [16384 * index // 3, 16384 * (index + 1) // 3 - 1]
            self.servers.at(port, "CLUSTER", "ADDSLOTSRANGE", *map(str, slots))
            self.servers.at(port, "CLUSTER", "SET-CONFIG-EPOCH", str(index + 1))
        first = next(iter(self.near))
        for port in self.near:
            if port != first:
                self.servers.at(port, "CLUSTER", "MEET", "127.0.0.1", str(first), str(first + BUS))
        self.wait_for_cluster()
        for root in ROOTS:
            slot = int(self.servers.at(first, "CLUSTER", "KEYSLOT", root))
            node = list(self.near)[min(slot * 3 // 16384, 2)]
            self.roots.setdefault(node, []).append(root)

    def wait_for_cluster(self):
        for port in self.near:
            wait("the cluster", lambda port=port: re.search(
                r"cluster_state:ok[\s\S]*cluster_known_nodes:3",
                self.servers.at(port, "CLUSTER", "INFO")))

    def pids(self):
        return [process.pid for process in self.processes.values() if process.poll() is None]

    def kill(self, rng):
        """One node, and what it has. A store that ends is killed as a whole."""
        if rng is None:
            return super().kill(rng)
        port = rng.choice(sorted(self.roots))
        end([self.processes[port].pid])
        self.processes[port].wait()
        return " of " + " ".join(self.roots[port])

    def revive(self):
        until = time.monotonic() + SECONDS_MAX
        while missing := [port for port, process in self.processes.items()
                          if process.poll() is not None]:
            if time.monotonic() > until:
                raise Failed("a node does not come back")
            for port in missing:
                self.serve(port)
            time.sleep(0.1)
            for port in missing:
                wait("a node", lambda port=port: self.processes[port].poll() is not None
                     or "PONG" in self.servers.at(port, "PING"))
        self.wait_for_cluster()

    def stop(self):
        end(self.pids())
        shutil.rmtree(self.servers.folder, ignore_errors=True)


STORES = {"sqlite": Store, "service": Service, "service-ephemeral": Ephemeral,
          "postgresql": Postgresql, "mysql": Mysql, "redis": Redis,
          "redis-without-file": RedisWithoutFile, "redis-cluster": RedisCluster}
