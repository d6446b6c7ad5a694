#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The RESP listener (docs/wire.md), through plain sockets: order, fragments, blocking, events."""

import signal
import time

from service import PATIENCE_S, Closed, Http, Refused, Resp, Wire, as_map, run, until


def refusal(answer, word):
    assert isinstance(answer, Refused) and str(answer).split()[0] == word, answer


def versions(service):
    """maps are maps in version 3 and flat arrays in version 2"""
    two, three = Resp(service.resp), Resp(service.resp, 3)
    granted = as_map(two.call("ACQUIRE", "v/1", "OWNER", "a"))
    assert granted["status"] == "granted" and granted["paths"] == ["v/1"], granted
    assert granted["created"] == 1 and granted["owner"] == "a"
    again = three.call("acquire", "v/1", "owner", "a")
    assert again["token"] == granted["token"] and again["created"] is False, again
    assert three.call("GET", "none") is None and two.call("GET", "none") is None
    assert three.call("RELEASE", "v/1", "OWNER", "a", "TOKEN", granted["token"]) == "OK"
    refusal(two.call("RELEASE", "v/1", "OWNER", "a"), "LOST")


def pieces(service):
    """a pipeline with inline commands is parsed however it is fragmented"""
    stream = (Resp.request("ECHO", b"\r\n\0") + b"PING\r\n" + Resp.request("PUT", "p/1", "v" * 300)
              + b"get p/1\n" + b"echo \"a b\"\r\n" + Resp.request("DEL", "p/1") + b"get p/1\r\n")
    expected = ["\r\n\0", "PONG", "OK", "v" * 300, "a b", 1, None]
    for size in [1, 2, 3, 7, 64, len(stream)]:
        wire = Resp(service.resp)
        for at in range(0, len(stream), size):
            wire.send(stream[at:at + size])
        assert [wire.value() for _ in expected] == expected, size
        wire.close()


def unknown(service):
    """unknown commands, wrong arity and misplaced words are errors, and the connection stays open"""
    wire = Resp(service.resp)
    refusal(wire.call("FOO", "bar"), "ERR")
    refusal(wire.call("ACQUIRE"), "ERR")
    refusal(wire.call("PUT", "x"), "ERR")
    refusal(wire.call("SELECT"), "ERR")
    refusal(wire.call("SELECT", 1), "ERR")
    refusal(wire.call("ACQUIRE", "x", "SOON"), "INVALID")
    refusal(wire.call("ACQUIRE", "a//b"), "INVALID")
    refusal(wire.call("ACQUIRE", "x", "TTL", "1"), "INVALID")
    refusal(wire.call("BREAK", "x"), "INVALID")
    refusal(wire.call("BREAK", "x", "REASON", "r" * 1025), "INVALID")
    refusal(wire.call("BREAK", "x", "REASON", "r", "BY", "b" * 256), "INVALID")
    refusal(wire.call("BREAK", "x", "REASON", "r\0"), "INVALID")
    refusal(wire.call("ACQUIRE", "x", "OWNER", "a\0b"), "INVALID")
    refusal(wire.call("ACQUIRE", "x", "NOTE", "a\0b"), "INVALID")
    assert wire.call("PING") == "PONG"


def broken_protocol(service):
    """bytes that are not RESP are answered with an error, and the connection is closed"""
    for data in [b"*1\r\n:1\r\n", b"*x\r\n", b"*1\r\n$-5\r\n", b"*200\r\n", b"get \"x\r\n",
                 b"*1\r\n$999999999\r\n", b"x" * 5000]:
        wire = Resp(service.resp)
        wire.send(data)
        refusal(wire.value(), "ERR")
        try:
            wire.value()
            raise AssertionError(f"still open after {data[:20]!r}")
        except Closed:
            pass


def http_request(service):
    """the connection is closed at lines that begin an HTTP request"""
    lines = [b"POST / HTTP/1.1", b"Host: localhost", b"GET /lured HTTP/1.1", b"OPTIONS * HTTP/1.0",
             b"PUT /lured HTTP/1.1", b"DELETE /lured HTTP/2", b"PUT lured/1 'HTTP/1.1'"]
    for data in [line + b"\r\nPING\r\n" for line in lines]:
        wire = Wire(service.resp)
        wire.send(data)
        try:
            wire.fill()
            raise AssertionError(wire.bytes)
        except Closed:
            pass
    wire = Resp(service.resp)
    assert wire.call("GET", "lured") is None and wire.call("GET", "lured/1") is None
    assert wire.call("PUT", "lured", "HTTP/1.1") == "OK"


def another_protocol(service):
    """control bytes in a line, such as those of TLS, are an error before the line has ended"""
    for data in [b"\x16\x03\x01\x02\0\x01", b"PING \x01\r\n", b"\0\0\r\nPING\r\n", b"\x7fELF"]:
        wire = Resp(service.resp)
        wire.send(data)
        refusal(wire.value(), "ERR")
        try:
            wire.fill()
            raise AssertionError(wire.bytes)
        except Closed:
            pass


