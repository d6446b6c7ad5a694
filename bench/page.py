# SPDX-License-Identifier: Apache-2.0
"""docs/performance.md and docs/performance-details.md, made of the kept results.

page.py DIR PAGE writes PAGE, and beside it the page of the details, which has all rows; it draws the charts in
DIR again, too. Every figure in a table is read from the rows. What is written by hand is in bench/notes:
ENGINE.md has what decides the cost in a store, growth.md and triers.md what a call's cost depends on, and
faster.csv why a peer is faster. bench/README.md has the rules for them.
"""
import csv
import os
import pathlib
import re
import sys

import report

NOTES = pathlib.Path(__file__).resolve().parent / "notes"

INTRODUCTION = """# What it costs

*Written by `make bench` (`bench/page.py`) from the files in [bench/results](../bench/results), with
the notes in [bench/notes](../bench/notes); do not edit.*
"""

DETAILS_INTRODUCTION = """# What it costs: all figures

*Written by `make bench` (`bench/page.py`) from the files in [bench/results](../bench/results); do
not edit.* [performance.md](performance.md) is the page to read first, and says what a ratio, a bar
and bold mean. What a call costs against size is [there](performance.md#cost-against-size) alone.
[bench/README.md](../bench/README.md) says how figures are taken.
"""

# What to expect: a row for each operation, a column for each store, and where the figure is from.
PAIRS = "Acquire + release of a counting semaphore"
DURABLE = "Durable: acquire + release, each connection its own lock"
HANDOFF = "Hand-off of one lock among 20 processes"
COMMAND = "A command under a lock"
TRIERS = "Beside many that try in vain"
EXPECTED_COLUMNS = ["SQLite", "service, memory", "service, disk", "PostgreSQL", "MariaDB", "Redis"]
EXPECTED = [
    ("a lock is taken and given back", [
        ("sqlite", TRIERS, "taken and given back"), ("service", TRIERS, "taken and given back"), None,
        ("postgresql", TRIERS, "taken and given back"), ("mysql", TRIERS, "taken and given back"),
        ("redis", TRIERS, "taken and given back")]),
    ("a try that is refused", [
        ("sqlite", TRIERS, "a refused try"), ("service", TRIERS, "a refused try"), None,
        ("postgresql", TRIERS, "a refused try"), ("mysql", TRIERS, "a refused try"),
        ("redis", TRIERS, "a refused try")]),
    ("from a release to the next grant, p50, 20 waiters", [
        ("sqlite", HANDOFF, "next grant"), ("service", HANDOFF, "next grant"),
        ("service", "Services on PostgreSQL: hand-off", "--dir: hand-off p50"),
        ("postgresql", HANDOFF, "next grant"), ("mysql", HANDOFF, "next grant"),
        ("redis", HANDOFF, "next grant")]),
    ("grants of one lock, held for 2 ms, 20 processes", [
        ("sqlite", HANDOFF, "grants"), ("service", HANDOFF, "grants"), None,
        ("postgresql", HANDOFF, "grants"), ("mysql", HANDOFF, "grants"), ("redis", HANDOFF, "grants")]),
    ("pairs of acquire and release, 1 client", [
        ("sqlite", "Acquire", "FULL, 1 process"), ("service", "In memory: acquire", "1 connection"),
        ("service", DURABLE, "1 connection"), ("postgresql", PAIRS, "100 keys, 1 client"),
        ("mysql", PAIRS, "100 keys, 1 client"), ("redis", "One server", "1 connection, depth 1")]),
    ("pairs, 8 clients; SQLite 4", [
        ("sqlite", "Acquire", "FULL, 4 processes"), None, None,
        ("postgresql", PAIRS, "100 keys, 8 clients"), ("mysql", PAIRS, "100 keys, 8 clients"), None]),
    ("pairs, 50 clients; databases 25", [
        None, ("service", "In memory: acquire", "50 connections"), ("service", DURABLE, "50 connections"),
        ("postgresql", PAIRS, "100 keys, 25 clients"), ("mysql", PAIRS, "100 keys, 25 clients"),
        ("redis", "One server", "50 connections, depth 1")]),
    ("items claimed and completed, 1 worker", [
        ("sqlite", "A row claimed", "FULL, 1 process"), None, None,
        ("postgresql", "Claim + completion", "1 queue, 1 client"),
        ("mysql", "Claim + completion", "1 queue, 1 client"), None]),
    ("the command `lk run NAME -- true`", [
        ("sqlite", COMMAND, "lk run"), ("service", COMMAND, "lk run"), None,
        ("postgresql", COMMAND, "lk run"), ("mysql", COMMAND, "lk run"), ("redis", COMMAND, "lk run")]),
]

