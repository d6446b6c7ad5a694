# SPDX-License-Identifier: Apache-2.0
"""Ports of the loopback for servers that are started again at the same ones."""
import os
import socket

FIRST, LAST = 10000, 22700
APART = 16  # processes with neighbouring numbers begin so far from each other
SPREAD = 12000

given = set()


def is_free(port):
    try:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", port))
    except OSError:
        return False
    return True


def free_ports(count, above=0):
    """Ports that are free now; with `above`, the port so far above each is free, too. All are below
    those that the kernel gives to clients, so no client gets the port of a server that is down. None
    is given twice by a process; another one that looks at the same moment begins elsewhere."""
    found = []
    for port in range(FIRST + os.getpid() * APART % SPREAD, LAST):
        if port not in given and all(is_free(each) for each in {port, port + above}):
            given.add(port)
            found.append(port)
            if len(found) == count:
                return found
    raise OSError("no free ports")
