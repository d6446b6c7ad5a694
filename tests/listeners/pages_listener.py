#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Long lists in pages: complete, in order, and within the size of a page. An answer without pages is
complete or FULL, so that the connection stays in step."""

from service import Http, Refused, Resp, as_map, run

PAGE_BYTES = 1024 * 1024
IN_LINE = 900
ITEM = b"\1" * 60000  # six bytes each in JSON
ITEMS = 40
EVENT_BYTES = 1024 * 1024
FILLING = "\1" * 255


def queue_of_waiters(service):
    wire = Resp(service.resp)
    wire.send(b"".join(Resp.request("ACQUIRE", "line", "OWNER", f"w{n}", "QUEUE", "TTL", 3600000)
                       for n in range(IN_LINE)))
    for _ in range(IN_LINE):
        wire.value()
    return wire


def resp_pages(wire, *words, version=2):
    """Returns the entries of all pages, and the number of pages."""
    entries, pages, cursor = [], 0, "0"
    while pages == 0 or cursor != "0":
        wire.put(*words, "CURSOR", cursor)
        assert wire.bytes == b""
        wire.fill()
        cursor, page = wire.value()
        entries += page if version == 3 else [as_map(entry) for entry in page]
        pages += 1
    return entries, pages


def http_pages(wire, path, name):
    entries, pages, cursor = [], 0, "0"
    while pages == 0 or cursor != "0":
        wire.ask("GET", f"{path}{'&' if '?' in path else '?'}cursor={cursor}")
        status, headers, body = wire.reply()
        assert status == 200 and int(headers["content-length"]) < PAGE_BYTES + 1000, headers
        assert list(body) == ["status", "cursor", name]
        cursor, pages = body["cursor"], pages + 1
        entries += body[name]
    return entries, pages


def show(service):
    """SHOW of a long queue is FULL, never truncated; in pages it is complete"""
    wire = queue_of_waiters(service)
    wire.put("SHOW", "line")
    wire.put("ECHO", "next")
    answer = wire.value()
    assert isinstance(answer, Refused) and str(answer).startswith("FULL the reply is too large"), answer
    assert wire.value() == "next"
    for version, talker in ((2, wire), (3, Resp(service.resp, 3))):
        entries, pages = resp_pages(talker, "SHOW", "line", "COUNT", 10000, version=version)
        assert pages > 1 and len(entries) == IN_LINE, (pages, len(entries))
        assert entries[0]["state"] == "held"
        assert [entry["position"] for entry in entries[1:]] == list(range(1, IN_LINE))
        assert all(len(entry["blockers"]) == min(16, entry["position"]) for entry in entries[1:])
        assert [entry["owner"] for entry in entries] == [f"w{n}" for n in range(IN_LINE)]
    status, _, body = Http(service.http).call("GET", "/v1/requests/line")
    assert status == 429 and body["status"] == "full" and body["error"], (status, body)
    entries, pages = http_pages(Http(service.http), "/v1/requests/line?count=600", "requests")
    assert len(entries) == IN_LINE and pages >= 2, (len(entries), pages)
    page = Http(service.http).call("GET", "/v1/requests/line?count=7")[2]
    assert len(page["requests"]) == 7 and page["cursor"] != "0"
    assert isinstance(wire.call("SHOW", "line", "CURSOR", "here"), Refused)


def whole(service):
    """an answer that fits is not split"""
    wire = Resp(service.resp)
    wire.call("ACQUIRE", "short", "OWNER", "a")
    wire.call("ACQUIRE", "short", "OWNER", "b", "QUEUE")
    entries = [as_map(entry) for entry in wire.call("SHOW", "short")]
    assert [entry["state"] for entry in entries] == ["held", "waiting"]
    assert wire.call("SHOW", "nothing") == []
    assert wire.call("SHOW", "nothing", "COUNT", 5) == ["0", []]
    assert wire.call("AUDIT", "short", "COUNT", 5) == ["0", []]
    body = Http(service.http).call("GET", "/v1/requests/short")[2]
    assert list(body) == ["status", "requests"] and len(body["requests"]) == 2


def items(service):
    """a page of items is limited by its encoded bytes"""
    wire = Resp(service.resp)
    for number in range(ITEMS):
        assert wire.call("PUSH", "big", f"i{number}", "VALUE", ITEM) == 1
    entries, pages = resp_pages(wire, "ITEMS", "big")
    assert len(entries) == ITEMS and pages == 3, (len(entries), pages)
    assert [entry["id"] for entry in entries] == [f"i{n}" for n in range(ITEMS)]
    entries, pages = http_pages(Http(service.http), "/v1/items/big", "items")
    assert len(entries) == ITEMS and pages == ITEMS / 2, (len(entries), pages)
    assert all(entry["value"].encode() == ITEM for entry in entries)


def audit(service):
    """an audit of any size is read in pages"""
    wire = Resp(service.resp)
    path, count = "/".join(["p" * 255] * 2), 1000
    wire.send(b"".join(
        Resp.request("ACQUIRE", f"{path}?shared", "OWNER", f"{n}.{FILLING[:100]}", "NOTE", FILLING)
        for n in range(count)))
    for _ in range(count):
        wire.value()
    assert wire.call("BREAK", path, "REASON", FILLING * 4, "BY", FILLING, "NOW") == count
    for words in (("AUDIT",), ("AUDIT", path)):
        wire.put(*words)
        wire.put("PING")
        answer = wire.value()
        assert isinstance(answer, Refused) and str(answer).startswith("FULL"), answer
        assert wire.value() == "PONG"
        entries, pages = resp_pages(wire, *words, "COUNT", 10000)
        assert len(entries) == count and pages > 1, (len(entries), pages)
        assert [entry["owner"].split(".")[0] for entry in entries] == [str(n) for n in range(count)]
    assert wire.call("AUDIT", "elsewhere") == []
    status, _, body = Http(service.http).call("GET", "/v1/audit")
    assert status == 429 and body["status"] == "full" and body["error"], (status, body)
    entries, pages = http_pages(Http(service.http), f"/v1/audit?prefix={path}", "audit")
    assert len(entries) == count and pages > 4, (len(entries), pages)


def events(service):
    """a page of events is limited by its bytes, and the next one continues after it"""
    wire = Resp(service.resp)
    after = wire.call("EVENTS")[0]
    path = "/".join(["e" * 255] * 2)
    count = 600
    wire.send(b"".join(
        Resp.request("ACQUIRE", f"{path}?shared", "OWNER", f"{n}.{FILLING[:100]}", "NOTE", FILLING)
        for n in range(count)))
    for _ in range(count):
        wire.value()
    found, pages = [], 0
    while len(found) < count:
        after, page = wire.call("EVENTS", path, "AFTER", after, "COUNT", 10000)
        assert page, len(found)
        found += [as_map(event) for event in page]
        pages += 1
    assert pages > 1
    assert [event["event"] for event in found] == ["granted"] * count
    assert [event["owner"].split(".")[0] for event in found] == [str(n) for n in range(count)]


def bounded_events(service):
    """events are retained up to a number and up to a size"""
    wire = Resp(service.resp)
    wire.call("LIMIT", "EVENTS", 1000000)
    before = wire.call("EVENTS", "AFTER", 1, "COUNT", 1)[0]
    for _ in range(6):
        wire.send(b"".join(Resp.request("PUT", f"b/{'e' * 250}", "v") for _ in range(1000)))
        for _ in range(1000):
            assert wire.value() == "OK"
    kept = next(int(line[12:]) for line in wire.call("INFO").splitlines()
                if line.startswith("events_kept:"))
    assert 0 < kept < 6000, kept
    found = [as_map(event)["event"] for event in wire.call("EVENTS", "AFTER", before)[1]]
    assert found[0] == "gap" and len(found) > 1, found[:2]


run([show, whole, items, audit, events, bounded_events], "--bound", f"event-bytes={EVENT_BYTES}")