EXPECTED_NOTES = """
- SQLite, PostgreSQL and MariaDB flush each commit to the disk; so does "service, disk" (`lk serve
  --dir`). "Service, memory" (`--ephemeral`) and Redis flush nothing. Server and clients are on one
  machine: add your round trip to each call.
- Figures are medians of rounds. Clients of pairs do not conflict: each has a lock of its own, or
  one of 100 keys in the databases. Items of SQLite are rows of a table. The hand-off of "service,
  disk" was timed on a slower machine.
- A limit in [shared memory](shm.md) calls no server and has no queue: [its table](#shared-memory).
- **Choose by the flush.** Where an acquire waits for a disk, the flush limits the rate of one
  client. Many clients of a service share a flush, so its rate rises with them.
"""

MEASURE = """
## Measure your own

```sh
lk -S URL bench                                # pairs a second, and latencies, without a conflict
lk -S URL bench --pattern one --clients 20     # clients take turns with one key: the hand-off
```

`lk bench` measures a store as it is, with its disk, its network and its load (`man lk-bench`). Its
keys are below a fresh path. Compare stores, or versions, in one run on one machine.

`make bench` measures all of this in more than an hour, `make bench-sqlite` (`-postgresql`,
`-mysql`, `-redis`, `-service`, `-shm`, `-model`) a part of it; `LK_BENCH=short` is quick.
[bench/README.md](../bench/README.md) says how.

## How to read the tables

Both sides of a row were measured in turn in the same run. A ratio says how many times as good
Lockkeeper is: more than 1 is ahead, of rates as of times. It is the median of the rounds' ratios;
absolute figures depend on the machine.

A bar is what the project wants to reach: of the ratio, or ("at least", "at most") of our own
figure. **Bold**: the bar is missed. [All figures](performance-details.md) has the peers' figures,
processor times, and peers that could not be started; quartiles are in
[bench/results](../bench/results).
"""

GROWTH = """
## Cost against size

How many times as much a call costs beside more locks, waiters or children. 1.00 is no growth.
Measured without flushes, which would hide it. Each operation links to its chart.
"""

FASTER = """
## Where a peer is faster

From the least to the greatest ratio of a peer's rows, those of processor time left out.
"""

# The number of clients in a row's name: rows that differ in it alone become one.
COUNT = re.compile(r"\b(p50|p99)\b|(?:\bwith )?\b([\d,]+) "
                   r"(clients?|connections?|workers?|process(?:es)?|live|waiting(?: below)?|readers)\b")
PLURALS = {"client": "clients", "connection": "connections", "worker": "workers", "process": "processes"}
OWN_BAR = ": beside its own bar"
HEAD = ["what", "ours", "peer", "ratio", "bar"]

# What only the page of the details has: sections by how they begin, and rows by what is in their name.
DETAILS = ("Refused tries", "Deadlocks", "A command that does nothing", "Hand-off in memory",
           "The start of a service", "Two cores", "Services on PostgreSQL: hand-off",
           "Services on MariaDB: hand-off", "Services on etcd: hand-off")
DETAILED_ROWS = re.compile(r"processor time|this disk:|elsewhere|taken and given back|a refused try$")
HOSTILE = "Beside hostile clients"


def notes(engine):
    """What decides the cost in a store, by hand: bench/notes/ENGINE.md, if it is there.

    It has no headings of the first three levels, and no links to files.
    """
    file = NOTES / f"{engine}.md"
    if not file.exists():
        return []
    return ["### What decides the cost", "", *file.read_text(encoding="utf-8").strip().splitlines(), ""]


def table(head, rows):
    """A table, or nothing without rows."""
    if not rows:
        return []
    lines = []
    for cells in [head, *rows]:
        count = max(at for at, cell in enumerate(cells, start=1) if cell or at == 1)
        lines.append("| " + " | ".join(cells[:count]) + " |")  # cells that are missing are empty
    return ["", lines[0], "|---" * len(head) + "|", *lines[1:], ""]


