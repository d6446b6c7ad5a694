#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The limits of both listeners: connections, open files, slow requests, idle connections, sizes."""

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time

from service import PATIENCE_S, STRETCH, Closed, Http, Refused, Resp, Service, Wire, run, until

CONNECTIONS = 8
SURPLUS = 64  # accepted over HTTP only to be refused as too many
REQUEST_S = 2 * STRETCH
WAITERS = 4500  # of calls over HTTP, at one time


class Following(Http):
    """A connection that sends its request slowly."""

    def __init__(self, service, path="/v1/events"):
        super().__init__(service.http)
        self.ask("GET", path)
        assert self.head()[0] == 200


def is_well(service):
    wire = Http(service.http)
    reply = wire.call("GET", "/healthz")[2]
    wire.close()
    return reply == b"ok\n" and Resp(service.resp).call("PING") == "PONG"


def refused(service, reason):
    """How many connections were refused, as monitoring counts them."""
    wire = Http(service.http)
    lines = wire.call("GET", "/metrics")[2].decode().splitlines()
    wire.close()
    start = f'lockkeeper_connections_refused_total{{reason="{reason}"}} '
    return next(int(line.removeprefix(start)) for line in lines if line.startswith(start))


def processor_s(service):
    with open(f"/proc/{service.process.pid}/stat", encoding="ascii") as stat:
        times = stat.read().rsplit(")", 1)[1].split()[11:13]
    return sum(map(int, times)) / os.sysconf("SC_CLK_TCK")


def is_closed(wire):
    """Whether the service has closed the connection, whatever it sent before."""
    try:
        while True:
            wire.fill()
    except (Closed, ConnectionError):
        return True


def too_many(service):
    """one connection too many is refused by both listeners, until another is closed"""
    guests = [Following(service) for _ in range(CONNECTIONS)]
    status, headers, body = Http(service.http).call("GET", "/v1/requests")
    assert status == 429 and body["status"] == "full" and body["error"], (status, body)
    assert headers["connection"] == "close" and headers["retry-after"] == "1"
    assert all(Http(service.http).call("GET", path)[0] == 200 for path in ("/healthz", "/readyz"))
    guests.pop().close()
    until(lambda: Http(service.http).call("GET", "/v1/requests")[0] == 200)
    wires = [Resp(service.resp) for _ in range(CONNECTIONS)]
    assert all(wire.call("PING") == "PONG" for wire in wires)
    answer = Resp(service.resp).value()
    assert isinstance(answer, Refused) and str(answer).startswith("FULL"), answer
    for wire in guests + wires:
        wire.close()
    until(lambda: is_well(service))


def flood(service):
    """a flood of further connections does not disturb others"""
    guests = [Following(service) for _ in range(CONNECTIONS)]
    before = service.sockets()
    silent = [Wire(service.http) for _ in range(SURPLUS + 20)]
    assert max(service.sockets() for _ in range(300)) <= before + SURPLUS
    late = Http(service.http)
    late.ask("GET", "/healthz")
    assert late.reply()[0] == 200
    assert all(is_closed(wire) for wire in silent)
    for wire in guests:
        wire.close()
    until(lambda: is_well(service))
    assert refused(service, "evicted") >= 20


def no_files(service):
    """with no file descriptor left, open connections are served and new ones wait"""
    present = Resp(service.resp)
    guest = Following(service)
    place = f"/proc/{service.process.pid}/fd"
    limits = resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE)
    assert limits[0] == limits[1], "the soft limit was not raised"
    highest = max(int(name) for name in os.listdir(place))
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, (highest + 1, limits[1]))
    late = [Http(service.http) for _ in range(3)]
    for wire in late:
        wire.ask("GET", "/healthz")
    assert present.call("PING") == "PONG"
    spent = processor_s(service)
    assert late[-1].is_silent()
    assert processor_s(service) - spent < 0.15, "it spins"
    assert present.call("PING") == "PONG"
    resource.prlimit(service.process.pid, resource.RLIMIT_NOFILE, limits)
    assert all(wire.reply()[2] == b"ok\n" for wire in late)
    guest.close()
    assert refused(service, "files") > 0


