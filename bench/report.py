# SPDX-License-Identifier: Apache-2.0
"""What becomes of the benchmarks' rows: the table, the kept results and the charts.

The page is made of them by page.py.
"""
import csv
import datetime
import math
import os
import pathlib
import platform
import re
import shutil
import subprocess

import charts

COLUMNS = ["program", "section", "what", "size", "unit", "ours", "ours_low", "ours_high", "peer",
           "theirs", "theirs_low", "theirs_high", "ratio", "ratio_low", "ratio_high", "bar_kind",
           "bar", "holds", "rounds", "missing"]
NUMBERS = ["size", "ours", "ours_low", "ours_high", "theirs", "theirs_low", "theirs_high", "ratio",
           "ratio_low", "ratio_high", "bar", "rounds"]

ENGINES = {"model": "The model", "sqlite": "SQLite", "postgresql": "PostgreSQL",
           "mysql": "MariaDB", "redis": "Redis", "service": "The service",
           "shm": "Shared memory"}

# How each is asked for its version.
PROGRAMS = {
    "redis": ["redis-server", "--version"],
    "etcd": ["etcd", "--version"],
    "java": ["java", "-version"],
    "MariaDB": ["mariadbd", "--version"],
    "PostgreSQL": ["psql", "--version"],
    "Erlang": ["erl", "-noshell", "-eval",
               'io:format("OTP ~s~n", [erlang:system_info(otp_release)]), halt().'],
    "Node.js": ["node", "--version"],
    "flock": ["flock", "--version"],
}
PACKAGES = {"ZooKeeper": "zookeeper"}
NODE_PACKAGES = ["graphile-worker", "pg-boss", "redlock"]


class Malformed(Exception):
    """The file is not what the reporter in bench.c writes."""


# ---- rows ---------------------------------------------------------------------------------------


def check(row, number):
    for column in NUMBERS:
        if row[column] not in ("", None):
            try:
                row[column] = float(row[column])
            except ValueError:
                raise Malformed(f"row {number}: {column} is {row[column]!r}") from None
            if not math.isfinite(row[column]):
                raise Malformed(f"row {number}: {column} is {row[column]}")
        else:
            row[column] = None
    if not row["program"] or not row["what"]:
        raise Malformed(f"row {number}: without a program or a name")
    if row["missing"]:
        if row["ours"] is not None or not row["peer"]:
            raise Malformed(f"row {number}: missing, and yet measured, or of no peer")
    elif row["ours"] is None or not row["unit"]:
        raise Malformed(f"row {number}: without a figure or a unit")
    if bool(row["peer"] and not row["missing"]) != (row["ratio"] is not None):
        raise Malformed(f"row {number}: a peer without a ratio, or a ratio without a peer")
    if (row["bar"] is None) != (row["holds"] == "") or row["holds"] not in ("", "yes", "no"):
        raise Malformed(f"row {number}: a bar without a verdict")


def read(file):
    """The rows of a file as the reporter wrote it, their numbers as numbers."""
    with open(file, encoding="utf-8", newline="") as source:
        reader = csv.DictReader(source)
        if reader.fieldnames != COLUMNS:
            raise Malformed(f"{file}: the columns are {reader.fieldnames}")
        rows = list(reader)
    if not rows:
        raise Malformed(f"{file}: no rows")
    for number, row in enumerate(rows, start=2):
        if None in row or None in row.values():
            raise Malformed(f"{file}: row {number} has too many or too few columns")
        check(row, number)
    return rows


def number_text(number):
    if number is None:
        return ""
    size = abs(number)
    if size >= 1000:
        return f"{number:,.0f}"
    if 0 < size < 0.1:
        return f"{number:.2g}"
    return f"{number:.2f}" if size < 10 else f"{number:.1f}" if size < 100 else f"{number:.0f}"


def bar_number(bar):
    return f"{bar:,.0f}" if bar >= 100 else f"{bar:.3g}"


def bar_text(row):
    if row["bar"] is None:
        return "", ""
    return f"{row['bar_kind']} {bar_number(row['bar'])}", "yes" if row["holds"] == "yes" else "**no**"


def cells(row):
    what = row["what"] + (f", {row['size']:,.0f}" if row["size"] else "")
    if row["missing"]:
        return [what, "", f"{row['peer']}: not measured: {row['missing']}", "", "", ""]
    ours = f"{number_text(row['ours'])} {row['unit']}"
    if row["peer"]:
        theirs = f"{row['peer']}: {number_text(row['theirs'])}"
        ratio = (f"{number_text(row['ratio'])} ({number_text(row['ratio_low'])}–"
                 f"{number_text(row['ratio_high'])})")
    else:
        theirs = ratio = ""
    return [what, ours, theirs, ratio, *bar_text(row)]


