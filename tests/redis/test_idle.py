#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What workers send that found only items which are not free: test_idle.py LK [CASE]

One of them sleeps for all, and looks by itself every 5 s. A look costs the same beside few such items and beside
many, in commands that the server counts, and many items make no more looks.
"""
import json
import subprocess
import sys

from test_errors import Server, expect, run_cases

FEW, MANY, OWN_ROOTS, WORKERS, LOOKS = 10, 10000, 300, 4, 2
EVERY_S = 5  # the client library's POLL_US
COMMANDS_MORE = 20  # far less than one for each item
OWN_COMMANDS = ("info", "config", "time", "zcard")  # this program's


class Idle(Server):
    def counted(self):
        """Calls of the script, commands in them, and the server's time in seconds."""
        calls = commands = 0
        for line in self.redis("INFO", "commandstats").splitlines():
            name, _, rest = line.partition(":calls=")
            count = int(rest.split(",")[0]) if rest else 0
            if name == "cmdstat_evalsha":
                calls = count
            elif name.startswith("cmdstat_") and name[8:].split("|")[0] not in OWN_COMMANDS:
                commands += count
        return calls, commands, float(".".join(self.redis("TIME").split()))

    def push(self, queue, items):
        lines = "".join(json.dumps(item) + "\n" for item in items)
        result = subprocess.run([self.program, "-S", self.url, "push", queue, "-"], input=lines,
                                capture_output=True, text=True, check=False)
        expect(result.returncode == 0, f"push: {result}")

    def commands_of_a_look(self, queue):
        """Workers of this queue sleep; what each of their next looks costs."""
        workers = subprocess.Popen([self.program, "-q", "-S", self.url, "work", queue, "--workers",
                                    str(WORKERS), "--", "false"], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            self.wait("the first looks", lambda: self.counted()[0] >= WORKERS)
            self.wait("a sleeper", lambda: self.redis("ZCARD", f"{{{queue}}}:lk:s:{queue}") != "0")
            self.redis("CONFIG", "RESETSTAT")
            began = self.counted()[2]
            self.wait("their looks", lambda: self.counted()[0] >= LOOKS)
            calls, commands, ended = self.counted()
            expect(calls <= (ended - began) / EVERY_S + 3,
                   f"{queue}: {calls} looks in {ended - began} s")
            print(f"# {queue}: {calls} looks of {commands / calls} commands in {ended - began} s")
            return commands / calls
        finally:
            workers.terminate()
            workers.wait()


def compare(t, make, sizes):
    t.single()
    costs = []
    for size in sizes:
        queue = f"q{size}"
        locks, items = make(size, queue)
        for path in locks:
            t.answers("granted", "acquire", "--try", "--ttl", "1h", path, owner="holder")
        t.push(queue, items)
        t.redis("CONFIG", "RESETSTAT")
        costs.append(t.commands_of_a_look(queue))
    expect(costs[1] <= costs[0] + COMMANDS_MORE, f"{costs}")


def one_need(t):
    compare(t, lambda size, queue: ([f"one{queue}"],
                                    [{"id": str(i), "needs": [f"one{queue}"]} for i in range(size)]),
            (FEW, MANY))


def roots_of_their_own(t):
    compare(t, lambda size, queue: ([f"{queue}-{i}" for i in range(size)],
                                    [{"id": str(i), "needs": [f"{queue}-{i}"]} for i in range(size)]),
            (FEW, OWN_ROOTS))


def locked_themselves(t):
    compare(t, lambda size, queue: ([f"{queue}/{i}" for i in range(size)],
                                    [{"id": str(i)} for i in range(size)]), (FEW, OWN_ROOTS))


CASES = [
    ("a need of all is taken", one_need),
    ("a need of each is taken, under a root of its own", roots_of_their_own),
    ("each item is locked", locked_themselves),
]

if __name__ == "__main__":
    sys.exit(run_cases(Idle, CASES))
