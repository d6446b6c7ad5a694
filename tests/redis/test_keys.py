#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The keys that the engine makes: no name that a user can choose spells one of them, and a call that
fails leaves all of them as they were. Items and queues as they are kept in them
(src/engine/redis/script/items.lua): test_keys.py LK [CASE]

Clients are the program `lk`; what is in the server is compared key by key.
"""
import os
import re
import subprocess
import sys

from test_errors import EXITS, RIGHTS, Server, Wrong, expect, run_cases

# All that may be there (docs/redis.md): a key's form, and its type.
KEYS = [
    (rb"[^{}/]+", "string"),  # values
    (rb"\{[^{}/]+\}/[^{}]+", "string"),
    (rb"\{[^{}/]+\}:lk:h", "hash"),
    (rb"\{[^{}/]+\}:lk:h[0-9]+\.[0-7]", "hash"),
    (rb"\{[^{}/]+\}:lk:t", "zset"),
    (rb"\{[^{}/]+\}:lk:p", "zset"),
    (rb"\{[^{}/]+\}:lk:d", "hash"),
    (rb"\{[^{}/]+\}:lk:a", "list"),
    (rb"\{[^{}/]+\}:lk:i", "hash"),
    (rb"\{[^{}/]+\}:lk:q", "zset"),
    (rb"\{[^{}/]+\}:lk:s(:[^{}]+)?", "zset"),
    (rb"\{\}:lk:w(:.+)?", "zset"),
    (rb"\{\}:lk:f", "string"),
]

# Every key in the order of their names: name, type and what it has. Left out are the floor, which a
# call may raise whatever becomes of it, sorted sets of a guard alone, and until when an owner waits.
DUMP = """
local all = {}
local names = redis.call('KEYS', '*')
table.sort(names)
for _, name in ipairs(names) do
    local kind = redis.call('TYPE', name).ok
    local has = {}
    if kind == 'string' then
        has = {redis.call('GET', name)}
    elseif kind == 'hash' then
        for _, field in ipairs(redis.call('HKEYS', name)) do
            has[#has + 1] = field .. '=' .. redis.call('HGET', name, field)
        end
    elseif kind == 'zset' then
        for _, member in ipairs(redis.call('ZRANGE', name, 0, -1)) do
            if member ~= '' and member ~= '~' then
                local score = name:find('{}', 1, true) and '' or redis.call('ZSCORE', name, member)
                has[#has + 1] = member .. '=' .. score
            end
        end
    elseif kind == 'list' then
        has = redis.call('LRANGE', name, 0, -1)
    end
    table.sort(has)
    if name ~= '{}:lk:f' and #has > 0 then
        all[#all + 1] = name .. ' ' .. kind .. ' ' .. redis.sha1hex(table.concat(has, '\\0\\0'))
    end
end
return all
"""

# Names that look like the engine's keys, or like the marks in them.
NAMES = ["lk:waits:bob", ":lk:f", ":lk:w:bob", ":lk:h", "r:lk:h", "lk:e:0", "0", "h", "*", "\\",
         "\u00e9"]
OWNERS = NAMES[:5] + ["}", "{}", "}:lk:h", "x}:lk:a", "{r}:lk:h", "{}:lk:f", "f", "bob", "\n", "\x01"]


class Keys(Server):
    def dump(self):
        return self.redis("EVAL", DUMP, "0").splitlines()

    def names(self):
        """Every key, as bytes."""
        result = subprocess.run(["redis-cli", "-s", self.path(), "--no-raw", "KEYS", "*"],
                                capture_output=True, check=True)
        names = re.findall(rb'"((?:[^"\\]|\\.)*)"\n?', result.stdout)
        return [name.decode("unicode_escape").encode("latin-1") for name in names]

    def kind(self, name):
        return subprocess.run(["redis-cli", "-s", self.path(), "TYPE", name],
                              capture_output=True, check=True).stdout.decode().strip()

    def fails(self, status, *words, **options):
        """The call fails, and has changed nothing."""
        before = self.dump()
        self.answers(status, *words, **options)
        after = self.dump()
        expect(after == before, f"{words}: {set(after) ^ set(before)}")


def values_beside_waits(t):
    """A value at a path with the name of the key that once kept where an owner waits."""
    t.single()
    t.answers("ok", "put", "lk:waits:bob", "hello")
    for owner in ("alice", "carol", "dave"):
        t.answers("granted", "acquire", "--try", "--shared", "db/t1", owner=owner)
    t.answers("waiting", "acquire", "--queue", "db/t1", owner="bob")
    t.answers("waiting", "acquire", "--queue", "db/t1", owner="erin")
    for owner in ("alice", "carol", "dave"):
        t.answers("ok", "release", "db/t1", owner=owner)
    t.answers("granted", "acquire", "--try", "db/t1", owner="bob")
    expect(t.redis("GET", "lk:waits:bob") == "hello", "the value")


def hostile_names(t):
    """Every kind of name at every place where a user can say one."""
    t.single()
    t.answers("granted", "acquire", "--try", "r/held", "other", "--ttl", "1h", owner="holder")
    for i, owner in enumerate(OWNERS):
        t.answers("granted", "acquire", "--try", f"r/{i}", owner=owner)
        t.answers("waiting", "acquire", "--queue", "r/held", "other", owner=owner)
        t.answers("ok", "release", f"r/{i}", owner=owner)
    for name in NAMES:
        t.answers("ok", "put", name, f"value of {name}")
        t.answers("ok", "put", f"r/{name}", f"value of r/{name}")
        t.answers("ok", "push", name, name, name)
        t.answers("granted", "claim", name, owner=name)
        t.answers("busy", "claim", name, owner="}:lk:s")
        t.answers("ok", "done", name, name, owner=name)
        t.answers("granted", "acquire", "--try", name, owner="x}:lk:h")
        t.answers("granted", "acquire", "--try", f"r/{name}", owner=name)
        t.answers("ok", "break", f"r/{name}", "--reason", name)
    for name in t.names():
        fitting = [kind for form, kind in KEYS if re.fullmatch(form, name, re.DOTALL)]
        expect(len(fitting) == 1, f"{name}: {len(fitting)} kinds of keys are called so")
        expect(t.kind(name) in (fitting[0], "none"), f"{name} is no {fitting[0]}")  # or has perished
    for name in NAMES:
        for path, key in ((name, name), (f"r/{name}", "{r}/" + name)):
            expect(t.redis("GET", key) == f"value of {path}", f"the value of {path}")
    listed = t.lk("ls")
    expect(listed["exit"] == 0, f"{listed}")
    t.answers("ok", "audit")


def an_expiry_stays(t):
    """An item's own expiry outlives what is put there (R15)."""
    t.single()
    t.redis("SET", "session", "hello", "EX", "1000")
    t.redis("SET", "{root}/session", "hello", "EX", "1000")
    for path, key in (("session", "session"), ("root/session", "{root}/session")):
        t.answers("ok", "put", path, "first")
        t.answers("granted", "acquire", "--try", path, "--value")
        t.answers("ok", "release", path, "--put", "second")
        expect(t.redis("GET", key) == "second", "the value")
        expect(900 < int(t.redis("TTL", key)) <= 1000, f"the expiry: {t.redis('TTL', key)}")
    t.answers("ok", "put", "new", "value")
    expect(t.redis("TTL", "new") == "-1", "a new value has no expiry")


# A path, and the key of its value (R1, R15): %XX stands for what no path has.
ESCAPED = [
    ("most%20recent%20news", "most recent news"),
    ("user:%7B42%7D:cart", "user:{42}:cart"),
    ("%7B42%7D%20cart", "{42} cart"),
    ("a%2Fb%3Fc%7Bd", "a/b?c{d"),
    ("tab%09%7F", "tab\t\x7f"),
    ("news/most%20recent/%7Ball%7D", "{news}/most recent/{all}"),
    ("all%20news/of%20today", "{all news}/of today"),
    ("user:%7B42%7D/cart%201", "{42}user:%7B42%7D/cart 1"),
    # What stands for itself.
    ("%41%2f%C2%A0%00%", "%41%2f%C2%A0%00%"),
    ("open%7D%20close", "open%7D%20close"),
    ("%7Br%7D:lk:h", "%7Br%7D:lk:h"),
    ("%7Br%7D%2Fx", "%7Br%7D%2Fx"),
]


def lock_beside(t, cli):
    """Each path locks beside its key, in the key's slot, and is listed under its own name."""
    for i, (path, key) in enumerate(ESCAPED):
        cli(key, "SET", key, f"value {i}")
        answer = t.answers("granted", "acquire", "--try", path, "--value")
        expect(answer["value"] == f"value {i}", f"{path}: {answer}")
        t.answers("busy", "acquire", "--try", path, owner="you")
        held = [each["path"] for each in t.lk_lines("ls")]
        expect(held == [path], f"{path} is listed as {held}")
        t.answers("waiting", "acquire", "--queue", path, owner="you")
        t.answers("ok", "release", path, "--put", f"new {i}")
        expect(cli(key, "GET", key) == f"new {i}", f"{key} is not what was put")
        t.answers("granted", "acquire", "--try", path, owner="you")
        t.answers("ok", "break", path, "--now", "--reason", "a test")
        expect(any(each["path"] == path for each in t.lk_lines("audit")), f"{path}: no record")
        t.answers("ok", "put", path, "third")
        expect(t.answers("ok", "get", path)["value"] == "third", f"{path}: no value")
        expect(cli(key, "GET", key) == "third", f"{key}: its value")


def escapes(t):
    t.single()
    lock_beside(t, lambda _, *words: t.redis(*words))
    t.answers("granted", "acquire", "--try", "a%20b", "a%20b/c", "x", owner="a b")
    t.answers("ok", "push", "my%20queue", "1", "--needs", "a%20b")
    t.answers("busy", "claim", "my%20queue")
    t.answers("ok", "release", "a%20b", "a%20b/c", "x", owner="a b")
    t.answers("granted", "claim", "my%20queue")


def escapes_in_a_cluster(t):
    t.cluster()
    ports = [url.split(":")[-1] for url in t.url.removeprefix("redis://").split(",")]
    lock_beside(t, lambda _, *words: t.cli("-c", "-p", ports[0], *words).strip())
    names = ["most%20recent%20news", "all%20news"]
    t.answers("granted", "acquire", "--try", *names)
    waiting = subprocess.Popen([t.program, "-S", t.url, "acquire", "--wait", "60s", names[0]],
                               stdout=subprocess.DEVNULL, env={**os.environ, "LK_OWNER": "you"})
    t.wait("the queue", lambda: any(each["state"] == "waiting" for each in t.lk_lines("ls")))
    t.answers("ok", "release", *names)
    expect(waiting.wait(60) == 0, "a waiter is not granted")


SCENE = (("acquire", "--try", "r/one", "--value"), ("acquire", "--try", "r/two"),
         ("push", "r/queue", "1"), ("claim", "r/queue"), ("push", "r/queue", "2", "value"),
         ("put", "r/one", "value", "--owner", "me"))
CALLS = (("acquire", "--try", "r/new"), ("acquire", "--try", "r"), ("acquire", "--queue", "r/two"),
         ("acquire", "--try", "r/new", "other/new"), ("renew", "r/one"), ("release", "r/two"),
         ("release", "r/one", "--put", "later"), ("break", "r/two", "--reason", "x", "--now"),
         ("push", "r/queue", "3", "value"), ("claim", "r/queue"), ("done", "r/queue", "1"),
         ("retry", "r/queue", "1"))


def another_type(t):
    """Whatever of the engine's keys is something else: what fails changes nothing."""
    t.single()
    for key in ("{r}:lk:h", "{r}:lk:t", "{r}:lk:p", "{r}:lk:d", "{r}:lk:a", "{r}:lk:i", "{r}:lk:q",
                "{other}:lk:h", "{other}:lk:p", "{}:lk:w:me", "{}:lk:f"):
        t.redis("FLUSHALL")
        for words in SCENE:
            t.answers("granted" if words[0] in ("acquire", "claim") else "ok", *words)
        t.answers("waiting", "acquire", "--queue", "r/two", "other", owner="you")
        t.redis("DEL", key)
        t.redis(*(("RPUSH", key) if key.endswith("f") else ("SET", key)), "of something else")
        failed = 0
        for i, words in enumerate(CALLS):
            before = t.dump()
            answer = t.lk(*words, owner="you" if i == 2 else "me")
            if answer["exit"] == EXITS["internal"]:
                failed += 1
                after = t.dump()
                expect(after == before, f"{key}: {words}: {set(after) ^ set(before)}")
        expect(failed > 0, f"no call meets {key}")


def rights_of_some_keys(t):
    """A user whose rights end at some key: all of a call is done, or nothing."""
    server = t.single_with_port()
    weak = f"redis://weak:secret@{server}"

    def may(*keys, channels=("&lk:e:*",)):
        t.redis("ACL", "SETUSER", "weak", "reset", "on", ">secret",
                *[rule for rule in RIGHTS if rule[0] == "+"], *channels,
                *[f"~{key}" for key in keys])

    def scene():
        t.redis("FLUSHALL")
        t.answers("granted", "acquire", "--try", "db/t1", owner="weak")
        t.answers("granted", "acquire", "--try", "db/t2", owner="weak")
        t.answers("waiting", "acquire", "--queue", "db/t1", "other/x", owner="strong")

    scene()
    may("db*", "{db}*", "{}:lk:*")  # but not what the waiting batch needs
    t.fails("denied", "release", "db/t1", url=weak, owner="weak")
    t.fails("denied", "acquire", "--queue", "db/t2", "other", url=weak, owner="you")
    t.answers("ok", "release", "db/t2", url=weak, owner="weak")
    t.answers("ok", "release", "db/t1", owner="weak")
    t.answers("granted", "acquire", "--try", "db/t1", "other/x", owner="strong")
    for missing in ("{}:lk:*", "{db}:lk:p", "{db}:lk:t", "{db}*"):
        scene()
        may(*(key for key in ("db*", "{db}:lk:h*", "{db}:lk:p", "{db}:lk:t", "{other}*", "other*",
                              "{}:lk:*")
              if key != missing and not (missing == "{db}*" and key.startswith("{db}"))))
        t.fails("denied", "acquire", "--try", "db/new", url=weak, owner="weak")
        t.fails("denied", "acquire", "--try", "db/new", "db/more", url=weak, owner="weak")
        t.fails("denied", "acquire", "--queue", "db/t1", url=weak, owner="you")
    scene()
    may("*", channels=())  # no message is sent, and all the rest is done
    t.answers("ok", "release", "db/t1", url=weak, owner="weak")
    t.answers("granted", "acquire", "--try", "db/t1", "other/x", owner="strong")


def expect_no_items(t):
    """The keys of the root q have no item, nor what belongs to one."""
    fields = t.redis("HKEYS", "{q}:lk:i").split("\n")
    expect([field for field in fields if field[:1] not in ("c", "n")] == [], f"{fields}")
    entries = t.redis("ZRANGE", "{q}:lk:q", "0", "-1").split("\n")
    expect([entry for entry in entries if entry[:1] != "c"] == [], f"{entries}")


def nothing_stays(t):
    """Of what has blocked items nothing stays, however many roots have done so."""
    t.single()
    for root, items in (("one", 1), ("some/a", 3), ("many", 20)):
        t.answers("granted", "acquire", root, owner="ann")
        for i in range(items):
            t.answers("ok", "push", "q/blocked", f"{i}", "--needs", f"{root}/{i}")
        t.answers("busy", "claim", "q/blocked", owner="worker")
        t.answers("ok", "release", root, owner="ann")
        for i in range(items):
            t.answers("granted", "claim", "q/blocked", owner="worker")
            t.answers("ok", "done", "q/blocked", f"{i}", owner="worker")
        expect_no_items(t)
    for path, words in (("dropped", ("--needs", "dropped")), ("q/blocked/1", ()),
                        ("q/blocked/1", ("--needs", "free"))):
        t.answers("granted", "acquire", path, owner="ann")
        t.answers("ok", "push", "q/blocked", "1", *words)
        t.answers("busy", "claim", "q/blocked", owner="worker")
        t.answers("ok", "drop", "q/blocked", "1")
        expect_no_items(t)
        t.answers("ok", "release", path, owner="ann")
        t.answers("busy", "claim", "q/blocked", owner="worker")
        expect_no_items(t)


def no_head_stays(t):
    """Nor of the heads of strict needs, nor of what has waited for them (R16)."""
    t.single()
    strict = ("--needs", "q/k?strict", "--needs", "k/l?strict")

    def begin():
        t.answers("ok", "push", "q", "1", *strict)
        t.answers("granted", "claim", "q", owner="worker")

    for items in (0, 1, 3, 20):
        begin()
        for i in range(items):
            t.answers("ok", "push", "q", f"{i}th", "--needs", "q/k?strict", "--needs", f"q/{i}")
        t.answers("busy", "claim", "q", owner="worker")
        t.answers("ok", "retry", "q", "1", "--park", owner="worker")
        t.answers("busy", "claim", "q", owner="worker")
        t.answers("ok", "drop", "q", "1")
        for i in range(items):
            t.answers("granted", "claim", "q", owner="worker")
            t.answers("ok", "done", "q", f"{i}th", owner="worker")
        expect_no_items(t)
    for needs in (), strict[:2], strict:
        begin()
        t.answers("ok", "push", "q", "1", "--again", *needs)
        t.answers("ok", "done", "q", "1", owner="worker")
        t.answers("ok", "cancel", "q", "1", "--reason", "not wanted")
        expect_no_items(t)


def one_sleeper_of_a_pool(t):
    """A push wakes a worker that is in the queue's set of sleepers. Of a pool only one is."""
    t.single()

    def sleeps():
        return t.redis("ZCARD", "{q}:lk:s:q") == "1"

    log = os.path.join(t.folder, "handled")
    with subprocess.Popen([t.program, "-q", "-S", t.url, "work", "q", "--workers", "8", "--", "sh", "-c",
                           'echo "$LK_ITEM_ID" >>"$0"', log], stdin=subprocess.DEVNULL) as pool:
        try:
            for item in ("first", "second", "third"):
                t.answers("ok", "push", "q", item)
                t.wait(item, lambda: os.path.exists(log) and item in open(log, encoding="ascii").read())
                t.wait("the sleeper", sleeps)
        finally:
            pool.terminate()


CASES = [
    ("a value beside a waiting owner", values_beside_waits),
    ("hostile names", hostile_names),
    ("an expiry stays", an_expiry_stays),
    ("escapes", escapes),
    ("escapes in a cluster", escapes_in_a_cluster),
    ("another type", another_type),
    ("rights of some keys", rights_of_some_keys),
    ("one sleeper of a pool", one_sleeper_of_a_pool),
    ("nothing stays of what has blocked items", nothing_stays),
    ("nothing stays of the heads of strict needs", no_head_stays),
]

if __name__ == "__main__":
    sys.exit(run_cases(Keys, CASES))