def slow_requests(service):
    """a request that arrives byte by byte is refused after its time limit"""
    body = (b"POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
            b"Content-Length: 100000\r\n\r\n")
    endless = b"PUT /v1/values/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999999\r\n\r\n"
    for address, start in [(service.http, b"GET /healthz HTTP/1.1\r\nX: "), (service.http, body),
                           (service.http, endless), (service.http, b""),
                           (service.resp, b"*1\r\n$1000\r\n"), (service.resp, b"PIN")]:
        wire = Wire(address)
        wire.send(start)
        end = time.monotonic() + PATIENCE_S
        wire.socket.settimeout(0.02)
        while True:
            assert time.monotonic() < end, f"still there after {start[:20]!r}"
            try:
                wire.send(b"x")
                wire.fill()
            except TimeoutError:
                continue
            except (Closed, ConnectionError):
                break
    assert is_well(service)
    assert refused(service, "slow") >= 6


def stream_requests(service):
    """Sends requests for more than twice the time limit of one, each with a part of the next.
    Returns the longest gap between replies, and whether all were served."""
    request = Resp.request("ECHO", "x" * 100)
    wire = Resp(service.resp)
    wire.send(request[:10])
    last_s = time.monotonic()
    end_s, longest_s = last_s + 2.5 * REQUEST_S, 0
    while last_s < end_s:
        try:
            wire.send(request[10:] + request[:10])
            answer = wire.value()
        except (Closed, ConnectionError):
            answer = None
        now_s = time.monotonic()
        longest_s, last_s = max(longest_s, now_s - last_s), now_s
        if answer != "x" * 100:
            return longest_s, False
    return longest_s, True


def pipelines(service):
    """a pipeline is served although an incomplete request is always buffered"""
    longest_s, is_served = stream_requests(service)
    while not is_served and longest_s > REQUEST_S / 4:  # the test itself may be slow
        longest_s, is_served = stream_requests(service)
    assert is_served, f"cut off, with pauses of {longest_s} s at most"


def idle_connections(service):
    """an idle connection is closed, one that waits or watches is not"""
    holder = Resp(service.resp)
    holder.call("ACQUIRE", "idle", "OWNER", "h", "TTL", 600000)
    waiting, following, idle = Http(service.http), Following(service), Http(service.http)
    waiting.ask("POST", "/v1/acquire", {"parts": ["idle"], "owner": "w", "mode": "wait"})
    assert idle.call("GET", "/healthz")[0] == 200
    assert is_closed(idle)
    another = Http(service.http)  # by its end the others have been silent for twice the time
    assert another.call("GET", "/healthz")[0] == 200
    assert is_closed(another)
    assert holder.call("RELEASE", "idle", "OWNER", "h") == "OK"
    assert waiting.reply()[2]["status"] == "granted"
    while b"\r\n:\n\n\r\n" not in following.bytes:  # a comment, while nothing happens
        following.fill()
    while b"released" not in following.bytes:
        following.fill()


def too_large(service):
    """headers and bodies beyond their limits are refused, and the connection is closed"""
    heads = [b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 40000 + b"\r\n\r\n",
             b"GET /" + b"x" * 40000 + b" HTTP/1.1\r\n\r\n",
             b"GET /healthz HTTP/1.1\r\n" + b"X: y\r\n" * 20000 + b"\r\n", b"\0" * 40000]
    for head in heads:
        wire = Http(service.http)
        try:
            wire.send(head)
            assert wire.head()[0] in (400, 413, 501)
        except (Closed, ConnectionError):
            pass
        assert is_closed(wire)
    assert is_well(service)


