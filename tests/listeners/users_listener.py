#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Both listeners with users: logins, rights, what is hidden, whose an owner is, and a changed file."""

import json
import os
import pathlib
import pty
import signal
import ssl
import subprocess
import sys
import tempfile
import termios
import time

from credentials import (
    ANA, BEN, EVA, OPS, Authority, basic, enter, http, passwd, refusal, write_users)
from service import PATIENCE_S, Closed, Http, Refused, Resp, Service, Wire, run, until

LK = sys.argv[1]


def logins(service):
    """a user comes in by its own password or token, over RESP and HTTP"""
    wire = Resp(service.resp)
    refusal(wire.call("ACQUIRE", "a"), "NOAUTH")
    refusal(wire.call("ACL", "WHOAMI"), "NOAUTH")
    for words in [("ana", BEN), ("nobody", ANA), ("ana", ""), ("ana", token), (ANA,),
                  ("../ana", ANA), ("ana", "x" * 300)]:
        refusal(wire.call("AUTH", *words), "WRONGPASS")
    assert wire.call("AUTH", "ana", ANA) == "OK" and wire.call("ACL", "WHOAMI") == "ana"
    refusal(wire.call("AUTH", "ben", "wrong"), "WRONGPASS")
    assert wire.call("ACL", "WHOAMI") == "ana"
    assert wire.call("AUTH", "ben", BEN) == "OK" and wire.call("ACL", "WHOAMI") == "ben"
    assert wire.call("RESET") == "RESET"
    refusal(wire.call("ACL", "WHOAMI"), "NOAUTH")
    assert enter(service, "robot", token).call("ACL", "WHOAMI") == "robot"
    for who, expected in [(basic("ana", ANA), 200), (basic("ana", BEN), 401),
                          (basic("nobody", ANA), 401), (basic("robot", token), 200),
                          (basic("ana", token), 401), (basic("", token), 401),
                          ("Authorization: Bearer " + token, 200),
                          ("Authorization: Bearer " + ANA, 401),
                          ("Authorization: Bearer " + token[:-1], 401), ("X: y", 401)]:
        assert http(service, who, "GET", "/v1/limits")[0] == expected, (who, expected)
    for path in ["/healthz", "/readyz"]:
        assert Http(service.http).call("GET", path)[0] == 200
    assert Http(service.http).call("GET", "/metrics")[0] == 401


# What each user may do at a path of its own is denied to the others, in every command.
COMMANDS = [
    ("ACQUIRE", "a/x", "OWNER", "t"), ("ACQUIRE", "b/own/x", "ALSO", "a/x", "OWNER", "t"),
    ("ACQUIRE", "b/own/x?shared", "ALSO", "a?shared", "OWNER", "t"), ("RENEW", "a/x", "OWNER", "t"),
    ("RELEASE", "a/x", "OWNER", "t"), ("RELEASE", "b/own/x", "ALSO", "a/x", "OWNER", "t"),
    ("RELEASE", "a/x", "TOKEN", "1"), ("BREAK", "b/own/x", "REASON", "r"),
    ("BREAK", "a/x", "REASON", "r"), ("AUDIT", "a"), ("LIST", "a"), ("LIST", "a/x"),
    ("SHOW", "a/x"), ("GET", "a/x"), ("PUT", "a/x", "v"), ("DEL", "a/x"), ("PUSH", "a/q", "i"),
    ("PUSH", "b/own/q", "i", "NEEDS", "a/x"), ("CLAIM", "a/q", "OWNER", "t"),
    ("DONE", "a/q", "i", "OWNER", "t"), ("DONE", "a/q", "i", "j", "OWNER", "t", "TOKEN", "1"),
    ("RETRY", "a/q", "i", "OWNER", "t"), ("PROGRESS", "a/q", "i", "OWNER", "t", "TEXT", "half"),
    ("ITEMS", "a/q", "ID", "i"), ("UNPARK", "a/q", "i"), ("DROP", "a/q", "i"),
    ("CANCEL", "a/q", "i", "REASON", "r"), ("CANCEL", "b/own/q", "i", "REASON", "r"), ("ITEMS", "a/q"), ("QUEUES", "a"), ("VALUES", "a"), ("DOUBTS", "a"), ("STATS", "a/q"), ("EVENTS", "a"),
    ("LIMIT", "LIVE", "9"), ("BACKUP",), ("BACKUP", "FROM", "0"), ("WATCH", "a"),
    ("SUBSCRIBE", "a/x"), ("PSUBSCRIBE", "a/*"),
    ("ACQUIRE", "a/shared", "VALUE", "OWNER", "t"), ("RELEASE", "a/shared", "OWNER", "t", "PUT", "v"),
]
REQUESTS = [
    ("POST", "/v1/acquire", {"parts": ["b/own/x", "a/x"], "owner": "t"}),
    ("POST", "/v1/renew", {"parts": ["a/x"], "owner": "t"}),
    ("POST", "/v1/release", {"parts": ["a/x"], "owner": "t"}),
    ("POST", "/v1/release", {"parts": ["a/shared"], "owner": "t", "put": "v"}),
    ("POST", "/v1/break", {"path": "b/own/x", "reason": "r"}), ("GET", "/v1/audit?prefix=a", b""),
    ("GET", "/v1/requests?prefix=a", b""), ("GET", "/v1/requests/a/x", b""),
    ("GET", "/v1/values/a/x", b""), ("PUT", "/v1/values/a/x", b"v"),
    ("DELETE", "/v1/values/a/x", b""), ("POST", "/v1/push", {"queue": "a/q", "id": "i"}),
    ("POST", "/v1/push", {"queue": "b/own/q", "id": "i", "needs": ["a/x"]}),
    ("POST", "/v1/claim", {"queue": "a/q", "owner": "t"}),
    ("POST", "/v1/done", {"queue": "a/q", "id": "i", "owner": "t"}),
    ("POST", "/v1/retry", {"queue": "a/q", "id": "i", "owner": "t"}),
    ("POST", "/v1/progress", {"queue": "a/q", "id": "i", "owner": "t", "text": "half"}),
    ("GET", "/v1/items/a/q?id=i", b""),
    ("POST", "/v1/unpark", {"queue": "a/q", "id": "i"}), ("DELETE", "/v1/items/a/q/i", b""),
    ("POST", "/v1/cancel", {"queue": "a/q", "id": "i", "reason": "r"}),
    ("GET", "/v1/items/a/q", b""), ("GET", "/v1/queues?prefix=a", b""),
    ("GET", "/v1/stats/a/q", b""), ("GET", "/v1/events?prefix=a", b""),
    ("GET", "/v1/doubts?prefix=a", b""), ("GET", "/v1/values?prefix=a", b""),
    ("POST", "/v1/limits", {"live": 9}), ("GET", "/metrics", b""),
]


