# SPDX-License-Identifier: Apache-2.0
"""The description of the HTTP interface as a test uses it: its operations, schemas that judge what was
sent and answered, and values that fit a schema or are just beyond its bounds."""

import copy
import json
import re
import time

import jsonschema

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
