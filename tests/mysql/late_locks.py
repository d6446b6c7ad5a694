#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: with_server.sh late_locks.py LK

An ask inserts its row, and a release deletes its row, before it locks the root. Here each one waits for
that lock behind a transaction that decides something else first, which must count. Prints TAP.
"""

import subprocess
import sys
import time

from session import SOCKET, Session

PATIENCE_S = 60

count = 0
failures = 0


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


def main():
    subprocess.run([sys.argv[1], "-S", f"mysql://root@/test?socket={SOCKET}", "acquire", "--try",
                    "--owner", "first", "made"], check=True, stdout=subprocess.DEVNULL)
    first, other = Session(), Session()
    test_asks(first, other)
    test_releases(first, other)
    print(f"1..{count}")
    return failures > 0


if __name__ == "__main__":
    sys.exit(main())