def own_owner(service):
    """without an owner the connection is the owner, and its requests end with it"""
    wire = Resp(service.resp, 3)
    other = Resp(service.resp, 3)
    granted = wire.call("ACQUIRE", "own/1", "TTL", 60000)
    assert granted["owner"].startswith("conn:") and granted["status"] == "granted"
    assert wire.call("RENEW", "own/1") == "OK"
    assert other.call("ACQUIRE", "own/1")["status"] == "busy"
    kept = wire.call("ACQUIRE", "own/2", "OWNER", "me")
    wire.close()
    until(lambda: other.call("ACQUIRE", "own/1")["status"] == "granted")
    assert other.call("ACQUIRE", "own/2")["status"] == "busy"
    assert other.call("RELEASE", "own/2", "OWNER", "me", "TOKEN", kept["token"]) == "OK"


def names_of_connections(service):
    """the owner that is a connection can be named by that connection only, in every command"""
    mine, other = Resp(service.resp, 3), Resp(service.resp, 3)
    lease = mine.call("ACQUIRE", "conn/1", "TTL", 60000)
    owner = lease["owner"]
    assert mine.call("PUSH", "conn/q", "i") == 1
    claim = mine.call("CLAIM", "conn/q")
    assert claim["owner"] == owner
    epoch, number = owner.rsplit(".", 1)
    for name in [owner, f"{epoch}.{int(number) + 100}", "conn:another.1", "conn:"]:
        for words in [("ACQUIRE", "conn/2"), ("ACQUIRE", "conn/2", "QUEUE"), ("ACQUIRE", "conn/2", "WAIT", 9),
                      ("RENEW", "conn/1"), ("RELEASE", "conn/1"), ("RELEASE", "conn/1", "TOKEN", lease["token"]),
                      ("PUT", "conn/v", "v"), ("DEL", "conn/v"), ("CLAIM", "conn/q"), ("CLAIM", "conn/q", "COUNT", 2),
                      ("CLAIM", "conn/q", "WAIT", 9), ("DONE", "conn/q", "i"), ("DONE", "conn/q", "i", "j"),
                      ("RETRY", "conn/q", "i")]:
            answer = other.call(*words, "OWNER", name)
            assert isinstance(answer, Refused) and str(answer).startswith("DENIED R18"), (words, answer)
    # The connection itself may; a token is for the lease of any owner; a break only chooses by it.
    assert mine.call("RENEW", "conn/1", "OWNER", owner) == "OK"
    assert mine.call("DONE", "conn/q", "i", "OWNER", owner) == "OK"
    assert other.call("RENEW", "conn/1", "TOKEN", lease["token"]) == "OK"
    assert other.call("BREAK", "conn/1", "REASON", "test", "OWNER", owner, "NOW") == 1


def as_long_as_the_connection(service):
    """a bound request without a TTL has the longest there is; with a TTL it has that one"""
    wire, other = Resp(service.resp, 3), Resp(service.resp, 3)
    longest_ms = 366 * 24 * 3600 * 1000
    assert wire.call("ACQUIRE", "long/1")["ttl_ms"] == longest_ms
    assert wire.call("ACQUIRE", "long/2", "OWNER", "me", "BOUND")["ttl_ms"] == longest_ms
    assert wire.call("ACQUIRE", "long/3", "OWNER", "me")["ttl_ms"] == 60000
    assert wire.call("ACQUIRE", "long/4", "TTL", 70000)["ttl_ms"] == 70000
    assert wire.call("ACQUIRE", "long/5", "OWNER", "me", "TTL", 70000, "BOUND")["ttl_ms"] == 70000
    waiting = other.call("ACQUIRE", "long/1", "QUEUE")
    assert waiting["status"] == "waiting" and waiting["ttl_ms"] == longest_ms, waiting
    assert "ttl_ms" not in wire.call("ACQUIRE", "long/6", "UNTIL", int(time.time() * 1000) + 90000)
    wire.call("PUSH", "long/q", "i")
    assert wire.call("CLAIM", "long/q")["expires_in_ms"] > longest_ms - 3600 * 1000
    wire.close()
    until(lambda: [entry["path"] for entry in other.call("LIST", "long")[1]] == ["long/3", "long/1"])
    assert other.call("LIST", "long")[1][1]["state"] == "held"


