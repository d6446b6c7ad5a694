# SPDX-License-Identifier: Apache-2.0
"""Hostile clients, the services that they come upon, and the honest client beside these.

Each hostile one is a process of its own that goes on until it is ended. They come from 127.0.0.2, as a machine
of their own, and take only the time of the processor that others leave.
"""

import base64
import contextlib
import multiprocessing
import os
import pathlib
import ssl
import subprocess
import tempfile
import time

from credentials import Authority
from service import PATIENCE_S, STRETCH, Closed, Http, Resp, Service, Wire

ELSEWHERE = ("127.0.0.2", 0)
TLS_HELLO = bytes.fromhex("16030100c8010000c40303") + bytes(190)


def connect(kind, address):
    return kind(address, ELSEWHERE)


class Elsewhere(Wire):
    def __init__(self, address, tls=None):
        super().__init__(address, ELSEWHERE, tls)


def any_certificate():
    """TLS of a client that looks at no certificate."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def until_ended(wire):
    try:
        while True:
            wire.fill()
    except (Closed, OSError):
        wire.close()


def drip(address, first, piece):
    """Connections that send a byte now and then, and are made again once they are ended."""
    wires = []
    while True:
        while len(wires) < 20:
            try:
                wire = Elsewhere(address)
                wire.socket.setblocking(False)
                wire.send(first)
            except OSError:
                continue
            wires.append(wire)
        for wire in list(wires):
            try:
                wire.send(piece)
                if wire.socket.recv(4096) == b"":
                    raise Closed()
            except BlockingIOError:
                pass
            except (OSError, Closed):
                wires.remove(wire)
                wire.close()
        time.sleep(0.02)


def slow_resp(service, _):
    drip(service.resp, b"*2\r\n$4\r\nPING\r\n$400\r\n", b"x")


def slow_http(service, _):
    drip(service.http, b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\n", b"X")


def slow_bodies(service, secret):
    head = f"POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\n{authorization(secret)}\r\n" \
           "Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
    drip(service.http, head.encode(), b" ")


def authorization(secret):
    return f"Authorization: Bearer {secret}"


def again_and_again(address, data, pause=0.0, tls=None):
    """One connection after another that sends the same and reads until it is ended."""
    while True:
        try:
            wire = Elsewhere(address, tls)
            wire.send(data)
        except OSError:
            continue
        until_ended(wire)
        time.sleep(pause)


def endless_bulk(service, _):
    again_and_again(service.resp, b"*2\r\n$4\r\nPING\r\n$999999999999\r\n" + b"x" * 100000)


def million_arguments(service, _):
    again_and_again(service.resp, b"*1000000\r\n" + b"$1\r\na\r\n" * 20000)


def endless_head(service, _):
    again_and_again(service.http, b"GET / HTTP/1.1\r\n" + b"X-Y: " + b"z" * 200000)


def guesses(service, _):
    again_and_again(service.resp, Resp.request("AUTH", "guess") + Resp.request("QUIT"))


def guesses_over_http(service, _):
    again_and_again(service.http, b"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                  b"Authorization: Bearer guess\r\n\r\n")


def connections(service, _):
    """A flood of connections that say nothing, to both listeners."""
    wires = []
    while True:
        for address in (service.resp, service.http):
            try:
                wires.append(Elsewhere(address))
            except OSError:
                pass
        while len(wires) > 200:
            wires.pop(0).close()


def handshakes(service, _):
    """TLS that is begun where there is none."""
    while True:
        for address in (service.resp, service.http):
            try:
                wire = Elsewhere(address)
                wire.send(TLS_HELLO)
            except OSError:
                continue
            until_ended(wire)


def unread_pipelines(service, secret):
    """A client that may do everything, asks for much, and reads nothing."""
    request = Resp.request("AUTH", secret) + Resp.request("GET", "large") * 200
    while True:
        try:
            wire = Elsewhere(service.resp)
            wire.send(request)
            time.sleep(0.2)
            wire.close()
        except OSError:
            pass


def watch_unread(service, secret):
    maker = Elsewhere(service.resp)
    maker.send(Resp.request("AUTH", secret))
    watchers = []
    for _ in range(10):
        watchers.append(Elsewhere(service.resp))
        watchers[-1].send(Resp.request("AUTH", secret) + Resp.request("WATCH"))
        watchers.append(Elsewhere(service.http))
        watchers[-1].send(b"GET /v1/events HTTP/1.1\r\nHost: localhost\r\n%s\r\n\r\n"
                          % authorization(secret).encode())
    while True:
        maker.send(Resp.request("ACQUIRE", "noise", "OWNER", "n", "NOTE", "n" * 200)
                   + Resp.request("RELEASE", "noise", "OWNER", "n"))
        time.sleep(0.001)
        maker.socket.setblocking(False)
        try:
            maker.socket.recv(65536)
        except OSError:
            pass
        maker.socket.setblocking(True)


def unread_events(service, secret):
    """Watchers that do not read, by both protocols, and what makes events for them."""
    while True:
        try:
            watch_unread(service, secret)
        except OSError:
            pass  # closed before it could authenticate, as the others of its address


# ---- on a service with users and TLS ---------------------------------------------------------------

def half_handshakes(service, _):
    """Handshakes that go on byte by byte, at both listeners."""
    hello = ssl.MemoryBIO()
    try:
        any_certificate().wrap_bio(ssl.MemoryBIO(), hello).do_handshake()
    except ssl.SSLWantReadError:
        pass
    start = hello.read()
    while True:
        wires = []
        for number in range(200):
            try:
                wires.append(Elsewhere((service.resp, service.http)[number % 2]))
                wires[-1].send(start[:number % len(start)])
            except OSError:
                pass
        time.sleep(0.2)
        for wire in wires:
            wire.close()


def whole_handshakes(service, _):
    """Handshakes without end, and nothing after them."""
    tls = any_certificate()
    while True:
        for address in (service.resp, service.http):
            try:
                Elsewhere(address, tls).close()
            except OSError:
                pass


def user_guesses(service, _):
    """Logins that have to be verified: each takes as long as that of a user who exists."""
    tls = any_certificate()
    wires = []
    while True:
        try:
            wires.append(Elsewhere(service.resp, tls))
            wires[-1].send(Resp.request("AUTH", ("ana", "nobody")[len(wires) % 2], f"guess {len(wires)}"))
        except OSError:
            pass
        if len(wires) > 100:
            wires.pop(0).close()


def user_guesses_over_http(service, _):
    who = base64.b64encode(b"ana:guess").decode()
    again_and_again(service.http, f"GET /v1/limits HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                                  f"Authorization: Basic {who}\r\n\r\n".encode(), tls=any_certificate())


TLS_ATTACKS = [half_handshakes, whole_handshakes, user_guesses, user_guesses_over_http, connections]
ATTACKS = [slow_resp, slow_http, slow_bodies, endless_bulk, million_arguments, endless_head, guesses,
           guesses_over_http, connections, handshakes, unread_pipelines, unread_events]


def run_one(attack, service, secret, processors):
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    if processors is not None:
        os.sched_setaffinity(0, processors)
    attack(service, secret)


def begin(service, secret, attacks=tuple(ATTACKS), processors=None):
    """All of them at once, on these processors or any; the processes, to be ended by end()."""
    forked = multiprocessing.get_context("fork")
    processes = [forked.Process(target=run_one, args=(attack, service, secret, processors),
                                name=attack.__name__, daemon=True) for attack in attacks]
    for process in processes:
        process.start()
    return processes


def end(processes):
    for process in processes:
        process.kill()
    for process in processes:
        process.join()


# ---- services that are attacked

PASSWORD = "open sesame"
BOUND = 16 * 1024 * 1024
BOUNDS = ["--bound", f"buffer-bytes={BOUND}", "--bound", "event-bytes=8000000",
          "--bound", f"request-seconds={STRETCH}", "--bound", "strangers=200", "--tcp-keepalive", "2s"]


class Honest:
    """A client of each protocol that has authenticated, as before an attack."""

    def __init__(self, service, tls=None, login=(PASSWORD,)):
        self.resp = Resp(service.resp, tls=tls)
        assert self.resp.call("AUTH", *login) == "OK"
        self.service = service

    def pair(self):
        granted = self.resp.call("ACQUIRE", "honest", "OWNER", "h", "TTL", "60000")
        assert "granted" in granted, granted
        released = self.resp.call("RELEASE", "honest", "OWNER", "h")
        assert released == "OK", released

    def over_http(self):
        """A new connection: it gets in beside all that are refused."""
        wire = Http(self.service.http)
        status, _, body = wire.call("GET", "/v1/limits", headers=(authorization(PASSWORD),))
        wire.close()
        return status, body

    def over_resp(self):
        wire = Resp(self.service.resp)
        answer = wire.call("AUTH", PASSWORD)
        wire.close()
        return answer


@contextlib.contextmanager
def with_password():
    """The options of a service with one password and no TLS."""
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "password"
        file.touch(0o600)
        file.write_text(PASSWORD + "\n")
        yield ["--password-file", str(file), *BOUNDS, "--log-level", "error"]


@contextlib.contextmanager
def guarded(program):
    """A service with users and TLS, and what its clients trust."""
    with tempfile.TemporaryDirectory() as place:
        ours = Authority(place, "ours")
        certificate, key = ours.sign("locks")
        users = pathlib.Path(place) / "users"
        subprocess.run([program, "passwd", users, "ana", "--allow", "all:/"], input=PASSWORD + "\n",
                       text=True, check=True, timeout=PATIENCE_S)
        own = Service(program, "--users", str(users), "--tls-cert", certificate, "--tls-key", key, *BOUNDS,
                      "--log-level", "error")
        yield own, ssl.create_default_context(cafile=ours.file)
        assert own.end() == 0