def is_detail(row):
    return (row["section"].startswith(DETAILS) or bool(DETAILED_ROWS.search(row["what"])) or
            row["section"].startswith(HOSTILE) and "at once" not in row["what"])


def with_commas(text):
    return re.sub(r"\b\d{4,}\b", lambda number: f"{int(number.group()):,}", text)


def bold(text, is_missed):
    return f"**{text}**" if is_missed else text


def figure(row):
    return f"{report.number_text(row['ours'])} {row['unit']}"


# ---- what to expect -----------------------------------------------------------------------------


def found(engines, place):
    """The figure of the first row whose section begins, and whose name ends or continues, so."""
    if place is None:
        return "–"
    engine, section, what = place
    for row in engines.get(engine, []):
        if row["section"].startswith(section) and what in row["what"] and not row["missing"]:
            return figure(row)
    return "–"


def expected(engines):
    rows = [[what, *(found(engines, place) for place in places)] for what, places in EXPECTED]
    rows = [row for row in rows if any(cell != "–" for cell in row[1:])]
    return table(["", *EXPECTED_COLUMNS], rows)


# ---- tables that have a column for each store ---------------------------------------------------


def bars_of(rows):
    bars = dict.fromkeys(report.bar_text(row)[0] for row in rows if row["bar"] is not None)
    kind = next((row["bar_kind"] for row in rows if row["bar"] is not None), "")
    return " / ".join(bar if not at else bar.removeprefix(f"{kind} ") for at, bar in enumerate(bars))


def beside_each_other(engines, sections, names):
    """Rows (section, what) with the figure of each engine, and the bar."""
    cells = {}
    for engine in engines:
        for row in engines[engine]:
            if sections(row["section"]) and not row["size"]:
                what = row["what"].split(": ", 1)[-1]
                cells.setdefault((row["section"], what), {})[engine] = row
    rows = []
    for (section, what), by in cells.items():
        shown = []
        for engine in names:
            row = by.get(engine)
            if row is None or row["missing"]:
                shown.append("not measured" if row else "–")
            else:
                text = report.number_text(row["ours"]) if row["unit"] == "times" else figure(row)
                shown.append(bold(text, row["holds"] == "no"))
        rows.append((section, what, shown, bars_of(by.values())))
    return rows


def growth(engines, pictures):
    names = [engine for engine in engines
             if any(row["section"].startswith("Size: ") for row in engines[engine])]
    rows, last = [], None
    for section, what, shown, bar in beside_each_other(
            engines, lambda section: section.startswith("Size: "), names):
        title = section.split(": ", 1)[1]
        label = f"[{title}]({pictures}/size-{report.slug(title)}.svg)" if title != last else ""
        last = title
        rows.append([label, with_commas(what), *shown, bar.removeprefix("at most ")])
    return table(["operation", "N", *(report.ENGINES[name] for name in names), "at most"], rows)


def triers(engines, is_whole):
    names = [engine for engine in engines if any(row["section"] == TRIERS for row in engines[engine])]
    rows = [[what, *shown, bar] for _, what, shown, bar in
            beside_each_other(engines, lambda section: section == TRIERS, names)
            if is_whole or not DETAILED_ROWS.search(what)]
    if not rows:
        return []
    return ["", "## Renewals beside many that try in vain", "",
            "One lock is held and renewed, while 25 processes ask for it without a pause.",
            *table(["", *(report.ENGINES[name] for name in names), "bar"], rows)]


# ---- the table of a store -----------------------------------------------------------------------