def by_token(service):
    """the right token renews and releases without OWNER, on any connection; a wrong one is LOST"""
    holder, other = Resp(service.resp, 3), Resp(service.resp, 3)
    token = holder.call("ACQUIRE", "by/1", "ALSO", "by/2", "OWNER", "me")["token"]
    refusal(other.call("RENEW", "by/1", "ALSO", "by/2"), "LOST")
    refusal(other.call("RENEW", "by/1", "ALSO", "by/2", "TOKEN", token + 1), "LOST")
    refusal(other.call("RELEASE", "by/1", "TOKEN", token), "LOST")
    refusal(other.call("RELEASE", "by/1", "ALSO", "by/2", "OWNER", "you", "TOKEN", token), "LOST")
    renewed = other.call("RENEW", "by/1", "ALSO", "by/2", "TOKEN", token, "TTL", 90000, "META")
    assert renewed["owner"] == "me" and renewed["ttl_ms"] == 90000, renewed
    assert other.call("RELEASE", "by/2", "ALSO", "by/1", "TOKEN", token, "PUT", "v") == "OK"
    assert holder.call("GET", "by/2") == "v" and holder.call("LIST", "by")[1] == []
    refusal(other.call("RELEASE", "by/2", "ALSO", "by/1", "TOKEN", token), "LOST")
    bound = holder.call("ACQUIRE", "by/3")["token"]
    assert other.call("RELEASE", "by/3", "TOKEN", bound) == "OK"
    own = other.call("ACQUIRE", "by/3")["token"]
    assert other.call("RELEASE", "by/3", "TOKEN", own) == "OK"
    assert other.call("RELEASE", "by/3", "TOKEN", own) == "OK"  # its own is repeated, R3
    holder.close()
    assert other.call("LIST", "by")[1] == []


def blocked(service):
    """a blocked WAIT delays its own connection only, and later replies keep their order"""
    holder, waiter = Resp(service.resp, 3), Resp(service.resp, 3)
    holder.call("ACQUIRE", "w/1", "OWNER", "h")
    waiter.put("ACQUIRE", "w/1", "OWNER", "w", "WAIT", 60000)
    waiter.put("ECHO", "behind")
    waiter.put("RELEASE", "w/1", "OWNER", "w")
    assert waiter.is_silent()
    assert holder.call("PING") == "PONG"
    until(lambda: len(holder.call("LIST", "w")[1]) == 2)
    assert holder.call("RELEASE", "w/1", "OWNER", "h") == "OK"
    granted = waiter.value()
    assert granted["status"] == "granted" and granted["owner"] == "w", granted
    assert waiter.value() == "behind" and waiter.value() == "OK"
    timeout = holder.call("ACQUIRE", "w/1", "OWNER", "h")
    assert timeout["status"] == "granted"
    assert waiter.call("ACQUIRE", "w/1", "OWNER", "w", "WAIT", 60)["status"] == "timeout"


def disconnected_waiter(service):
    """a waiter bound to a connection is removed when the connection is closed"""
    holder, waiter, last = (Resp(service.resp, 3) for _ in range(3))
    holder.call("ACQUIRE", "g/1", "OWNER", "h")
    waiter.put("ACQUIRE", "g/1", "WAIT", 60000)
    until(lambda: len(holder.call("LIST", "g")[1]) == 2)
    last.put("ACQUIRE", "g/1", "WAIT", 60000)
    until(lambda: len(holder.call("LIST", "g")[1]) == 3)
    waiter.close()
    until(lambda: len(holder.call("LIST", "g")[1]) == 2)
    holder.call("RELEASE", "g/1", "OWNER", "h")
    assert last.value()["status"] == "granted"


def disconnected_grant(service):
    """a grant to a client that has disconnected does not extend its ttl"""
    holder, waiter = Resp(service.resp, 3), Resp(service.resp, 3)
    holder.call("ACQUIRE", "left", "OWNER", "h")
    waiter.put("ACQUIRE", "left", "OWNER", "w", "WAIT", 60000, "TTL", 20000)
    until(lambda: "blocked_clients:1" in holder.call("INFO"))
    blocked_s = time.monotonic()
    waiter.close()
    until(lambda: "blocked_clients:0" in holder.call("INFO"))
    until(lambda: time.monotonic() > blocked_s + 0.1)
    waited_ms = (time.monotonic() - blocked_s) * 1000
    assert holder.call("RELEASE", "left", "OWNER", "h") == "OK"
    entry = holder.call("LIST", "left")[1][0]
    assert entry["owner"] == "w" and entry["state"] == "held", entry
    assert entry["expires_in_ms"] <= 20000 - waited_ms, (entry, waited_ms)
    assert holder.call("RELEASE", "left", "OWNER", "w") == "OK"


def deadlock(service):
    """a deadlock is an error with its name, and with META a map with the cycle"""
    one, two = Resp(service.resp, 3), Resp(service.resp, 3)
    one.call("ACQUIRE", "d/x", "OWNER", "A")
    one.call("ACQUIRE", "d/y", "OWNER", "B")
    two.put("ACQUIRE", "d/y", "OWNER", "A", "WAIT", 60000)
    until(lambda: len(one.call("LIST", "d/y")[1]) == 2)
    refusal(one.call("ACQUIRE", "d/x", "OWNER", "B", "WAIT", 1000), "DEADLOCK")
    reply = one.call("ACQUIRE", "d/x", "OWNER", "B", "WAIT", 1000, "META")
    assert reply["status"] == "deadlock" and reply["cycle"] == ["B", "A"], reply


