#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Clients that do not read replies or events are disconnected, and do not disturb others."""

import socket
import sys
import time

from service import PATIENCE_S, Http, Resp, Service, run, until

SILENCE_S = 4
LISTENING = 2  # sockets of a service that no client has connected to
REQUESTS = 8000  # enough that no kernel keeps all the replies to them


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
            Resp.request("ACQUIRE", f"{number}/{path}", "OWNER", "o", "NOTE", "n" * 250)
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
    assert time.monotonic() - begin < 8
    for each in clients:
        each.close()


run([follower, asker, reader, at_the_end], "--bound", f"request-seconds={SILENCE_S}")