class Group:
    """Rows of a section that differ only in the number of clients, or in the percentile."""

    def __init__(self, label, counted):
        self.label, self.counted = label, counted
        self.names, self.counts, self.rows, self.own = [], [], [], []

    def add(self, name, count, row):
        for of, item in ((self.names, name), (self.counts, count), (self.rows, row), (self.own, None)):
            of.append(item)

    def name(self):
        if len(self.rows) == 1:
            return with_commas(self.names[0])
        label = self.label or ("rate" if self.rows[0]["unit"].endswith("/s") else "time")
        return with_commas(f"{label}; {' / '.join(self.counts)} {self.counted}".strip())

    def ours(self):
        texts = [bold(report.number_text(row["ours"]), "no" in (own and own["holds"],
                                                                row["ratio"] is None and row["holds"]))
                 for row, own in zip(self.rows, self.own)]
        return f"{' / '.join(texts)} {self.rows[0]['unit']}"

    def bar(self):
        """The bars of the ratios, and those of our own figures."""
        kind = self.rows[0]["bar_kind"] or next((row["bar_kind"] for row in self.rows if row["bar_kind"]), "")
        bars = [bars_of([row]).removeprefix(f"{kind} ") for row in self.rows]
        text = bars[0] if len(set(bars)) == 1 else " / ".join(bar or "–" for bar in bars)
        if text and self.rows[0]["ratio"] is None:
            text = f"{kind} {text}"
        own = bars_of([own for own in self.own if own])
        return f"{text}; {own}" if text and own else text or own

    def cells(self, is_whole):
        peer = self.rows[0]["peer"]
        if self.rows[0]["missing"]:
            return [self.name(), "", f"{peer}: not measured: {self.rows[0]['missing']}", "", ""]
        if not peer:
            return [self.name(), self.ours(), "", "", self.bar()]
        if is_whole:
            peer += ": " + " / ".join(report.number_text(row["theirs"]) for row in self.rows)
        ratio = " / ".join(bold(report.number_text(row["ratio"]), row["holds"] == "no")
                           for row in self.rows)
        return [self.name(), self.ours(), peer, ratio, self.bar()]


def template(name):
    """A row's name without its number of clients, the number, and of what."""
    match = COUNT.search(name)
    if not match:
        return name, "", ""
    before, after = name[:match.start()].rstrip(" ,"), name[match.end():].lstrip(" ,")
    label = before + (", " if before and after and match.group(2) else " " if before and after else "") + after
    if match.group(1):
        return label, match.group(1), ""
    return label, f"{int(match.group(2).replace(',', '')):,}", PLURALS.get(match.group(3), match.group(3))


def groups(rows, engine):
    """Section: its groups, in order."""
    kept, last = {}, None
    for row in rows:
        if row["what"].endswith(OWN_BAR):
            if last is not None:
                last.own[-1] = row
            continue
        name = row["what"].removeprefix(f"{report.ENGINES[engine]}: ").removeprefix("service: ").strip()
        label, count, counted = (name, "", "") if row["missing"] else template(name)
        of = kept.setdefault(row["section"], {})
        key = (label, counted, row["peer"], row["unit"], bool(row["missing"]))
        while key in of and (not count or count in of[key].counts):
            key += ("again",)
        last = of.setdefault(key, Group(label, counted))
        last.add(name, count, row)
    return {section: list(of.values()) for section, of in kept.items()}


def store_table(rows, engine, is_whole):
    lines = []
    for section, of in groups(rows, engine).items():
        lines.append([f"**{section}**", "", "", "", ""])
        lines += [group.cells(is_whole) for group in of]
    return table(HEAD, [[cell.replace("|", "\\|") for cell in line] for line in lines])


def by_section(rows):
    """For shared memory: the same peers in each section, and the sections are the columns."""
    sections = list(dict.fromkeys(row["section"] for row in rows))
    ours, ratios = {}, {}
    for row in rows:
        if not row["missing"]:
            ours.setdefault((row["what"], row["unit"]), {})[row["section"]] = row
            ratios.setdefault((row["what"], row["peer"]), {})[row["section"]] = row
    lines = [[what, unit, *(report.number_text(by[section]["ours"]) if section in by else "–"
                            for section in sections), ""] for (what, unit), by in ours.items()]
    for (what, peer), by in ratios.items():
        cells = [bold(report.number_text(by[section]["ratio"]), by[section]["holds"] == "no")
                 if section in by else "–" for section in sections]
        lines.append([what, f"ratio: {peer}", *cells, bars_of(by.values()).removeprefix("at least ")])
    return table(["what", "unit, or peer", *sections, "bar"], lines)


def parts(rows, is_whole):
    """Those of a store's table: what is shown for all stores together is not."""
    return [row for row in rows if not row["size"] and not row["section"].startswith("Size: ") and
            row["section"] != TRIERS and (is_whole or not is_detail(row))]


# ---- where a peer is faster ---------------------------------------------------------------------


