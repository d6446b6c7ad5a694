#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The HTTP listener (docs/wire.md), through plain sockets: routes, statuses, waits, events."""

import base64
import json
import sys

from service import STRETCH, Closed, Http, Resp, Service, run, until


def ask(service, method, path, body=b"", headers=()):
    wire = Http(service.http)
    reply = wire.call(method, path, body, headers)
    wire.close()
    return reply


def post(service, route, /, **body):
    return ask(service, "POST", route, body)


def requests(service):
    """leases are acquired, renewed, listed and released, each with its status code"""
    status, headers, body = post(service, "/v1/acquire", parts=["r/1"], owner="b", ttl="60s")
    assert status == 200 and body["status"] == "granted" and body["ttl_ms"] == 60000, body
    assert headers["content-type"] == "application/json"
    status, _, busy = post(service, "/v1/acquire", parts=["r/1"])
    assert status == 409 and busy["status"] == "busy" and busy["owner"] != "b", busy
    assert busy["blockers"][0]["owner"] == "b"
    status, _, waiting = post(service, "/v1/acquire", paths=["r/1"], owner="c", mode="queue")
    assert status == 202 and waiting["position"] == 1, waiting
    for nameless in ({}, {"owner": ""}):  # no second request could repeat it
        status, _, refused = post(service, "/v1/acquire", paths=["r/1"], mode="queue", **nameless)
        assert status == 400 and "owner" in refused["error"], refused
    status, _, timeout = post(service, "/v1/acquire", parts=["r/1"], mode="wait", wait=50)
    assert status == 409 and timeout["status"] == "timeout", timeout
    status, _, body = post(service, "/v1/renew", parts=["r/1"], owner="b", token=body["token"])
    assert status == 200 and body["status"] == "ok"
    status, _, body = ask(service, "GET", "/v1/requests?prefix=r")
    assert [entry["owner"] for entry in body["requests"]] == ["b", "c"] and body["cursor"] == "0"
    status, _, body = ask(service, "GET", "/v1/requests/r/1")
    assert body["requests"][1]["blockers"][0]["owner"] == "b", body
    status, _, body = post(service, "/v1/break", path="r/1", reason="test", owner="c")
    assert status == 200 and body["broken"] == 1
    status, _, body = ask(service, "GET", "/v1/audit?prefix=r")
    assert body["audit"][0]["reason"] == "test", body
    assert post(service, "/v1/release", parts=["r/1"], owner="b")[0] == 200
    status, _, body = post(service, "/v1/release", parts=["r/1"], owner="b")
    assert status == 410 and body["status"] == "lost" and body["error"], body


def by_token(service):
    """the right token renews and releases without an owner; a wrong one is lost"""
    token = post(service, "/v1/acquire", parts=["by/1"], owner="me")[2]["token"]
    assert post(service, "/v1/renew", parts=["by/1"])[0] == 400
    assert post(service, "/v1/renew", parts=["by/1"], token=token + 1)[0] == 410
    assert post(service, "/v1/release", parts=["by/1"], token=token, owner="you")[0] == 410
    status, _, renewed = post(service, "/v1/renew", parts=["by/1"], token=token, ttl="90s")
    assert status == 200 and renewed["owner"] == "me" and renewed["ttl_ms"] == 90000, renewed
    status, _, released = post(service, "/v1/release", parts=["by/1"], token=token, put="v")
    assert status == 200 and released["status"] == "ok", released
    assert ask(service, "GET", "/v1/values/by/1")[2] == b"v"
    status, _, lost = post(service, "/v1/release", parts=["by/1"], token=token)
    assert status == 410 and lost["status"] == "lost" and "token" in lost["error"], lost


def names_of_connections(service):
    """an owner that begins with conn: is a connection of RESP, and none of a request"""
    for route, body in [("acquire", {"parts": ["c/1"]}), ("renew", {"parts": ["c/1"]}),
                        ("release", {"parts": ["c/1"]}), ("claim", {"queue": "c/q"}),
                        ("done", {"queue": "c/q", "id": "i"}), ("done", {"queue": "c/q", "ids": ["i", "j"]}),
                        ("retry", {"queue": "c/q", "id": "i"})]:
        status, _, refused = post(service, "/v1/" + route, owner="conn:1.1", **body)
        assert status == 403 and refused["status"] == "denied", (route, refused)
    assert ask(service, "PUT", "/v1/values/c/v?owner=conn:1.1", b"x")[0] == 403


