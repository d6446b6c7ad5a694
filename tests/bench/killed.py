#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""killed.py RUN: whatever kills a run of benchmarks, no process of it stays, nor one that has ended.

The benchmark is a shell with two servers: one that has left its parent and its session, as a
database's does, and one that does not heed SIGTERM.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SECONDS_MAX = 60

PROGRAM = """
setsid sh -c 'echo $$ >"$0/detached"; exec sleep 600' "$0" &
sh -c 'trap "" TERM; echo $$ >"$0/stubborn"; while :; do sleep 600; done' "$0" &
echo $$ >"$0/program"
wait
"""


# As with_server.sh does: a server that left its parent is ended, and the program waits until it is
# gone, which it is not before it is reaped.
PATIENT = """
sh -c 'setsid sleep 600 & echo $! >"$0/server"' "$0"
server=$(cat "$0/server")
kill "$server"
while kill -0 "$server" 2>/dev/null; do sleep 0.02; done
"""


def is_there(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as stat:
            return stat.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def wait_for(condition):
    until = time.monotonic() + SECONDS_MAX
    while not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.02)
    return True


def number_in(file):
    text = file.read_text() if file.exists() else ""
    return int(text) if text.endswith("\n") else None


def play(run, number, work):
    """Whether all processes end, and the directory of the run goes."""
    notes, temporary = work / "notes", work / "tmp"
    notes.mkdir()
    temporary.mkdir()
    process = subprocess.Popen([run, "--job", "engine", "sh", "-c", PROGRAM, str(notes)],
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                               stderr=subprocess.DEVNULL, start_new_session=True,
                               env=dict(os.environ, TMPDIR=str(temporary)))
    files = [notes / name for name in ("detached", "stubborn", "program")]
    is_good = wait_for(lambda: all(number_in(file) for file in files))
    pids = [number_in(file) for file in files if number_in(file)]
    process.send_signal(number)
    process.wait()
    is_good = wait_for(lambda: not any(is_there(pid) for pid in pids)) and is_good
    is_good = wait_for(lambda: not list(temporary.iterdir())) and is_good
    for pid in pids:
        if is_there(pid):
            print(f"# {pid} is still there")
            os.kill(pid, signal.SIGKILL)
    return is_good


def is_reaped(run, work):
    done = subprocess.run([run, "--job", "engine", "sh", "-c", PATIENT, str(work)], check=False,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL, timeout=SECONDS_MAX,
                          env=dict(os.environ, TMPDIR=str(work)))
    return done.returncode == 0


def main(run):
    numbers = [signal.SIGKILL, signal.SIGTERM, signal.SIGINT]
    is_good = True
    for case, number in enumerate(numbers, start=1):
        work = pathlib.Path(tempfile.mkdtemp(prefix="lk-test-bench-"))
        try:
            ended = play(run, number, work)
        finally:
            shutil.rmtree(work, ignore_errors=True)
        print(f"{'ok' if ended else 'not ok'} {case} - {number.name} leaves no server running")
        is_good = is_good and ended
    work = pathlib.Path(tempfile.mkdtemp(prefix="lk-test-bench-"))
    try:
        reaped = is_reaped(run, work)
    except subprocess.TimeoutExpired:
        reaped = False
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"{'ok' if reaped else 'not ok'} {len(numbers) + 1} - what a program ends is soon gone")
    is_good = is_good and reaped
    print(f"1..{len(numbers) + 1}")
    return 0 if is_good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
