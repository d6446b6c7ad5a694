#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Names and words: each tag, constant and file name means one thing, and pages are in plain English.

docs/glossary.md has the terms, CONTRIBUTING.md the voice.
"""

import collections
import re

import tap

TAG = re.compile(r"^(?:typedef )?(?:struct|union|enum) (lk_\w+) \{", re.MULTILINE)
CONSTANT = re.compile(r"^#define (LK_\w+)[ \t]+(\S[^\n]*)|\b(LK_\w+) = ([^,}\n]+)", re.MULTILINE)
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
FILE = re.compile(r"(?<![\w./<{-])((?:[\w-]+/)*[\w-]+\.(?:c|h|lua|sql|md|py|sh))\b(?![\w/.(])")

# Words for people that stand for a program, and what is not said any more.
WORDS = re.compile(r"\b(whoever|whomever|somebody|anew|nobody|anybody|everybody)\b", re.IGNORECASE)

# Words that SQL, Lua or C had for what has a term of its own, and what says it now. A row of
# docs/glossary.md allows such a word: below the folders of its files, or everywhere.
FORMER = {
    "turns?": "a decision",
    "judge[ds]?|judging|judgements?": "the grant check",
    "settle[ds]?|settling": "granting waiters",
    "touched": "released",
    "lone": "single",
    "hurry|hurried": "contended",
    "lanes?": "a stripe",
    "crowd(?:s|ed)?": "a crowd",
    "obstacles?": "a blocker",
    "sights?": "what was read",
    "let_go": "an early release",
    "people": "the public functions",
}
# As in: each waits its turn; decisions take turns; this turns the code into an outcome.
OTHER_TURNS = re.compile(r"\b(?:in|its|their|whose|take) turns?\b|"
                         r"\bturns? (?:on|off|out|away|to)\b|\bturns? (?:[\w()]+ ){0,3}into\b", re.IGNORECASE)

# Named in comments, and not of this repository.
ELSEWHERE = {"cmocka.h", "libpq-fe.h", "magic.h", "ptrace.h", "sqlite3.h"}


def codes(rooms=("src", "include")):
    return tap.files("*.c", "*.h", rooms=list(rooms))


def double_tags():
    places = collections.defaultdict(set)
    for path in codes():
        for tag in TAG.findall(path.read_text()):
            places[tag].add(tap.name(path))
    for tag, paths in sorted(places.items()):
        if len(paths) > 1:
            yield f"{tag}: {', '.join(sorted(paths))}"


def double_constants():
    values = collections.defaultdict(set)
    for path in codes():
        for match in CONSTANT.finditer(COMMENT.sub("", path.read_text())):
            name = match.group(1) or match.group(3)
            values[name].add(re.sub(r"\s+", " ", (match.group(2) or match.group(4)).strip()))
    for name, several in sorted(values.items()):
        if len(several) > 1:
            yield f"{name}: {' and '.join(sorted(several))}"


def missing_files():
    there = {path.name for path in tap.files("*", rooms=tap.ROOMS + ["docs", "systemd", "debian"])}
    there.update(path.name for path in tap.ROOT.glob("*.*"))
    for path in codes(("src", "include", "tests", "bench")):
        for comment in COMMENT.finditer(path.read_text()):
            for file in FILE.findall(comment.group(0)):
                if file.rsplit("/", 1)[-1] not in there | ELSEWHERE:
                    yield f"{tap.name(path)}: a comment names {file}, which is not there"


def pages():
    yield from sorted(tap.ROOT.glob("*.md"))
    yield from sorted((tap.ROOT / "docs").rglob("*.md"))
    yield from sorted((tap.ROOT / "include").rglob("*.h"))
    yield from sorted((tap.ROOT / "src").rglob("*.md"))
    yield from tap.files("*.md", "*.py", "*.js", "*.java", "*.lua", rooms=["bindings"])
    yield from tap.files("*.html", "*.mjs", rooms=["src"])
    yield from tap.files("*.js", rooms=["tests"])


def texts_of_rules():
    """The SQL, the Lua and the comments of C in src, each with the lines where it begins."""
    for path in tap.files("*.sql", "*.lua", rooms=["src"]):
        yield path, 1, path.read_text(encoding="utf-8")
    for path in codes(("src",)):
        text = path.read_text(encoding="utf-8")
        for comment in COMMENT.finditer(text):
            yield path, text.count("\n", 0, comment.start()) + 1, comment.group()


def glossary_rooms(glossary):
    """The folders in which a word of the glossary is right, by its pattern in FORMER; "": all."""
    rooms = collections.defaultdict(list)
    for term, row in re.findall(r"^\| \*\*([^*]+)\*\* \|(.*)$", glossary, re.MULTILINE):
        for pattern in FORMER:
            if re.search(rf"\b(?:{pattern})\b", term):
                files = re.findall(r"`(src/[\w/.]+)/[\w.]+`", row)
                rooms[pattern].extend(f"{folder}/" for folder in files or [""])
    return rooms


def former_words(name, first, text, rooms):
    text = OTHER_TURNS.sub(lambda match: re.sub(r"[^\n]", " ", match.group()), text)
    for pattern, term in FORMER.items():
        if any(name.startswith(room.rstrip("/")) for room in rooms[pattern]):
            continue
        word = rf"\b(?:{pattern})\b"
        if not name.endswith((".c", ".h")):  # a comment of C names functions of C
            word = rf"(?<![A-Za-z])(?:{pattern})(?![A-Za-z])"
        for match in re.finditer(word, text, re.IGNORECASE):
            line = first + text.count("\n", 0, match.start())
            yield f"{name}:{line}: \"{match.group()}\": {term}, or a row of docs/glossary.md"


def all_former_words():
    rooms = glossary_rooms((tap.ROOT / "docs" / "glossary.md").read_text(encoding="utf-8"))
    for path, first, text in texts_of_rules():
        yield from former_words(tap.name(path), first, text, rooms)
        for match in WORDS.finditer(text):
            line = first + text.count("\n", 0, match.start())
            yield f"{tap.name(path)}:{line}: \"{match.group()}\""
    for path in tap.files("*.sql", "*.lua", rooms=["src/engine"]):
        yield from former_words(tap.name(path), 0, path.stem, rooms)


SAMPLE = """-- Each waits its turn, and this turns it into a turn.
CALL lk_turn_begin(the_roots); -- settled
"""
GLOSSARY = """| **settle** | to finish | `src/canal/repair.h` |
| **crowd** | many |
"""


def samples():
    rooms = glossary_rooms(GLOSSARY)
    for name, expected in (("src/engine/x.sql", ["1 turn", "2 turn", "2 settled"]),
                           ("src/canal/x.c", ["1 turn"])):
        found = [re.sub(r'.*:(\d+): "(\w+)".*', r"\1 \2", finding)
                 for finding in former_words(name, 1, SAMPLE + "crowds\n", rooms)]
        if found != expected:
            yield f"{name}: found are {found}"


def odd_words():
    for path in tap.files("*.c", "*.h", "*.py", "*.sh", "*.md", "*.pml", "*.scenario", "meson.build",
                          rooms=["tests", "bench"]):
        # The scenarios' word for no blockers.
        text = re.sub(r"blocked by nobody|[\"`]nobody[\"`]", "", path.read_text(encoding="utf-8"))
        if path.name != "words.py":
            yield from (f"{tap.name(path)}: \"{word}\"" for word in sorted(set(WORDS.findall(text))))
    for path in pages():
        text = path.read_text(encoding="utf-8")
        for match in WORDS.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            yield f"{tap.name(path)}:{line}: \"{match.group(0)}\""
    for path in codes(("src",)):
        for string in re.findall(r'"((?:[^"\\\n]|\\.)*)"', COMMENT.sub("", path.read_text())):
            for word in WORDS.findall(string):
                yield f"{tap.name(path)}: \"{word}\" in {string[:60]!r}"


report = tap.Report()
report.case("no tag names two types", double_tags())
report.case("no constant has two values", double_constants())
report.case("every file that a comment names is there", missing_files())
report.case("pages, headers, messages and tests speak of programs, not of people", odd_words())
report.case("SQL, Lua and comments of C have the terms of the glossary", all_former_words())
report.case("a word that is not one of them is found", samples())
report.finish()