def denied(service):
    """every command needs its right on every path that it names"""
    ben = enter(service, "ben", BEN)
    commands = {name.upper() for name in ben.call("COMMAND", "LIST")}
    harmless = {"PING", "ECHO", "HELLO", "AUTH", "ACL", "CLIENT", "CLUSTER", "SENTINEL", "COMMAND",
                "INFO", "SELECT", "UNWATCH", "UNSUBSCRIBE", "PUNSUBSCRIBE", "RESET", "QUIT",
                "LIMITS", "REVOKED"}
    assert commands == {words[0] for words in COMMANDS} | harmless, commands
    for words in COMMANDS:
        refusal(ben.call(*words), "DENIED", "the user ben has no right to")
    for method, path, body in REQUESTS:
        status, reply = http(service, basic("ben", BEN), method, path, body)
        assert status == 403 and reply["status"] == "denied", (path, status, reply)
    ops = enter(service, "ops", OPS)
    assert ops.call("LIST")[1] == [] and ops.call("GET", "a/x") is None
    for words in COMMANDS:
        assert "DENIED" not in str(ops.call(*words)), words
    clear(service)


def clear(service):
    """Ends all that a case has left."""
    ops = enter(service, "ops", OPS)
    ops.call("LIMIT", "LIVE", "0")
    for path in ["a", "b", "c"]:
        ops.call("BREAK", path, "REASON", "the case is over", "NOW")
    for queue in ops.call("QUEUES")[1]:
        for item in ops.call("ITEMS", queue["queue"])[1]:
            ops.call("DROP", queue["queue"], item["id"])
    ops.close()


def hidden(service):
    """what is outside of a user's rights is left out, or has no owner and no note"""
    ana, ben, eva = (enter(service, *who) for who in [("ana", ANA), ("ben", BEN), ("eva", EVA)])
    ops = enter(service, "ops", OPS)
    for user, path in ((ana, "a/other/v"), (ben, "b/own/v")):
        assert user.call("PUT", path, "v") == "OK"
        assert user.call("ACQUIRE", path, "OWNER", path, "VALUE")["status"] == "granted"
        assert ops.call("BREAK", path, "REASON", "test", "OWNER", path, "NOW") == 1
    assert [row["path"] for row in ben.call("DOUBTS")[1]] == ["b/own/v"]
    # Nor does a cursor name it, however small the pages are.
    for user, path in ((ana, "a/other/q"), (ben, "b/own/v")):
        assert user.call("PUSH", path, "1") == 1
    for command in "VALUES", "DOUBTS", "QUEUES":
        seen, cursor = [], "0"
        while True:
            cursor, rows = ben.call(command, "COUNT", 1, "CURSOR", cursor)
            seen += [row.get("path", row.get("queue")) for row in rows] + [cursor.lstrip("/")]
            if cursor == "0":
                break
        assert "b/own/v" in seen and not [path for path in seen if path.startswith("a/other")], seen
    assert [row["path"] for row in ops.call("DOUBTS")[1]] == ["a/other/v", "b/own/v"]
    assert ana.call("ACQUIRE", "a/shared/in", "OWNER", "anas", "NOTE", "private")["status"] == "granted"
    assert ana.call("ACQUIRE", "a/deep", "OWNER", "anas", "NOTE", "private")["status"] == "granted"
    blocked = ben.call("ACQUIRE", "a/shared", "OWNER", "bens", "QUEUE")
    assert blocked["status"] == "waiting" and blocked["blockers"][0]["owner"] == "anas"
    assert ben.call("ACQUIRE", "b/own/one", "OWNER", "bens")["status"] == "granted"
    assert ops.call("ACQUIRE", "b", "OWNER", "top", "QUEUE", "NOTE", "secret")["status"] == "waiting"
    assert [entry["path"] for entry in ben.call("LIST")[1]] == ["b/own/one"]
    rows = ben.call("SHOW", "b/own/one")
    assert [(row["path"], row["owner"]) for row in rows] == [("b/own/one", "bens"), ("b", "")]
    assert "note" not in rows[1] and "secret" not in str(rows)
    refused = ben.call("ACQUIRE", "b/own/one/two", "OWNER", "third")
    assert refused["status"] == "busy" and refused["blockers"][0]["owner"] == "bens"
    assert {entry["path"] for entry in ops.call("LIST")[1]} == {
        "a/shared/in", "a/deep", "a/shared", "b/own/one", "b"}
    # Values, queues, breaks, bounds.
    assert ana.call("PUSH", "a/jobs", "1") == 1 and ben.call("PUSH", "b/own/jobs", "1") == 1
    queues = {row["queue"] for row in ben.call("QUEUES")[1]}
    assert "b/own/jobs" in queues and all(queue.startswith("b/own/") for queue in queues), queues
    assert ops.call("BREAK", "a/deep", "REASON", "test", "BY", "another name") == 1
    assert all(row["path"].startswith("b/own/") for row in ben.call("AUDIT"))
    assert (ana.call("AUDIT")[-1]["path"], ana.call("AUDIT")[-1]["by"]) == ("a/deep", "ops")
    assert "live:" not in ben.call("INFO") and "live:" in ops.call("INFO")
    assert "lockkeeper_version:" in ben.call("INFO")
    lines = ben.call("CLIENT", "LIST").splitlines()
    assert lines and all(line.endswith(" user=ben") for line in lines), lines
    assert " user=ana" in ops.call("CLIENT", "LIST")
    status, reply = http(service, basic("ops", OPS), "GET", "/metrics")
    assert status == 200 and b"lockkeeper_" in reply
    # A deadlock names the owners of the user alone.
    assert ops.call("RELEASE", "b", "OWNER", "top") == "OK"
    assert ben.call("RELEASE", "b/own/one", "OWNER", "bens") == "OK"
    assert ben.call("ACQUIRE", "b/own/1", "OWNER", "bend")["status"] == "granted"
    assert ops.call("ACQUIRE", "b/own/2", "OWNER", "opsd")["status"] == "granted"
    assert ops.call("ACQUIRE", "b/own/1", "OWNER", "opsd", "QUEUE")["status"] == "waiting"
    assert ben.call("ACQUIRE", "b/own/2", "OWNER", "bend", "QUEUE", "META")["cycle"] == ["bend", ""]
    # Events.
    eva.call("WATCH")
    assert ops.call("ACQUIRE", "a/seen", "ALSO", "c/unseen", "OWNER", "o1")["status"] == "granted"
    assert ops.call("ACQUIRE", "c/unseen/2", "OWNER", "o1")["status"] == "granted"
    assert ana.call("ACQUIRE", "a/last", "OWNER", "anas")["status"] == "granted"
    pushes = []
    while not pushes or pushes[-1]["paths"] != ["a/last"]:
        kind, name, _, event = eva.value()
        assert (kind, name) == ("push", "event")
        if event["event"] != "gap":
            pushes.append(event)
    assert [event["paths"] for event in pushes] == [["a/seen"], ["a/last"]], pushes
    assert "unseen" not in str(pushes)
    cursor = ops.call("EVENTS", "AFTER", "1")[0]
    assert "unseen" in str(ops.call("EVENTS", "AFTER", "1"))
    later = ana.call("EVENTS", "AFTER", "1", "COUNT", "1000")
    assert "unseen" not in str(later) and "a/seen" in str(later) and later[0] == cursor
    for wire in [ana, ben, eva]:
        wire.close()
    clear(service)