HEAD = ["what", "ours", "peer", "ratio (quartiles)", "bar", "holds"]


def table(rows):
    """All rows as text, in columns, each section under its title."""
    lines = [(None, HEAD)]
    section = None
    for row in rows:
        if (row["program"], row["section"]) != section:
            section = (row["program"], row["section"])
            lines.append((f"{row['section']} ({row['program']})", None))
        lines.append((None, [cell.replace("**", "") for cell in cells(row)]))
    widths = [max(len(line[column]) for _, line in lines if line) for column in range(len(HEAD))]
    text = []
    for title, line in lines:
        if title:
            text += ["", title]
        else:
            text.append("  " + "  ".join(f"{cell:{width}}" for cell, width in zip(line, widths))
                        .rstrip())
    bars = [row for row in rows if row["holds"]]
    held = sum(row["holds"] == "yes" for row in bars)
    text += ["", f"{held} of {len(bars)} bars hold"]
    return "\n".join(text)


# ---- what is kept -------------------------------------------------------------------------------


def first_line(words):
    try:
        done = subprocess.run(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, timeout=30, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return None
    return (done.stdout.strip().splitlines() or [None])[0] if done.returncode == 0 else None


def processor():
    with open("/proc/cpuinfo", encoding="utf-8") as cpuinfo:
        for line in cpuinfo:
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.machine()


def machine():
    """The kind of machine and the versions of what is measured."""
    here = pathlib.Path(__file__).resolve().parent
    facts = {
        "when": datetime.date.today().isoformat(),
        "depth": os.environ.get("LK_BENCH", "full"),
        "processor": f"{processor()}, {os.cpu_count()} cores",
        "memory": f"{os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE') / 2**30:.0f} GiB",
        "system": f"{platform.system()} {platform.release()}",
        "load before": f"{os.getloadavg()[0]:.1f}",
        "Lockkeeper": first_line(["git", "-C", str(here), "describe", "--always"]) or "unknown",
    }
    for name, words in PROGRAMS.items():
        facts[name] = first_line(words) or "not installed"
    for name, package in PACKAGES.items():
        facts[name] = first_line(["dpkg-query", "-W", "-f", "${Version}", package]
                                 ) or "not installed"
    for name in NODE_PACKAGES:
        file = here.parent / "build-node-peers" / "node_modules" / name / "package.json"
        found = re.search(r'"version":\s*"([^"]+)"', file.read_text()) if file.exists() else None
        facts[name] = found.group(1) if found else "not installed"
    return facts


def read_machine(results):
    file = pathlib.Path(results, "machine.csv")
    facts = {}
    if file.exists():
        with open(file, encoding="utf-8", newline="") as source:
            for row in csv.DictReader(source):
                facts.setdefault(row["engine"], {})[row["what"]] = row["value"]
    return facts


def keep(engine, file, results):
    """Puts the rows of an engine, and the machine, in the place of those of the run before."""
    results = pathlib.Path(results)
    results.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(file, results / f"{engine}.csv")
    facts = read_machine(results)
    facts[engine] = machine()
    with open(results / "machine.csv", "w", encoding="utf-8", newline="") as target:
        writer = csv.writer(target, lineterminator="\n")
        writer.writerow(["engine", "what", "value"])
        for name in sorted(facts):
            writer.writerows([name, what, value] for what, value in facts[name].items())


def kept(results):
    """The rows of each engine of which there are some, in the order of ENGINES."""
    found = {}
    for engine in ENGINES:
        file = pathlib.Path(results, f"{engine}.csv")
        if file.exists():
            found[engine] = read(file)
    return found


# ---- charts -------------------------------------------------------------------------------------


def slug(text):
    return re.sub(r"[^a-z0-9]+", "-", text.lower()).strip("-")


def size_charts(engines):
    """Title: line: its points (size, cost, low, high)."""
    found = {}
    for rows in engines.values():
        for row in rows:
            if row["size"]:
                lines = found.setdefault(row["section"].split(": ", 1)[-1], {})
                lines.setdefault(row["what"], []).append(
                    (row["size"], row["ours"], row["ours_low"], row["ours_high"]))
    return found


def draw(results):
    engines = kept(results)
    for old in pathlib.Path(results).glob("*.svg"):
        old.unlink()
    for title, lines in size_charts(engines).items():
        pathlib.Path(results, f"size-{slug(title)}.svg").write_text(
            charts.lines(title, lines), encoding="utf-8")
    for engine, rows in engines.items():
        compared = [row for row in rows if row["ratio"] is not None]
        if compared:
            pathlib.Path(results, f"ratios-{engine}.svg").write_text(
                charts.ratios(f"{ENGINES[engine]}: how many times as good as its peers", compared),
                encoding="utf-8")
