#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Requests that evhttp refuses by itself: its errors have the form of all others."""

import sys

from service import STRETCH, Closed, Http, Service, run

HOST = b"Host: localhost\r\n"
POST = b"POST /v1/acquire HTTP/1.1\r\n" + HOST
BODY_BYTES_MAX = 16 * 65536 * 4 // 3 + 256 * 1024


def refused(service, data, status, word="invalid", ends=True):
    """Sends the bytes, and expects one JSON error and then the end of the connection."""
    wire = Http(service.http)
    wire.send(data)
    got, headers, body = wire.reply()
    assert got == status and body["status"] == word and body["error"], (data[:60], got, body)
    assert headers["content-type"] == "application/json", headers
    assert headers["connection"] == "close" and headers["cache-control"] == "no-store", headers
    try:
        if ends:
            wire.fill()
        assert not wire.bytes and not ends, f"more than one reply: {wire.bytes!r}"
    except Closed:
        pass
    wire.close()


def malformed(service):
    """requests that are malformed, or whose head is too large, are 400"""
    for data in (b"garbage\r\n\r\n", b"GET /\r\n\r\n", b"GET / HTTP/x\r\n\r\n", b"GET / HTTP/2.0\r\n\r\n",
                 b"GET / HTTP/1.1\r\n" + HOST + b"no colon\r\n\r\n", POST + b"Content-Length: -5\r\n\r\n",
                 b"GET http://[::1 HTTP/1.1\r\n" + HOST + b"\r\n",
                 b"GET / HTTP/1.1\r\n" + HOST + b"A: " + b"x" * 20000 + b"\r\n\r\n"):
        refused(service, data, 400)


def methods(service):
    """methods that HTTP does not have, or that lead elsewhere, are 501"""
    for method in (b"FOO", b"PROPFIND", b"GETT", b"CONNECT"):
        # evhttp closes no connection on which a CONNECT came, whatever it says.
        refused(service, method + b" /healthz HTTP/1.1\r\n" + HOST + b"\r\n", 501, "unsupported",
                ends=method != b"CONNECT")


def bodies(service):
    """bodies that are too large or have bad chunks are 413, other expectations 417"""
    size = BODY_BYTES_MAX + 1
    refused(service, POST + b"Content-Length: %d\r\n\r\n" % size + b"x" * size, 413)
    refused(service, POST + b"Transfer-Encoding: chunked\r\n\r\nzz\r\n", 413)
    refused(service, POST + b"Transfer-Encoding: chunked\r\n\r\nfffffff\r\n", 413)
    refused(service, POST + b"Expect: a miracle\r\nContent-Length: 5\r\n\r\n", 417)
    wire = Http(service.http)
    wire.send(POST + b"Expect: 100-continue\r\nTransfer-Encoding: chunked\r\n\r\n")
    assert wire.head()[0] == 100
    wire.send(b"zz\r\n")
    status, _, body = wire.reply()
    assert status == 413 and body["error"], body
    wire.close()


def later(service):
    """the second request of a connection is refused in the same way, after the first one's reply"""
    wire = Http(service.http)
    page = b"<HTML><HEAD>\n<TITLE>400 Bad Request</TITLE>"
    assert wire.call("PUT", "/v1/values/page", page)[0] == 200
    assert wire.call("GET", "/v1/values/page")[2] == page, "what is kept is not changed"
    wire.send(b"FOO / HTTP/1.1\r\n" + HOST + b"\r\n")
    status, headers, body = wire.reply()
    assert status == 501 and body["status"] == "unsupported", (headers, body)
    wire.close()
    wire = Http(service.http)
    wire.send(b"GET /healthz HTTP/1.1\r\n" + HOST + b"\r\nnonsense\r\n\r\n")
    assert wire.reply()[2] == b"ok\n"
    status, _, body = wire.reply()
    assert status == 400 and body["status"] == "invalid", body
    wire.close()


def late(_):
    """a request that does not arrive in time is 408, and what follows is not executed"""
    own = Service(sys.argv[1], "--bound", f"request-seconds={2 * STRETCH}")
    put = b"PUT /v1/values/late HTTP/1.1\r\n" + HOST
    silent = Http(own.http)  # one that sends nothing is closed without an answer
    begun = [Http(own.http) for _ in range(4)]
    assert begun[3].call("GET", "/healthz")[0] == 200
    begun[0].send(b"GET /healthz HTTP/1.1\r\n" + HOST)
    begun[1].send(POST + b"Content-Type: application/json\r\nContent-Length: 50\r\n\r\n{")
    for wire in begun[2:]:
        wire.send(put + b"Content-Length: 1000\r\n\r\n")
    for wire in begun:
        status, headers, body = wire.reply()
        assert status == 408 and body["status"] == "invalid" and body["error"], body
        assert headers["connection"] == "close", headers
        try:
            wire.send(put + b"Content-Length: 1\r\n\r\nx")
            wire.fill()
            raise AssertionError(f"more than one reply: {wire.bytes!r}")
        except (Closed, ConnectionError):
            pass
        wire.close()
    try:
        silent.fill()
        raise AssertionError(f"a reply to nothing: {silent.bytes!r}")
    except Closed:
        pass
    silent.close()
    wire = Http(own.http)
    assert wire.call("GET", "/v1/values/late")[0] == 404
    wire.close()
    assert own.end() == 0


run([malformed, methods, bodies, later, late])