def listing(service):
    """lists are read in pages by a cursor, in the order of tickets"""
    wire = Resp(service.resp, 3)
    for number in range(25):
        wire.call("ACQUIRE", f"l/{number:02}", "OWNER", "o", "NOTE", "n")
    cursor, seen = "0", []
    while True:
        cursor, page = wire.call("LIST", "l", "COUNT", 7, "CURSOR", cursor)
        assert len(page) <= 7
        seen += [entry["path"] for entry in page]
        if cursor == "0":
            break
    assert seen == [f"l/{number:02}" for number in range(25)], seen
    wire.call("ACQUIRE", "l", "OWNER", "p", "QUEUE")
    shown = wire.call("SHOW", "l/03")
    assert [entry["state"] for entry in shown] == ["held", "waiting"], shown
    assert len(shown[1]["blockers"]) > 1
    assert wire.call("BREAK", "l", "REASON", "test", "BY", "me") == 1
    audit = wire.call("AUDIT", "l")
    assert audit[-1]["reason"] == "test" and audit[-1]["by"] == "me", audit


def values(service):
    """values are any bytes; an exclusive lease of another refuses a put"""
    wire = Resp(service.resp, 3)
    data = bytes(range(256)) * 256
    assert wire.call("PUT", "val/1", data) == "OK"
    assert wire.call("GET", "val/1") == data
    meta = wire.call("GET", "val/1", "META")
    assert meta["value"] == data and meta["in_doubt"] is False
    refusal(wire.call("PUT", "val/1", data + b"x"), "INVALID")
    wire.call("ACQUIRE", "val/1", "OWNER", "a")
    refusal(wire.call("PUT", "val/1", "x", "OWNER", "b"), "BUSY")
    got = wire.call("ACQUIRE", "val/1", "OWNER", "a", "VALUE")
    assert got["value"] == data
    assert wire.call("RELEASE", "val/1", "OWNER", "a", "PUT", "new") == "OK"
    assert wire.call("GET", "val/1") == "new"
    batch = ("val/1", "ALSO", "val/2", "OWNER", "a")
    got = wire.call("ACQUIRE", *batch, "VALUE")
    assert got["value"] == "new" and got["values"] == [{"value": "new", "in_doubt": False}, {}], got
    refusal(wire.call("RELEASE", *batch, "PUT", "1", "PUT", "2", "PUT", "3"), "INVALID")
    assert wire.call("RELEASE", *batch, "PUT", data, "PUT", "two") == "OK"
    assert wire.call("GET", "val/1") == data and wire.call("GET", "val/2") == "two"
    wire.call("ACQUIRE", *batch)
    waiter, other = Resp(service.resp, 3), Resp(service.resp, 3)
    wire.call("ACQUIRE", "val/1", "ALSO", "val/2", "OWNER", "b", "QUEUE")
    waiter.put("ACQUIRE", "val/2", "ALSO", "val/1", "OWNER", "b", "VALUE", "WAIT", "60000")
    other.put("ACQUIRE", "val/1", "ALSO", "val/2", "OWNER", "b", "VALUE", "WAIT", "60000")
    until(lambda: "blocked_clients:2" in wire.call("INFO"))
    wire.call("RELEASE", *batch, "PUT", data, "PUT", "twice")
    assert [each["value"] for each in waiter.value()["values"]] == ["twice", data]
    assert [each["value"] for each in other.value()["values"]] == [data, "twice"]
    assert wire.call("RELEASE", "val/1", "ALSO", "val/2", "OWNER", "b") == "OK"
    assert wire.call("DEL", "val/1") == 1 and wire.call("GET", "val/1") is None
    assert wire.call("DEL", "val/1") == 0 and wire.call("DEL", "val/2") == 1


def work(service):
    """items are pushed once, claimed with a wait, and completed by their claimant"""
    wire, worker = Resp(service.resp, 3), Resp(service.resp, 3)
    assert worker.call("CLAIM", "q")["status"] == "busy"
    worker.put("CLAIM", "q", "WAIT", 60000)
    assert worker.is_silent()
    assert wire.call("PUSH", "q", "1", "VALUE", "v") == 1
    claim = worker.value()
    assert claim["id"] == "1" and claim["value"] == "v" and claim["attempt"] == 1, claim
    assert wire.call("PUSH", "q", "1") == 0
    assert wire.call("PUSH", "q", "1", "VALUE", "v", "REPLACE") == 0  # it is claimed
    assert wire.call("PUSH", "q", "1", "VALUE", "v", "DELAY", 60000, "AGAIN") == 2
    refusal(wire.call("PUSH", "q", "1", "AGAIN", "REPLACE"), "INVALID")
    found = wire.call("PUSH", "q", "1", "VALUE", "v", "DELAY", 60000, "REPLACE", "META")
    assert not found["added"] and found["changed"] and found["was"] == "again", found
    refusal(wire.call("DONE", "q", "1"), "LOST")
    assert worker.call("RETRY", "q", "1", "DELAY", 60000) == "OK"
    cursor, items = wire.call("ITEMS", "q")
    assert cursor == "0" and items[0]["state"] == "delayed", items
    assert wire.call("STATS", "q")["retried"] == 1
    refusal(wire.call("UNPARK", "q", "1"), "LOST")
    refusal(wire.call("CANCEL", "q", "none", "REASON", "r"), "LOST")
    refusal(wire.call("CANCEL", "q", "none"), "INVALID")