def values(service):
    """values are raw bytes, with a header if they are in doubt"""
    data = bytes(range(256))
    assert ask(service, "GET", "/v1/values/v/a")[0] == 404
    assert ask(service, "PUT", "/v1/values/v/a", data)[0] == 200
    status, headers, body = ask(service, "GET", "/v1/values/v%2Fa")
    assert status == 200 and body == data and "lockkeeper-in-doubt" not in headers
    token = post(service, "/v1/acquire", parts=["v/a"], owner="o", value=True, ttl_ms=3000 * STRETCH)[2]["token"]
    assert ask(service, "PUT", "/v1/values/v/a", b"x")[0] == 409
    assert ask(service, "PUT", f"/v1/values/v/a?owner=o&token={token}", b"x")[0] == 200
    until(lambda: ask(service, "GET", "/v1/values/v/a")[1].get("lockkeeper-in-doubt") == "1")
    assert ask(service, "PUT", f"/v1/values/v/a?owner=o&token={token}", b"y")[0] == 410
    assert ask(service, "DELETE", "/v1/values/v/a")[0] == 200
    assert ask(service, "DELETE", "/v1/values/v/a")[0] == 200
    assert ask(service, "GET", "/v1/values/v/a")[2]["status"] == "none"
    assert post(service, "/v1/acquire", parts=["v/b"], owner="o")[0] == 200
    assert post(service, "/v1/release", parts=["v/b"], owner="o", put_base64="AAH/")[0] == 200
    assert ask(service, "GET", "/v1/values/v/b")[2] == b"\0\1\xff"
    batch = {"parts": ["v/c", "v/d?shared", "v/b"], "owner": "o"}
    granted = post(service, "/v1/acquire", value=True, **batch)[2]
    assert granted["values"] == [{}, {}, {"value_base64": "AAH/", "in_doubt": False}], granted
    assert "value" not in granted
    refused = post(service, "/v1/release", puts=["1", "2", "3", "4"], **batch)
    assert refused[0] == 400 and "R15" in refused[2]["error"], refused
    assert post(service, "/v1/release", puts=["1", "2"], **batch)[0] == 410
    batch["parts"] = ["v/b", "v/c", "v/d"]
    assert post(service, "/v1/release", puts=["of b", "of c"], **batch)[0] == 200
    granted = post(service, "/v1/acquire", value=True, **batch)[2]
    assert [each.get("value") for each in granted["values"]] == ["of b", "of c", None], granted
    large = base64.b64encode(b"\xff" * 65536).decode()
    batch["parts"] = [f"v/{i}" for i in range(16)]
    assert post(service, "/v1/acquire", **batch)[0] == 200
    assert post(service, "/v1/release", puts_base64=[large] * 16, **batch)[0] == 200
    assert ask(service, "GET", "/v1/values/v/15")[2] == b"\xff" * 65536


def work(service):
    """items are pushed, claimed, retried and completed"""
    assert post(service, "/v1/claim", queue="q")[0] == 409
    assert post(service, "/v1/push", queue="q", id="1", value="v")[2]["added"] is True
    assert post(service, "/v1/push", queue="q", id="1")[2]["added"] is False
    status, _, claim = post(service, "/v1/claim", queue="q", mode="wait", wait="10s")
    assert status == 200 and claim["id"] == "1" and claim["value"] == "v", claim
    owner = claim["owner"]
    assert ask(service, "GET", "/v1/items/q")[2]["items"][0]["state"] == "claimed"
    assert post(service, "/v1/retry", queue="q", id="1", owner=owner, delay=0)[0] == 200
    assert post(service, "/v1/done", queue="q", id="1", owner=owner)[0] == 410
    assert post(service, "/v1/claim", queue="q", owner="w")[2]["attempt"] == 2
    assert post(service, "/v1/done", queue="q", id="1", owner="w")[0] == 200
    assert ask(service, "GET", "/v1/stats/q")[2]["done"] == 1
    assert post(service, "/v1/unpark", queue="q", id="1")[0] == 410


