#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Clients that do not read their replies, or send half of a request. LK

A few that read neither replies nor events are disconnected, and do not disturb others. Of many the total
memory is bounded, and other clients are served.
"""

import socket
import sys
import time

from service import PATIENCE_S, STRETCH, Http, Refused, Resp, Service, Wire, measure_memory, run_groups, until

SILENCE_S = 4 * STRETCH
LISTENING = 2  # sockets of a service that no client has connected to
REQUESTS = 8000  # enough that no kernel keeps all the replies to them
BOUND = 16 * 1024 * 1024
SPARE_KB = 32 * 1024  # the model's items, and what a turn may go beyond the bound
VALUE_BYTES = 8 * 1024 * 1024
GREEDY = 40
ASKS = 12  # a MiB each: more than the kernel keeps of a connection
HALF_BYTES = 200000  # of a request that could have more
HALVES = 160


# ---- a few


def unread_socket(address, request, beginning):
    """Sends a request and reads only the beginning of the reply."""
    client = socket.socket()
    client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    client.connect(address)
    client.sendall(request)
    client.settimeout(PATIENCE_S)
    assert client.recv(len(beginning)) == beginning
    return client


def unread_client(service, path):
    request = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n".encode()
    return unread_socket(service.http, request, b"HTTP/1.1 200")


def take_many(service):
    """Makes requests with long names: megabytes of events, and megabytes to list."""
    wire = Resp(service.resp)
    path = f"{'x' * 240}/{'y' * 240}"
    for first in range(0, REQUESTS, 100):
        wire.send(b"".join(
            Resp.request("ACQUIRE", f"{number}/{path}", "OWNER", "o", "TTL", 3600000, "NOTE", "n" * 250)
            for number in range(first, first + 100)))
        answers = [wire.value() for _ in range(100)]
        assert all(isinstance(answer, list) for answer in answers), answers[0]
    wire.close()


def follower(service):
    """watching clients that do not read are disconnected by both listeners, and take little memory"""
    before_kb = service.resident_kb()
    clients = [unread_client(service, "/v1/events"),
            unread_socket(service.resp, Resp.request("WATCH"), b"+OK\r\n")]
    take_many(service)
    until(lambda: service.sockets() == LISTENING)
    for each in clients:
        each.close()
    assert service.resident_kb() - before_kb < 150000


def asker(service):
    """a client that does not read a reply is disconnected, while others are served"""
    client = unread_client(service, f"/v1/requests?count={REQUESTS}")
    wire = Http(service.http)
    assert wire.call("GET", "/healthz")[2] == b"ok\n"
    wire.close()
    until(lambda: service.sockets() == LISTENING)
    client.close()


def reader(service):
    """a client that reads receives the whole list, in pages"""
    wire = Http(service.http)
    count, cursor = 0, ""
    while cursor != "0":
        status, _, body = wire.call("GET", f"/v1/requests?count={REQUESTS}&cursor={cursor}")
        assert status == 200
        count, cursor = count + len(body["requests"]), body["cursor"]
    assert count == REQUESTS, count
    wire.close()


def at_the_end(_):
    """a client that does not read does not delay the shutdown"""
    own = Service(sys.argv[1])
    take_many(own)
    clients = [unread_client(own, f"/v1/requests?count={REQUESTS}"),
            unread_socket(own.resp, Resp.request("LIST", "COUNT", REQUESTS), b"*2\r\n")]
    assert Resp(own.resp).call("PING") == "PONG"
    begin = time.monotonic()
    assert own.end() == 0
    assert time.monotonic() - begin < 8 * STRETCH
    for each in clients:
        each.close()


# ---- many


def metric(service, name):
    status = 429  # while there is no room, which is not for long
    while status == 429:
        wire = Http(service.http)
        status, _, body = wire.call("GET", "/metrics")
        wire.close()
    assert status == 200, body
    line = next(line for line in body.decode().splitlines()
                if line.startswith(f"lockkeeper_{name} "))
    return int(line.split()[1])


def buffered(service):
    return metric(service, "buffered_bytes")


def unread_connection(address, request):
    wire = socket.socket()
    wire.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    wire.settimeout(PATIENCE_S)
    wire.connect(address)
    try:
        wire.sendall(request * ASKS)
    except OSError:
        pass  # it has been cut off already
    return wire


def together(service):
    """40 connections that do not read take a bounded amount of memory, whatever they request"""
    honest = Resp(service.resp)
    for number in range(40):
        assert honest.call("PUSH", "big", f"i{number}", "VALUE", b"v" * 60000) == 1
    before_kb = service.resident_kb()
    resp = Resp.request("ITEMS", "big")
    http = b"GET /v1/items/big HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wires = []
    for _ in range(GREEDY):
        wires += [unread_connection(service.resp, resp), unread_connection(service.http, http)]
        assert honest.call("ACQUIRE", "honest", "OWNER", "h") is not None
        assert honest.call("RELEASE", "honest", "OWNER", "h") == "OK"
        assert buffered(service) <= BOUND
        assert service.has_shadow() or service.resident_kb() - before_kb < BOUND / 1024 + SPARE_KB
    assert metric(service, 'connections_refused_total{reason="unread"}') > 0
    for wire in wires:
        wire.close()


def half(service, is_chunked):
    """A connection that has sent most of a request, but not its end."""
    head = b"PUT /v1/values/half HTTP/1.1\r\nHost: localhost\r\n"
    if is_chunked:
        head += b"Transfer-Encoding: chunked\r\n\r\n"
        body = (b"4e20\r\n" + b"x" * 20000 + b"\r\n") * (HALF_BYTES // 20000)
    else:
        head += b"Content-Length: 262144\r\n\r\n"
        body = b"x" * HALF_BYTES
    wire = Wire(service.http)
    try:
        wire.send(head + body)
    except OSError:
        pass  # it has been cut off already
    return wire


def is_open(wire):
    wire.socket.setblocking(False)
    try:
        return len(wire.socket.recv(1)) > 0
    except BlockingIOError:
        return True
    except ConnectionError:
        return False


def incomplete_requests(service):
    """incomplete requests count, and beyond the limit their connections are closed"""
    honest = Resp(service.resp)
    before_kb = service.resident_kb()
    wires = [half(service, number % 2 > 0) for number in range(10)]
    until(lambda: buffered(service) >= 10 * HALF_BYTES)
    for number in range(10, HALVES):
        wires.append(half(service, number % 2 > 0))
        assert honest.call("ACQUIRE", "honest", "OWNER", "h") is not None
        assert honest.call("RELEASE", "honest", "OWNER", "h") == "OK"
        assert buffered(service) <= BOUND + HALF_BYTES
        assert service.has_shadow() or service.resident_kb() - before_kb < BOUND / 1024 + SPARE_KB
    until(lambda: sum(map(is_open, wires)) <= BOUND // HALF_BYTES)
    assert any(map(is_open, wires))
    for wire in wires:
        wire.close()
    until(lambda: buffered(service) < HALF_BYTES)


def waiters(service):
    """a waiting request retains nothing of its body"""
    honest = Resp(service.resp)
    assert honest.call("ACQUIRE", "wanted", "OWNER", "h") is not None
    wires = [Http(service.http) for _ in range(10)]
    for number, wire in enumerate(wires):
        body = f'{{"parts": ["wanted"], "owner": "w{number}", "mode": "wait"}}'.encode()
        wire.ask("POST", "/v1/acquire", body + b" " * HALF_BYTES,
                 headers=("Content-Type: application/json",))
    until(lambda: metric(service, 'calls_blocked{for="grant"}') == len(wires))
    assert buffered(service) < HALF_BYTES
    for wire in wires:
        wire.close()
    until(lambda: metric(service, 'calls_blocked{for="grant"}') == 0)
    assert honest.call("RELEASE", "wanted", "OWNER", "h") == "OK"


def reader_of_all(service):
    """a connection that reads receives every reply, however many requests it sends at once"""
    wire = Resp(service.resp)
    wire.send(Resp.request("ITEMS", "big") * ASKS)
    for _ in range(ASKS):
        cursor, page = wire.value()
        assert cursor != "0" and len(page) == 17, (cursor, len(page))


def stored_bytes(service):
    """values and items are stored up to a limit, and again after some were deleted"""
    wire = Resp(service.resp)
    stored = 0
    wire.call("PUSH", "hoard/work", "i", "KEEP", 60000)
    wire.call("CLAIM", "hoard/work", "OWNER", "w", "TTL", 600000)
    while (answer := wire.call("PUT", f"hoard/v{stored}", b"v" * 60000)) == "OK":
        stored += 1
    assert isinstance(answer, Refused) and str(answer).startswith("FULL"), answer
    assert stored < VALUE_BYTES / 60000
    for words in (("PUSH", "hoard/q", "i", "VALUE", b"v" * 60000), ("PUT", "hoard/v", b"v" * 60000)):
        assert str(wire.call(*words)).startswith("FULL")
    full = wire.call("DONE", "hoard/work", "i", "OWNER", "w", "RESULT", b"v" * 60000)
    assert str(full).startswith("FULL"), full
    assert wire.call("DONE", "hoard/work", "i", "OWNER", "w") == "OK"
    wire.call("ACQUIRE", "hoard/l", "OWNER", "h")
    full = wire.call("RELEASE", "hoard/l", "OWNER", "h", "PUT", b"v" * 60000)
    assert str(full).startswith("FULL"), full
    assert wire.call("RELEASE", "hoard/l", "OWNER", "h") == "OK"
    assert isinstance(wire.call("DEL", "hoard/v0"), (str, int))
    assert wire.call("PUT", "hoard/v0", b"v" * 60000) == "OK"
    for number in range(stored):
        assert not isinstance(wire.call("DEL", f"hoard/v{number}"), Refused)
    assert wire.call("PUSH", "hoard/q", "i", "VALUE", b"v" * 60000) == 1


measure_memory()
run_groups(([follower, asker, reader, at_the_end], ("--bound", f"request-seconds={SILENCE_S}")),
           ([together, incomplete_requests, waiters, reader_of_all, stored_bytes],
            ("--bound", f"buffer-bytes={BOUND}", "--bound", f"value-bytes={VALUE_BYTES}")))