def watching(service):
    """events are pushed in version 3 and published in version 2, by prefix, until UNWATCH"""
    wire = Resp(service.resp)
    three, two = Resp(service.resp, 3), Resp(service.resp)
    assert three.call("WATCH", "e") == "OK" and two.call("WATCH") == "OK"
    wire.call("ACQUIRE", "e/1", "OWNER", "a")
    wire.call("PUT", "elsewhere", "x")
    wire.call("RELEASE", "e/1", "OWNER", "a")
    pushes = [three.value(), three.value()]
    assert [push[3]["event"] for push in pushes] == ["granted", "released"], pushes
    assert pushes[0][:3] == ("push", "event", "e") and pushes[0][3]["path"] == "e/1"
    messages = [two.value() for _ in range(3)]
    assert [message[0] for message in messages] == ["message"] * 3, messages
    assert '"event":"value_written"' in messages[1][2]
    late = Resp(service.resp, 3)
    assert late.call("WATCH", "e", "AFTER", pushes[0][3]["sequence"]) == "OK"
    assert late.value()[3]["event"] == "released"
    assert three.call("UNWATCH") == "OK"
    wire.call("ACQUIRE", "e/2", "OWNER", "a")
    assert three.is_silent()
    refusal(three.call("WATCH", "a//b"), "INVALID")
    assert Resp(service.resp, 3).call("WATCH", "e", "AFTER", 1) == "OK"


def only_watching(service):
    """in version 2 a watching connection accepts no command whose reply could be read as an event"""
    wire, three = Resp(service.resp), Resp(service.resp, 3)
    assert wire.call("WATCH", "b") == "OK"
    for words in [("ACQUIRE", "b/1"), ("ECHO", 1), ("INFO",), ("HELLO", 3), ("CLIENT", "ID")]:
        answer = wire.call(*words)
        refusal(answer, "ERR")
        assert f"Can't execute '{words[0]}'" in str(answer), answer
    assert wire.call("PING") == ["pong", ""] and wire.call("PING", "x") == ["pong", "x"]
    assert wire.call("UNWATCH") == "OK" and wire.call("PING") == "PONG"
    assert wire.call("ECHO", "free") == "free"
    assert wire.call("WATCH") == "OK" and wire.call("RESET") == "RESET"
    assert wire.call("ECHO", "free") == "free"
    assert three.call("WATCH", "b") == "OK" and three.call("ECHO", "x") == "x"


def subscribing(service):
    """SUBSCRIBE and PSUBSCRIBE are WATCH with the confirmations and messages of Redis"""
    wire, two, three = Resp(service.resp), Resp(service.resp), Resp(service.resp, 3)
    two.put("SUBSCRIBE", "/s/1", "s/2")
    assert [two.value(), two.value()] == [["subscribe", "/s/1", 1], ["subscribe", "s/2", 2]]
    assert two.call("SUBSCRIBE", "s/2") == ["subscribe", "s/2", 2]
    assert two.call("PSUBSCRIBE", "s/*") == ["psubscribe", "s/*", 3]
    refusal(two.call("ACQUIRE", "s/1"), "ERR")
    for words in [("PSUBSCRIBE", "s"), ("PSUBSCRIBE", "s*"), ("PSUBSCRIBE", "/*"),
                  ("SUBSCRIBE", "s/1", "a//b"), ("SUBSCRIBE", *map(str, range(62)))]:
        refusal(two.call(*words), "FULL" if len(words) > 60 else "INVALID")
    assert three.call("PSUBSCRIBE", "*") == ("push", "psubscribe", "*", 1)
    wire.call("ACQUIRE", "elsewhere/1", "ALSO", "s/1", "OWNER", "a")
    heard = sorted([two.value(), two.value()])
    assert [one[:-1] for one in heard] == [["message", "/s/1"], ["pmessage", "s/*", "s/1"]], heard
    assert '"event":"granted"' in heard[0][2] and heard[0][2] == heard[1][3]
    pushed = three.value()
    assert pushed[:3] == ("push", "pmessage", "*") and '"event":"granted"' in pushed[4], pushed
    assert two.call("UNSUBSCRIBE", "nothing") == ["unsubscribe", "nothing", 3]
    assert two.call("PUNSUBSCRIBE") == ["punsubscribe", "s/*", 2]
    two.put("UNSUBSCRIBE")
    assert sorted([two.value()[1], two.value()[1]]) == ["/s/1", "s/2"]
    assert two.call("UNSUBSCRIBE") == ["unsubscribe", None, 0]
    assert two.call("ECHO", "free") == "free"


