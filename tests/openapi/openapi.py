#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The description of the HTTP interface beside a running service: what it says of answers holds for
real ones, what it names is taken, and what it does not name is refused. LK ROOT DESCRIPTION"""

import copy
import itertools
import json
import pathlib
import re
import sys
import time
import urllib.parse

import jsonschema

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "listeners"))
from service import Http, run  # noqa: E402

# ---- the description: its operations, schemas that judge what was sent and answered, and values that fit a
# ---- schema or are just beyond its bounds

KEYWORDS = {"oneOf", "anyOf"}


def strict(schema):
    """The schema with no other fields than those it names: what answers is described completely."""
    if isinstance(schema, list):
        return [strict(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    schema = {name: strict(one) for name, one in schema.items()}
    if schema.get("type") == "object" and isinstance(schema.get("properties"), dict):
        schema.setdefault("additionalProperties", False)
    return schema


class Operation:
    def __init__(self, route, method, body):
        self.route, self.method, self.body = route, method.upper(), body
        self.name = body["operationId"]
        self.parameters = body["parameters"]
        self.responses = body["responses"]

    def query(self):
        return {one["name"]: one["schema"] for one in self.parameters if one["in"] == "query"}

    def members(self):
        return (self.schema() or {"properties": {}})["properties"]

    def schema(self):
        """That of a body of JSON; None: it takes none."""
        content = self.body.get("requestBody", {}).get("content", {})
        return content.get("application/json", {}).get("schema")

    def target(self, values=(), query=()):
        values = dict(values)
        path = re.sub(r"\{(\w+)\}", lambda match: values[match.group(1)], self.route)
        return path + ("?" + "&".join(f"{name}={value}" for name, value in query) if query else "")


class Description:
    def __init__(self, text):
        self.whole = json.loads(text)
        self.operations = {}
        for route, methods in self.whole["paths"].items():
            for method, body in methods.items():
                operation = Operation(route, method, body)
                assert operation.name not in self.operations, f"twice: {operation.name}"
                self.operations[operation.name] = operation
        self.strict = {"components": strict(copy.deepcopy(self.whole["components"]))}
        self.judged = set()  # (operation, status) of the answers that were judged
        self.schemas = set()  # ... and the schemas that have judged something

    def judge(self, schema, value):
        """Raises if the value does not fit. References of the schema are those of the description."""
        resolver = jsonschema.RefResolver("", self.strict)
        jsonschema.Draft202012Validator({**strict(schema), **self.strict}, resolver=resolver).validate(
            value)

    def response(self, operation, status):
        """What is said of the status; None: nothing but what holds for any."""
        found = operation.responses.get(str(status))
        if found is not None and "$ref" in found:
            found = self.whole["components"]["responses"][found["$ref"].rsplit("/", 1)[-1]]
        return found

    def judge_answer(self, name, status, headers, body):
        operation = self.operations[name]
        said = self.response(operation, status) or self.response(operation, "default")
        kind = headers.get("content-type", "")
        assert kind in said["content"], f"{name} {status}: {kind} is not of {list(said['content'])}"
        if kind == "application/json":
            self.judge(said["content"][kind]["schema"], body)
        self.judged.add((name, str(status)))

    def judge_body(self, name, body):
        self.judge(self.operations[name].schema(), body)


# ---- values of a schema ------------------------------------------------------------------------


def choices(schema):
    for one in schema.get("oneOf", [schema]):
        yield one


def samples(name, schema):
    """Values that fit, those at the bounds of a text or a number with them."""
    for one in choices(schema):
        if "enum" in one:
            yield from one["enum"]
        elif one["type"] == "boolean":
            yield from (True, False)
        elif name == "until":
            yield int(time.time() * 1000) + 60000  # one that is over is refused by the rules
        elif one["type"] == "integer":
            yield one["minimum"]
            if "maximum" in one:
                yield one["maximum"]
        elif one["type"] == "array":
            yield [text_of(name, one["items"])] * max(1, one.get("minItems", 0))
        else:
            yield text_of(name, one)
            if "maxLength" in one and one.get("format") != "byte" and "pattern" not in one:
                yield text_of(name, one, one["maxLength"])


def text_of(name, schema, size=0):
    if schema.get("format") == "byte":
        return "QQ=="
    if "pattern" in schema:
        return "1.5s"
    if name == "cursor":
        return "0"
    size = size or 1
    if size <= 255 or name in ("value", "put", "puts", "reason", "error"):
        return "a" * size
    # A path: segments have at most 255 bytes (R1).
    return "/".join(["a" * 255, "a" * 255, "a" * 255])[:size]


def beyond(schema):
    """Values that are beyond a bound of the schema."""
    for one in choices(schema):
        if one.get("type") == "integer":
            yield one["minimum"] - 1
            if "maximum" in one:
                yield one["maximum"] + 1
        elif one.get("type") == "array" and "maxItems" in one:
            yield ["a"] * (one["maxItems"] + 1)
        elif one.get("type") == "string" and one.get("format") == "byte":
            yield "no base64!"
        elif one.get("type") == "string" and "maxLength" in one:
            yield "a" * (one["maxLength"] + 1)
        elif "enum" in one:
            yield one["enum"][0] + "x"
    yield {"no": "value"}


# ---- beside a service

ROOT, BUILT = pathlib.Path(sys.argv[2]), pathlib.Path(sys.argv[3])
DESCRIPTION = Description(BUILT.read_text(encoding="utf-8"))
TEXTS = {"metrics", "healthz", "readyz", "events"}  # not answered in JSON

# A body that is as small as can be, and what is in the path.
BODIES = {
    "acquire": {"parts": ["a"]},
    "renew": {"parts": ["a"], "owner": "o"},
    "release": {"parts": ["a"], "owner": "o"},
    "break": {"path": "a", "reason": "r"},
    "push": {"queue": "q", "id": "i"},
    "claim": {"queue": "q"},
    "done": {"queue": "q", "id": "i", "owner": "o"},
    "retry": {"queue": "q", "id": "i", "owner": "o"},
    "progress": {"queue": "q", "id": "i", "owner": "o"},
    "unpark": {"queue": "q", "id": "i"},
    "cancel": {"queue": "q", "id": "i", "reason": "r"},
    "limit": {},
}
PLACES = {"path": "a%2Fb", "queue": "q", "id": "i"}
# A member that says the same as one of the smallest body, or contradicts it.
INSTEAD_OF = {"paths": "parts", "ids": "id"}
# What a member needs beside it.
BESIDE = {"mode": {"owner": "o"}, "units": {"limit": 2147483647, "shared": True}}


class Player:
    """Sends requests by the names of operations, and judges every answer."""

    def __init__(self, service):
        self.http = Http(service.http)

    def call(self, name, body=b"", values=(), query=(), judges_body=True):
        operation = DESCRIPTION.operations[name]
        if isinstance(body, dict) and judges_body:
            DESCRIPTION.judge_body(name, body)
        query = [(key, urllib.parse.quote(str(value))) for key, value in dict(query).items()]
        reply = self.http.call(operation.method, operation.target(values, query), body=body)
        DESCRIPTION.judge_answer(name, *reply)
        return reply

    def expect(self, status, name, body=b"", values=(), query=()):
        found, _, answer = self.call(name, body, values, query)
        assert found == status, f"{name} {body} {values} {query}: {found} {answer}"
        return answer


def is_the_file(service):
    """What a service describes is docs/openapi.json"""
    status, _, served = Http(service.http).call("GET", "/v1/openapi.json")
    assert status == 200
    built = BUILT.read_text(encoding="utf-8")
    assert served == json.loads(built)
    kept = (ROOT / "docs/openapi.json").read_text(encoding="utf-8")
    assert kept == built, "docs/openapi.json is another: docs/openapi/meson.build says how to renew it"


def explains_everything(_):
    """Everything that it names has a sentence, and every segment of a path is a parameter"""
    for operation in DESCRIPTION.operations.values():
        segments = {one["name"] for one in operation.parameters if one["in"] == "path"}
        assert segments == set(operation.target({name: "{" + name + "}" for name in PLACES})
                               .replace("}", "{").split("{")[1::2]), operation.route
        for one in operation.parameters:
            assert one["description"].endswith("."), one
        for name, schema in operation.members().items():
            assert schema["description"].endswith("."), (operation.name, name)
    for name, schema in DESCRIPTION.whole["components"]["schemas"].items():
        for one in schema.get("oneOf", [schema]):
            for field, inner in one.get("properties", {}).items():
                assert "$ref" in inner or inner["description"].endswith("."), (name, field)


def play_locks(player):
    held = player.expect(200, "acquire", {
        "parts": ["db/t1", "db/t2"], "owner": "ana", "ttl": "60s", "note": "n"})
    player.expect(200, "acquire", {"paths": ["pool?limit=3&units=2", "read?shared"], "owner": "ana"})
    player.expect(409, "acquire", {"parts": ["db"]})
    player.expect(202, "acquire", {"parts": ["db"], "owner": "ben", "mode": "queue"})
    player.expect(410, "acquire", {"parts": ["db"], "owner": "ben", "mode": "queue", "ticket": 1})
    player.expect(200, "show", values={"path": "db"})
    player.expect(200, "show", values={"path": "db%2Ft1"}, query={"count": 1})
    player.expect(200, "list", query={"prefix": "db", "count": 2})
    player.expect(200, "list")
    player.expect(200, "renew", {"parts": ["db/t1", "db/t2"], "token": held["token"]})
    player.expect(410, "renew", {"parts": ["db/t1"], "owner": "eva"})
    player.expect(410, "release", {"parts": ["db/t1"], "owner": "eva"})
    player.expect(200, "release", {"parts": ["db/t1", "db/t2"], "owner": "ana",
                                   "puts": ["one", "two"]})
    player.expect(200, "release", {"parts": ["db"], "owner": "ben"})
    valued = player.expect(200, "acquire", {"parts": ["db/t1", "db/t3"], "owner": "ana", "value": True})
    assert valued["values"][0]["value"] == "one" and valued["values"][1] == {}
    # A deadlock: each waits for what the other one holds.
    player.expect(200, "acquire", {"parts": ["x"], "owner": "ana"})
    player.expect(200, "acquire", {"parts": ["y"], "owner": "ben"})
    player.expect(202, "acquire", {"parts": ["y"], "owner": "ana", "mode": "queue"})
    assert "cycle" in player.expect(409, "acquire", {"parts": ["x"], "owner": "ben", "mode": "queue"})
    assert player.expect(409, "acquire", {"parts": ["y"], "owner": "eva", "wait": 1})[
        "status"] == "timeout"
    assert player.expect(200, "break", {"path": "x", "reason": "r", "now": True})["broken"] == 1
    player.expect(200, "audit")
    player.expect(200, "audit", query={"prefix": "x", "count": 1})
    player.expect(400, "acquire", {"parts": ["a//b"]})


def play_values(player):
    player.expect(200, "put", b"\xff\x00", {"path": "v/1"})
    assert player.expect(200, "get", values={"path": "v/1"}) == b"\xff\x00"
    player.expect(404, "get", values={"path": "v/2"})
    # R15: a lease that asked for the value and is broken leaves it in doubt.
    player.expect(200, "acquire", {"parts": ["v/1"], "owner": "ana", "value": True})
    player.expect(409, "put", b"other", {"path": "v/1"})
    player.expect(409, "del", values={"path": "v/1"})
    player.expect(410, "put", b"other", {"path": "v/1"}, {"owner": "ana", "token": 1})
    player.expect(410, "del", values={"path": "v/1"}, query={"owner": "ana", "token": 1})
    player.expect(200, "break", {"path": "v/1", "reason": "r", "now": True})
    values = player.expect(200, "values", query={"prefix": "v"})
    assert {"path": "v/1", "size": 2, "in_doubt": True} in values["values"], values
    doubts = player.expect(200, "doubts", query={"prefix": "v"})
    assert doubts["values"] == [{"path": "v/1", "size": 2}], doubts
    player.expect(200, "acquire", {"parts": ["v/1"], "owner": "ben", "value": True})
    player.expect(200, "release", {"parts": ["v/1"], "owner": "ben"})
    player.expect(200, "del", values={"path": "v/1"})


def play_work(player):
    player.expect(200, "push", {"queue": "q", "id": "1", "value_base64": "/w==", "priority": -1})
    player.expect(200, "push", {"queue": "q", "id": "2", "value": "v", "needs": ["db/n"]})
    player.expect(200, "push", {"queue": "q", "id": "3", "delay": "1h"})
    said = player.expect(200, "push", {"queue": "q", "id": "1"})
    assert (said["added"], said["changed"], said["was"]) == (False, False, "ready"), said
    said = player.expect(200, "push", {"queue": "q", "id": "1", "value_base64": "/w==",
                                       "priority": -1, "again": True})
    assert (said["added"], said["changed"], said["was"]) == (False, True, "ready"), said
    said = player.expect(200, "push", {"queue": "q", "id": "3", "delay": "1h", "replace": True})
    assert (said["added"], said["changed"], said["was"]) == (False, True, "delayed"), said
    player.expect(400, "push", {"queue": "q", "id": "3", "again": True, "replace": True})
    player.expect(200, "queues", query={"prefix": "q"})
    claim = player.expect(200, "claim", {"queue": "q", "owner": "w", "note": "n"})
    player.expect(200, "items", values={"queue": "q"}, query={"count": 2})
    player.expect(200, "retry", {"queue": "q", "id": claim["id"], "owner": "w", "exit": 3,
                                 "error": "broken", "token": claim["token"]})
    player.expect(410, "retry", {"queue": "q", "id": "2", "owner": "w"})
    several = player.expect(200, "claim", {"queue": "q", "owner": "w", "count": 5})
    assert several["ended_by"] == "busy" and len(several["items"]) == 2
    player.expect(200, "items", values={"queue": "q"})
    assert player.expect(200, "done", {"queue": "q", "ids": ["1", "2"], "owner": "w"})["done"] == 2
    player.expect(410, "done", {"queue": "q", "id": "1", "owner": "x"})
    player.expect(409, "claim", {"queue": "q", "wait": "1ms"})
    player.expect(409, "claim", {"queue": "q"})
    player.expect(200, "stats", values={"queue": "q"})
    player.expect(200, "drop", values={"queue": "q", "id": "3"})
    player.expect(410, "drop", values={"queue": "q", "id": "3"})
    # One attempt, and no more: the second claim parks it.
    player.expect(200, "push", {"queue": "p", "id": "1"})
    player.expect(200, "claim", {"queue": "p", "owner": "w", "max_attempts": 1})
    player.expect(200, "retry", {"queue": "p", "id": "1", "owner": "w"})
    player.expect(409, "claim", {"queue": "p", "owner": "w", "max_attempts": 1})
    player.expect(200, "unpark", {"queue": "p", "id": "1"})
    player.expect(410, "unpark", {"queue": "p", "id": "1"})
    # Cancelled: at once, or with the claim.
    player.expect(200, "push", {"queue": "c", "id": "1"})
    player.expect(200, "push", {"queue": "c", "id": "2"})
    player.expect(200, "claim", {"queue": "c", "owner": "w"})
    said = player.expect(200, "cancel", {"queue": "c", "id": "1", "reason": "r"})
    assert said["broken"] == 1, said
    said = player.expect(200, "cancel", {"queue": "c", "id": "2", "reason": "r"})
    assert said["broken"] == 0, said
    player.expect(410, "cancel", {"queue": "c", "id": "2", "reason": "r"})
    player.expect(200, "retry", {"queue": "c", "id": "1", "owner": "w"})
    player.expect(409, "claim", {"queue": "c"})
    # Kept with its result.
    player.expect(200, "push", {"queue": "r", "id": "1", "value": "in", "keep": "1h"})
    player.expect(200, "claim", {"queue": "r", "owner": "w"})
    player.expect(200, "progress", {"queue": "r", "id": "1", "owner": "w", "text": "half"})
    player.expect(410, "progress", {"queue": "r", "id": "1", "owner": "x", "text": "half"})
    item, = player.expect(200, "items", values={"queue": "r"}, query={"id": "1"})["items"]
    assert (item["state"], item["progress"], item["value"]) == ("claimed", "half", "in"), item
    player.expect(200, "done", {"queue": "r", "id": "1", "owner": "w", "result_base64": "/w==",
                                "keep": "1m"})
    item, = player.expect(200, "items", values={"queue": "r"}, query={"id": "1"})["items"]
    assert (item["state"], item["value_base64"]) == ("done", "/w=="), item
    assert 3590000 < item["due_in_ms"] <= 3600000, item
    assert player.expect(200, "items", values={"queue": "r"}, query={"id": "2"})["items"] == []
    player.expect(400, "done", {"queue": "r", "ids": ["1", "2"], "owner": "w", "result": "x"})
    player.expect(400, "items", values={"queue": "r"}, query={"id": "1", "parked": "true"})
    assert player.expect(200, "stats", values={"queue": "r"})["done_now"] == 1
    # One item, answered by its state alone.
    player.expect(200, "claim", {"queue": "p", "owner": "w"})
    assert player.expect(200, "done", {"queue": "p", "id": "1", "owner": "w"}) == {"status": "ok"}


def play_service(player):
    player.expect(200, "limits")
    player.expect(200, "limit", {"events": 1000})
    for name in ("openapi", "metrics", "healthz", "readyz"):
        player.expect(200, name)


def read_events(service, prefix):
    """The events that are kept, as they are sent to a client that begins with the oldest."""
    follower = Http(service.http)
    follower.ask("GET", f"/v1/events?prefix={prefix}&after=1")
    status, headers = follower.head()
    DESCRIPTION.judge_answer("events", status, headers, None)
    text = b""
    while b"event: released" not in text or not text.endswith(b"\n\n"):
        text += follower.exactly(int(follower.line(), 16))
        follower.line()
    follower.close()
    return [json.loads(line[6:]) for line in text.split(b"\n") if line.startswith(b"data: ")]


def fits_answers(service):
    """Every answer fits what is said of it, and every status that it names was answered"""
    player = Player(service)
    play_service(player)
    play_locks(player)
    play_values(player)
    play_work(player)
    player.expect(200, "acquire", {"parts": ["ev/1"], "owner": "ana"})
    player.expect(200, "release", {"parts": ["ev/1"], "owner": "ana"})
    events = read_events(service, "ev")
    assert len(events) >= 2
    for event in events:
        DESCRIPTION.judge({"$ref": "#/components/schemas/Event"}, event)
    by_any = {"400", "401", "403", "429", "503", "default"}
    named = {(operation.name, status) for operation in DESCRIPTION.operations.values()
             for status in operation.responses if status not in by_any}
    assert not named - DESCRIPTION.judged, sorted(named - DESCRIPTION.judged)


def judges_strictly(_):
    """The judge is strict: a field that is missing, is another, or is one more is refused"""
    for wrong in ({"status": "ok"}, {"status": "fine", "broken": 1}, {"status": "ok", "broken": -1},
                  {"status": "ok", "broken": 1, "more": 1}):
        try:
            DESCRIPTION.judge_answer("break", 200, {"content-type": "application/json"}, wrong)
        except Exception:  # the validator's
            continue
        raise AssertionError(f"it was not refused: {wrong}")


def with_member(operation, name, value):
    body = {**BODIES[operation.name], **BESIDE.get(name, {}), name: value}
    body.pop(INSTEAD_OF.get(name), None)
    return body


def takes_what_it_names(service):
    """Each member and each field of a query that it names is taken, at its bounds too"""
    player = Player(service)
    numbers = itertools.count()
    for operation in DESCRIPTION.operations.values():
        for name, schema in operation.members().items():
            for value in samples(name, schema):
                body = with_member(operation, name, value)
                if operation.name == "acquire" and name not in ("parts", "paths"):
                    body["parts"] = [f"free/{next(numbers)}"]  # granted at once, so no mode waits
                if operation.name == "claim":
                    item = "i" if name == "queue" else str(next(numbers))
                    player.expect(200, "push", {"queue": body["queue"], "id": item})
                status, _, answer = player.call(operation.name, body)
                assert status != 400, (operation.name, str(body)[:200], answer)
        for name, schema in operation.query().items():
            for value in samples(name, schema) if operation.name not in TEXTS else ():
                query = {name: value, **({"owner": "o"} if name == "token" else {})}
                status, _, answer = player.call(operation.name, b"", PLACES, query)
                assert status != 400, (operation.name, name, str(value)[:200], answer)


def refuses_what_is_beyond(service):
    """What is beyond a bound that it names is refused: 400"""
    player = Player(service)
    for operation in DESCRIPTION.operations.values():
        for name, schema in operation.members().items():
            for value in beyond(schema):
                body = with_member(operation, name, value)
                status, _, answer = player.call(operation.name, body, judges_body=False)
                assert status == 400, (operation.name, str(body)[:200], status, answer)
        for name, schema in operation.query().items():
            for value in beyond(schema):
                if not isinstance(value, dict):
                    status, _, answer = player.call(operation.name, b"", PLACES, {name: value})
                    assert status == 400, (operation.name, name, str(value)[:200], status, answer)


def refuses_what_it_does_not_name(service):
    """A member or a field of a query that it does not name is refused: 400"""
    player = Player(service)
    of_all = {name for operation in DESCRIPTION.operations.values() for name in operation.members()}
    of_queries = {name for operation in DESCRIPTION.operations.values() for name in operation.query()}
    for operation in DESCRIPTION.operations.values():
        if operation.schema() is not None:
            for name in sorted(of_all - set(operation.members()) | {"nonsense"}):
                body = {**BODIES[operation.name], name: "1"}
                status, _, answer = player.call(operation.name, body, judges_body=False)
                assert status == 400 and "no field" in answer["error"], (operation.name, name, answer)
        for name in sorted(of_queries - set(operation.query()) | {"nonsense"}):
            if operation.name not in TEXTS - {"events"}:
                body = BODIES.get(operation.name, b"")
                status, _, answer = player.call(operation.name, body, PLACES, {name: "1"})
                assert status == 400, (operation.name, name, status, answer)


def misses_what_it_requires(service):
    """What it requires is required: without it the answer is 400"""
    player = Player(service)
    for operation in DESCRIPTION.operations.values():
        schema = operation.schema() or {}
        required = schema.get("required", []) + [one["required"][0] for one in schema.get("anyOf", [])]
        for name in required:
            body = {key: value for key, value in BODIES[operation.name].items() if key != name}
            if name in BODIES[operation.name]:
                status, _, answer = player.call(operation.name, body, judges_body=False)
                assert status == 400, (operation.name, name, status, answer)
        if schema.get("additionalProperties") is False and operation.name != "limit":
            assert required, operation.name


def has_every_route(service):
    """Each route of it exists, and takes the methods that it names and no others"""
    player = Player(service)
    by_route = {}
    for operation in DESCRIPTION.operations.values():
        by_route.setdefault(operation.target(PLACES), set()).add(operation.method)
    for route, methods in by_route.items():
        for method in {"GET", "POST", "PUT", "DELETE"} - methods:
            status, headers, answer = player.http.call(method, route, body={} if method == "POST" else b"")
            # A queue and an item are told apart by the method: both are paths.
            if route.startswith("/v1/items/") and method in ("GET", "DELETE"):
                assert status != 404
                continue
            assert status == 405, (method, route, status, answer)
            assert methods <= set(headers["allow"].split(", ")), (route, headers["allow"])


run([is_the_file, explains_everything, fits_answers, judges_strictly, has_every_route,
     takes_what_it_names, refuses_what_is_beyond, refuses_what_it_does_not_name,
     misses_what_it_requires])
