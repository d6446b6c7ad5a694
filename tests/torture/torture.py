#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Concurrent histories on stores to which faults happen, round after round.

usage: torture.py [--seconds N] [--rounds N | --minutes N] [--seed N] [--tap] BUILD ENGINE...

A round is one history (tests/conformance/concurrent) of about N seconds on a fresh store, and what the
checker of its logs says. Its seed is the first one's and its number: a round that failed is run again
by --rounds 1 --seed ITS-SEED. The rounds of all engines come in turn, so that each has about as many
when it is stopped; a table of all ends the output. --tap: for meson, and no table.

Where this may mount a file system, stores are in one of their own, which faults fill.
"""
import argparse
import collections
import os
import pathlib
import re
import secrets
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
TESTS = HERE.parent
DISK_MIB = {"sqlite": 48, "service": 96, "postgresql": 320, "mysql": 512, "redis": 32,
            "redis-cluster": 64}  # what a store needs, its log included, and something to fill
SERVERS = {"postgresql": [TESTS / "postgresql/with_server.sh", "--durable"],
           "mysql": [TESTS / "mysql/with_server.sh", "--durable"]}
OPTIONS = {"mysql": ["--one-root"], "redis-cluster": ["--one-root"]}
ENGINES = ("sqlite", "service", "service-ephemeral", "postgresql", "mysql", "redis",
           "redis-cluster", "shm", "redis-without-file")
MUST_FAIL = ("redis-without-file",)  # it loses what was acknowledged, and the checker must see that
MS_AT_100 = 8000  # of a history with faults at LK_TEST_SCALE 100
KILLS_AT_100 = 400  # of tests/canal/test_stress.c
COLUMNS = ("rounds", "seconds", "calls", "killed", "stopped", "kill", "pause", "cut", "lose",
           "stall", "fill", "unavailable", "values", "touches", "fenced", "items", "violations")
PATTERNS = {
    "calls": r"^# (\d+) calls:",
    "killed": r"processes, (\d+) of them killed",
    "stopped": r"(\d+) times one stopped",
    "unavailable": r"faults; (\d+) calls UNAVAILABLE",
    "values": r"checked: (\d+) values",
    "touches": r"(\d+) uses of a resource",
    "fenced": r"resource \((\d+) refused\)",
    "items": r"(\d+) items,",
    "violations": r"^# (\d+) violations",
}


def can_mount():
    """Whether a file system can be mounted where no other process sees it."""
    with tempfile.TemporaryDirectory() as place:
        words = ["unshare", "-m", "mount", "-t", "tmpfs", "-o", "size=64k", "none", place]
        try:
            return subprocess.run(words, stderr=subprocess.DEVNULL, check=False).returncode == 0
        except OSError:
            return False


class Disk:
    """A small file system for one store; a folder where none can be mounted."""

    def __init__(self, mib):
        self.place = tempfile.mkdtemp(prefix="disk-")
        self.is_mounted = False
        if mib and os.environ.get("LK_TEST_MOUNTS") == "own":
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={mib}m,mode=1777", "none",
                            self.place], check=True)
            self.is_mounted = True
        os.chmod(self.place, 0o1777)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        if self.is_mounted:
            subprocess.run(["umount", "-l", self.place], check=False)
        shutil.rmtree(self.place, ignore_errors=True)


def figures_of(output):
    found = collections.Counter()
    for name, pattern in PATTERNS.items():
        match = re.search(pattern, output, re.MULTILINE)
        found[name] += int(match.group(1)) if match else 0
    for kind, count in re.findall(r"(\w+)=(\d+)", (re.findall("^# faults: (.*)", output,
                                                              re.MULTILINE) or [""])[-1]):
        found[kind] += int(count)
    return found


class Torture:
    def __init__(self, options):
        self.options = options
        self.build = options.build.resolve()
        self.totals = {engine: collections.Counter() for engine in options.engines}
        self.failed = []
        self.child = None

    def run(self, words, **environment):
        """Output and exit code, of a process that is ended when this one is."""
        self.child = subprocess.Popen(
            [str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment})
        try:
            return self.child.communicate()[0], self.child.returncode
        finally:
            if self.child.returncode is None:
                self.child.terminate()
                self.child.wait()

    def history(self, engine, seed):
        concurrent = self.build / "tests/conformance/concurrent"
        with Disk(DISK_MIB.get(engine)) as disk:
            words = [*SERVERS.get(engine, []), HERE / "with_faults.py", engine, self.build / "lk",
                     concurrent / "history", concurrent / "history_checker",
                     *OPTIONS.get(engine, [])]
            environment = {
                "TMPDIR": disk.place,
                "LK_TEST_LOGS": disk.place if engine in MUST_FAIL else tempfile.gettempdir(),
                "LK_TEST_SEED": str(seed),
                "LK_TEST_SCALE": str(max(1, round(self.options.seconds * 1e5 / MS_AT_100)))}
            if disk.is_mounted:
                environment["LK_TEST_DISK"] = disk.place
            return self.run(words, **environment)

    def stress(self, seed):
        """Shared memory has no calls to be noted; its own test sees the counters themselves."""
        scale = max(1, round(self.options.seconds * 30))
        output, code = self.run([self.build / "tests/canal/test-canal-stress"],
                                LK_TEST_SEED=str(seed), LK_TEST_SCALE=str(scale))
        granted = sum(map(int, re.findall(r"# (\d+) granted", output)))
        full = sum(map(int, re.findall(r"(\d+) full", output)))
        kills = KILLS_AT_100 * scale // 100
        return (f"# {granted + full} calls:\n# processes, {kills} of them killed\n"
                f"# {int(code != 0)} violations\n{output}"), code

    def round(self, engine, number):
        seed = self.options.seed + number
        begun = time.monotonic()
        output, code = self.stress(seed) if engine == "shm" else self.history(engine, seed)
        figures = figures_of(output)
        if engine in MUST_FAIL:
            code = int(code == 0 or figures["violations"] == 0)
        figures.update(rounds=1, seconds=round(time.monotonic() - begun))
        self.totals[engine].update(figures)
        if code != 0:
            self.failed.append(f"{engine} --seed {seed}")
        if code != 0 or self.options.tap:
            print("".join(f"# {line.removeprefix('# ')}\n" for line in output.splitlines()
                          if not line.startswith(("1..", "ok ", "not ok "))), end="")
        if self.options.tap:
            what = ("what is lost is found" if engine in MUST_FAIL
                    else "nothing is lost by faults, and all goes on")
            print(f"{'ok' if code == 0 else 'not ok'} {engine}: {what}", flush=True)
        else:
            faults = " ".join(f"{name} {figures[name]}" for name in COLUMNS[3:11] if figures[name])
            print(f"{time.strftime('%H:%M:%S')} {engine:18} round {number + 1}/"
                  f"{self.options.rounds} seed {seed}: {figures['calls']} calls; {faults}; "
                  f"{figures['violations']} violations{'' if code == 0 else '; FAILED'}", flush=True)

    def table(self):
        rows = [("engine", *COLUMNS)]
        rows += [(engine, *(str(total[name]) for name in COLUMNS))
                 for engine, total in self.totals.items()]
        widths = [max(map(len, column)) for column in zip(*rows)]
        print()
        for row in rows:
            print(row[0].ljust(widths[0]), *(cell.rjust(width)
                                             for cell, width in zip(row[1:], widths[1:])))
        for failure in self.failed:
            print(f"failed: torture.py --rounds 1 --seconds {self.options.seconds} BUILD {failure}")
        print("nothing granted twice, nothing acknowledged lost" if not self.failed
              else f"{len(self.failed)} rounds failed")


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--seconds", type=float, default=20)
    parser.add_argument("--rounds", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=0, help="for each engine, in place of rounds")
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--tap", action="store_true")
    parser.add_argument("build", type=pathlib.Path)
    parser.add_argument("engines", nargs="+", choices=ENGINES)
    options = parser.parse_args()
    if options.minutes:
        options.rounds = max(1, round(options.minutes * 60 / options.seconds))
    if options.seed is None:
        options.seed = int(os.environ.get("LK_TEST_SEED") or secrets.randbits(32))
    if "LK_TEST_MOUNTS" not in os.environ:
        own = can_mount()
        os.environ["LK_TEST_MOUNTS"] = "own" if own else "none"
        if own:  # whatever ends this, what it has mounted ends with it
            os.execvp("unshare", ["unshare", "-m", sys.executable, "-B", *sys.argv,
                                  *([] if "--seed" in sys.argv else [f"--seed={options.seed}"])])
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(130))
    if options.tap:
        print(f"1..{options.rounds * len(options.engines)}", flush=True)
    elif os.environ["LK_TEST_MOUNTS"] == "none":
        print("no file system can be mounted here: no disk is filled")
    torture = Torture(options)
    try:
        for number in range(options.rounds):
            for engine in options.engines:
                torture.round(engine, number)
    finally:
        if not options.tap:
            torture.table()
    return 1 if torture.failed else 0


if __name__ == "__main__":
    sys.exit(main())
