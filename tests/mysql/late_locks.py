#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: with_server.sh late_locks.py LK

Calls between whose steps another one decides. An ask inserts its row, and a release deletes its row, before
it locks the root: each one waits for that lock behind a transaction that decides something else first, which
must count. And two owners that each hold what the other asks for, in two trees that no decision locks
together, ask in the same moment, over and over: exactly one of the two is answered DEADLOCK (R13). Prints TAP.
"""

import os
import random
import secrets
import subprocess
import sys
import time

SOCKET = os.environ["LK_TEST_SERVER"] + "/socket"
PATIENCE_S = 60
ROUNDS = 60
ASKS_MAX = 20  # the second one finds the cycle at the latest
APART_MAX_S = 0.004

seed = int(os.environ.get("LK_TEST_SEED") or secrets.randbits(32))
rng = random.Random(seed)

count = 0
failures = 0


class Session:
    """A client of the server whose statements are sent without waiting for their answers."""

    def __init__(self):
        self.client = subprocess.Popen(
            ["mariadb", "--no-defaults", "-u", "root", "-S", SOCKET, "-N", "-B", "-n", "test"],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def send(self, sql):
        self.client.stdin.write(sql + ";\n")
        self.client.stdin.flush()

    def answer(self):
        line = self.client.stdout.readline()
        if not line:
            raise SystemExit("Bail out! the client of the server has ended")
        return line.rstrip("\n").split("\t")

    def run(self, sql):
        self.send(sql)
        return self.answer()


def ok(text, holds, seen):
    global count, failures
    count += 1
    if not holds:
        failures += 1
        print(f"# {seen}")
    print(f"{'ok' if holds else 'not ok'} {count} - {text}", flush=True)


def ask(owner, path, limit, style="try"):
    units = 1 if limit else 0
    root = path.split("/")[0]
    return (f"CALL lk_ask('{owner}', '{path}', '{limit}', '{units}', '{path}', '{root}', '{style}',"
            f" 60000, 0, '', 16, 0)")


def release(owner, path, token):
    root = path.split("/")[0]
    return f"CALL lk_release('{owner}', '{path}', '{path}', '{root}', {token}, '', NULL)"


def request(owner, path, limit, held):
    """SQL: another one, with the next number of the root."""
    root = path.split("/")[0]
    units = 1 if limit else 0
    return (f"UPDATE lk_roots SET last_draw = last_draw + 1, has_waiting = {not held}"
            f" WHERE root = '{root}';"
            "INSERT INTO lk_requests (part, path, unit_limit, units, root, owner, note, held, attended,"
            " fixed, wants_value, ticket, token, ttl_ms, deadline_us, identity, roots, part_count)"
            f" SELECT 1, '{path}', {limit}, {units}, r.root, '{owner}', '', {held}, FALSE, FALSE, FALSE,"
            f" r.last_draw, IF({held}, r.last_draw, 0), 60000, UNIX_TIMESTAMP() * 1000000 + 60000000,"
            f" UNHEX(SHA2(CONCAT('{path}', '\\n', '{owner}'), 256)), r.root, 1"
            f" FROM lk_roots AS r WHERE r.root = '{root}'")


def behind(first, other, call, root, change):
    """What `call` answers, which waits for the root while `change` is made."""
    first.run(f"START TRANSACTION; SELECT root FROM lk_roots WHERE root = '{root}' FOR UPDATE")
    other.send(call)
    until = time.monotonic() + PATIENCE_S
    while first.run("SELECT COUNT(*) FROM information_schema.INNODB_TRX"
                    " WHERE trx_state = 'LOCK WAIT'") != ["1"]:
        if time.monotonic() > until:
            raise SystemExit("Bail out! the call does not wait for the root")
        time.sleep(0.2)  # the server keeps that table as it was for readers that come within 0.1 s
    first.run(f"{change}; COMMIT; SELECT 1")
    return other.answer()


def live(session, path):
    """Owners, and whether they hold."""
    return session.run(f"SELECT COALESCE(GROUP_CONCAT(owner, ':', held ORDER BY owner), '')"
                       f" FROM lk_requests WHERE path = '{path}'")[0]


def test_asks(first, other):
    for number, limit in enumerate((2, 0)):
        path = f"ask{number}/it"
        root = path.split("/")[0]
        grant = first.run(ask("ann", path, limit))
        if limit == 0:
            first.run(release("ann", path, grant[4]))
        got = behind(first, other, ask("bob", path, limit), root, request("eve", path, limit, True))
        ok(f"limit {limit}: a try is refused that another ask has overtaken", got[0] == "busy", got)
        expected = "ann:1,eve:1" if limit else "eve:1"
        ok("and leaves nothing", live(first, path) == expected, live(first, path))
    first.run(ask("ann", "later/it", 3))
    got = behind(first, other, ask("bob", "later/it", 3), "later",
                 "UPDATE lk_roots SET last_draw = last_draw + 60000000 WHERE root = 'later'")
    drawn = first.run("SELECT last_draw FROM lk_roots WHERE root = 'later'")[0]
    kept = first.run("SELECT ticket, token FROM lk_requests WHERE owner = 'bob' AND path = 'later/it'")
    ok("an ask draws after what was drawn meanwhile", got[0] == "granted" and got[3:5] == [drawn] * 2,
       (got, drawn))
    ok("and its row has this number", kept == [drawn] * 2, (kept, drawn))
    got = behind(first, other, ask("eve", "later/it", 3, "queue"), "later",
                 request("zoe", "later/it", 0, False))
    ok("an ask waits behind one that was queued meanwhile", got[0] == "waiting", got)
    got = live(first, "later/it")
    ok("in the queue", got == "ann:1,bob:1,eve:0,zoe:0", got)


def test_releases(first, other):
    for number, limit in enumerate((0, 1)):
        path = f"end{number}/it"
        grant = first.run(ask("ann", path, limit))
        got = behind(first, other, release("ann", path, grant[4]), path.split("/")[0],
                     request("zoe", path, limit, False))
        ok(f"limit {limit}: a lease is released while another ask is queued", got[0] == "ok", got)
        ok("which is granted", live(first, path) == "zoe:1", live(first, path))


def hold(sessions, number):
    paths = [f"x{number}/1", f"y{number}/1"]
    for session, owner, path in zip(sessions, "ab", paths):
        assert session.run(ask(f"{owner}{number}", path, 0))[0] == "granted"
    return paths


def close_unseen(session, number, paths):
    """Both wait as if they had asked in the same moment: a's request is made as another owner's."""
    assert session.run(ask(f"b{number}", paths[0], 0, "queue"))[0] == "waiting"
    assert session.run(ask("other", paths[1], 0, "queue"))[0] == "waiting"
    session.run(f"UPDATE lk_requests SET owner = 'a{number}', identity = UNHEX(SHA2(CONCAT("
                f"path, '\\n', 'a{number}'), 256)) WHERE owner = 'other'; SELECT 1")


def ask_at_once(sessions, number, paths, apart_max_s):
    for session, owner, path in zip(sessions, "ab", reversed(paths)):
        session.send(ask(f"{owner}{number}", path, 0, "queue"))
        time.sleep(rng.random() * apart_max_s)
    return [session.answer()[0] for session in sessions]


def duel(sessions, number):
    """How often the two were answered DEADLOCK, and what they were answered."""
    paths = hold(sessions, number)
    if number % 4 == 0:
        said = [ask_at_once(sessions, number, paths, 0)]
    else:
        close_unseen(sessions[0], number, paths)
        said = []
    while not any("deadlock" in answers for answers in said) and len(said) < ASKS_MAX:
        # One after the other by so little that their searches overlap.
        said.append(ask_at_once(sessions, number, paths, APART_MAX_S))
    return sum(answers.count("deadlock") for answers in said), said


def test_duels(sessions):
    print(f"# LK_TEST_SEED={seed}")
    wrong = []
    for number in range(ROUNDS):
        times, said = duel(sessions, number)
        if times != 1:
            wrong.append(f"round {number}: {said}")
    ok("exactly one of the two gives way", not wrong, wrong)


def main():
    subprocess.run([sys.argv[1], "-S", f"mysql://root@/test?socket={SOCKET}", "acquire", "--try",
                    "--owner", "first", "made"], check=True, stdout=subprocess.DEVNULL)
    first, other = Session(), Session()
    test_asks(first, other)
    test_releases(first, other)
    test_duels([first, other])
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