def own_owners(service):
    """an owner is one of its user: the same name of another user is another owner, to every command"""
    ana, ops = enter(service, "ana", ANA), enter(service, "ops", OPS)
    lease = ana.call("ACQUIRE", "a/mine", "OWNER", "job", "NOTE", "anas")
    assert (lease["status"], lease["owner"]) == ("granted", "job"), lease
    # The name and the token of ana's lease are no way to it.
    for words in [("RENEW", "a/mine", "OWNER", "job"), ("RELEASE", "a/mine", "OWNER", "job"),
                  ("RELEASE", "a/mine", "OWNER", "job", "TOKEN", lease["token"]),
                  ("RENEW", "a/mine", "OWNER", "ana//job"), ("RENEW", "a/mine", "OWNER", "former"),
                  ("PUT", "a/mine", "v", "OWNER", "job", "TOKEN", lease["token"])]:
        refusal(ops.call(*words), "LOST")
    for words in [("RELEASE", "a/mine", "TOKEN", lease["token"]), ("RENEW", "a/mine", "TOKEN", lease["token"])]:
        refusal(ops.call(*words), "DENIED", "belongs to another user")
    refused = ops.call("ACQUIRE", "a/mine", "OWNER", "job", "TRY")
    assert refused["status"] == "busy" and refused["blockers"][0]["owner"] == "job", refused
    assert refused["blockers"][0]["user"] == "ana" and "ana//" not in str(refused), refused
    # Re-entry, conversion and a second path are ana's own, and so is what ops has under the name.
    again = ana.call("ACQUIRE", "a/mine", "OWNER", "job")
    assert (again["token"], again["created"]) == (lease["token"], False), again
    assert ops.call("ACQUIRE", "z/new", "OWNER", "job")["status"] == "granted"
    assert ana.call("ACQUIRE", "a/mine/below", "OWNER", "job")["status"] == "granted"
    waiting = ops.call("ACQUIRE", "a/mine", "OWNER", "job", "QUEUE")
    assert waiting["status"] == "waiting", waiting
    rows = [(row["path"], row["owner"], row["user"], row["state"]) for row in ops.call("LIST")[1]
            if row["owner"] == "job"]
    assert sorted(rows) == [("a/mine", "job", "ana", "held"), ("a/mine", "job", "ops", "waiting"),
                            ("a/mine/below", "job", "ana", "held"), ("z/new", "job", "ops", "held")], rows
    shown = [row for row in ops.call("SHOW", "a/mine") if row["state"] == "waiting"]
    assert {blocker["user"] for blocker in shown[0]["blockers"]} == {"ana"}, shown
    assert ana.call("RENEW", "a/mine", "OWNER", "job") == "OK"
    assert ana.call("PUT", "a/mine", "v", "OWNER", "job", "TOKEN", lease["token"]) == "OK"
    assert ana.call("RELEASE", "a/mine/below", "OWNER", "job") == "OK"
    released = ana.call("RELEASE", "a/mine", "TOKEN", lease["token"], "PUT", "w", "META")
    assert (released["status"], released["owner"]) == ("ok", "job"), released
    granted = ops.call("ACQUIRE", "a/mine", "OWNER", "job", "VALUE")
    assert (granted["status"], granted["value"]) == ("granted", "w"), granted
    # R3: repeated, by the same user only.
    assert ana.call("RELEASE", "a/mine", "OWNER", "job", "TOKEN", lease["token"]) == "OK"
    refusal(ops.call("RELEASE", "a/mine", "OWNER", "job", "TOKEN", lease["token"]), "LOST")
    assert ops.call("RELEASE", "a/mine", "OWNER", "job") == "OK"
    assert ops.call("RELEASE", "z/new", "OWNER", "job") == "OK"
    # What an answer to ana names is no identity, whatever the owner is like.
    for name in ("ops//job", "/", "//", "x" * 128):
        held = ana.call("ACQUIRE", "a/odd", "OWNER", name)
        assert (held["status"], held["owner"]) == ("granted", name), held
        assert [(row["owner"], row["user"]) for row in ana.call("LIST", "a/odd")[1]] == [(name, "ana")]
        assert ana.call("RELEASE", "a/odd", "OWNER", name) == "OK"
    for name in ("x" * 129, "ops//" + "x" * 150):
        refusal(ana.call("ACQUIRE", "a/odd", "OWNER", name), "INVALID", "R3: an owner has 1 to 128 bytes, not")
    connection = ana.call("ACQUIRE", "a/odd")
    assert connection["owner"].startswith("conn:") and ana.call("RELEASE", "a/odd") == "OK", connection
    clear(service)


