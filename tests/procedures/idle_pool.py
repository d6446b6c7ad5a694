#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What an idle pool asks its store: as much with sixteen workers as with one.

usage: idle_pool.py LK URL STATEMENTS COMMAND [ARGUMENT...]

The command prints how many statements, or calls, the server has had so far. Such a pool comes to rest:
then there are at most so many STATEMENTS in five seconds. An item that is pushed afterwards is handled,
also when whichever worker waited for it has been killed. A worker at work asks no more, whether it
holds one claim or many: it looks for those that are revoked (R12) with one statement a second at most.
"""

import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

LK, URL, STATEMENTS, *COUNT = sys.argv[1:]
WINDOW_S = 5
PATIENCE_S = 120


def lk(*arguments):
    subprocess.run([LK, "-q", "-S", URL, *arguments], stdin=subprocess.DEVNULL, check=True)


def count():
    """Statements so far, without this program's own: what one count adds is taken off."""
    first, second = (int(subprocess.run(COUNT, capture_output=True, text=True, check=True).stdout)
                     for _ in range(2))
    return first, second


class Pool:
    def __init__(self, workers, place, *options, queue="q", command='echo "$LK_ITEM_ID" >>"$0"'):
        self.log = pathlib.Path(place, f"log{queue}{workers}")
        self.log.touch()
        self.process = subprocess.Popen(
            [LK, "-q", "-S", URL, "work", queue, "--workers", str(workers), *options, "--",
             "sh", "-c", command, self.log],
            stdin=subprocess.DEVNULL)

    def workers(self):
        task = pathlib.Path("/proc", str(self.process.pid), "task", str(self.process.pid), "children")
        return [int(pid) for pid in task.read_text().split()]

    def handles(self, item):
        lk("push", "q", item)
        self.await_logged(item)

    def await_logged(self, item):
        end = time.monotonic() + PATIENCE_S
        while item not in self.log.read_text().split():
            assert time.monotonic() < end, f"{item} is not handled"
            time.sleep(0.01)

    def end(self):
        self.process.terminate()
        self.process.wait()

    def end_at_once(self):
        """The same of one that is at work: the second signal ends its command."""
        self.process.terminate()
        time.sleep(0.1)
        self.process.terminate()
        self.process.wait()


def statements_at_rest():
    """Waits until the pool is at rest; what it asks in the time of a window then."""
    end = time.monotonic() + PATIENCE_S
    while True:
        first, begun = count()
        own = begun - first
        began = time.monotonic()
        time.sleep(WINDOW_S)
        after, _ = count()
        asked = (after - begun - own) * WINDOW_S / (time.monotonic() - began)
        if asked <= int(STATEMENTS) or time.monotonic() > end:
            return asked


def rest(workers, place):
    pool = Pool(workers, place)
    try:
        pool.handles(f"first{workers}")
        asked = statements_at_rest()
        print(f"# {workers} workers: {asked:.0f} statements in {WINDOW_S} s")
        assert asked <= int(STATEMENTS), asked
        pool.handles(f"last{workers}")
    finally:
        pool.end()


def at_work(claims, place):
    queue = f"long{claims}"
    for number in range(claims):
        lk("push", queue, str(number))
    pool = Pool(1, place, "--ttl", "1h", "--batch", str(claims), queue=queue,
                command='echo "$LK_ITEMS" | wc -w >>"$0"; exec sleep 600')
    try:
        pool.await_logged(str(claims))
        asked = statements_at_rest()
        print(f"# {claims} claims held: {asked:.0f} statements in {WINDOW_S} s")
        assert asked <= int(STATEMENTS), asked
    finally:
        pool.end_at_once()


def killed(place):
    pool = Pool(3, place)
    try:
        for number in range(3):
            pool.handles(f"item{number}")
            os.kill(pool.workers()[0], signal.SIGKILL)
        pool.handles("last")
    finally:
        pool.end()


def main():
    cases = [("one worker", lambda place: rest(1, place)), ("sixteen", lambda place: rest(16, place)),
             ("a worker that holds one claim", lambda place: at_work(1, place)),
             ("one that holds many", lambda place: at_work(32, place)),
             ("workers that are killed", killed)]
    failed = 0
    print(f"1..{len(cases)}")
    with tempfile.TemporaryDirectory(prefix="lk-idle-") as place:
        for number, (name, case) in enumerate(cases, 1):
            try:
                case(place)
                print(f"ok {number} - {name}", flush=True)
            except (AssertionError, subprocess.CalledProcessError) as error:
                failed += 1
                print(f"not ok {number} - {name}: {error!r}", flush=True)
    return failed


if __name__ == "__main__":
    sys.exit(main())
