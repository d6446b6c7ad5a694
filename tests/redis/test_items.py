#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Items and queues as they are kept (src/engine/redis/script/items.lua): test_items.py LK [CASE]"""
import sys

from test_errors import Server, expect, run_cases

def nothing_stays(t):
    """Of what has blocked items nothing stays, however many roots have done so."""
    t.single()

    def is_nothing_left():
        fields = t.redis("HKEYS", "{q}:lk:i").split("\n")
        expect([field for field in fields if field[:1] not in ("c", "n")] == [], f"{fields}")
        entries = t.redis("ZRANGE", "{q}:lk:q", "0", "-1").split("\n")
        expect([entry for entry in entries if entry[:1] != "c"] == [], f"{entries}")

    for root, items in (("one", 1), ("some/a", 3), ("many", 20)):
        t.answers("granted", "acquire", root, owner="ann")
        for i in range(items):
            t.answers("ok", "push", "q/blocked", f"{i}", "--needs", f"{root}/{i}")
        t.answers("busy", "claim", "q/blocked", owner="worker")
        t.answers("ok", "release", root, owner="ann")
        for i in range(items):
            t.answers("granted", "claim", "q/blocked", owner="worker")
            t.answers("ok", "done", "q/blocked", f"{i}", owner="worker")
        is_nothing_left()
    for path, words in (("dropped", ("--needs", "dropped")), ("q/blocked/1", ()),
                        ("q/blocked/1", ("--needs", "free"))):
        t.answers("granted", "acquire", path, owner="ann")
        t.answers("ok", "push", "q/blocked", "1", *words)
        t.answers("busy", "claim", "q/blocked", owner="worker")
        t.answers("ok", "drop", "q/blocked", "1")
        is_nothing_left()
        t.answers("ok", "release", path, owner="ann")
        t.answers("busy", "claim", "q/blocked", owner="worker")
        is_nothing_left()


CASES = [
    ("nothing stays of what has blocked items", nothing_stays),
]

if __name__ == "__main__":
    sys.exit(run_cases(Server, CASES))