def own_owners_over_http(service):
    """the same over HTTP, where a breaker may name the user"""
    def ask(user, secret, method, path, body=b""):
        return http(service, basic(user, secret), method, path, body)

    job = {"parts": ["a/mine"], "owner": "job"}
    status, lease = ask("ana", ANA, "POST", "/v1/acquire", job)
    assert (status, lease["owner"]) == (200, "job"), lease
    status, refused = ask("ops", OPS, "POST", "/v1/acquire", job)
    assert (status, refused["blockers"][0]["user"]) == (409, "ana"), refused
    for path in ("/v1/renew", "/v1/release"):
        status, reply = ask("ops", OPS, "POST", path, job)
        assert (status, reply["status"]) == (410, "lost"), reply
    assert ask("ops", OPS, "POST", "/v1/release", {"parts": ["a/mine"], "token": lease["token"]})[0] == 403
    assert ask("ops", OPS, "POST", "/v1/acquire", {**job, "mode": "queue"})[0] == 202
    status, rows = ask("ana", ANA, "GET", "/v1/requests?prefix=a/mine")
    assert [(row["owner"], row["user"]) for row in rows["requests"]] == [("job", "ana"), ("job", "ops")], rows
    # The name is that of two owners here.
    broken = {"path": "a/mine", "owner": "job", "reason": "test"}
    status, reply = ask("ops", OPS, "POST", "/v1/break", broken)
    assert status == 400 and "USER//OWNER" in reply["error"], reply
    assert ask("ops", OPS, "POST", "/v1/break", {**broken, "owner": "cem//job"})[1]["broken"] == 0
    assert ask("ops", OPS, "POST", "/v1/break", {**broken, "owner": "ana//job", "now": True})[1]["broken"] == 1
    assert ask("ana", ANA, "POST", "/v1/renew", job)[0] == 410
    assert ask("ops", OPS, "POST", "/v1/renew", job)[0] == 200
    assert ask("ops", OPS, "POST", "/v1/break", {**broken, "now": True})[1]["broken"] == 1
    status, rows = ask("ana", ANA, "GET", "/v1/audit?prefix=a/mine")
    assert [(row["owner"], row["user"], row["by"]) for row in rows["audit"]][-2:] == [
        ("job", "ana", "ops"), ("job", "ops", "ops")], rows
    clear(service)


def own_claims(service):
    """work that is claimed, also by a call that waited and in several at once, and a deadlock"""
    ana, ops = enter(service, "ana", ANA), enter(service, "ops", OPS)
    ops.put("CLAIM", "a/work", "OWNER", "worker", "WAIT", "60000", "COUNT", "2")
    until(lambda: "flags=b" in enter(service, "ops", OPS).call("CLIENT", "LIST"))
    assert ana.call("PUSH", "a/work", "1") == 1
    claim = ops.value()[0]
    assert claim["owner"] == "worker", claim
    item = ana.call("ITEMS", "a/work")[1][0]
    assert (item["owner"], item["user"]) == ("worker", "ops"), item
    for words in [("DONE", "a/work", "1", "OWNER", "worker", "TOKEN", claim["token"]),
                  ("DONE", "a/work", "1", "2", "OWNER", "worker", "TOKEN", claim["token"]),
                  ("RETRY", "a/work", "1", "OWNER", "worker"), ("RENEW", "a/work/1", "OWNER", "worker")]:
        refusal(ana.call(*words), "LOST")
    assert ops.call("RENEW", "a/work/1", "OWNER", "worker") == "OK"
    # An ask number is of its owner.
    assert ana.call("PUSH", "a/work", "2") == 1
    first = ana.call("CLAIM", "a/work", "OWNER", "worker", "ASK", "7")
    assert (first["id"], first["owner"]) == ("2", "worker"), first
    assert ops.call("CLAIM", "a/work", "OWNER", "worker", "ASK", "7")["status"] == "busy"
    assert ana.call("CLAIM", "a/work", "OWNER", "worker", "ASK", "7")["token"] == first["token"]
    assert ana.call("DONE", "a/work", "2", "OWNER", "worker", "TOKEN", first["token"]) == "OK"
    assert ops.call("DONE", "a/work", "1", "OWNER", "worker", "TOKEN", claim["token"]) == "OK"
    for user, path in ((ana, "a/one"), (ops, "a/two")):
        assert user.call("ACQUIRE", path, "OWNER", "job")["status"] == "granted"
    assert ana.call("ACQUIRE", "a/two", "OWNER", "job", "QUEUE")["status"] == "waiting"
    cycle = ops.call("ACQUIRE", "a/one", "OWNER", "job", "QUEUE", "META")["cycle"]
    assert cycle[:2] == ["job", "ana//job"], cycle
    clear(service)


def own_breaks(service):
    """a user gets the tokens of its own broken leases, and no others"""
    ana, ben = enter(service, "ana", ANA), enter(service, "ben", BEN)
    ops = enter(service, "ops", OPS)
    lease = ana.call("ACQUIRE", "a/told", "OWNER", "job")
    last = ben.call("REVOKED")[0]
    assert ana.call("REVOKED", "AFTER", str(last)) == [last, []]
    assert ops.call("BREAK", "a/told", "REASON", "test") == 1
    assert ana.call("REVOKED", "AFTER", str(last), "WAIT", "60000") == [last + 1, [lease["token"]]]
    assert ben.call("REVOKED", "AFTER", str(last), "WAIT", "60000") == [last + 1, []]
    assert lease["token"] in ana.call("REVOKED")[1]
    ana.send(Resp.request("REVOKED", "AFTER", str(last + 1), "WAIT", "60000"))
    other = ops.call("ACQUIRE", "b/told", "OWNER", "o1")
    assert ops.call("BREAK", "b/told", "REASON", "test") == 1
    assert ana.value() == [last + 2, []]
    assert ops.call("REVOKED", "AFTER", str(last + 1)) == [last + 2, [other["token"]]]
    assert ops.call("REVOKED", "AFTER", str(last + 2), "WAIT", "1") == [last + 2, []]
    refusal(ana.call("REVOKED", "a"), "INVALID")
    refusal(ana.call("REVOKED", "AFTER", "x"), "INVALID")
    for wire in [ana, ben, ops]:
        wire.close()
    clear(service)


def own_events(service):
    """events name the owner and its user"""
    ana, eva = enter(service, "ana", ANA), enter(service, "eva", EVA)
    stream = Http(service.http)
    stream.ask("GET", "/v1/events?prefix=a", headers=(basic("eva", EVA),))
    assert stream.head()[0] == 200
    after = eva.call("EVENTS", "a")[0]
    ops = enter(service, "ops", OPS)
    assert ops.call("WATCH", "a/heard") is not None
    assert ana.call("ACQUIRE", "a/heard", "OWNER", "job")["status"] == "granted"
    event = eva.call("EVENTS", "a", "AFTER", after)[1][0]
    assert (event["owner"], event["user"]) == ("job", "ana"), event
    pushed = str(ops.value())
    assert "'owner': 'job', 'user': 'ana'" in pushed, pushed
    while b'"owner":"job","user":"ana"' not in stream.bytes:
        stream.fill()
    assert ana.call("RELEASE", "a/heard", "OWNER", "job") == "OK"


