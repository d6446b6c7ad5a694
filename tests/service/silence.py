# SPDX-License-Identifier: Apache-2.0
"""Servers that take connections and then are silent, and calls of lk that meet them."""

import os
import pathlib
import socket
import subprocess
import sys
import threading
import time

LK = os.path.abspath(sys.argv[1])
SIGNAL_S = 8  # for what a signal ends; a silent server has ten seconds
UNAVAILABLE = 69
TRIES = 5


class Silent:
    """Accepts, says `words`, and nothing more; or with no room does not even accept."""

    def __init__(self, words, has_room=True, address=("127.0.0.1", 0)):
        self.socket = socket.create_server(address, backlog=128 if has_room else 0)
        self.port = self.socket.getsockname()[1]
        self.words = words
        self.accepted = threading.Semaphore(0)
        self.kept = []
        if has_room:
            threading.Thread(target=self.accept, daemon=True).start()
        else:
            self.fill()

    def accept(self):
        while True:
            client = self.socket.accept()[0]
            client.sendall(self.words)
            self.kept.append(client)
            self.accepted.release()

    def fill(self):
        """Until the kernel drops what begins a connection."""
        while True:
            client = socket.socket()
            client.settimeout(0.3)
            self.kept.append(client)
            try:
                client.connect(("127.0.0.1", self.port))
            except socket.timeout:  # before Python 3.10 no TimeoutError
                return


def lk(url, *words, **more):
    """A call with its stderr as a pipe."""
    return start("-S", url, *words, **more)


def start(*words, **more):
    streams = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL} | more
    return subprocess.Popen([LK, *words], stderr=subprocess.PIPE, text=True, **streams)


def end_by(number, begin, await_moment):
    """Begins a call, and sends it the signal at its moment. Its status, as a shell tells it, and what it
    has said. On a busy machine the server's time may be over before the signal: then it begins again."""
    for _ in range(TRIES):
        process = begin()
        await_moment(process)
        status, err = end_now(process, number)
        if status != UNAVAILABLE:
            break
    return status, err


def end_now(process, number):
    process.send_signal(number)
    try:
        err = process.communicate(timeout=SIGNAL_S)[1]
    except subprocess.TimeoutExpired:
        process.kill()
        process.communicate()
        return None, "it did not end by the signal"
    return process.returncode if process.returncode >= 0 else 128 - process.returncode, err


def family_of(process):
    """Its number and those of its children; a lease of lk hold is kept by one of them."""
    pid = str(process.pid)
    try:
        return [pid, *pathlib.Path("/proc", pid, "task", pid, "children").read_text().split()]
    except OSError:
        return [pid]


def sockets_of(process):
    """The inodes of those that they have open; none when they have ended."""
    links = []
    for pid in family_of(process):
        try:
            links += [os.readlink(each) for each in pathlib.Path("/proc", pid, "fd").iterdir()]
        except OSError:
            pass
    return {link[len("socket:["):-1] for link in links if link.startswith("socket:[")}


def await_contact(server, process):
    """Until it has begun a connection to the server."""
    port = f":{server.port:04X}"
    while process.poll() is None:
        rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text().splitlines()]
        inodes = {row[9] for row in rows if row[2].endswith(port)}
        if inodes & sockets_of(process):
            return
        time.sleep(0.02)