def several_items(service):
    """items of one decision are claimed and done together; others are dropped; queues are listed"""
    for name, priority in ("low", -1), ("high", 1):
        assert post(service, "/v1/push", queue="s/q", id=name, priority=priority)[2]["added"] is True
    status, _, claims = post(service, "/v1/claim", queue="s/q", owner="w", count=9)
    assert status == 200 and [claim["id"] for claim in claims["items"]] == ["high", "low"], claims
    assert claims["status"] == "granted" and "status" not in claims["items"][0], claims
    status, _, busy = post(service, "/v1/claim", queue="s/q", owner="w", count=9)
    assert status == 409 and busy["status"] == "busy", busy
    token = claims["items"][0]["token"]
    assert post(service, "/v1/retry", queue="s/q", id="high", owner="w", exit=3, error="it broke")[0] == 200
    item = ask(service, "GET", "/v1/items/s/q")[2]["items"][1]
    assert (item["priority"], item["last_exit"], item["last_error"]) == (1, 3, "it broke"), item
    status, _, lost = post(service, "/v1/done", queue="s/q", ids=["low", "high"], owner="w", token=token)
    assert status == 410 and lost["status"] == "lost", lost
    assert post(service, "/v1/claim", queue="s/q", owner="w")[2]["id"] == "high"
    status, _, done = post(service, "/v1/done", queue="s/q", ids=["high"], owner="w")
    assert status == 200 and done["status"] == "ok", done
    assert post(service, "/v1/done", queue="s/q", ids=[], owner="w")[0] == 400
    assert post(service, "/v1/done", queue="s/q", ids=["1"] * 257, owner="w")[0] == 400
    assert post(service, "/v1/push", queue="s/q", id="5")[0] == 200
    assert ask(service, "DELETE", "/v1/items/s/q/5")[2]["dropped"] == 1
    assert ask(service, "DELETE", "/v1/items/s%2Fq/5")[0] == 410
    assert ask(service, "DELETE", "/v1/items/s")[0] == 400
    status, _, body = ask(service, "GET", "/v1/queues?prefix=s")
    assert status == 200 and body["queues"][0]["queue"] == "s/q" and body["cursor"] == "0", body
    assert body["queues"][0]["done"] == 2, body
    assert ask(service, "PUT", "/v1/values/s/v", b"four", ("Content-Type: text/plain",))[0] == 200
    assert post(service, "/v1/acquire", parts=["s/v"], owner="w", value=True)[0] == 200
    assert post(service, "/v1/break", path="s/v", owner="w", now=True, reason="test")[0] == 200
    status, _, body = ask(service, "GET", "/v1/doubts?prefix=s&count=1")
    assert (status, body["values"], body["cursor"]) == (200, [{"path": "s/v", "size": 4}], "0"), body
    assert ask(service, "PUT", "/v1/values/s/w", b"", ("Content-Type: text/plain",))[0] == 200
    status, _, body = ask(service, "GET", "/v1/values?prefix=s&count=1")
    assert (status, body["values"]) == (200, [{"path": "s/v", "size": 4, "in_doubt": True}]), body
    body = ask(service, "GET", "/v1/values?prefix=s&cursor=" + body["cursor"])[2]
    assert (body["status"], body["values"], body["cursor"]) == (
        "ok", [{"path": "s/w", "size": 0, "in_doubt": False}], "0"), body
    assert ask(service, "GET", "/v1/values?prefix=a//b")[0] == 400
    assert ask(service, "POST", "/v1/values", b"{}")[0] == 405


def refusals(service):
    """a refused request has its status code and a body with the reason"""
    cases = [
        (404, ask(service, "GET", "/nowhere")),
        (404, ask(service, "GET", "/v1/requestsx")),
        (405, ask(service, "GET", "/v1/acquire")),
        (405, ask(service, "TRACE", "/v1/values/x")),
        (405, ask(service, "PATCH", "/v1/values/x")),
        (405, ask(service, "POST", "/healthz")),
        (415, ask(service, "POST", "/v1/acquire", b'{"parts":["x"]}')),
        (415, ask(service, "POST", "/v1/acquire", b"{}", ("Content-Type: text/plain",))),
        (413, ask(service, "PUT", "/v1/values/x", b"x" * 65537)),
        (400, ask(service, "POST", "/v1/acquire", b"{", ("Content-Type: application/json",))),
        (400, post(service, "/v1/acquire", parts=["a//b"])),
        (400, post(service, "/v1/acquire", parts=["x"], tll="1s")),
        (400, post(service, "/v1/acquire", parts=["x"], ttl_ms=1)),
        (400, post(service, "/v1/acquire", parts=["x"], owner="a\0b")),
        (400, post(service, "/v1/break", path="x", reason="r" * 1025)),
        (400, ask(service, "GET", "/v1/requests?nonsense=1")),
        (400, ask(service, "GET", "/v1/requests?cursor=x")),
        (400, ask(service, "GET", "/v1/values/a%00b")),
        (400, ask(service, "PUT", "/v1/values/x?owner=a%00b", b"x")),
        (400, ask(service, "GET", "/v1/events?prefix=a%00b")),
    ]
    for expected, (status, _, body) in cases:
        assert status == expected and body["error"], (expected, status, body)
    wire = Http(service.http)
    wire.ask("PUT", "/v1/values/x", b"x" * 300000)
    assert wire.head()[0] == 413