def few_files(_):
    """a warning at the start names too few file descriptors, and another their exhaustion"""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (200, before[1]))
    own = Service(sys.argv[1], "--bound", f"connections={before[1]}", stderr=subprocess.PIPE)
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    pid = own.process.pid
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[0] == before[1]
    line = own.process.stderr.readline()
    assert f" {before[1]} open files " in line and f" {2 * before[1] + 64}\n" in line, line
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (own.sockets() + 1, before[1]))
    late = [Wire(own.resp) for _ in range(40)]
    line = own.process.stderr.readline()
    assert "connections wait to be accepted" in line, line
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    late[-1].send(b"PING\r\n")
    assert late[-1].line() == b"+PONG"
    assert own.end() == 0


def changed(_):
    """SIGHUP changes the bound of connections at both listeners, and open ones stay"""
    with tempfile.NamedTemporaryFile("w", suffix=".conf") as config:
        def write(count):
            config.seek(0)
            config.truncate()
            config.write(f"log-level = info\nbound = connections={count}\n")
            config.flush()

        write(2)
        own = Service(sys.argv[1], "--config", config.name, stderr=subprocess.PIPE)
        assert "ready" in own.process.stderr.readline()

        def change(count):
            write(count)
            own.process.send_signal(signal.SIGHUP)
            while "the settings were read again" not in own.process.stderr.readline():
                pass

        guests = [Following(own) for _ in range(2)]
        locals_ = [Resp(own.resp) for _ in range(2)]
        assert [wire.call("PING") for wire in locals_] == ["PONG"] * 2
        assert Http(own.http).call("GET", "/v1/limits")[0] == 429
        assert b"-FULL" in Wire(own.resp).line()
        surplus = [Wire(own.http) for _ in range(2 + 2 * SURPLUS)]  # until no more are accepted
        change(200)
        guests += [Following(own) for _ in range(20)]
        locals_ += [Resp(own.resp) for _ in range(20)]
        assert [wire.call("PING") for wire in locals_] == ["PONG"] * 22  # all are accepted
        change(2)
        assert [wire.call("PING") for wire in locals_] == ["PONG"] * 22
        assert b"-FULL" in Wire(own.resp).line()
        for wire in surplus:
            wire.close()
        until(lambda: Http(own.http).call("GET", "/v1/limits")[0] == 429)
        for wire in guests + locals_[:21]:
            wire.close()
        until(lambda: Http(own.http).call("GET", "/v1/limits")[0] == 200)
        until(lambda: isinstance(Resp(own.resp).call("PING"), str))
        assert own.end() == 0


def blocked_calls(service):
    wire = Http(service.http)
    status, _, body = wire.call("GET", "/metrics")
    wire.close()
    assert status == 200, body
    return sum(int(line.split()[1]) for line in body.decode().splitlines()
               if line.startswith("lockkeeper_calls_blocked{"))


def waiters(_):
    """over HTTP every connection may wait, and those that leave do not keep the others from it"""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (before[1], before[1]))
    own = Service(sys.argv[1])
    count = min(WAITERS, before[1] - 200)
    wires = []
    for number in range(count):
        wires.append(Http(own.http))
        wires[-1].ask("POST", "/v1/claim",
                      {"queue": "w", "owner": f"o{number}", "mode": "wait", "wait": "10m"})
    until(lambda: blocked_calls(own) == count)
    for wire in wires[1::2]:
        wire.close()
    until(lambda: blocked_calls(own) == len(wires[::2]))
    pusher = Resp(own.resp)
    for number, wire in enumerate(wires[::2]):
        assert pusher.call("PUSH", "w", f"i{number}") == 1
        status, _, body = wire.reply()
        assert status == 200 and body["id"] == f"i{number}", (number, status, body)
        wire.close()
    assert blocked_calls(own) == 0
    resource.setrlimit(resource.RLIMIT_NOFILE, before)
    assert own.end() == 0


run([too_many, flood, no_files, slow_requests, pipelines, idle_connections, too_large,
     few_files, changed, waiters],
    "--bound", f"connections={CONNECTIONS}", "--bound", f"request-seconds={REQUEST_S}")
