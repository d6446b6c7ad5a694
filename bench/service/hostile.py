#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: hostile.py LK

What hostile clients (tests/listeners/attacks.py) cost an honest one that has its connection: the p99 of its calls
beside them, and alone. Both are taken in turns of half a second, in which the hostile clients run or are stopped,
so that what else the machine does slows down both alike.

Hostile clients are other machines. So they have the last processor, and the service and its honest client the
first one: without that the figure would be how the kernel shares a processor. Where there is one processor only,
all share it.
"""
import csv
import os
import pathlib
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "tests" / "listeners"))
import attacks  # noqa: E402  (it is in tests/)
from attacks import PASSWORD, Honest, guarded, with_password  # noqa: E402
from service import Service  # noqa: E402

SECTION = "Beside hostile clients: the p99 of an honest client's calls"
BAR = 0.5  # of the rate alone: at most twice the time
ROUNDS = {"smoke": 1, "short": 3}.get(os.environ.get("LK_BENCH"), 5)
TURNS = {"smoke": 1, "short": 4}.get(os.environ.get("LK_BENCH"), 8)  # of a round
TURN_S = 0.5
PROCESSORS = sorted(os.sched_getaffinity(0))
SETTLE_S = 0.1


def median(values):
    return sorted(values)[len(values) // 2]


def p99_us(times):
    return sorted(times)[int(len(times) * 0.99)] * 1e6


def sample(honest):
    times = []
    end = time.monotonic() + TURN_S
    while time.monotonic() < end:
        begin = time.monotonic()
        honest.pair()
        times.append((time.monotonic() - begin) / 2)
    return times


def one_round(honest, processes):
    """The p99 beside the hostile clients, and alone."""
    alone, beside = [], []
    for _ in range(TURNS):
        for number, times in ((signal.SIGSTOP, alone), (signal.SIGCONT, beside)):
            for process in processes:
                os.kill(process.pid, number)
            time.sleep(SETTLE_S)
            times += sample(honest)
    return p99_us(beside), p99_us(alone)


def row(what, rounds):
    beside, alone = zip(*rounds)
    ratios = [quiet / loud for loud, quiet in rounds]
    ratio = median(ratios)
    print(f"{what}: {median(alone):.0f} us alone, {median(beside):.0f} us beside them, "
          f"{1 / ratio:.2f} times ({1 / max(ratios):.2f} to {1 / min(ratios):.2f})", flush=True)
    return ["hostile", SECTION, what, "", "us", median(beside), min(beside), max(beside), "the same client alone",
            median(alone), min(alone), max(alone), ratio, min(ratios), max(ratios), "at least", BAR,
            "yes" if ratio >= BAR else "no", len(rounds), ""]


def measure(what, honest, kinds):
    processes = attacks.begin(honest.service, PASSWORD, kinds, {PROCESSORS[-1]})
    rounds = [one_round(honest, processes) for _ in range(ROUNDS)]
    attacks.end(processes)
    return row(what, rounds)


def each_kind(program, options):
    """On a service of its own: what one kind has used up, it does not leave to the next."""
    for kinds in [attacks.ATTACKS] + [[kind] for kind in attacks.ATTACKS]:
        own = Service(program, *options)
        honest = Honest(own)
        assert honest.resp.call("PUT", "large", b"v" * 60000) == "OK"
        name = "twelve kinds at once" if len(kinds) > 1 else kinds[0].__name__.replace("_", " ")
        yield measure(name, honest, kinds)
        assert own.end() == 0


def main(program):
    os.sched_setaffinity(0, {PROCESSORS[0]})
    with with_password() as options:
        rows = list(each_kind(program, options))
    with guarded(program) as (own, trust):
        rows.append(measure("users and TLS: five kinds at once", Honest(own, trust, ("ana", PASSWORD)),
                            attacks.TLS_ATTACKS))
    if os.environ.get("LK_BENCH_CSV"):
        with open(os.environ["LK_BENCH_CSV"], "a", encoding="utf-8", newline="") as file:
            csv.writer(file).writerows(rows)


main(sys.argv[1])