def foreign_pages(service):
    """requests of foreign web pages are refused, by Host and by Origin"""
    for header in ["Host: evil.example", "Host: evil.example:7421"]:
        assert ask(service, "GET", "/v1/requests", headers=(header,))[0] == 403
    for header in ["Host: localhost:7421", "Host: 127.0.0.1", "Host: [::1]:7421"]:
        assert ask(service, "GET", "/v1/requests", headers=(header,))[0] == 200
    assert ask(service, "GET", "/v1/requests", headers=("Origin: http://evil.example",))[0] == 403
    assert ask(service, "GET", "/v1/requests", headers=("Origin: null",))[0] == 403
    assert ask(service, "GET", "/v1/requests", headers=("Origin: http://localhost",))[0] == 200


def allowed_hosts(_):
    """hosts of --allow-host are accepted in Host and Origin, also with https"""
    own = Service(sys.argv[1], "--allow-host", "locks.example", "--allow-host", "grid:8443")
    for expected, headers in [
            (200, ("Host: locks.example",)), (200, ("Host: Locks.example:7421",)),
            (200, ("Host: grid:1",)), (403, ("Host: other.example",)),
            (200, ("Host: locks.example", "Origin: https://locks.example")),
            (200, ("Host: 127.0.0.1:7421", "Origin: https://grid:8443")),
            (200, ("Host: locks.example:7421", "Origin: http://locks.example:7421")),
            (403, ("Host: grid", "Origin: https://grid")),
            (403, ("Host: locks.example", "Origin: https://locks.example.evil")),
            (403, ("Host: locks.example", "Origin: https://other.example"))]:
        assert ask(own, "GET", "/v1/requests", headers=headers)[0] == expected, headers
    assert own.end() == 0


def bad_methods(service):
    """an unknown method is answered with the allowed ones; anything but HTTP/1.1 is 400"""
    for method, path, allowed in [("PATCH", "/v1/values/x", "GET, PUT, DELETE"),
                                  ("GET", "/v1/acquire", "POST"), ("POST", "/healthz", "GET, HEAD"),
                                  ("HEAD", "/v1/events", "GET"), ("PUT", "/v1/limits", "GET, POST")]:
        wire = Http(service.http)
        wire.ask(method, path)
        status, headers = wire.head()
        assert (status, headers["allow"]) == (405, allowed), (method, path, status, headers)
    for raw in [b"GET /healthz HTTP/1.1\r\n\r\n",
                b"PUT /v1/values/x HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                b"Transfer-Encoding: gzip, chunked\r\n\r\n",
                b"GET /v1/values/a%zz HTTP/1.1\r\nHost: localhost\r\n\r\n",
                b"GET /v1/values/a%4 HTTP/1.1\r\nHost: localhost\r\n\r\n"]:
        wire = Http(service.http)
        wire.send(raw)
        assert wire.head()[0] == 400, raw
    wire = Http(service.http)
    wire.send(b"GET /healthz HTTP/1.0\r\n\r\n")
    assert wire.head()[0] == 200
    wire = Http(service.http)
    wire.send(b"\x16\x03\x01\x02\0\x01\0\x01\xfc\x03\x03")  # TLS says hello
    assert wire.head()[0] == 400 and is_over(wire)


