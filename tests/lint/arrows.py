#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The arrows between the rooms of src/ (ARCHITECTURE.md): which may include which; none points back."""

import re

import tap

# A room, and the rooms whose headers it may include. Its own are always allowed.
ARROWS = {
    "base": [],
    "model": ["base"],
    "sql": ["base", "model"],
    "engine": ["base", "model"],
    "engine/reply": ["base", "model", "engine"],
    "engine/memory": ["base", "model", "engine", "engine/reply"],
    "engine/sqlite": ["base", "model", "engine", "engine/reply", "sql"],
    "engine/procedures": ["base", "model", "engine", "engine/reply", "form"],
    "engine/postgresql": ["base", "model", "engine", "engine/reply", "engine/procedures", "sql"],
    "engine/mysql": ["base", "model", "engine", "engine/reply", "engine/procedures", "sql"],
    "engine/redis": ["base", "model", "engine", "engine/reply", "engine/redis/client", "tls"],
    "engine/redis/client": ["base", "model", "engine", "tls"],
    "engine/service": ["base", "model", "engine", "engine/reply", "wire", "form", "tls"],
    "engine/shm": ["base", "model", "engine", "engine/reply", "canal"],
    "canal": [],
    "client": ["base", "model", "engine", "engine/reply"],
    "client/work": ["base", "engine", "engine/reply", "client"],
    "wire": ["base"],
    "tls": ["base"],
    "form": ["base", "model", "wire"],
    "access": ["base", "model"],
    "command": ["base", "model", "access", "engine", "engine/reply", "wire", "form"],
    "server/core": ["base", "model", "access", "engine", "engine/reply", "command", "sql"],
    "server/store": ["base", "access", "engine", "engine/reply", "engine/sqlite", "sql", "server/core"],
    "server/store/tables": ["base", "model", "engine", "engine/reply", "engine/sqlite", "sql",
                            "server/core", "server/store"],
    "server/store/postgresql": ["base", "engine/postgresql", "engine/procedures", "sql",
                                "server/store/tables"],
    "server/store/mysql": ["base", "engine/mysql", "sql", "server/store/tables"],
    # A home of the journal implements journal/home.h; the journal knows none.
    "server/store/journal": ["base", "form", "sql", "server/core", "server/store"],
    "server/store/etcd": ["base", "server/store", "server/store/journal", "tls"],
    # What lk serve fills in; the program around the core; and what listeners have in common.
    "server": ["server/core", "server/log"],
    "server/program": ["base", "server", "server/connections", "server/core", "server/log",
                       "server/store", "server/store/etcd", "server/store/mysql",
                       "server/store/postgresql", "server/store/tables"],
    "server/connections": ["base", "access", "command", "server", "server/core", "server/log",
                           "server/store", "tls"],
    "server/resp": ["base", "engine/reply", "wire", "form", "command", "server/connections",
                    "server/core", "server/log"],
    "server/http": ["base", "engine/reply", "form", "command", "server/connections", "server/core",
                    "server/http/grab"],
    "server/http/grab": ["base", "model", "form", "server/connections", "server/http", "server/log"],
    "server/log": ["base", "form"],
    "cli/parse": ["base", "model", "form"],
    "cli/print": ["base", "model", "form", "cli/parse"],
    "cli/store": ["base", "client"],
    "cli/run": ["base", "model", "client", "cli/print", "cli/store"],
    "cli/work": ["base", "model", "client", "client/work", "form", "cli", "cli/parse", "cli/print",
                 "cli/run", "cli/store"],
    "cli/top": ["base", "model", "cli", "cli/parse", "cli/print", "cli/run", "cli/store"],
    "cli/bench": ["base", "form", "cli", "cli/print"],
    "cli/serve": ["base", "access", "client", "form", "server", "server/log", "tls", "cli",
                  "cli/parse", "cli/print"],
    "cli/passwd": ["base", "access", "cli", "cli/print"],
    "cli/commands": ["base", "model", "sql", "client", "form", "cli", "cli/parse", "cli/print",
                     "cli/run", "cli/store", "cli/work"],
    "cli": ["base", "model", "client", "form", "cli/parse", "cli/print", "cli/run", "cli/store"],
}

# Of the public headers these rooms see only the terms: they are below the library's calls.
BELOW_THE_LIBRARY = ["base", "model", "sql", "tls"]

INCLUDE = re.compile(r'^#\s*include\s+"([^"]+)"', re.MULTILINE)


def room_of(path):
    """The deepest room that the path (relative to src/) is in."""
    rooms = [room for room in ARROWS if path.startswith(room + "/")]
    return max(rooms, key=len, default=None)


def objection(room, header):
    if header.startswith("lockkeeper/"):
        if room in BELOW_THE_LIBRARY and header != "lockkeeper/terms.h":
            return f"{room} is below the library and may see of it only lockkeeper/terms.h"
        return None
    if "/" not in header and not (tap.ROOT / "src" / header).exists():
        return None  # made by the build, in the room itself
    target = room_of(header)
    if target is None:
        return "headers are named from src/ on: \"room/header.h\""
    if target != room and target not in ARROWS[room]:
        return f"no arrow leads from {target} to {room}"
    return None


def strangers():
    for path in tap.files("*.c", "*.h", "*.in", rooms=["src"]):
        if room_of(str(path.relative_to(tap.ROOT / "src"))) is None:
            yield f"{tap.name(path)}: in no room that tests/lint/arrows.py knows"


def breaches(room):
    for path in tap.files("*.c", "*.h", "*.in", rooms=["src"]):
        if room_of(str(path.relative_to(tap.ROOT / "src"))) != room:
            continue
        text = path.read_text()
        for match in INCLUDE.finditer(text):
            reason = objection(room, match.group(1))
            if reason:
                line = text.count("\n", 0, match.start()) + 1
                yield f"{tap.name(path)}:{line}: {match.group(1)}: {reason}"


def public_breaches():
    for path in tap.files("*.h", rooms=["include"]):
        for header in INCLUDE.findall(path.read_text()):
            if not header.startswith("lockkeeper/"):
                yield f"{tap.name(path)}: {header} is not public"


def private_uses():
    for path in tap.files("*.c", "*.h", rooms=["examples"]):
        for header in INCLUDE.findall(path.read_text()):
            if not header.startswith("lockkeeper/"):
                yield f"{tap.name(path)}: {header} is not what a user has"


report = tap.Report()
report.case("every source is in a room", strangers())
for each in ARROWS:
    report.case(f"src/{each} includes along the arrows", breaches(each))
report.case("public headers include public headers only", public_breaches())
report.case("examples use public headers only", private_uses())
report.finish()