def several_items(service):
    """items of one decision are claimed and done together; others are dropped"""
    wire = Resp(service.resp, 3)
    for name, priority in ("low", -1), ("high", 2), ("middle", 0):
        assert wire.call("PUSH", "sev/q", name, "PRIORITY", priority) == 1
    refusal(wire.call("PUSH", "sev/q", "x", "PRIORITY", 32768), "INVALID")
    claims = wire.call("CLAIM", "sev/q", "OWNER", "w", "COUNT", 2, "ASK", 9)
    assert [claim["id"] for claim in claims] == ["high", "middle"], claims
    assert claims[0]["token"] == claims[1]["token"] and "status" not in claims[0], claims
    again = wire.call("CLAIM", "sev/q", "OWNER", "w", "COUNT", 2, "ASK", 9)
    assert [claim["id"] for claim in again] == ["high", "middle"], again
    assert [claim["id"] for claim in wire.call("CLAIM", "sev/q", "COUNT", 9)] == ["low"]
    assert wire.call("CLAIM", "sev/q", "COUNT", 9)["status"] == "busy"
    for count in 0, 257:
        refusal(wire.call("CLAIM", "sev/q", "COUNT", count), "INVALID")
    token = claims[0]["token"]
    refusal(wire.call("DONE", "sev/q", "high", "a/b", "OWNER", "w", "TOKEN", token), "INVALID")
    assert wire.call("DONE", "sev/q", "high", "middle", "OWNER", "w", "TOKEN", token) == 2
    refusal(wire.call("DONE", "sev/q", "high", "low", "OWNER", "none"), "LOST")
    assert wire.call("RETRY", "sev/q", "low", "EXIT", -3, "ERROR", b"bad \xff") == "OK"
    item = wire.call("ITEMS", "sev/q")[1][0]
    assert item["priority"] == -1 and item["last_exit"] == -3, item
    assert wire.call("DROP", "sev/q", "low") == 1
    refusal(wire.call("DROP", "sev/q", "low"), "LOST")


def parked_items(service):
    """parked items are listed and dropped on their own"""
    wire = Resp(service.resp, 3)
    for name in "1", "2", "3", "free":
        wire.call("PUSH", "park/q", name)
    for name in "1", "2", "3":
        wire.call("CLAIM", "park/q", "MAXATTEMPTS", 1)
        wire.call("RETRY", "park/q", name)
    cursor, items = wire.call("ITEMS", "park/q", "PARKED", "COUNT", 2)
    assert [item["id"] for item in items] == ["1", "2"], items
    cursor, items = wire.call("ITEMS", "park/q", "PARKED", "COUNT", 2, "CURSOR", cursor)
    assert [item["id"] for item in items] == ["3"] and cursor == "0", (items, cursor)
    refusal(wire.call("DROP", "park/q", "1", "free", "2", "PARKED"), "LOST")
    assert [item["id"] for item in wire.call("ITEMS", "park/q")[1]] == ["3", "free"]
    assert wire.call("DROP", "park/q", "3", "free") == 2


def waiting_for_several(service):
    """a claim of several that waits is answered with what there is when it is woken"""
    wire, other = Resp(service.resp, 3), Resp(service.resp, 3)
    other.call("ACQUIRE", "ws/q", "OWNER", "pause")
    for name in "1", "2", "3":
        other.call("PUSH", "ws/q", name)
    wire.put("CLAIM", "ws/q", "COUNT", 2, "WAIT", 60000)
    until(lambda: "blocked_clients:1" in other.call("INFO"))
    assert other.call("RELEASE", "ws/q", "OWNER", "pause") == "OK"
    claims = wire.value()
    assert [claim["id"] for claim in claims] == ["1", "2"], claims
    assert claims[0]["token"] == claims[1]["token"]
    wire.close()  # both are bound, and come back, before the next claim or while it waits
    left = []
    while len(left) < 3:
        left += [claim["id"] for claim in other.call("CLAIM", "ws/q", "COUNT", 9, "WAIT", 60000)]
    assert sorted(left) == ["1", "2", "3"], left


def queues(service):
    """queues are listed with their counts, in pages, at or below a path"""
    wire = Resp(service.resp, 3)
    for queue in "lq/b", "lq/a", "lq/a/c", "lqx":
        wire.call("PUSH", queue, "1")
    cursor, listed = wire.call("QUEUES", "lq")
    assert [one["queue"] for one in listed] == ["lq/a", "lq/a/c", "lq/b"] and cursor == "0", listed
    assert listed[0]["pushed"] == 1 and listed[0]["ready_now"] == 1, listed
    names, cursor = [], None
    while cursor != "0":
        page = ("CURSOR", cursor) if cursor is not None else ()
        cursor, listed = wire.call("QUEUES", "lq", "COUNT", 2, *page)
        names += [one["queue"] for one in listed]
    assert names == ["lq/a", "lq/a/c", "lq/b"], names
    refusal(wire.call("QUEUES", "CURSOR", "x"), "INVALID")


