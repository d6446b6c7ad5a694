# SPDX-License-Identifier: Apache-2.0
"""Ports of the loopback for servers that are started again at the same ones."""
import os
import socket

FIRST, LAST = 10000, 22700
APART = 16  # processes with neighbouring numbers begin so far from each other
SPREAD = 12000

taken = {}  # by this process: the socket that says so to others


def take(port):
    """Whether no other process of the tests has it, which may not use it yet, or start its server again.
    A name without a file says so; it goes with this process."""
    name = socket.socket(socket.AF_UNIX)
    try:
        name.bind(f"\0lockkeeper-test-port-{port}")
    except OSError:
        name.close()
        return False
    taken[port] = name
    return True


def is_free(port):
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def give_back(ports):
    for port in ports:
        taken.pop(port).close()


def free_ports(count, above=0):
    """Ports that are free now; with `above`, the port so far above each is free, too. All are below
    those that the kernel gives to clients, so no client gets the port of a server that is down. None
    is given twice, also to other processes, as long as this one lives."""
    found = []
    for port in range(FIRST + os.getpid() * APART % SPREAD, LAST):
        wanted = {port, port + above}
        if wanted & taken.keys():
            continue
        got = [each for each in wanted if take(each)]
        if len(got) < len(wanted) or not all(is_free(each) for each in got):
            give_back(got)
            continue
        found.append(port)
        if len(found) == count:
            return found
    raise OSError("no free ports")
