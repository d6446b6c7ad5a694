#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Peers that vanish without closing their connections are detected by both listeners.

Runs itself in a network namespace of its own, with a second one as the other machine: a pair of
linked interfaces, one of which is taken down. dead_peers.py LK"""

import os
import subprocess
import sys

from service import Http, Resp, Service, run, until

KEEPALIVE_S = 2
HERE, THERE = "10.74.20.1", "10.74.20.2"


def enter_namespace():
    """As root directly, else in a user namespace, where this user is."""
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    os.execvp("unshare", ["unshare", *user, "--net", "--", sys.executable, "-B", *sys.argv,
                          "inside"])


class Machine:
    """The other end of a link: a process in another network namespace, which asks, then is silent."""

    def __init__(self):
        self.process = subprocess.Popen(
            ["unshare", "--net", "--", sys.executable, "-B", __file__, "machine"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "ready\n"
        pid = str(self.process.pid)
        for command in [["link", "add", "here", "type", "veth", "peer", "name", "there"],
                        ["link", "set", "there", "netns", pid],
                        ["addr", "add", f"{HERE}/24", "dev", "here"],
                        ["link", "set", "here", "up"], ["link", "set", "lo", "up"]]:
            subprocess.run(["ip", *command], check=True)

    def ask(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        answer = self.process.stdout.readline().strip()
        assert answer == "asked", answer

    @staticmethod
    def vanish():
        subprocess.run(["ip", "link", "set", "here", "down"], check=True)

    def end(self):
        self.process.kill()
        self.process.wait()


def be_machine():
    """For each line, sends a request that waits to a listener and keeps the connection."""
    print("ready", flush=True)
    wires = []
    for line in sys.stdin:
        listener, port, path = line.split()
        if not wires:
            subprocess.run(["ip", "addr", "add", f"{THERE}/24", "dev", "there"], check=True)
            subprocess.run(["ip", "link", "set", "there", "up"], check=True)
        wire = (Resp if listener == "resp" else Http)((HERE, int(port)))
        wires.append(wire)
        if listener == "resp":
            wire.put("ACQUIRE", path, "OWNER", "gone", "WAIT", 3600000, "TTL", 3600000, "BOUND")
        else:
            wire.ask("POST", "/v1/acquire", {"parts": [path], "owner": "gone", "mode": "wait",
                                             "ttl": "1h"}, headers=(f"Host: {HERE}",))
        print("asked", flush=True)


def vanished_waiter(_):
    """a waiter whose client has vanished is removed, and the next waiter is granted the lease"""
    own = Service(sys.argv[1], "--listen", f"{HERE}:0", "--http", f"{HERE}:0", "--insecure",
                  "--tcp-keepalive", f"{KEEPALIVE_S}s")
    try:
        wait_and_vanish(own)
    finally:
        code = own.end()
    assert code == 0


def wait_and_vanish(own):
    holder = Resp(own.resp)
    for path in ["resp", "http"]:
        assert holder.call("ACQUIRE", path, "OWNER", "holder")[1] == "granted"
        machine.ask(path, (own.resp if path == "resp" else own.http)[1], path)
        until(lambda path=path: len(holder.call("LIST", path)[1]) == 2)
    machine.vanish()
    for path in ["resp", "http"]:
        until(lambda path=path: len(holder.call("LIST", path)[1]) == 1)
        assert holder.call("RELEASE", path, "OWNER", "holder") == "OK"
        assert holder.call("ACQUIRE", path, "OWNER", "next")[1] == "granted"
    holder.close()


if sys.argv[1:] == ["machine"]:
    be_machine()
elif "inside" not in sys.argv:
    enter_namespace()
else:
    machine = Machine()
    try:
        run([vanished_waiter])
    finally:
        machine.end()