def long_poll(service):
    """a wait is granted in its turn; one whose client disconnects is withdrawn"""
    post(service, "/v1/acquire", parts=["p/1"], owner="h")
    gone, patient = Http(service.http), Http(service.http)
    gone.ask("POST", "/v1/acquire", {"parts": ["p/1"], "owner": "g", "mode": "wait"})
    until(lambda: len(ask(service, "GET", "/v1/requests?prefix=p")[2]["requests"]) == 2)
    patient.ask("POST", "/v1/acquire", {"parts": ["p/1"], "owner": "p", "mode": "wait"})
    until(lambda: len(ask(service, "GET", "/v1/requests?prefix=p")[2]["requests"]) == 3)
    gone.close()
    until(lambda: len(ask(service, "GET", "/v1/requests?prefix=p")[2]["requests"]) == 2)
    assert patient.is_silent()
    post(service, "/v1/release", parts=["p/1"], owner="h")
    status, _, body = patient.reply()
    assert status == 200 and body["owner"] == "p", body
    status, _, body = patient.call("POST", "/v1/release", {"parts": ["p/1"], "owner": "p"})
    assert status == 200, body


def pipelined(service):
    """a client may send the next request before the reply to a wait"""
    post(service, "/v1/acquire", parts=["i/1"], owner="h")
    wire = Http(service.http)
    wire.ask("POST", "/v1/acquire", {"parts": ["i/1"], "owner": "w", "mode": "wait", "wait": 300})
    wire.ask("GET", "/healthz")
    assert wire.reply()[2]["status"] == "timeout"
    assert wire.reply()[2] == b"ok\n"


def cut_off(service):
    """a wait whose connection is reset is withdrawn, also with further requests in the pipeline"""
    post(service, "/v1/acquire", parts=["c/1"], owner="h")
    silent, talkative = Http(service.http), Http(service.http)
    for wire, owner in (silent, "s"), (talkative, "t"):
        wire.ask("POST", "/v1/acquire", {"parts": ["c/1"], "owner": owner, "mode": "wait"})
    talkative.ask("GET", "/healthz")
    follower = Stream(service, "/v1/events?prefix=c")
    follower.send(b"x" * 10000)
    until(lambda: len(ask(service, "GET", "/v1/requests?prefix=c")[2]["requests"]) == 3)
    for wire in silent, talkative, follower:
        wire.cut()
    until(lambda: len(ask(service, "GET", "/v1/requests?prefix=c")[2]["requests"]) == 1)
    until(lambda: b"lockkeeper_followers 0\n" in ask(service, "GET", "/metrics")[2])


def heads(service):
    """HEAD is answered with the length of the body, without the body"""
    for path, expected in ("/metrics", 200), ("/v1/events", 405), ("/v1/values/x", 405):
        wire = Http(service.http)
        wire.ask("HEAD", path)
        status, headers = wire.head()
        assert status == expected and int(headers["content-length"]) > 0, (path, status, headers)
        assert wire.call("GET", "/healthz")[2] == b"ok\n"  # nothing is in between


def is_over(wire):
    """Whether the connection ends without further bytes."""
    try:
        wire.fill()
        return False
    except Closed:
        return True


def ambiguous(service):
    """ambiguous framing is refused, and the connection is closed"""
    second = "GET /readyz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    size = f"Content-Length: {len(second)}"
    for start in [f"PUT /v1/values/x HTTP/1.1\r\nContent-Length: 0\r\n{size}",
                  f"PUT /v1/values/x HTTP/1.1\r\nContent-Length : {len(second)}",
                  f"PUT /v1/values/x HTTP/1.1\r\nContent-Length: +{len(second)}",
                  f"TRACE /v1/values/x HTTP/1.1\r\n{size}",
                  "GET /healthz HTTP/1.1\r\nHost: evil.example"]:
        wire = Http(service.http)
        wire.send(f"{start}\r\nHost: localhost\r\n\r\n{second}".encode())
        status, headers, body = wire.reply()
        assert status == 400 and body["status"] == "invalid", (start, status, body)
        assert headers["connection"] == "close" and is_over(wire), (start, headers)


