#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""smoke.py RUN --job ENGINE WORD...: the benchmarks of an engine, as short as can be.

Each program runs to its end, the rows are well formed, charts and page can be made of them. Nothing
is said of the figures: no test asserts on time.
"""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "bench"))
import report  # noqa: E402  (it is in bench/)


def last_words(lines):
    """What each program that failed said last: a summary of many tests shows but these lines."""
    return [f"# {lines[at]}" for number, line in enumerate(lines) if "] FAILED (" in line
            for at in range(max(0, number - 3), number + 1)]


def main(run, words):
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
        cases.append((page.exists() and f"## {report.ENGINES[engine]}" in page.read_text(),
                      f"a page and {len(pictures)} charts are made of them"))
        notes = [line for line in report.notes(engine) if line]
        print(f"# notes: {len(notes)} lines")
        cases.append((page.exists() and set(notes) <= set(page.read_text().splitlines()),
                      "the page has the notes about them"))
        left = [path.name for path in work.iterdir() if path.name not in ("results", page.name)]
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


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