def kept_owners(_):
    """over a restart, from the log and from the file, each user has its own; without users they are owners of other names"""
    if "durable" not in sys.argv:
        return
    own = Service(LK, "--users", str(file), durable=True, place=str(file.with_name("kept")))
    lease = enter(own, "ana", ANA).call("ACQUIRE", "a/kept", "OWNER", "job")
    assert enter(own, "ops", OPS).call("ACQUIRE", "a/kept", "OWNER", "job", "QUEUE")["status"] == "waiting"
    old = enter(own, "ana", ANA).call("ACQUIRE", "a/ended", "OWNER", "job")
    assert enter(own, "ana", ANA).call("RELEASE", "a/ended", "OWNER", "job", "TOKEN", old["token"]) == "OK"
    for end in ("kill", "term"):
        if end == "kill":
            own.process.kill()
            own.process.wait()
        else:
            assert own.end() == 0
        own = Service(LK, "--users", str(file), durable=True, place=own.place)
        wires = {"ana": enter(own, "ana", ANA), "ops": enter(own, "ops", OPS)}
        refusal(wires["ops"].call("RENEW", "a/kept", "OWNER", "job"), "LOST")
        refusal(wires["ops"].call("RELEASE", "a/ended", "OWNER", "job", "TOKEN", old["token"]), "LOST")
        assert wires["ana"].call("RELEASE", "a/ended", "OWNER", "job", "TOKEN", old["token"]) == "OK"
        assert wires["ana"].call("RENEW", "a/kept", "OWNER", "job") == "OK"
        again = wires["ana"].call("ACQUIRE", "a/kept", "OWNER", "job")
        assert (again["token"], again["created"]) == (lease["token"], False), again
    assert own.end() == 0
    own = Service(LK, durable=True, place=own.place)
    wire = Resp(own.resp)
    assert wire.call("HELLO", 3)["proto"] == 3
    refusal(wire.call("RENEW", "a/kept", "OWNER", "job"), "LOST")
    assert [(row["owner"], "user" in row) for row in wire.call("LIST", "a/kept")[1]] == [
        ("ana//job", False), ("ops//job", False)]
    assert wire.call("RENEW", "a/kept", "OWNER", "ana//job") == "OK"
    assert wire.call("ACQUIRE", "a/plain", "OWNER", "plain")["status"] == "granted"
    assert own.end() == 0
    # What is older than the users is no user's: only a break ends it before its time.
    own = Service(LK, "--users", str(file), durable=True, place=own.place)
    wires = {"ana": enter(own, "ana", ANA), "ops": enter(own, "ops", OPS)}
    refusal(wires["ana"].call("RENEW", "a/plain", "OWNER", "plain"), "LOST")
    assert [(row["owner"], row.get("user")) for row in wires["ana"].call("LIST", "a/plain")[1]] == [("plain", None)]
    assert wires["ana"].call("ACQUIRE", "a/plain", "OWNER", "plain", "TRY")["status"] == "busy"
    assert wires["ops"].call("BREAK", "a/plain", "OWNER", "plain", "REASON", "test", "NOW") == 1
    assert wires["ana"].call("ACQUIRE", "a/plain", "OWNER", "plain")["status"] == "granted"
    assert own.end() == 0


def names_of_connections(service):
    """the owners of later connections cannot be taken in advance"""
    ana, ops = enter(service, "ana", ANA), enter(service, "ops", OPS)
    epoch, number = ana.call("ACQUIRE", "a/first")["owner"].rsplit(".", 1)
    for ahead in range(1, 4):
        refusal(ops.call("ACQUIRE", f"z/{ahead}", "OWNER", f"{epoch}.{int(number) + 1 + ahead}"), "DENIED")
    for later in [enter(service, "ana", ANA) for _ in range(3)]:
        assert later.call("ACQUIRE", "a/later")["status"] in ("granted", "busy")
    assert ana.call("RELEASE", "a/first") == "OK"


def reloaded(_):
    """on SIGHUP open connections keep or lose rights; a bad file changes nothing"""
    path = file.with_name("changing")
    robot = write_users(path)
    own = Service(LK, "--users", str(path), stderr=subprocess.PIPE)
    ana, eva, ben = enter(own, "ana", ANA), enter(own, "eva", EVA), enter(own, "ben", BEN)
    ops = enter(own, "ops", OPS)
    assert ops.call("ACQUIRE", "a/held", "OWNER", "holder")["status"] == "granted"
    ana.put("ACQUIRE", "a/held", "OWNER", "anas", "WAIT", "600000")
    until(lambda: ops.call("LIST", "a/held")[1][-1]["state"] == "waiting")
    stream = Http(own.http)
    stream.ask("GET", "/v1/events", headers=(basic("eva", EVA),))
    assert stream.head()[0] == 200
    waiting = Http(own.http)
    waiting.ask("POST", "/v1/acquire", {"parts": ["a/held"], "owner": "h", "wait": "10m"},
                headers=("Authorization: Bearer " + robot,))
    until(lambda: len(ops.call("LIST", "a/held")[1]) == 3)
    good = path.read_text()
    path.write_text(good + "ana - nonsense\n")
    own.process.send_signal(signal.SIGHUP)
    assert "the former users stay" in own.process.stderr.readline()
    assert ben.call("LIST", "b/own")[1] == [] and len(ops.call("LIST", "a/held")[1]) == 3
    path.write_text(good)
    passwd(path, "ana", "--allow", "read:b")           # other rules
    passwd(path, "eva", "--remove")                    # no user any more
    passwd(path, "ben", secret="another")              # another password
    passwd(path, "robot", "--token", "--remove")       # no token any more
    own.process.send_signal(signal.SIGHUP)
    refusal(ana.value(), "DENIED", "rights of the user have changed")
    assert ana.call("LIST", "b")[1] == []
    refusal(ana.call("LIST", "a"), "DENIED")
    for wire in [eva, ben]:
        try:
            refusal(wire.value(), "NOAUTH")
            wire.value()
            raise AssertionError("it is still open")
        except Closed:
            pass
    assert waiting.reply()[0] == 401
    try:
        while True:
            stream.fill()
    except Closed:
        pass
    assert [row["owner"] for row in ops.call("LIST", "a/held")[1]] == ["holder"]
    assert Resp(own.resp).call("AUTH", "ben", "another") == "OK"
    refusal(Resp(own.resp).call("AUTH", "ben", BEN), "WRONGPASS")
    assert http(own, basic("eva", EVA), "GET", "/v1/limits")[0] == 401
    # A token that has ended, beside one that has not.
    ended = passwd(path, "late", "--token", "--until", "2099-01-01", "--allow", "all:/")
    path.write_text(path.read_text().replace("2099-01-01", "2009-01-01"))
    going = passwd(path, "later", "--token", "--until", "2099-01-01", "--allow", "all:/")
    own.process.send_signal(signal.SIGHUP)
    until(lambda: Resp(own.resp).call("AUTH", "later", going) == "OK")
    refusal(Resp(own.resp).call("AUTH", "late", ended), "WRONGPASS")
    assert ops.call("PING") == "PONG"
    own.process.send_signal(signal.SIGTERM)
    said_there = own.process.stderr.read()
    assert own.end() == 0
    for secret in [ANA, BEN, EVA, OPS, robot, ended, "$y$"]:
        assert secret not in said_there, said_there