def to_the_letter(service):
    """what evhttp takes and a proxy may read otherwise is refused; nothing of it is executed"""
    post_head = b"POST /v1/acquire HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    body = b'{"parts":["letter"],"owner":"o"}'
    size = f"{len(body):x}".encode()
    put = b"PUT /v1/values/letter HTTP/1.1\r\nHost: localhost\r\n"
    chunked = post_head + b"Transfer-Encoding: chunked\r\n\r\n"
    end = b"\r\n0\r\n\r\n"
    good = [chunked + size + b"\r\n" + body + end, chunked + b"00" + size.upper() + b"\r\n" + body + end,
            chunked + size + b"\r\n" + body + b"\r\n0\r\nTrailer: x\r\n\r\n",
            chunked + b"1\r\n{\r\n" + f"{len(body) - 1:X}".encode() + b"\r\n" + body[1:] + end,
            post_head + b"Content-Length:  " + str(len(body)).encode() + b" \r\nX: \xc3\xa9\t.\r\n\r\n" + body]
    bad = [chunked + how + b"\r\n" + body + end
           for how in (b"0x" + size, b"0X" + size, b"+" + size, b" " + size, size + b" ", b"\t" + size)]
    bad += [chunked + size + b"\n" + body + end, chunked + size + b"\r\n" + body + b"\n0\r\n\r\n",
            chunked + size + b"\r\n" + body + b"\r\n0\n\r\n", chunked + size + b"\r\n" + body + b"\r\n0\r\n\n",
            chunked + size + b"\r\n" + body + b"\r\n\r\n0\r\n\r\n",
            chunked + size + b"\r\n" + body + b"\r\n0\r\nTrailer: \0\r\n\r\n",
            chunked.replace(b": chunked", b":" + b" " * 64 + b"chunked") + b"0x" + size + b"\r\n" + body + end,
            post_head + b"Content-Length:" + b" " * 64 + b"%d\r\n\r\n" % len(body) + body,
            post_head.replace(b"\r\n", b"\n") + b"Content-Length: %d\n\n" % len(body) + body,
            post_head + b"Content-Length: %d\n\r\n" % len(body) + body,
            post_head + b"X: y\r\n z\r\nContent-Length: %d\r\n\r\n" % len(body) + body,
            post_head + b"Transfer-Encoding: chunked\r\nContent-Length: %d\r\n\r\n" % len(body) + size + b"\r\n" + body + end,
            put + b"Content-Length: 1\r\nX: a\0b\r\n\r\nv", put + b"X\0: a\r\nContent-Length: 1\r\n\r\nv",
            put + b"X: a\x01\r\nContent-Length: 1\r\n\r\nv", put + b"X: a\x7f\r\nContent-Length: 1\r\n\r\nv"]
    for requests, expected in [(good, 200), (bad, 400)]:
        for request in requests:
            for cut in (len(request), 1):
                wire = Http(service.http)
                try:
                    for at in range(0, len(request), cut):
                        wire.send(request[at:at + cut])
                    status, headers, answer = wire.reply()
                except (OSError, Closed):  # it was refused while it was still being sent
                    assert cut == 1 and expected == 400, request
                    continue
                assert status == expected, (request, cut, status, answer)
                if expected == 400:
                    assert headers["connection"] == "close" and is_over(wire), (request, headers)
                wire.close()
        assert ask(service, "GET", "/v1/values/letter")[0] == 404
        assert len(ask(service, "GET", "/v1/requests?prefix=letter")[2]["requests"]) == (expected == 200)
        if expected == 200:
            assert post(service, "/v1/release", parts=["letter"], owner="o")[0] == 200
    # Good ones before it are answered, and what is behind it is not read.
    wire = Http(service.http)
    health = b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
    wire.send(health + health + bad[0] + good[0])
    assert [wire.reply()[0] for _ in range(3)] == [200, 200, 400] and is_over(wire)
    assert ask(service, "GET", "/v1/requests?prefix=letter")[2]["requests"] == []


