#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: with_server.sh deadlock_race.py LK

Two owners that each hold what the other asks for, in two trees that no decision locks together, ask in
the same moment, over and over: exactly one of the two is answered DEADLOCK (R13). Prints TAP.
"""

import os
import random
import secrets
import subprocess
import sys
import time

from session import SOCKET, Session

ROUNDS = 60
ASKS_MAX = 20  # the second one finds the cycle at the latest

APART_MAX_S = 0.004

seed = int(os.environ.get("LK_TEST_SEED") or secrets.randbits(32))
rng = random.Random(seed)


def ask(owner, path, style):
    root = path.split("/")[0]
    return f"CALL lk_ask('{owner}', '{path}', '0', '0', '{path}', '{root}', '{style}', 60000, 0, '', 16, 0)"


def hold(sessions, number):
    paths = [f"x{number}/1", f"y{number}/1"]
    for session, owner, path in zip(sessions, "ab", paths):
        assert session.run(ask(f"{owner}{number}", path, "try"))[0] == "granted"
    return paths


def close_unseen(session, number, paths):
    """Both wait as if they had asked in the same moment: a's request is made as another owner's."""
    assert session.run(ask(f"b{number}", paths[0], "queue"))[0] == "waiting"
    assert session.run(ask("other", paths[1], "queue"))[0] == "waiting"
    session.run(f"UPDATE lk_requests SET owner = 'a{number}', identity = UNHEX(SHA2(CONCAT("
                f"path, '\\n', 'a{number}'), 256)) WHERE owner = 'other'; SELECT 1")


def ask_at_once(sessions, number, paths, apart_max_s):
    for session, owner, path in zip(sessions, "ab", reversed(paths)):
        session.send(ask(f"{owner}{number}", path, "queue"))
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


def main():
    url = f"mysql://root@/test?socket={SOCKET}"
    subprocess.run([sys.argv[1], "-S", url, "put", "made", "yes"], check=True, stdout=subprocess.DEVNULL)
    sessions = [Session(), Session()]
    print(f"# LK_TEST_SEED={seed}")
    wrong = 0
    for number in range(ROUNDS):
        count, said = duel(sessions, number)
        if count != 1:
            wrong += 1
            print(f"# round {number}: {said}")
    print(f"{'not ' if wrong else ''}ok 1 - exactly one of the two gives way")
    print("1..1")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