def flood(_):
    """logins that are verified hold up no other connection, and past a bound they are refused"""
    own = Service(LK, "--users", str(file), "--bound", "strangers=4000")
    honest = enter(own, "ana", ANA)
    secure = Http(own.http)
    assert secure.call("GET", "/v1/limits", headers=(basic("ana", ANA),))[0] == 200
    guessers = [Resp(own.resp) for _ in range(300)]
    for number, wire in enumerate(guessers):
        wire.put("AUTH", "ana" if number % 2 else "nobody", f"guess {number}")
    assert secure.call("GET", "/v1/limits", headers=(basic("ana", ANA),))[0] == 200
    for _ in range(20):
        assert honest.call("ACQUIRE", "a/x", "OWNER", "o")["status"] == "granted"
        assert honest.call("RELEASE", "a/x", "OWNER", "o") == "OK"
        assert secure.call("GET", "/v1/limits", headers=(basic("ana", ANA),))[0] == 200
    assert enter(own, "ana", ANA).call("ACL", "WHOAMI") == "ana"  # remembered: waits for no other
    answers = []

    def one_is_full():
        for wire in guessers:
            wire.socket.settimeout(0)
            try:
                answers.append(str(wire.value()))
            except (BlockingIOError, Closed):
                pass
        return any(answer.startswith("FULL") for answer in answers)

    until(one_is_full)
    for number, wire in enumerate(guessers):
        wire.cut() if number % 2 else wire.close()
    leaving = [Http(own.http) for _ in range(20)]
    for number, wire in enumerate(leaving):
        wire.ask("POST", "/v1/acquire", {"parts": ["a"]}, headers=(basic("ana", f"bad {number}"),))
    for number, wire in enumerate(leaving[:10]):
        wire.cut() if number % 2 else wire.close()
    own.process.send_signal(signal.SIGHUP)
    assert honest.call("PING") == "PONG"
    late = Resp(own.resp)
    late.put("HELLO", 3, "AUTH", "ana", "wrong", "SETNAME", "late")  # still being verified at the end
    assert honest.call("PING") == "PONG"
    assert own.end() == 0


def begin_with_token(own, path, seconds):
    """Connections of a token that ends so soon; None: that was too soon for them to begin."""
    until_then = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() + seconds))
    text = passwd(path, "brief", "--token", "--until", until_then, "--allow", "all:/")
    own.process.send_signal(signal.SIGHUP)
    end = time.time() + seconds
    until(lambda: http(own, "Authorization: Bearer " + text, "GET", "/v1/limits")[0] == 200 or time.time() > end)
    idle, waits = [Resp(own.resp) for _ in range(2)]
    stream = Http(own.http)
    stream.ask("GET", "/v1/events", headers=("Authorization: Bearer " + text,))
    if idle.call("AUTH", "brief", text) != "OK" or waits.call("AUTH", "brief", text) != "OK" or \
            stream.head()[0] != 200:
        return None
    waits.put("ACQUIRE", "a/held", "OWNER", "brief", "WAIT", "600000")
    return idle, waits, stream


def token_ends(_):
    """when a token ends, its connections end, those that are silent, wait or watch included"""
    path = file.with_name("ending")
    passwd(path, "ops", "--allow", "all:/", secret=OPS)
    own = Service(LK, "--users", str(path))
    ops = enter(own, "ops", OPS)
    assert ops.call("ACQUIRE", "a/held", "OWNER", "holder", "TTL", 600000)["status"] == "granted"
    wires = None
    for seconds in (3, 10, 40):
        wires = wires or begin_with_token(own, path, seconds)
    for wire in wires[:2]:
        refusal(wire.value(), "NOAUTH")
    for wire in wires:
        try:
            while True:
                wire.fill()
        except Closed:
            pass
    until(lambda: len(ops.call("LIST", "a/held")[1]) == 1)
    assert ops.call("PING") == "PONG"
    assert own.end() == 0


class FromElsewhere(Resp):
    """A client of another machine."""

    def __init__(self, address, machine="127.0.0.2"):
        Wire.__init__(self, address, (machine, 0))


def fair(_):
    """a flood of logins from one address keeps none of another out"""
    own = Service(LK, "--users", str(file), "--bound", "strangers=4000")
    guessers = [FromElsewhere(own.resp) for _ in range(300)]
    for number, wire in enumerate(guessers):
        wire.put("AUTH", "ana", f"guess {number}")
    refusal(guessers[-1].value(), "FULL")
    assert enter(own, "ben", BEN).call("ACL", "WHOAMI") == "ben"
    assert Http(own.http).call("GET", "/v1/limits", headers=(basic("ops", OPS),))[0] == 200
    for wire in guessers:
        wire.close()
    assert own.end() == 0


def in_turn(_):
    """logins are verified by address in turn: strangers at many addresses keep none of another out"""
    own = Service(LK, "--users", str(file), "--bound", "strangers=4000")
    guessers = [FromElsewhere(own.resp, f"127.20.0.{number % 8 + 1}") for number in range(240)]
    for number, wire in enumerate(guessers):
        wire.put("AUTH", "ana", f"guess {number}")
    refusal(guessers[-1].value(), "FULL")  # there is no room: 8 addresses, 32 of each, 128 in all
    honest = [FromElsewhere(own.resp, f"127.21.0.{number + 1}") for number in range(2)]
    for wire in honest:
        wire.put("AUTH", "ben", BEN)
    assert [wire.value() for wire in honest] == ["OK"] * 2
    for number, wire in enumerate(guessers):
        wire.cut() if number % 2 else wire.close()
    assert own.end() == 0


