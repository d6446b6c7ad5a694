#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""runs.py RUN --job ENGINE WORD...: the benchmarks of an engine, as short as can be.

Each program runs to its end, the rows are well formed, charts and page can be made of them. Nothing
is said of the figures: no test asserts on time.

runs.py RUN --killed: whatever kills a run of benchmarks, no process of it stays, nor one that has ended. The
benchmark is a shell with two servers: one that has left its parent and its session, as a database's does, and
one that does not heed SIGTERM.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import page as report_page  # noqa: E402  (it is in bench/)
import report  # noqa: E402


def last_words(lines):
    """What each program that failed said last: a summary of many tests shows but these lines."""
    return [f"# {lines[at]}" for number, line in enumerate(lines) if "] FAILED (" in line
            for at in range(max(0, number - 3), number + 1)]


def play_jobs(run, words):
    work = pathlib.Path(tempfile.mkdtemp(prefix="lk-test-bench-"))
    os.chmod(work, 0o755)  # the servers' users get there
    cases = []
    try:
        engine = words[1]
        page = work / "performance.md"
        done = subprocess.run(
            [run, "--results", work / "results", "--page", page, *words], check=False, text=True,
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            env=dict(os.environ, LK_BENCH="smoke", TMPDIR=str(work)))
        lines = done.stdout.splitlines()
        for line in lines:
            print(f"# {line}")
        cases.append((done.returncode == 0, f"the benchmarks of {engine} run to their end"))
        try:
            rows = report.read(work / "results" / f"{engine}.csv")
        except (report.Malformed, OSError) as why:
            print(f"# {why}")
            rows = []
        cases.append((bool(rows), "their rows are well formed"))
        programs = {pathlib.Path(word).name for word in words
                    if pathlib.Path(word).name.startswith("bench-")} - {"bench-echo"}
        told = {row["program"] for row in rows}
        silent = {name for name in programs if not any(name.startswith(each) for each in told)}
        print(f"# without a row: {sorted(silent)}")
        cases.append((not silent, "each program has told a row"))
        pictures = list((work / "results").glob("*.svg"))
        for picture in pictures:
            xml.etree.ElementTree.parse(picture)
        details = report_page.details_of(page)
        cases.append((all(file.exists() and f"## {report.ENGINES[engine]}" in file.read_text()
                          for file in (page, details)),
                      f"two pages and {len(pictures)} charts are made of them"))
        notes = [line for line in report_page.notes(engine) if line]
        print(f"# notes: {len(notes)} lines")
        cases.append((page.exists() and set(notes) <= set(page.read_text().splitlines()),
                      "the page has the notes about them"))
        left = [path.name for path in work.iterdir()
                if path.name not in ("results", page.name, details.name)]
        print(f"# left: {left}")
        cases.append((not left, "nothing else is left of the run"))
    finally:
        shutil.rmtree(work, ignore_errors=True)
    for number, (is_good, title) in enumerate(cases, start=1):
        print(f"{'ok' if is_good else 'not ok'} {number} - {title}")
        if number == 1:
            print("\n".join(last_words(lines)) or "# each program ended well")
    print(f"1..{len(cases)}")
    return 0 if all(is_good for is_good, _ in cases) else 1


# ---- runs that are killed

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


def play_kills(run):
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
    sys.exit(play_kills(sys.argv[1]) if sys.argv[2] == "--killed" else play_jobs(sys.argv[1], sys.argv[2:]))
