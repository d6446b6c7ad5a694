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
from cluster import Cluster  # noqa: E402
from ports import free_ports  # noqa: E402
from service import Resp, as_map, until  # noqa: E402

FAULTS = 3
common.FAULTS = 3  # each kind once
STOP_S = 2.5  # longer than an election


class Proxy(threading.Thread):
    """A proxy of one node of etcd. While it is shut nothing passes, and no connection ends."""

    def __init__(self, address):
        super().__init__(daemon=True)
        host, port = address.split(":")
        self.upstream = (host, int(port))
        self.socket = socket.create_server(("127.0.0.1", free_ports(1)[0]))
        self.address = "%s:%d" % self.socket.getsockname()
        self.is_open = threading.Event()
        self.is_open.set()
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
            wires = (client, server)
            back = threading.Thread(target=self.carry, args=(self.answers(server), client, wires),
                                    daemon=True)
            back.start()
            self.carry(self.requests(client), server, wires)
            back.join()

    def carry(self, pieces, target, wires):
        """Passes the pieces on; both connections end with them."""
        try:
            for piece in pieces:
                self.is_open.wait()
                target.sendall(piece)
        except OSError:
            pass
        for wire in wires:
            try:
                wire.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass

    @staticmethod
    def requests(wire):
        while piece := wire.recv(65536):
            yield piece

    answers = requests


def read(wire, size):
    data = bytearray()
    while len(data) < size:
        piece = wire.recv(size - len(data))
        if not piece:
            raise OSError("the connection has ended")
        data += piece
    return bytes(data)


def frames(wire):
    """Frames of HTTP/2, as (kind, flags, stream, frame): 9 bytes tell what follows."""
    while True:
        head = read(wire, 9)
        yield head[3], head[4], int.from_bytes(head[5:], "big"), head + read(wire, int.from_bytes(head[:3], "big"))


class Lossy(Proxy):
    """Each third answer to a transaction is lost with its connection, after etcd has done it."""

    DATA, END_STREAM, PREFACE, HEADS = 0, 1, 24, 9 + 5  # of a frame, and of a message

    def __init__(self, address):
        self.transactions = 0
        self.lost = 0
        self.doomed = set()  # (client's socket, stream)
        super().__init__(address)

    def serve(self, client):
        self.doomed = set()  # one connection at a time
        super().serve(client)

    def requests(self, wire):  # pylint: disable=arguments-differ
        yield read(wire, self.PREFACE)
        for kind, _, stream, frame in frames(wire):
            if kind == self.DATA and b'"epoch":' in frame:  # what it writes, if it leads still
                self.transactions += 1
                if self.transactions % 3 == 0:
                    self.doomed.add(stream)
            yield frame

    def answers(self, wire):  # pylint: disable=arguments-differ
        for kind, flags, stream, frame in frames(wire):
            if stream not in self.doomed:
                yield frame
                continue
            if kind == self.DATA:
                header = frame[self.HEADS + 1]  # the first field of the answer, and its size
                self.lost += frame[self.HEADS + 2 + header:][:2] == b"\x10\x01"  # it has succeeded
            if flags & self.END_STREAM:
                return


class Services(common.Services):
    def __init__(self, program, cluster, urls=None):  # pylint: disable=super-init-not-called
        self.cluster = cluster
        urls = urls or 3 * [f"etcd://{cluster.addresses}/services"]
        self.members = [common.Member(program, url) for url in urls]
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


def epoch_at(member):
    """What the service says of the present epoch, which may be changing."""
    wire = Resp(member.resp)
    fields = wire.call("INFO")
    wire.close()
    return fields.split("\r\nepoch:")[1].split("\r\n")[0]


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
    """no node of etcd is there for longer than a lease: what was granted is held when it is back"""
    services.restart(common.PATIENT_MS)
    leader = services.leader()
    wire = Resp(leader.resp)
    granted = as_map(wire.call("ACQUIRE", "away", "OWNER", "one", "TTL", 600000))
    for node in services.cluster.nodes:
        node.stop()
    try:
        answer = wire.call("ACQUIRE", "away/too", "OWNER", "two", "TTL", 600000)
        assert str(answer).startswith("UNAVAILABLE"), answer  # after the time of a lease
    finally:
        for node in services.cluster.nodes:
            os.kill(node.process.pid, signal.SIGCONT)
    wire.close()
    wire = Resp(services.leader().resp)  # the same one as a rule: a lease does not run while etcd is away
    again = as_map(wire.call("ACQUIRE", "away", "OWNER", "one", "TTL", 600000))
    assert again["token"] == granted["token"], (again, granted)
    wire.close()
    until(lambda: len({epoch_at(member) for member in services.members}) == 1)


def a_leader_is_cut_off(services):
    """while the service that leads is cut off from etcd, and etcd only, no client sees what must not be"""
    seed = int(os.environ.get("LK_TEST_SEED", random.randrange(1 << 30)))
    proxies = [[Proxy(node.client) for node in services.cluster.nodes] for _ in range(3)]
    urls = [f"etcd://{','.join(proxy.address for proxy in each)}/cut" for each in proxies]
    others = Services(services.members[0].program, services.cluster, urls)
    epochs = []

    def cut(others, _):
        leader = others.leader()
        epochs.append(int(leader.info()["epoch"]))
        for proxy in proxies[others.members.index(leader)]:
            proxy.is_open.clear()
        until(lambda: others.leader() is not leader)
        for proxy in proxies[others.members.index(leader)]:
            proxy.is_open.set()
        time.sleep(0.2)

    try:
        common.watch_clients(others, seed, ["cut"] * 2, cut)
        epochs.append(int(others.leader().info()["epoch"]))
        assert epochs == sorted(set(epochs)), epochs  # each time another one led
    finally:
        for member in others.members:
            member.end(signal.SIGKILL)


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
        nodes[number].stop()
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
                    a_leader_is_cut_off, nodes_of_etcd_fail])
    finally:
        cluster.end()


main()