def listed_values(service):
    """values are listed by path, in pages, at or below a path, without their bytes"""
    wire = Resp(service.resp, 3)
    for path, text in ("va/b", "two"), ("va/a", ""), ("va/a/c", b"\xff\x00"), ("va-x", "x"), ("vax", "x"):
        wire.call("PUT", path, text)
    assert wire.call("VALUES", "va") == ["0", [
        {"path": "va/a", "size": 0, "in_doubt": False}, {"path": "va/a/c", "size": 2, "in_doubt": False},
        {"path": "va/b", "size": 3, "in_doubt": False}]]
    assert wire.call("VALUES", "va/a/c/d") == ["0", []] == wire.call("VALUES", "v")
    names, cursor = [], None
    while cursor != "0":
        page = ("CURSOR", cursor) if cursor is not None else ()
        cursor, listed = wire.call("VALUES", "COUNT", 2, *page)
        names += [one["path"] for one in listed]
    assert [name for name in names if name.startswith("va")] == [
        "va-x", "va/a", "va/a/c", "va/b", "vax"] and names == sorted(names), names
    # One that perishes; no other call has seen that it was overdue.
    assert wire.call("ACQUIRE", "va/a", "OWNER", "o", "TTL", 50, "VALUE")["status"] == "granted"
    until(lambda: wire.call("VALUES", "va/a")[1][0]["in_doubt"])
    wire.call("DEL", "va/a")
    assert [one["path"] for one in wire.call("VALUES", "va/a")[1]] == ["va/a/c"]
    refusal(wire.call("VALUES", "CURSOR", "x"), "INVALID")
    refusal(wire.call("VALUES", "a//b"), "INVALID")
    for path in "va/b", "va/a/c", "va-x", "vax":
        wire.call("DEL", path)


def doubts(service):
    """the values in doubt are listed, in pages, at or below a path, until they are written again"""
    wire = Resp(service.resp, 3)
    paths = "do/b", "do/a", "do/a/c", "do-x", "dox"
    assert wire.call("DOUBTS") == ["0", []]
    for path in paths:
        wire.call("PUT", path, "text")
        assert wire.call("ACQUIRE", path, "OWNER", path, "VALUE")["status"] == "granted"
        assert wire.call("BREAK", path, "REASON", "test", "NOW") == 1
    assert wire.call("DOUBTS", "do") == ["0", [{"path": path, "size": 4} for path in
                                               ("do/a", "do/a/c", "do/b")]]
    names, cursor = [], None
    while cursor != "0":
        page = ("CURSOR", cursor) if cursor is not None else ()
        cursor, listed = wire.call("DOUBTS", "COUNT", 2, *page)
        names += [one["path"] for one in listed]
    assert names == sorted(paths), names
    wire.call("PUT", "do/a", "new")
    wire.call("DEL", "dox")
    assert [one["path"] for one in wire.call("DOUBTS")[1]] == ["do-x", "do/a/c", "do/b"]
    # One that perishes; no other call has seen that it was overdue.
    assert wire.call("ACQUIRE", "do/a", "OWNER", "o", "TTL", 50, "VALUE")["status"] == "granted"
    until(lambda: "do/a" in [one["path"] for one in wire.call("DOUBTS", "do/a")[1]])
    refusal(wire.call("DOUBTS", "CURSOR", "x"), "INVALID")


def texts(service):
    """owners, notes and reasons that are not UTF-8 are refused, with the position"""
    wire = Resp(service.resp)
    for words in [("ACQUIRE", "t/1", "OWNER", b"ab\xff"), ("ACQUIRE", "t/1", "NOTE", b"ab\xc0\xaf"),
                  ("CLAIM", "t", "OWNER", b"ab\xed\xa0\x80"), ("RENEW", "t/1", "OWNER", b"ab\xe2\x82"),
                  ("BREAK", "t/1", "REASON", b"ab\xf8x"), ("PUT", "t/1", "x", "OWNER", b"ab\x80")]:
        answer = wire.call(*words)
        refusal(answer, "INVALID")
        assert "byte 3" in str(answer), answer
    assert as_map(wire.call("ACQUIRE", "t/1", "OWNER", "\u00e4\U0001f512"))["status"] == "granted"


def gap(service):
    """a position of another service's events is answered with a gap"""
    wire = Resp(service.resp, 3)
    wire.call("WATCH", "", "AFTER", 1 << 62)
    assert wire.value()[3]["event"] == "gap"


