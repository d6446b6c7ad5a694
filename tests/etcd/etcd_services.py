#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Three services on an etcd cluster of three nodes: what services on PostgreSQL show
(tests/postgresql/services.py), and besides, nodes of etcd that are killed, stopped and started again.
LK

LK_TEST_SEED: which fault comes when. LK_TEST_SCALE: percent of the faults."""

import os
import pathlib
import random
import signal
import socket
import sys
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "postgresql"), str(HERE.parent / "listeners")]
import services as common  # noqa: E402
from cluster import Cluster, free_ports  # noqa: E402
from service import Resp, as_map, until  # noqa: E402

FAULTS = 3
common.FAULTS = 3  # each kind once
STOP_S = 2.5  # longer than an election


class Lossy(threading.Thread):
    """A proxy of one node of etcd: now and then an answer to a transaction is lost with its connection,
    after etcd has done it."""

    def __init__(self, address):
        super().__init__(daemon=True)
        host, port = address.split(":")
        self.upstream = (host, int(port))
        self.socket = socket.create_server(("127.0.0.1", free_ports(1)[0]))
        self.address = "%s:%d" % self.socket.getsockname()
        self.transactions = 0
        self.lost = 0
        self.start()

    def run(self):
        try:
            while True:
                client, _ = self.socket.accept()
                threading.Thread(target=self.serve, args=(client,), daemon=True).start()
        except OSError:
            pass

    def serve(self, client):
        with client, socket.create_connection(self.upstream) as server:
            try:
                while (request := self.message(client)) and self.may_pass(request, server):
                    server.sendall(request)
                    client.sendall(self.message(server))
            except OSError:
                pass

    def may_pass(self, request, server):
        self.transactions += request.startswith(b"POST /v3/kv/txn ")
        if request.startswith(b"POST /v3/kv/txn ") and self.transactions % 3 == 0:
            server.sendall(request)
            self.lost += b'"succeeded":true' in self.message(server)
            return False
        return True

    @staticmethod
    def message(wire):
        """One message of HTTP with a length, as etcd and libcurl send it."""
        data = b""
        while b"\r\n\r\n" not in data:
            piece = wire.recv(65536)
            if not piece:
                return b""
            data += piece
        head, body = data.split(b"\r\n\r\n", 1)
        lines = dict(line.lower().split(b": ", 1) for line in head.split(b"\r\n")[1:])
        while len(body) < int(lines.get(b"content-length", b"0")):
            body += wire.recv(65536)
        return head + b"\r\n\r\n" + body


class Services(common.Services):
    def __init__(self, program, cluster):  # pylint: disable=super-init-not-called
        self.cluster = cluster
        self.members = [common.Member(program, f"etcd://{cluster.addresses}/services")
                        for _ in range(3)]
        for member in self.members:
            member.start()
        self.leader()


def a_node_is_lost_and_comes_back(services):
    """while any node of etcd is killed and started again, the same service leads, and what it says stays"""
    leader = services.leader()
    epoch = leader.info()["epoch"]
    wire = Resp(leader.resp)
    for node in services.cluster.nodes:
        node.end()
        granted = as_map(wire.call("ACQUIRE", f"node/{node.name}", "OWNER", "one", "TTL", 600000))
        assert granted["status"] == "granted", granted
        node.start(services.cluster.members)
        services.cluster.wait()
    assert leader.info()["epoch"] == epoch
    assert len(wire.call("LIST", "node")[1]) == 3
    wire.close()


def lost_answers_are_found_out(services):
    """a transaction whose answer is lost is neither done twice nor given up"""
    proxies = [Lossy(node.client) for node in services.cluster.nodes[:2]]
    url = f"etcd://{','.join(proxy.address for proxy in proxies)}/lossy"
    member = common.Member(services.members[0].program, url)
    member.start()
    until(lambda: member.ready()[0] == 200)
    epoch = member.info()["epoch"]
    wire = Resp(member.resp)
    for i in range(30):
        granted = as_map(wire.call("ACQUIRE", f"l/{i}", "OWNER", "one", "TTL", 600000))
        assert granted["status"] == "granted", granted
    info = member.info()
    wire.close()
    assert member.end() == 0
    assert sum(proxy.lost for proxy in proxies) >= 10, [proxy.lost for proxy in proxies]
    assert info["epoch"] == epoch and info["batches_failed"] == "0", info


def etcd_is_away(services):
    """no node of etcd is there for longer than a lease: the same service goes on then"""
    services.restart(common.PATIENT_MS)
    leader = services.leader()
    wire = Resp(leader.resp)
    granted = as_map(wire.call("ACQUIRE", "away", "OWNER", "one", "TTL", 600000))
    for node in services.cluster.nodes:
        os.kill(node.process.pid, signal.SIGSTOP)
    try:
        answer = wire.call("ACQUIRE", "away/too", "OWNER", "two", "TTL", 600000)
        assert str(answer).startswith("UNAVAILABLE"), answer
        time.sleep(1.5 * common.PATIENT_MS / 1000)
    finally:
        for node in services.cluster.nodes:
            os.kill(node.process.pid, signal.SIGCONT)
    assert services.leader() is leader
    again = as_map(wire.call("ACQUIRE", "away", "OWNER", "one", "TTL", 600000))
    assert again["token"] == granted["token"], (again, granted)
    wire.close()


def hurt(services, fault):
    """A fault of a node, or one of the service that leads."""
    nodes = services.cluster.nodes
    kind, number = fault
    if kind == "kill":
        nodes[number].end()
        time.sleep(0.5)
        nodes[number].start(services.cluster.members)
        services.cluster.wait()
    elif kind == "stop":
        os.kill(nodes[number].process.pid, signal.SIGSTOP)
        time.sleep(STOP_S)
        os.kill(nodes[number].process.pid, signal.SIGCONT)
        services.cluster.wait()
    else:
        common.hurt(services, "kill")
    time.sleep(0.2)


def nodes_of_etcd_fail(services):
    """while nodes of etcd are killed or stopped, and a service, too, no client sees what must not be"""
    seed = int(os.environ.get("LK_TEST_SEED", random.randrange(1 << 30)))
    count = max(2, FAULTS * int(os.environ.get("LK_TEST_SCALE", 100)) // 100)
    print(f"# LK_TEST_SEED={seed}")
    choice = random.Random(seed)
    faults = [("kill", choice.randrange(3)), ("stop", choice.randrange(3))]
    faults += [(choice.choice(["kill", "stop", "service"]), choice.randrange(3))
               for _ in range(count - 2)]
    common.watch_clients(services, seed, faults, hurt)


def main():
    cluster = Cluster(3)
    try:
        cluster.wait()
        common.run(Services(sys.argv[1], cluster),
                   [a_node_is_lost_and_comes_back, lost_answers_are_found_out, etcd_is_away, *common.CASES,
                    nodes_of_etcd_fail])
    finally:
        cluster.end()


main()
