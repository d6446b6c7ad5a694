#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Items and queues as they are kept (src/engine/redis/script/items.lua): test_items.py LK [CASE]"""
import sys

from test_errors import Server, expect, run_cases

# What a store has after some work by version 0.1.0: of each queue its counts; items 1 to ITEMS of
# `q/many`, every third of them parked among the claimed ones, and no entry of a queue.
OLDER = """
local pack = cmsgpack.pack
local function save(queue, id, sequence, state, attempts)
    local digits = string.format('%016.0f', sequence)
    redis.call('HSET', '{q}:lk:i', 'i' .. queue .. '/' .. id,
        pack(sequence, state, 0, attempts, 0, attempts, '0', '', 0))
    redis.call('ZADD', '{q}:lk:q', 0, (state == 'ready' and 'r' or 'z') .. queue .. '\\0' .. digits
        .. '\\0' .. id)
end
local parked = 0
for i = 1, tonumber(ARGV[1]) do
    local is_parked = i % 3 == 0
    parked = parked + (is_parked and 1 or 0)
    save('q/many', i, 1700000000000000 + i, is_parked and 'parked' or 'ready', is_parked and 1 or 0)
end
redis.call('HSET', '{q}:lk:i', 'cq/many', pack(tonumber(ARGV[1]), 0, parked, 0, 0, parked, parked))
redis.call('HSET', '{q}:lk:i', 'cq/idle', pack(7, 0, 7, 0, 7, 0, 0))
return parked
"""
ITEMS = 3000  # more than one call completes


def numbers(answer):
    return tuple(answer[name] for name in ("ready_now", "delayed_now", "claimed_now", "parked_now"))


def older_versions(t):
    """A store of an older version has the same items, states and counts."""
    t.single()
    parked = int(t.redis("EVAL", OLDER, "0", str(ITEMS)))
    t.answers("granted", "claim", "q/many", owner="worker")
    t.answers("ok", "unpark", "q/many", "3")
    t.answers("ok", "push", "q/many", "new")
    counts = t.answers("ok", "stats", "q/many")
    expect(numbers(counts) == (ITEMS - parked + 1, 0, 1, parked - 1), f"{counts}")
    expect(counts["pushed"] == ITEMS + 1, f"{counts}")
    expect(t.redis("HEXISTS", "{q}:lk:i", "u") == "0", "the index is complete")
    expect(int(t.redis("ZLEXCOUNT", "{q}:lk:q", "[p", "(q")) == parked - 1, "entries of parked ones")
    t.answers("ok", "unpark", "q/many", "6")
    listed = t.lk_lines("items", "q/many")
    expect([item["id"] for item in listed] == [*map(str, range(1, ITEMS + 1)), "new"], "the items")
    expect(listed[5]["state"] == "ready" and listed[8]["state"] == "parked", "their states")
    expect(numbers(t.answers("ok", "stats", "q/idle")) == (0, 0, 0, 0), "an idle queue")
    expect(t.answers("ok", "stats", "q/idle")["done"] == 7, "its counts")


# Version 0.1.0 keeps ready items with needs beside the others.
OLDER_NEEDS = """
for i = 1, tonumber(ARGV[1]) do
    local sequence = 1700000000000000 + i
    redis.call('HSET', '{q}:lk:i', 'iq/needs/' .. i, cmsgpack.pack(sequence, 'ready', 0, 0, 0, 0,
        '0', '', 1, 'need/' .. (i < tonumber(ARGV[1]) and 'a' or 'b'), 0, 0))
    redis.call('ZADD', '{q}:lk:q', 0, 'rq/needs\\0' .. string.format('%016.0f', sequence) .. '\\0'
        .. i)
end
redis.call('HSET', '{q}:lk:i', 'cq/needs', cmsgpack.pack(tonumber(ARGV[1]), 0, 0, 0, 0, 0, 0))
"""


def older_needs(t):
    """Items with needs that an older version has made ready are passed over, claimed and dropped."""
    t.single()
    t.redis("EVAL", OLDER_NEEDS, "0", str(ITEMS))
    t.answers("granted", "acquire", "need/a", owner="ann")
    t.answers("ok", "drop", "q/needs", "2")
    claimed = t.answers("granted", "claim", "q/needs", owner="worker")
    expect(claimed["id"] == str(ITEMS), f"{claimed}")
    expect(t.redis("ZLEXCOUNT", "{q}:lk:q", "[r", "(s") == "0", "all are in groups")
    counts = t.answers("ok", "stats", "q/needs")
    expect(numbers(counts) == (ITEMS - 2, 0, 1, 0), f"{counts}")
    t.answers("ok", "release", "need/a", owner="ann")
    claimed = t.answers("granted", "claim", "q/needs", owner="worker")
    expect(claimed["id"] == "1", f"{claimed}")
    listed = t.lk_lines("items", "q/needs")
    expect([item["id"] for item in listed] == ["1", *map(str, range(3, ITEMS + 1))], "the items")


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
    ("needs of older versions", older_needs),
    ("stores of older versions", older_versions),
]

if __name__ == "__main__":
    sys.exit(run_cases(Server, CASES))
