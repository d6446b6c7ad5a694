#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Keys that are flushed, deleted or evicted while the server goes on and no connection breaks:
test_loss.py LK [CASE]

A request that waits is asked for again, and LOST only where it was ended. A lease is LOST at its next
renewal, and nothing of it stays behind. Clients are the program `lk`.
"""
import subprocess
import sys

from test_errors import EXITS, Server, expect, run_cases

LONG = ("--ttl", "1h")


class Loss(Server):
    def wait_at(self, *paths, owner=None):
        """A client that waits for these paths and then says so."""
        words = ("--owner", owner) if owner else ()
        return subprocess.Popen([self.program, "-S", self.url, "run", "--wait", "50s", *words,
                                 *paths, "--", "echo", "ran"],
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)

    def wait_for_waiting(self, path, count):
        self.wait(f"{count} queued at {path}", lambda: count == len(
            [line for line in self.lk_lines("ls", path) if line["state"] == "waiting"]))

    def delete(self, pattern):
        """Deletes the keys that fit; some do."""
        deleted = self.redis("EVAL", "local keys = redis.call('KEYS', ARGV[1]) "
                             "return redis.call('DEL', unpack(keys))", "0", pattern)
        expect(int(deleted) > 0, f"{pattern}: nothing to delete")


def runs(waiter, what, is_forgotten=True):
    out, err = waiter.communicate()
    expect(waiter.returncode == 0 and out == "ran\n"
           and (not is_forgotten or "asked for again" in err),
           f"{what}: {waiter.returncode} {out!r} {err!r}")


def is_lost(waiter, what):
    out, err = waiter.communicate()
    expect(waiter.returncode == EXITS["lost"] and out == "",
           f"{what}: {waiter.returncode} {out!r} {err!r}")


LOSSES = [
    ("FLUSHALL", lambda t: t.redis("FLUSHALL")),
    ("FLUSHDB", lambda t: t.redis("FLUSHDB", "ASYNC")),
    ("SWAPDB", lambda t: t.redis("SWAPDB", "0", "7")),
    ("a root deleted", lambda t: t.delete("{x}:lk:*")),
    ("a hash evicted", lambda t: t.delete("{x}:lk:h")),
    ("a root and the floor deleted", lambda t: t.delete("{*}:lk:[hptf]")),
]


def waiters_are_asked_for_again(t):
    t.single()
    for what, lose in LOSSES:
        token = t.answers("granted", "acquire", "--try", "x/y", *LONG, owner="holder")["token"]
        waiters = [t.wait_at("x/y"), t.wait_at("x/y"), t.wait_at("x")]
        t.wait_for_waiting("x", 3)
        lose(t)
        for i, waiter in enumerate(waiters):
            runs(waiter, f"{what}: waiter {i}")
        t.answers("lost", "renew", "x/y", "--token", str(token), owner="holder")
        after = t.answers("granted", "acquire", "--try", "x", owner="holder")["token"]
        expect(after > token, f"{what}: token {after} after {token}")
        t.answers("ok", "release", "x", owner="holder")


def what_was_ended_stays_so(t):
    """A withdrawal leaves no record: it is known by a root that has kept its data."""
    t.single()
    for path, word, other in (("x", "release", "*other*"), ("x/y", "release", "*other*"),
                              ("x/y", "break", "*other*"), ("x/y", "break", "{x}:lk:h")):
        what = f"{path}, {word}, {other} deleted"
        t.answers("granted", "acquire", "--try", path, *LONG, owner="holder")
        t.answers("granted", "acquire", "--try", "other", *LONG, owner="holder")
        waiter = t.wait_at(path, owner="waiter")
        t.wait_for_waiting(path, 1)
        if word == "break":
            t.answers("ok", "break", path, "--owner", "waiter", "--reason", "a test")
        else:
            t.answers("ok", "release", path, owner="waiter")
        t.delete(other)
        is_lost(waiter, what)
        t.redis("FLUSHALL")


def a_lease_that_is_torn(t):
    """Some of the roots of a batch are gone: it is LOST, and holds nothing any more."""
    t.single()
    for lost, left in (("a", "b"), ("b", "a")):
        t.answers("granted", "acquire", "--try", "a", "b", *LONG, owner="holder")
        t.delete(f"{{{lost}}}:lk:*")
        t.answers("granted", "acquire", "--try", lost, *LONG, owner="other")
        t.answers("busy", "acquire", "--try", left, owner="other")
        t.answers("lost", "renew", "a", "b", owner="holder")
        t.answers("granted", "acquire", "--try", left, owner="third")
        t.answers("busy", "acquire", "--try", lost, owner="third")
        t.answers("ok", "release", lost, owner="other")
        t.answers("ok", "release", left, owner="third")
        # The same lease asked for again; and one that ends by its deadline.
        t.answers("granted", "acquire", "--try", "a", "b", *LONG, owner="holder")
        t.delete(f"{{{lost}}}:lk:*")
        t.answers("granted", "acquire", "--try", "a", "b", *LONG, owner="holder")
        t.answers("busy", "acquire", "--try", "a", owner="other")
        t.answers("busy", "acquire", "--try", "b", owner="other")
        t.answers("granted", "acquire", "--try", "a", "b", "--ttl", "1s", owner="holder")
        t.delete(f"{{{lost}}}:lk:*")
        t.answers("granted", "acquire", "--try", lost, *LONG, owner="other")
        t.wait("the deadline", lambda left=left:
               t.lk("acquire", "--try", left, owner="third")["exit"] == 0)
        t.answers("busy", "acquire", "--try", lost, owner="third")
        t.answers("ok", "release", lost, owner="other")
        t.answers("ok", "release", left, owner="third")
        t.answers("granted", "acquire", "--try", "a", "b", owner="third")
        t.answers("ok", "release", "a", "b", owner="third")


def a_waiting_batch_that_is_torn(t):
    t.single()
    for lost, left in (("a", "b"), ("b", "a")):
        t.answers("granted", "acquire", "--try", left, *LONG, owner="holder")
        waiter = t.wait_at("a", "b")
        t.wait_for_waiting(left, 1)
        t.delete(f"{{{lost}}}:lk:*")
        t.answers("ok", "release", left, owner="holder")
        runs(waiter, f"{lost} deleted")
        t.answers("granted", "acquire", "--try", "a", "b", owner="third")
        t.answers("ok", "release", "a", "b", owner="third")


def indexes_that_are_lost(t):
    """The sorted sets of a root: no waiter is overlooked, and expired entries go."""
    t.single()
    for pattern in ("{x}:lk:p", "{x}:lk:t", "{x}:lk:[tp]"):
        t.answers("granted", "acquire", "--try", "x/y", *LONG, owner="holder")
        waiters = [t.wait_at("x/y"), t.wait_at("x/y")]
        t.wait_for_waiting("x", 2)
        t.delete(pattern)
        t.answers("granted", "acquire", "--try", "x/z", owner="fast")
        t.answers("ok", "release", "x/z", owner="fast")
        t.answers("ok", "release", "x/y", owner="holder")
        for waiter in waiters:
            runs(waiter, pattern, is_forgotten=False)
        t.answers("granted", "acquire", "--try", "x/y", "--ttl", "1s", owner="dead")
        t.answers("granted", "acquire", "--try", "x/z", *LONG, owner="other")
        t.delete(pattern)
        runs(t.wait_at("x/y"), f"{pattern}, one that died", is_forgotten=False)
        t.answers("ok", "release", "x/z", owner="other")
        for key in ("{x}:lk:t", "{x}:lk:p"):
            expect(int(t.redis("PTTL", key)) > 0, f"{pattern}: {key} stays for ever")


def waiters_in_a_cluster(t):
    """In a cluster, where a batch over several slots holds some and waits for others."""
    t.cluster()
    roots = ("apple", "banana", "cherry")
    slots = {t.cli("-p", t.url.rsplit(":", 1)[1], "CLUSTER", "KEYSLOT", root) for root in roots}
    expect(len(slots) == 3, f"the roots are in slots of their own: {slots}")
    for flushed in (("banana",), ("apple", "cherry"), roots):
        for root in ("banana", "cherry"):
            t.answers("granted", "acquire", "--try", root, *LONG, owner="holder")
        waiters = [t.wait_at(*roots), t.wait_at("banana/x"), t.wait_at("cherry")]
        t.wait_for_waiting("cherry", 1)
        t.wait("the waiters at banana", lambda: len(
            [line for line in t.lk_lines("ls", "banana") if line["state"] == "waiting"]) >= 1)
        for root in flushed:
            for line in t.flush:
                t.cli(*line.split()[1:3], "DEL", *(f"{{{root}}}:lk:{key}" for key in "htpf"))
        for root in ("banana", "cherry"):
            if root not in flushed:
                t.answers("ok", "release", root, owner="holder")
        for i, waiter in enumerate(waiters):
            runs(waiter, f"{flushed}: waiter {i}", is_forgotten=False)
    t.answers("granted", "acquire", "--try", "banana", *LONG, owner="holder")
    waiters = [t.wait_at("banana"), t.wait_at("banana/x")]
    t.wait_for_waiting("banana", 2)
    for line in t.flush:
        t.cli(*line.split()[1:])  # the replicas refuse it
    for i, waiter in enumerate(waiters):
        runs(waiter, f"FLUSHALL: waiter {i}")


def blocked_items(t):
    """Items whose needs were taken are claimed once those are free, whatever was lost of either."""
    t.single()

    def block(lost):
        t.answers("ok", "push", "jobs/q", lost, "--needs", "need/a", "--needs", "other/b")
        t.answers("granted", "acquire", "need/a", *LONG, owner="ann")
        t.answers("busy", "claim", "jobs/q", owner="worker")
        t.answers("busy", "claim", "jobs/q", owner="worker")

    def is_claimed(lost):
        claimed = t.answers("granted", "claim", "jobs/q", owner="worker")
        expect(claimed["id"] == lost, f"{claimed}")
        t.answers("ok", "done", "jobs/q", lost, owner="worker")

    block("news")
    expect(t.redis("DEL", "{need}:lk:b") == "1", "what was blocked is noted")
    t.answers("ok", "release", "need/a", owner="ann")
    is_claimed("news")

    block("lease")
    t.delete("{need}:lk:[htp]*")
    is_claimed("lease")

    block("lease2")
    t.delete("{need}:lk:[htp]*")
    t.answers("granted", "acquire", "need/c", *LONG, owner="ann")
    t.answers("ok", "push", "jobs/p", "1", "--needs", "need/c")
    t.answers("busy", "claim", "jobs/p", owner="worker")
    is_claimed("lease2")


def heads(t):
    """The head of a strict need (R16) is lost with the items of its root, and with nothing else."""
    t.single()
    strict = ("--needs", "jobs/k?strict")

    def begin():
        for item in ("1", "2"):
            t.answers("ok", "push", "jobs/q", item, *strict)
        t.answers("granted", "claim", "jobs/q", owner="worker")
        t.answers("ok", "retry", "jobs/q", "1", "--park", owner="worker")
        t.answers("busy", "claim", "jobs/q", owner="worker")

    begin()
    t.delete("{jobs}:lk:[htpb]*")
    t.answers("busy", "claim", "jobs/q", owner="worker")
    t.delete("{jobs}:lk:[iq]")
    begin()
    t.delete("{jobs}:lk:i")
    t.answers("ok", "push", "jobs/q", "3", *strict)
    claimed = t.answers("granted", "claim", "jobs/q", owner="worker")
    expect(claimed["id"] == "3", f"{claimed}")


CASES = [
    ("waiters are asked for again", waiters_are_asked_for_again),
    ("what was ended stays so", what_was_ended_stays_so),
    ("a lease that is torn", a_lease_that_is_torn),
    ("a queued batch that is torn", a_waiting_batch_that_is_torn),
    ("indexes that are lost", indexes_that_are_lost),
    ("blocked items", blocked_items),
    ("heads", heads),
    ("waiters in a cluster", waiters_in_a_cluster),
]

if __name__ == "__main__":
    sys.exit(run_cases(Loss, CASES))
