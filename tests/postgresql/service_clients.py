#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Commands of lk, which name three services on one store in their URL, while the one that leads is
killed, stopped and continued, or terminated. LK STORE"""

import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import threading
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from services import FAILOVER_MS, Services, until  # noqa: E402

WORKERS = 3
TTL = "10m"  # waiters repeat their asks each third of it: after the limit
LIMIT_S = 120
ALONE = 'mkdir "$0" || exit 9; echo "$1" >>"$2"; sleep 0.05; rmdir "$0"'


class Commands:
    """lk, with the URL of all services, in a directory of its own."""

    def __init__(self, lk, services, directory):
        addresses = ",".join("%s:%d" % member.resp for member in services.members)
        self.words = [os.path.abspath(lk), "-S", f"lk://{addresses}"]
        self.directory = directory
        self.begun = []

    def begin(self, *words):
        process = subprocess.Popen([*self.words, *words], cwd=self.directory, text=True,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.begun.append(process)
        return process

    def call(self, *words):
        """What it prints; it must succeed."""
        output, errors = self.begin(*words).communicate(timeout=LIMIT_S)
        code = self.begun.pop().returncode
        assert code == 0, (words, code, errors)
        return output

    def run_alone(self, path, name, log):
        """`lk run` of a command that fails when it is not alone at that path."""
        return ("run", "--ttl", TTL, path, "--", "sh", "-c", ALONE, f"in-{path}", name, log)

    def lines(self, name):
        path = os.path.join(self.directory, name)
        return pathlib.Path(path).read_text().split() if os.path.exists(path) else []

    def count(self, path):
        return len(self.call("ls", path, "--json").splitlines())

    def end(self):
        for process in self.begun:
            if process.poll() is None:
                process.kill()
            process.communicate()


class Worker(threading.Thread):
    """Runs one command after the other, at a path that all workers use."""

    def __init__(self, commands, number):
        super().__init__()
        self.commands, self.name_ = commands, f"w{number}"
        self.is_over = False
        self.runs = 0
        self.wrong = None

    def run(self):
        while not self.is_over and self.wrong is None:
            words = [*self.commands.words,
                     *self.commands.run_alone("shared", self.name_, "shared-log")]
            ended = subprocess.run(words, cwd=self.commands.directory, text=True,
                                   capture_output=True, timeout=LIMIT_S)
            self.runs += 1
            if ended.returncode != 0:
                self.wrong = f"{self.name_}: {ended.returncode} {ended.stderr}"


class Watcher(threading.Thread):
    """`lk watch` of the paths that are granted at another service during each fault."""

    def __init__(self, commands):
        super().__init__()
        self.process = commands.begin("watch", "mark", "--json")
        self.events = []
        self.start()
        until(lambda: commands.call("run", "mark/start", "--", "true") == "" and self.events)

    def run(self):
        for line in self.process.stdout:
            self.events.append(json.loads(line))

    def granted(self):
        paths = [path for event in list(self.events) if event["event"] == "granted"
                 for path in event["paths"]]
        return [path for path in paths if path != "mark/start"]

    def check(self):
        """Each grant is seen once, in order, whichever service told it; nothing is missing."""
        expected = [f"mark/{fault.__name__}" for fault in FAULTS]
        until(lambda: len(self.granted()) >= len(expected) or self.process.poll() is not None)
        self.process.send_signal(signal.SIGTERM)
        self.join(LIMIT_S)
        assert self.granted() == expected, self.events
        numbers = [event["sequence"] for event in self.events]
        assert numbers == sorted(set(numbers)), numbers
        assert not any(event["event"] == "gap" for event in self.events), self.events


def kill(commands, services):
    leader = services.leader()
    leader.end(signal.SIGKILL)
    commands.call("run", "mark/kill", "--", "true")
    leader.start()


def stop(commands, services):
    """Connections to the leader stay, without a word: a waiter has to find out that it is gone."""
    leader = services.leader()
    holder = commands.begin("run", "--ttl", TTL, "handed", "--", "sh", "-c",
                            "until [ -e hand ]; do sleep 0.05; done")
    until(lambda: commands.count("handed") == 1)
    waiter = commands.begin(*commands.run_alone("handed", "next", "handed-log"))
    until(lambda: commands.count("handed") == 2)
    os.kill(leader.process.pid, signal.SIGSTOP)
    try:
        pathlib.Path(commands.directory, "hand").touch()
        for process in (holder, waiter):
            _, errors = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, (process.args, process.returncode, errors)
        commands.call("run", "mark/stop", "--", "true")
    finally:
        os.kill(leader.process.pid, signal.SIGCONT)


def terminate(commands, services):
    leader = services.leader()
    assert leader.end() == 0
    commands.call("run", "mark/terminate", "--", "true")
    leader.start()


FAULTS = [kill, stop, terminate]


def report_on_the_leader(commands, services):
    """`lk doctor` examines the one that leads, whichever is named first."""
    _, others = services.followers()
    for member in others:
        url = commands.words[2].replace("lk://", "lk://%s:%d," % member.resp)
        report = commands.call("-S", url, "doctor", "-v")
        assert "\nloading: 0\n" in report, report


def play(commands, services):
    report_on_the_leader(commands, services)
    watcher = Watcher(commands)
    holder = commands.begin("run", "--ttl", TTL, "long", "--", "sh", "-c",
                            "mkdir in-long || exit 9; until [ -e end ]; do sleep 0.05; done; "
                            "rmdir in-long")
    until(lambda: os.path.exists(os.path.join(commands.directory, "in-long")))
    waiters = []
    for name in ("first", "second", "third"):
        waiters.append(commands.begin(*commands.run_alone("long", name, "long-log")))
        until(lambda: commands.count("long") == 1 + len(waiters))
    workers = [Worker(commands, i) for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    try:
        for fault in FAULTS:
            fault(commands, services)
            before = [worker.runs for worker in workers]
            until(lambda: all(w.runs > b or w.wrong for w, b in zip(workers, before)))
            assert commands.count("long") == 4, "the lease and the queue are as they were"
    finally:
        for worker in workers:
            worker.is_over = True
        for worker in workers:
            worker.join(LIMIT_S)
    assert not [w.wrong for w in workers if w.wrong], [w.wrong for w in workers if w.wrong]
    assert holder.poll() is None and commands.lines("long-log") == []
    pathlib.Path(commands.directory, "end").touch()
    for process in (holder, *waiters):
        _, errors = process.communicate(timeout=LIMIT_S)
        assert process.returncode == 0, (process.args, process.returncode, errors)
    assert commands.lines("long-log") == ["first", "second", "third"], commands.lines("long-log")
    watcher.check()


def main():
    trouble = ""
    services = Services(sys.argv[1], sys.argv[2])
    services.restart(FAILOVER_MS)
    print("1..1", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        commands = Commands(sys.argv[1], services, directory)
        try:
            play(commands, services)
        except Exception:
            trouble = traceback.format_exc()
        finally:
            commands.end()
            for member in services.members:
                if member.process is not None:
                    member.process.kill()
    print(f"{'not ok' if trouble else 'ok'} 1 - runs, waiters and watchers go on while the service "
          "that leads is killed, stopped or terminated", flush=True)
    for line in trouble.splitlines():
        print(f"# {line}", flush=True)
    sys.exit(1 if trouble else 0)


main()