def asking(service):
    """events after a position are polled and waited for; limits retain them"""
    wire = Resp(service.resp, 3)
    begin = wire.call("EVENTS", "asked")
    assert begin[1] == [] and int(begin[0]) > 0, begin
    waits = Resp(service.resp, 3)
    waits.send(Resp.request("EVENTS", "asked", "AFTER", begin[0], "WAIT", 20000))
    wire.call("ACQUIRE", "elsewhere/1", "OWNER", "a")
    wire.call("ACQUIRE", "asked/1", "OWNER", "a")
    last, page = waits.value()
    assert [event["event"] for event in page] == ["granted"] and page[0]["path"] == "asked/1", page
    assert wire.call("EVENTS", "asked", "AFTER", last, "WAIT", 1) == [last, []]
    wire.call("RELEASE", "asked/1", "OWNER", "a")
    one = wire.call("EVENTS", "asked", "AFTER", begin[0], "COUNT", 1)
    assert [event["event"] for event in one[1]] == ["granted"], one
    both = wire.call("EVENTS", "asked", "AFTER", begin[0])
    assert [event["event"] for event in both[1]] == ["granted", "released"], both
    assert wire.call("LIMIT", "EVENTS", 2)["events"] == 2
    for _ in range(3):
        wire.call("PUT", "asked/value", "x")
    kept = wire.call("EVENTS", "", "AFTER", begin[0])[1]
    assert [event["event"] for event in kept] == ["gap"] + ["value_written"] * 2, kept
    assert wire.call("LIMIT", "EVENTS", 0)["events"] == 0
    assert wire.call("LIMITS")["events"] == 0
    refusal(wire.call("LIMIT", "EVENTS", 1000001), "INVALID")
    refusal(wire.call("LIMIT", "COLOUR", 1), "INVALID")
    refusal(wire.call("EVENTS", "", "AFTER", "x"), "INVALID")


def slow_reader(service):
    """a client that reads slowly delays no other, and receives every reply"""
    slow, other = Resp(service.resp), Resp(service.resp)
    other.call("PUT", "slow/1", "v" * 60000)
    count = 400
    slow.socket.settimeout(0.5)
    sent = 0
    request = Resp.request("GET", "slow/1")
    try:
        for sent in range(1, count + 1):
            slow.send(request)
    except TimeoutError:
        pass
    assert other.call("PING") == "PONG"
    slow.socket.settimeout(PATIENCE_S)
    for _ in range(sent):
        assert len(slow.value()) == 60000


def introductions(service):
    """Redis clients receive the replies that they expect at start-up"""
    wire = Resp(service.resp)
    hello = as_map(wire.call("HELLO"))
    assert hello["server"] == "lockkeeper" and hello["proto"] == 2, hello
    refusal(wire.call("HELLO", 4), "NOPROTO")
    assert wire.call("HELLO", 3, "SETNAME", "me")["proto"] == 3
    assert wire.call("CLIENT", "GETNAME") == "me"
    assert wire.call("CLIENT", "SETINFO", "LIB-NAME", "x") == "OK"
    assert wire.call("CLIENT", "ID") == hello["id"]
    host, port = wire.socket.getsockname()
    assert f"addr={host}:{port} name=me" in wire.call("CLIENT", "LIST")
    assert wire.call("COMMAND", "COUNT") == len(wire.call("COMMAND"))
    assert wire.call("COMMAND", "DOCS", "acquire")["ACQUIRE"]["summary"]
    assert wire.call("COMMAND", "INFO", "acquire")[0][:2] == ["ACQUIRE", -2]
    assert wire.call("COMMAND", "INFO", "nonsense", "echo")[0] is None
    for words in [("NO-EVICT", "ON"), ("NO-TOUCH", "OFF"), ("TRACKING", "OFF")]:
        assert wire.call("CLIENT", *words) == "OK"
    refusal(wire.call("CLIENT", "TRACKING", "ON"), "ERR")
    for name in ("CLUSTER", "SENTINEL"):
        assert "cluster support disabled" in str(wire.call(name, "SLOTS"))
    assert f"addr={host}:{port} name=me" in wire.call("CLIENT", "INFO")
    browser = Http(service.http)
    assert browser.call("GET", "/healthz")[0] == 200
    there = browser.socket.getsockname()
    assert f"addr={there[0]}:{there[1]} name=http" in wire.call("CLIENT", "LIST", "TYPE", "normal")
    count = len(wire.call("CLIENT", "LIST").splitlines())
    assert f"connected_clients:{count}\r\n" in wire.call("INFO")
    assert "loading:0" in wire.call("INFO")
    assert wire.call("SELECT", 0) == "OK"
    assert wire.call("RESET") == "RESET"
    assert wire.call("CLIENT", "GETNAME") is None
    assert wire.call("QUIT") == "OK"
    try:
        wire.value()
        raise AssertionError("still there")
    except Closed:
        pass


def hangup(service):
    """SIGHUP ends neither the service nor its waits"""
    holder, waiter = Resp(service.resp, 3), Resp(service.resp, 3)
    holder.call("ACQUIRE", "hup", "OWNER", "h")
    waiter.put("ACQUIRE", "hup", "OWNER", "w", "WAIT", 60000)
    until(lambda: len(holder.call("LIST", "hup")[1]) == 2)
    for _ in range(3):
        service.process.send_signal(signal.SIGHUP)
        assert holder.call("PING") == "PONG"
    assert holder.call("RELEASE", "hup", "OWNER", "h") == "OK"
    assert waiter.value()["status"] == "granted"


run([versions, pieces, unknown, broken_protocol, http_request, another_protocol, own_owner, names_of_connections,
     as_long_as_the_connection, by_token, blocked,
     disconnected_waiter, disconnected_grant, deadlock, listing, values, work,
     several_items, parked_items, waiting_for_several, queues, listed_values, doubts, texts, gap, asking, watching,
     only_watching, subscribing, slow_reader, introductions,
     hangup])