def announced_too_large(service):
    """a body that is announced with too large a size is refused before it comes"""
    head = "PUT /v1/values/large HTTP/1.1\r\nHost: localhost\r\n"
    for size in (99999999999, (1 << 64) + 33, 1 << 63, 10 ** 40, 2 * 1024 * 1024):
        for more in ("", "Expect: 100-continue\r\n"):
            wire = Http(service.http)
            wire.send(f"{head}{more}Content-Length: {size}\r\n\r\n".encode())
            status, headers, body = wire.reply()
            assert status == 413 and body["status"] == "invalid", (size, status, body)
            assert headers["connection"] == "close", headers
            wire.close()
    # A client that sends all of it first reads the same, once.
    wire = Http(service.http)
    wire.send(f"{head}Content-Length: {2 << 20}\r\n\r\n".encode() + b"x" * (2 << 20))
    assert wire.reply()[0] == 413
    wire.close()
    # Behind a request that is still waiting for its reply, the order stays.
    wire = Http(service.http)
    wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n" + f"{head}Content-Length: {2 << 20}\r\n\r\n".encode()
              + b"x" * (2 << 20))
    assert [wire.reply()[0] for _ in range(2)] == [200, 413]
    wire.close()
    # The body of a later request is read to its end, too, and is no request itself.
    post(service, "/v1/acquire", parts=["large/held"], owner="kept")
    wire = Http(service.http)
    assert wire.call("GET", "/healthz")[0] == 200
    wire.send(f"{head}Content-Length: {2 << 20}\r\n\r\n".encode())
    assert wire.reply()[0] == 413
    released = json.dumps({"parts": ["large/held"], "owner": "kept"})
    inner = ("POST /v1/release HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
             f"Content-Length: {len(released)}\r\n\r\n{released}").encode()
    wire.send(inner + b"x" * ((2 << 20) - len(inner)))
    assert wire.socket.recv(1) == b""
    wire.close()
    assert post(service, "/v1/release", parts=["large/held"], owner="kept")[0] == 200


class Stream(Http):
    """Reads server-sent events, chunk by chunk."""

    def __init__(self, service, path, headers=()):
        super().__init__(service.http)
        self.ask("GET", path, headers=headers)
        status, reply = self.head()
        assert status == 200 and reply["content-type"] == "text/event-stream", reply
        self.text = ""
        self.begins_behind = self.fields()["id"]

    def fields(self):
        while "\n\n" not in self.text:
            size = int(self.line(), 16)
            self.text += self.exactly(size + 2)[:-2].decode()
        block, self.text = self.text.split("\n\n", 1)
        return dict(line.split(": ", 1) for line in block.split("\n") if line[0] != ":")

    def event(self):
        fields = self.fields()
        return fields["id"], fields["event"], json.loads(fields["data"])


def events(service):
    """events are filtered by prefix, and resumed after the last id"""
    stream = Stream(service, "/v1/events?prefix=ev")
    post(service, "/v1/acquire", parts=["ev/1"], owner="a")
    post(service, "/v1/acquire", parts=["other"], owner="a")
    post(service, "/v1/release", parts=["ev/1"], owner="a")
    first, second = stream.event(), stream.event()
    assert (first[1], second[1]) == ("granted", "released"), (first, second)
    assert first[2]["path"] == "ev/1" and first[0] == str(first[2]["sequence"])
    stream.close()
    resumed = Stream(service, "/v1/events?prefix=ev", (f"Last-Event-ID: {first[0]}",))
    assert resumed.event() == second
    again = Stream(service, "/v1/events?prefix=ev", (f"Last-Event-ID: {stream.begins_behind}",))
    assert (again.event(), again.event()) == (first, second)
    assert Stream(service, "/v1/events", (f"Last-Event-ID: {1 << 62}",)).event()[1] == "gap"
    assert ask(service, "GET", "/v1/events?prefix=a//b")[0] == 400
    assert ask(service, "GET", "/v1/events", headers=("Last-Event-ID: x",))[0] == 400


def health(service):
    """/healthz and /metrics are answered"""
    assert ask(service, "GET", "/healthz")[2] == b"ok\n"
    assert ask(service, "GET", "/readyz")[0] == 200
    status, headers, body = ask(service, "GET", "/metrics")
    assert status == 200 and headers["content-type"].startswith("text/plain; version=0.0.4")
    assert b"lockkeeper_requests_live " in body and b"# TYPE lockkeeper_calls_total counter" in body


def both_listeners(service):
    """both listeners serve the same locks"""
    wire = Resp(service.resp, 3)
    assert wire.call("ACQUIRE", "both", "OWNER", "r")["status"] == "granted"
    assert post(service, "/v1/acquire", parts=["both"], owner="h")[0] == 409
    assert post(service, "/v1/release", parts=["both"], owner="r")[0] == 200


run([requests, by_token, names_of_connections, values, work, several_items, refusals, foreign_pages, allowed_hosts, bad_methods, long_poll, pipelined,
     cut_off, heads, ambiguous, to_the_letter, announced_too_large, events, health, both_listeners])
