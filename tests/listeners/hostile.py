#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: hostile.py LK [--measure SECONDS]

Twelve kinds of hostile clients at once, beside honest ones: these are served, memory stays bounded, each kind
is refused or ended with its reason, and nothing is left of them. The same of floods of handshakes and of logins,
on a service with users and TLS. With --measure: how long a pair of an honest client takes without them and beside
them, and no test.
"""

import contextlib
import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile
import time

import attacks
from certificates import Authority
from service import PATIENCE_S, Http, Resp, Service, measure_memory, run, until

PASSWORD = "open sesame"
LASTS_S = 3
BOUND = 16 * 1024 * 1024
SPARE_KB = 64 * 1024  # events that are kept, connections, and what the allocator keeps
BOUNDS = ["--bound", f"buffer-bytes={BOUND}", "--bound", "event-bytes=8000000", "--bound", "request-seconds=1",
          "--bound", "strangers=200", "--tcp-keepalive", "2s"]


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
        status, _, body = wire.call("GET", "/v1/limits", headers=(attacks.authorization(PASSWORD),))
        wire.close()
        return status, body

    def over_resp(self):
        wire = Resp(self.service.resp)
        answer = wire.call("AUTH", PASSWORD)
        wire.close()
        return answer


def refused(service):
    wire = Http(service.http)
    body = wire.call("GET", "/metrics", headers=(attacks.authorization(PASSWORD),))[2]
    wire.close()
    start = "lockkeeper_connections_refused_total{reason="
    return {line.split('"')[1]: int(line.split()[-1]) for line in body.decode().splitlines()
            if line.startswith(start)}


def all_at_once(service):
    """honest clients are served beside twelve kinds of hostile ones, and memory stays bounded"""
    honest = Honest(service)
    assert honest.resp.call("PUT", "large", b"v" * 60000) == "OK"
    before_kb = service.resident_kb()
    processes = attacks.begin(service, PASSWORD)
    end = time.monotonic() + LASTS_S
    pairs = 0
    while time.monotonic() < end or pairs < 100:
        honest.pair()
        pairs += 1
        if pairs % 50 == 0:
            assert honest.over_resp() == "OK"
            status, body = honest.over_http()
            assert status in (200, 429), (status, body)  # 429: buffers are full for a moment
            check_memory(service, before_kb)
    ended = [process.name for process in processes if not process.is_alive()]
    attacks.end(processes)
    assert not ended, f"ended by themselves: {ended}"


def check_memory(service, before_kb):
    assert service.has_shadow() or \
        service.resident_kb() - before_kb < BOUND / 1024 + SPARE_KB, service.resident_kb()


@contextlib.contextmanager
def guarded():
    """A service with users and TLS, and what its clients trust."""
    with tempfile.TemporaryDirectory() as place:
        ours = Authority(place, "ours")
        certificate, key = ours.sign("locks")
        users = pathlib.Path(place) / "users"
        subprocess.run([sys.argv[1], "passwd", users, "ana", "--allow", "all:/"], input=PASSWORD + "\n",
                       text=True, check=True, timeout=PATIENCE_S)
        own = Service(sys.argv[1], "--users", str(users), "--tls-cert", certificate, "--tls-key", key, *BOUNDS,
                      "--log-level", "error")
        yield own, ssl.create_default_context(cafile=ours.file)
        assert own.end() == 0


def handshakes_and_logins(_):
    """floods of handshakes, half done or whole, and of logins hold up no honest client, and memory is bounded"""
    with guarded() as (own, trust):
        honest = Honest(own, trust, ("ana", PASSWORD))
        before_kb = own.resident_kb()
        processes = attacks.begin(own, PASSWORD, attacks.TLS_ATTACKS)
        end = time.monotonic() + LASTS_S
        pairs = 0
        while time.monotonic() < end or pairs < 100:
            honest.pair()
            pairs += 1
            if pairs % 50 == 0:
                other = Resp(own.resp, tls=trust)  # a new one gets in, by a password that is remembered
                assert other.call("AUTH", "ana", PASSWORD) == "OK"
                other.close()
                check_memory(own, before_kb)
        ended = [process.name for process in processes if not process.is_alive()]
        attacks.end(processes)
        assert not ended, f"ended by themselves: {ended}"
        until(lambda: len(honest.resp.call("CLIENT", "LIST").splitlines()) == 1)


def told_why(service):
    """each is refused or ended, and counted with its reason"""
    counts = refused(service)
    for reason in ("password", "protocol", "evicted"):
        assert counts[reason] > 0, counts


def nothing_left(service):
    """nothing is left of them: no connection, and no lock"""
    honest = Honest(service)
    until(lambda: len(honest.resp.call("CLIENT", "LIST").splitlines()) == 1)
    honest.pair()


def percentile(times, share):
    return sorted(times)[int(len(times) * share)] * 1e6


def sample(honest, seconds):
    times = []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        begin = time.monotonic()
        honest.pair()
        times.append((time.monotonic() - begin) / 2)
    return times


def measure(what, honest, kinds, seconds):
    """In turns of half a second, so that what else the machine does slows down both alike."""
    processes = attacks.begin(honest.service, PASSWORD, kinds)
    quiet, beside = [], []
    for _ in range(int(seconds)):
        for number, times in ((signal.SIGSTOP, quiet), (signal.SIGCONT, beside)):
            for process in processes:
                os.kill(process.pid, number)
            time.sleep(0.1)
            times += sample(honest, 0.5)
    attacks.end(processes)
    print(what)
    for name, times in (("alone", quiet), ("beside hostile clients", beside)):
        print(f"{name}: {len(times)} pairs, a call {percentile(times, 0.5):.0f} us, "
              f"p99 {percentile(times, 0.99):.0f} us")
    print(f"p99: {percentile(beside, 0.99) / percentile(quiet, 0.99):.2f} times")


def measure_both(options, seconds):
    own = Service(sys.argv[1], *options)
    honest = Honest(own)
    assert honest.resp.call("PUT", "large", b"v" * 60000) == "OK"
    measure("one password, no TLS:", honest, attacks.ATTACKS, seconds)
    assert own.end() == 0
    with guarded() as (service, trust):
        measure("users and TLS:", Honest(service, trust, ("ana", PASSWORD)), attacks.TLS_ATTACKS, seconds)


with tempfile.TemporaryDirectory() as directory:
    file = pathlib.Path(directory) / "password"
    file.touch(0o600)
    file.write_text(PASSWORD + "\n")
    options = ["--password-file", str(file), *BOUNDS, "--log-level", "error"]
    if "--measure" in sys.argv:
        measure_both(options, float(sys.argv[sys.argv.index("--measure") + 1]))
        sys.exit(0)
    measure_memory()
    run([all_at_once, told_why, nothing_left, handshakes_and_logins], *options)
