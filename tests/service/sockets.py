#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Sockets that are passed to lk serve as systemd passes them (sd_listen_fds(3)). LK"""

import contextlib
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "listeners"))
from service import Http, Resp, Wire, run  # noqa: E402

PROGRAM = sys.argv[1]
FIRST = 3
# Moves the descriptors to where they are expected, says whose they are, and becomes the service.
STARTER = """
import os, sys
numbers = [int(word) for word in sys.argv[1].split(",") if word]
copies = [os.dup2(os.dup(number), 100 + at) for at, number in enumerate(numbers)]
for at, copy in enumerate(copies):
    os.dup2(copy, 3 + at)
os.closerange(3 + len(copies), 200)
os.environ["LISTEN_PID"] = str(os.getpid()) if sys.argv[2] == "own" else sys.argv[2]
os.execv(sys.argv[3], sys.argv[3:])
"""


def port(address="127.0.0.1"):
    listening = socket.socket()
    listening.bind((address, 0))
    listening.listen(100)
    return listening


def unix(place):
    listening = socket.socket(socket.AF_UNIX)
    listening.bind(os.path.join(place, "socket"))
    listening.listen(100)
    return listening


def start(sockets, *options, names=None, count=None, pid="own"):
    """Starts a service with these sockets, by name; `names`: those of LISTEN_FDNAMES."""
    named = ":".join(sockets) if names is None else names
    environment = {**os.environ, "LISTEN_FDS": str(len(sockets) if count is None else count),
                   "LISTEN_FDNAMES": named}
    numbers = [each.fileno() for each in sockets.values()]
    return subprocess.Popen(
        [sys.executable, "-c", STARTER, ",".join(map(str, numbers)), pid, PROGRAM, "serve",
         "--ephemeral", *options],
        env=environment, pass_fds=numbers, text=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def end(process):
    process.terminate()
    rest, said = process.communicate(timeout=60)
    assert process.returncode == 0, said
    return rest


@contextlib.contextmanager
def passed(*kinds):
    with tempfile.TemporaryDirectory(prefix="lk-sockets-") as place:
        sockets = {kind: unix(place) if kind == "unix" else port() for kind in kinds}
        yield sockets
        for each in sockets.values():
            each.close()


def refused(code, word, sockets, *options, **more):
    process = start(sockets, *options, **more)
    said = process.communicate(timeout=60)
    assert process.returncode == code and word in said[1], (process.returncode, said)


def all_three(_):
    """resp, unix and http are served where they listen, and stay there when the service has ended"""
    with passed("http", "unix", "resp") as sockets:
        early = Resp(sockets["resp"].getsockname())  # before there is a service
        early.put("PING")
        process = start(sockets)
        lines = [process.stdout.readline().strip() for _ in range(3)]
        path = sockets["unix"].getsockname()
        assert lines == ["lk://%s:%d" % sockets["resp"].getsockname(), f"lk+unix:{path}",
                         "http://%s:%d" % sockets["http"].getsockname()], lines
        assert early.value() == "PONG"
        http = Http(sockets["http"].getsockname())
        assert http.call("GET", "/healthz")[0] == 200
        for url in (lines[0], lines[1]):
            done = subprocess.run([PROGRAM, "-S", url, "ls"], check=False, timeout=60)
            assert done.returncode == 0
        http.close()
        early.close()
        assert end(process) == ""
        assert os.path.exists(path), "it belongs to the one that made it"
        between = Wire(sockets["http"].getsockname())  # while there is no service
        between.send(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
        process = start(sockets)
        assert b"200 OK" in between.line()
        between.close()
        end(process)


def alone(_):
    """what has no socket and no option is not opened; an option adds its listener"""
    with passed("http") as sockets:
        process = start(sockets)
        assert process.stdout.readline().startswith("http://")
        assert end(process) == ""
        process = start(sockets, "--listen", "127.0.0.1:0")
        assert process.stdout.readline().startswith("lk://")
        assert process.stdout.readline().startswith("http://")
        assert end(process) == ""


def elsewhere(_):
    """variables that are meant for another process are ignored"""
    with passed("http") as sockets:
        process = start(sockets, "--listen", "127.0.0.1:0", "--http", "none", pid="1")
        assert process.stdout.readline().startswith("lk://")
        assert end(process) == ""


def mistakes(_):
    """names that are not known, or there twice, and sockets that do not listen are refused"""
    with passed("http", "resp") as sockets:
        refused(64, "resp, unix and http", sockets, names="http:lockkeeper.socket")
        refused(64, "resp, unix and http", sockets, names="http")
        refused(64, "resp, unix and http", sockets, names="")
        refused(64, "twice", sockets, names="http:http")
        refused(64, "resp, unix and http", sockets, count=9)
        refused(64, "LISTEN_FDS", sockets, count="x")
        refused(64, "LISTEN_FDS", sockets, count="-1")
        refused(64, "--http", sockets, "--http", "127.0.0.1:0")
    with passed("http") as sockets, socket.socket() as idle, \
            socket.socket(type=socket.SOCK_DGRAM) as datagram, open(os.devnull, "rb") as file:
        refused(64, "no stream socket", {"resp": idle})
        refused(64, "no stream socket", {"resp": datagram})
        refused(64, "no stream socket", {"resp": file})
        refused(64, "no stream socket", sockets, names="http:unix", count=2)


def open_to_all(_):
    """one that other machines can reach needs what a port needs"""
    with port("0.0.0.0") as listening:
        refused(77, "--insecure", {"http": listening})
        process = start({"http": listening}, "--insecure")
        assert process.stdout.readline().startswith("http://0.0.0.0:")
        end(process)


run([all_three, alone, elsewhere, mistakes, open_to_all])
