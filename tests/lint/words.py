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
    yield from tap.files("*.html", "*.mjs", rooms=["src"])
    yield from tap.files("*.js", rooms=["tests"])


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
report.finish()