def faster(engines):
    """The peers that are ahead in a row at least; one without a reason is no peer, but a scale."""
    with open(NOTES / "faster.csv", encoding="utf-8", newline="") as source:
        reasons = {row["peer"]: row["why"] for row in csv.DictReader(source)}
    ratios = {}
    for engine, rows in engines.items():
        for row in rows:
            if row["ratio"] is not None and "processor time" not in row["what"]:
                ratios.setdefault(row["peer"], {}).setdefault(report.ENGINES[engine], []).append(row["ratio"])
    lines = []
    for peer, by in ratios.items():
        shown = []
        for store, several in by.items():
            least, most = report.number_text(min(several)), report.number_text(max(several))
            if min(several) < 0.995:
                shown.append(f"{store} {least}" + (f" to {most}" if most != least else ""))
        if shown and reasons.get(peer, "–"):
            lines.append([peer, "; ".join(shown), reasons.get(peer, "–")])
    return table(["peer", "ratio", "why"], lines)


# ---- the page -----------------------------------------------------------------------------------


def machines(engines, facts):
    every = [facts.get(engine, {}) for engine in engines]
    names = list(dict.fromkeys(name for each in every for name in each))
    common = [name for name in names if len({each.get(name) for each in every}) == 1]
    lines = ["## The machine and the versions", ""]
    lines += [f"- {name}: {every[0][name]}" for name in common]
    other = [name for name in names if name not in common]
    return lines + table(["", *other], [
        [report.ENGINES[engine], *(each.get(name, "").replace("|", " ") for name in other)]
        for engine, each in zip(engines, every)] if other else [])


def part(name):
    return ["", *(NOTES / f"{name}.md").read_text(encoding="utf-8").strip().splitlines(), ""]


def short_run(engines, facts):
    if all(facts.get(engine, {}).get("depth") == "full" for engine in engines):
        return []
    return ["", "Some of these figures are of a short run (`LK_BENCH=short`): few rounds, and sizes up to "
                "1,000 only."]


def put(file, lines):
    text = "\n".join(line.rstrip() for line in lines) + "\n"
    file.write_text(re.sub(r"\n{3,}", "\n\n", text).rstrip("\n") + "\n", encoding="utf-8")


def details_of(file):
    return file.with_name(f"{file.stem}-details{file.suffix}")


def write(results, file):
    """Both pages, of all that is kept."""
    file = pathlib.Path(file)
    engines = report.kept(results)
    facts = report.read_machine(results)
    pictures = os.path.relpath(results, file.parent)
    bars = [row for rows in engines.values() for row in rows if row["holds"]]
    held = sum(row["holds"] == "yes" for row in bars)
    top = facts.get("service") or next(iter(facts.values()), {})
    lines = INTRODUCTION.splitlines() + short_run(engines, facts)
    lines += ["", "## What to expect", "", "On one machine: " + ", ".join(
        top[name] for name in ("processor", "memory", "system") if name in top) + "."]
    lines += flush(engines) + expected(engines) + EXPECTED_NOTES.splitlines()
    lines += MEASURE.splitlines() + ["", f"{held} of {len(bars)} bars hold."]
    lines += GROWTH.splitlines() + growth(engines, pictures) + part("growth")
    for engine, rows in engines.items():
        lines += ["", f"## {report.ENGINES[engine]}", ""]
        if any(row["ratio"] is not None for row in rows):
            lines += [f"[Ratios as a chart]({pictures}/ratios-{engine}.svg)", ""]
        shown = parts(rows, False)
        lines += by_section(shown) if engine == "shm" else store_table(shown, engine, False)
        lines += notes(engine)
    lines += triers(engines, False) + part("triers") + FASTER.splitlines() + faster(engines)
    put(file, lines)
    lines = DETAILS_INTRODUCTION.splitlines() + short_run(engines, facts)
    for engine, rows in engines.items():
        lines += ["", f"## {report.ENGINES[engine]}", ""] + store_table(parts(rows, True), engine, True)
    put(details_of(file), lines + triers(engines, True) + machines(engines, facts))


def flush(engines):
    for row in engines.get("sqlite", []):
        if row["what"].startswith("this disk: ") and not row["missing"]:
            return [f"A flush takes the disk {figure(row)} (4 KiB overwritten and flushed, median)."]
    return []


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    report.draw(sys.argv[1])
    write(sys.argv[1], sys.argv[2])
