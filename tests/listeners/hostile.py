#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: hostile.py LK

Twelve kinds of hostile clients at once, beside honest ones: these are served, memory stays bounded, each kind
is refused or ended with its reason, and nothing is left of them. The same of floods of handshakes and of logins,
on a service with users and TLS. What they cost honest clients is in bench/service/hostile.py.
"""

import pathlib
import socket
import sys
import time

import attacks
from attacks import BOUND, Honest, PASSWORD, guarded, with_password
from service import STRETCH, Http, Resp, Wire, measure_memory, run, until

LASTS_S = 3 * STRETCH
REASONS = {"password", "protocol", "evicted"}
SPARE_KB = 64 * 1024  # events that are kept, connections, and what the allocator keeps


def refused(service):
    """How many connections were refused or ended, by reason."""
    wire = Http(service.http)
    body = wire.call("GET", "/metrics", headers=(attacks.authorization(PASSWORD),))[2]
    wire.close()
    start = "lockkeeper_connections_refused_total{reason="
    return {line.split('"')[1]: int(line.split()[-1]) for line in body.decode().splitlines()
            if line.startswith(start)}


def told(service):
    return {reason for reason, count in refused(service).items() if count > 0}


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
    until(lambda: told(service) >= REASONS)  # on a busy machine they have had little time until now
    ended = [process.name for process in processes if not process.is_alive()]
    attacks.end(processes)
    assert not ended, f"ended by themselves: {ended}"


def check_memory(service, before_kb):
    assert service.has_shadow() or \
        service.resident_kb() - before_kb < BOUND / 1024 + SPARE_KB, service.resident_kb()


def handshakes_and_logins(_):
    """floods of handshakes, half done or whole, and of logins hold up no honest client, and memory is bounded"""
    with guarded(sys.argv[1]) as (own, trust):
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
    assert told(service) >= REASONS, refused(service)


def nothing_left(service):
    """nothing is left of them: no connection, and no lock"""
    honest = Honest(service)
    until(lambda: len(honest.resp.call("CLIENT", "LIST").splitlines()) == 1)
    honest.pair()


def remembered(address):
    """The peers of closed connections to this port that the system still remembers (TIME_WAIT)."""
    rows = [line.split() for line in pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]]
    return {row[2] for row in rows if row[3] == "06" and row[1].endswith(f":{address[1]:04X}")}


def in_table(wire):
    """The wire's own address, as that table has it."""
    host, port = wire.socket.getsockname()
    return f"{int.from_bytes(socket.inet_aton(host), sys.byteorder):08X}:{port:04X}"


def nothing_remembered(service):
    """an evicted connection is reset, so that a flood leaves nothing with the system"""
    elsewhere = ("127.0.0.3", 0)  # an address with none of the attacks' connections, which may be held back
    for address in (service.resp, service.http):
        wires = [Wire(address, elsewhere) for _ in range(60)]
        peers = {in_table(wire) for wire in wires[:20]}  # 25 of an address may be pending
        for wire in wires[:20]:
            attacks.until_ended(wire)
        assert not peers & remembered(address)
        for wire in wires:
            wire.close()


with with_password() as options:
    measure_memory()
    run([all_at_once, told_why, nothing_left, nothing_remembered, handshakes_and_logins], *options)
