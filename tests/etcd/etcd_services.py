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
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "postgresql"), str(HERE.parent / "listeners")]
import services as common  # noqa: E402
from cluster import Cluster  # noqa: E402
from service import Resp, as_map  # noqa: E402

FAULTS = 3
STOP_S = 2.5  # longer than an election


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
                   [a_node_is_lost_and_comes_back, *common.CASES, nodes_of_etcd_fail])
    finally:
        cluster.end()


main()