def remembered(_):
    """a password that was right is remembered over SIGHUP, while its line has the same hash"""
    path = file.with_name("remembered")
    write_users(path)
    own = Service(LK, "--users", str(path), "--bound", "strangers=4000")
    enter(own, "ana", ANA)
    enter(own, "ben", BEN)
    enter(own, "ops", OPS)
    passwd(path, "ben", secret="another")
    passwd(path, "ops", "--allow", "read:b")  # other rules
    signs = passwd(path, "sign", "--token", "--allow", "read:a")
    own.process.send_signal(signal.SIGHUP)
    until(lambda: Resp(own.resp).call("AUTH", "sign", signs) == "OK")
    guessers = [Resp(own.resp) for _ in range(120)]
    for number, wire in enumerate(guessers):
        wire.put("AUTH", "ana", f"guess {number}")
    refusal(guessers[-1].value(), "FULL")
    for _ in range(3):  # from the same address, which may have nothing verified now
        assert enter(own, "ana", ANA).call("ACL", "WHOAMI") == "ana"
        ops = enter(own, "ops", OPS)
        refusal(ops.call("LIST", "a"), "DENIED")
        assert ops.call("LIST", "b")[1] == []
    assert str(Resp(own.resp).call("AUTH", "ben", BEN)).split()[0] in ("FULL", "WRONGPASS")
    for wire in guessers:
        wire.close()
    until(lambda: str(Resp(own.resp).call("AUTH", "ben", BEN)).split()[0] == "WRONGPASS")
    assert own.end() == 0


def hostile(_):
    """a file that is none, or that others may write, is refused with its line"""
    path = file.with_name("hostile")
    good = "ana $y$j9T$abc$def lock:a"
    for content, expected in [
            (b"ana", ":1: "), (b"\n\nana x lock:a", ":3: "), (b"# x\n-x - lock:a", ":2: "),
            (good.encode() + b"\n" + good.encode(), ":2: the user ana is in line 1"),
            (b"ana - lock", ":1: "), (b"ana - lock:a?b", ":1: "), (b"ana - steal:a", ":1: "),
            (b"ana - lock,:a", ":1: "), (b"ana token:12 lock:a", ":1: a token"),
            (b"ana " + b";".join([b"$y$abcdef"] * 9) + b" lock:a", ":1: "),
            (b"ana $zz$abc lock:a", ":1: "), (b"ana $y$a\0b lock:a", "no text"),
            (b"ana - " + b"lock:a " * 65, ":1: "), (b"x" * 5_000_000, "longer"),
            (b"a" * 65 + b" - lock:a", ":1: "), (b"\xff\xfe - lock:a", ":1: "),
            (b"ana token:" + b"0" * 64 + b":2027-02-31T00:00:00Z lock:a", ":1: the end")]:
        path.write_bytes(content)
        path.chmod(0o600)
        ended = serve_refused(path)
        assert ended.returncode == 64 and expected in ended.stderr, (content[:40], ended)
        assert str(path) in ended.stderr and "abc$def" not in ended.stderr
    path.write_text("")
    for mode, code in [(0o602, 77), (0o620, 77)]:
        path.chmod(mode)
        ended = serve_refused(path)
        assert ended.returncode == code and "chmod 600" in ended.stderr, ended
    path.chmod(0o644)
    path.write_text("wrong")
    assert "every user of this machine can read" in serve_refused(path).stderr
    assert serve_refused(path.with_name("nowhere")).returncode == 64
    assert serve_refused(path.parent).returncode == 64
    for other in [("--password-file", str(file)), ("--grab",)]:
        ended = serve_refused(file, *other)
        assert ended.returncode == 64 and "contradict" in ended.stderr, ended
    config = file.with_name("config")
    config.write_text(f"users = {file}\n")
    for own in [Service(LK, starter=("env", f"LK_SERVE_USERS={file}")),
                Service(LK, "--config", str(config))]:
        refusal(Resp(own.resp).call("PING"), "NOAUTH")
        assert enter(own, "ana", ANA).call("ACL", "WHOAMI") == "ana"
        assert own.end() == 0


def serve_refused(path, *options):
    return subprocess.run([LK, "serve", "--ephemeral", "--listen", "127.0.0.1:0", "--http", "none",
                           "--users", str(path), *options], capture_output=True, text=True,
                          timeout=PATIENCE_S, check=False)


def by_lk(service):
    """lk comes in as the user of its URL, and is told what it may not do"""
    def lk(user, *words, **more):
        url = f"lk://{user}@{service.resp[0]}:{service.resp[1]}"
        return subprocess.run([LK, "-S", url, *words], capture_output=True, text=True,
                              timeout=PATIENCE_S, check=False, **more)

    ran = lk(f"ana:{ANA}", "run", "a/task", "--", "sh", "-c", "echo $LK_PATH; lk ls || true")
    assert ran.returncode == 0 and ran.stdout.startswith("a/task\n"), ran
    assert ANA not in ran.stdout + ran.stderr
    ended = lk(f"ana:{ANA}", "run", "b/task", "--", "true")
    assert ended.returncode == 77 and "the user ana has no right to lock: b/task" in ended.stderr
    assert lk(f"ana:{BEN}", "ls").returncode == 77
    assert lk(f"robot:{token}", "ls", "a").returncode == 0
    assert lk("", "ls").returncode == 77
    assert lk(f"ops:{OPS}", "doctor").returncode == 0
    assert json.loads(lk(f"ana:{ANA}", "put", "b/v", "x", "--json").stdout)["status"] == "denied"
    assert "DENIED" in lk(f"eva:{EVA}", "get", "a/v").stderr
    # An owner is shown with its user, and broken by its name or by both.
    ops = f"ops:{OPS}"
    assert lk(f"ana:{ANA}", "acquire", "a/shown", "--owner", "job").returncode == 0
    busy = lk(ops, "acquire", "a/shown", "--owner", "job", "--try")
    assert busy.returncode == 75 and "held by job of ana," in busy.stderr, busy
    assert " job of ana " in lk(ops, "ls", "a/shown").stdout
    shown = json.loads(lk(ops, "ls", "a/shown", "--json").stdout)
    assert (shown["owner"], shown["user"]) == ("job", "ana"), shown
    assert "LOST" in lk(ops, "release", "a/shown", "--owner", "job").stderr
    assert "no request of this owner" in lk(ops, "break", "a/shown", "--owner", "ops//job", "--reason", "r").stderr
    broken = lk(ops, "break", "a/shown", "--owner", "ana//job", "--reason", "r").stdout
    assert broken.startswith("revoked 1: "), broken
    assert lk(ops, "break", "a/shown", "--owner", "job", "--reason", "r", "--now").stdout == "broken 1\n"
    assert "held by job of ana," in lk(ops, "audit", "a/shown").stdout


def asked(path, *answers):
    """Runs lk passwd on a terminal; its exit code and all that the terminal showed."""
    master, terminal = pty.openpty()
    ended = subprocess.Popen([LK, "passwd", str(path), "ana", "--allow", "lock:a"], stdin=terminal,
                             stderr=terminal, stdout=subprocess.DEVNULL)
    shown = b""
    for question, answer in zip([b"password: ", b"again: "], answers):
        while question not in shown:
            shown += os.read(master, 4096)
        os.write(master, answer)
    code = ended.wait(PATIENCE_S)
    assert termios.tcgetattr(terminal)[3] & (termios.ECHO | termios.ISIG)
    os.close(terminal)
    try:
        while piece := os.read(master, 4096):
            shown += piece
    except OSError:  # the terminal is closed
        pass
    os.close(master)
    return code, shown


def over_tls(_):
    """over TLS a client that has shaken hands is still no user"""
    authority = Authority(file.parent, "authority")
    certificate, key = authority.sign("service")
    context = ssl.create_default_context(cafile=authority.file)
    own = Service(LK, "--users", str(file), "--tls-cert", str(certificate), "--tls-key", str(key))
    for user, expected in [(None, "NOAUTH"), ("ana", "ana")]:
        wire = Resp(own.resp)
        wire.socket = context.wrap_socket(wire.socket, server_hostname="localhost")
        if user is None:
            refusal(wire.call("ACQUIRE", "a/x"), expected)
        else:
            assert wire.call("AUTH", user, ANA) == "OK" and wire.call("ACL", "WHOAMI") == expected
        wire = Http(own.http)
        wire.socket = context.wrap_socket(wire.socket, server_hostname="localhost")
        headers = () if user is None else (basic(user, ANA),)
        assert wire.call("GET", "/v1/limits", headers=headers)[0] == (401 if user is None else 200)
    assert own.end() == 0


def by_certificate(_):
    """a certificate of a user's name lets that user in, if its line says so; another secret goes before it"""
    users = file.with_name("certified")
    passwd(users, "ana", "--certificate", "--allow", "lock,read:a")
    passwd(users, "ana", "--certificate")  # once is enough
    assert users.read_text() == "ana certificate lock,read:a\n", users.read_text()
    passwd(users, "ben", "--allow", "lock,read:b", secret=BEN)
    authority = Authority(file.parent, "authority")
    certificate, key = authority.sign("service")
    contexts = {}
    for name in ("ana", "ben", "eve"):
        contexts[name] = ssl.create_default_context(cafile=authority.file)
        contexts[name].load_cert_chain(*authority.sign(name))
    own = Service(LK, "--users", str(users), "--tls-cert", str(certificate), "--tls-key", str(key),
                  "--tls-ca", str(authority.file))

    def open_as(name, kind=Resp):
        wire = kind(own.resp if kind is Resp else own.http)
        wire.socket = contexts[name].wrap_socket(wire.socket, server_hostname="localhost")
        return wire

    wire = open_as("ana")
    assert wire.call("ACL", "WHOAMI") == "ana" and wire.call("HELLO", 3)["proto"] == 3
    assert wire.call("ACQUIRE", "a/x", "OWNER", "o", "TTL", 60000)["status"] == "granted"
    refusal(wire.call("ACQUIRE", "b/x"), "DENIED")
    assert wire.call("RESET") == "RESET" and wire.call("ACL", "WHOAMI") == "ana"
    assert wire.call("AUTH", "ben", BEN) == "OK" and wire.call("ACL", "WHOAMI") == "ben"
    for name in ("ben", "eve"):
        refusal(open_as(name).call("ACL", "WHOAMI"), "NOAUTH")
        assert open_as(name, Http).call("GET", "/v1/requests")[0] == 401
    wire = open_as("ana", Http)
    status, _, body = wire.call("GET", "/v1/requests?prefix=a")
    assert (status, len(body["requests"])) == (200, 1), body
    assert wire.call("GET", "/v1/requests?prefix=b")[0] == 403
    assert wire.call("GET", "/v1/requests?prefix=b", headers=(basic("ben", BEN),))[0] == 200
    assert open_as("ana", Http).call("GET", "/v1/requests", headers=(basic("ana", "guess"),))[0] == 401
    url = f"lks://localhost:{own.resp[1]}?ca={authority.file}"
    shown = dict(zip(("cert", "key"), authority.sign("ana")))
    ended = subprocess.run([LK, "-S", url + "".join(f"&{k}={v}" for k, v in shown.items()), "run", "a/y", "--",
                            "true"], capture_output=True, text=True, timeout=PATIENCE_S, check=False)
    assert ended.returncode == 0, ended.stderr
    wire = open_as("ana")
    assert wire.call("PING") == "PONG"  # the service has done its side of the handshake
    passwd(users, "ana", "--certificate", "--remove")
    own.process.send_signal(signal.SIGHUP)
    refusal(wire.value(), "NOAUTH")
    refusal(open_as("ana").call("ACL", "WHOAMI"), "NOAUTH")
    assert own.end() == 0


def written(_):
    """lk passwd asks twice on a terminal, shows nothing, and replaces the file as a whole"""
    path = file.with_name("written")
    assert asked(path, b"first\n", b"other\n")[0] == 64 and not path.exists()
    assert asked(path, b"first\x03\n")[0] != 0 and not path.exists()
    code, shown = asked(path, b"first\n", b"first\n")
    assert code == 0 and b"first" not in shown, shown
    assert path.stat().st_mode & 0o777 == 0o600
    path.chmod(0o644)
    link = path.with_name("link")
    link.symlink_to(path)
    together = [subprocess.Popen([LK, "passwd", str(link), f"user{number}", "--token", "--allow", "lock:a"],
                                 stdout=subprocess.PIPE, text=True) for number in range(8)]
    tokens = {process.communicate(timeout=PATIENCE_S)[0].strip() for process in together}
    text = path.read_text()
    assert len(tokens) == 8 and link.is_symlink() and path.stat().st_mode & 0o777 == 0o600
    assert all(f"user{number} token:" in text for number in range(8)), text
    assert not any(token in text for token in tokens) and "ana $y$" in text and "first" not in text
    own = Service(LK, "--users", str(path))
    assert enter(own, "ana", "first").call("ACL", "WHOAMI") == "ana"
    assert own.end() == 0


with tempfile.TemporaryDirectory() as directory:
    file = pathlib.Path(directory) / "users"
    token = write_users(file)
    run([logins, denied, hidden, own_owners, own_owners_over_http, own_claims, own_breaks, own_events, kept_owners, names_of_connections, reloaded, token_ends, flood, fair, in_turn, remembered, hostile, by_lk, over_tls, by_certificate, written], "--users", str(file))
