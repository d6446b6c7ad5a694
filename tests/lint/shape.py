#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The shape of the sources: how they open, how long they are, and what may not be left in them."""

import re
import subprocess

import tap

FILE_LINES_MAX = 900
FUNCTION_LINES_MAX = 70
LINE_BYTES_MAX = 100

SPDX = "SPDX-License-Identifier: Apache-2.0"
UNFINISHED = re.compile(r"\b(TO" r"DO|FIX" r"ME|X" r"XX|HA" r"CK)\b")
# The first line of a function's definition, as clang-format leaves it, up to its brace.
FUNCTION = re.compile(r"^(?!struct |enum |union |typedef |extern |#)[A-Za-z_].*\)\s*\{$")

C_SOURCES = tap.files("*.c", "*.h")
SCRIPTS = [path for path in tap.files("*", rooms=["tests", "tools", ".ci", "bench", "bindings"])
           if path.suffix in (".sh", ".py", ".awk", ".sql", ".js") or
           (path.suffix == "" and path.read_bytes()[:2] == b"#!")]
PAGE = tap.files("*.mjs", "*.css", "*.html", rooms=["src"])
BUILD_FILES = ([tap.ROOT / "meson.build", tap.ROOT / "Makefile"] + tap.files("meson.build"))
TEXTS = C_SOURCES + SCRIPTS + BUILD_FILES + tap.files("*.sql", rooms=["src"]) + PAGE + sorted(
    list(tap.ROOT.glob("*.md")) + list((tap.ROOT / "docs").rglob("*.md")))


def lines_of(path):
    return path.read_text(encoding="utf-8").split("\n")


def without_spdx():
    for path in C_SOURCES:
        if lines_of(path)[0] != f"/* {SPDX} */":
            yield f"{tap.name(path)}:1: not /* {SPDX} */"
    for path in SCRIPTS + BUILD_FILES + PAGE:
        if not any(SPDX in line for line in lines_of(path)[:2]):
            yield f"{tap.name(path)}: no {SPDX} in its first two lines"


def without_opening():
    for path in C_SOURCES:
        lines = lines_of(path)
        if len(lines) < 2 or not lines[1].startswith("/*"):
            yield f"{tap.name(path)}:2: does not say what it is for"


def without_licence():
    """A package is made of a binding's folder alone, and not each kind of them follows a link."""
    for readme in sorted((tap.ROOT / "bindings").glob("*/README.md")):
        copy = readme.parent / "LICENSE"
        if not copy.is_file() or copy.is_symlink() or copy.read_bytes() != (tap.ROOT / "LICENSE").read_bytes():
            yield f"{tap.name(copy)}: no copy of LICENSE"


def without_guard():
    for path in tap.files("*.h"):
        text = path.read_text()
        guard = re.search(r"^#ifndef (\w+)\n#define (\w+)$", text, re.MULTILINE)
        if not guard or guard.group(1) != guard.group(2):
            yield f"{tap.name(path)}: not guarded against a second inclusion"


def long_files():
    for path in tap.files("*.c", "*.h", "*.js") + PAGE:
        count = len(lines_of(path)) - 1
        if count > FILE_LINES_MAX:
            yield f"{tap.name(path)}: {count} lines: look for two ideas"


def long_functions():
    for path in tap.files("*.c", "*.h", rooms=["src"]):
        opened = None
        header = None
        for number, line in enumerate(lines_of(path), start=1):
            if re.match(r"^[A-Za-z_]", line) and not line.rstrip().endswith((";", ":")):
                header = number
            if header and opened is None and line.endswith("{") and (
                    FUNCTION.match(line) or re.match(r"^\s+.*\)\s*\{$", line)):
                opened = header
            if line == "}" and opened is not None:
                if number - opened + 1 > FUNCTION_LINES_MAX:
                    yield f"{tap.name(path)}:{opened}: {number - opened + 1} lines"
                opened = header = None


def trailing_blanks():
    for path in TEXTS:
        text = path.read_text(encoding="utf-8")
        for number, line in enumerate(text.split("\n"), start=1):
            if line != line.rstrip():
                yield f"{tap.name(path)}:{number}"
        if not text.endswith("\n") or text.endswith("\n\n"):
            yield f"{tap.name(path)}: does not end with one end of line"


def long_lines():
    for path in C_SOURCES:
        for number, line in enumerate(lines_of(path), start=1):
            if len(line) > LINE_BYTES_MAX:
                yield f"{tap.name(path)}:{number}: {len(line)} characters"


def unwrapped_pages():
    """What may be longer than a line is told there."""
    check = subprocess.run([tap.ROOT / "tools/wrap-pages", "--check"], check=False, stdout=subprocess.PIPE,
                           stderr=subprocess.STDOUT, text=True)
    if check.returncode != 0:
        yield from check.stdout.splitlines() or [f"tools/wrap-pages ended with {check.returncode}"]


def tabs():
    for path in C_SOURCES:
        for number, line in enumerate(lines_of(path), start=1):
            if "\t" in line:
                yield f"{tap.name(path)}:{number}"


def unfinished():
    for path in TEXTS:
        for number, line in enumerate(lines_of(path), start=1):
            if UNFINISHED.search(line):
                yield f"{tap.name(path)}:{number}: {line.strip()}"


def missing_braces():
    """A body without braces, as clang-format leaves one: on the line below, further in."""
    head = re.compile(r"^(\s*)(?:if|for|while|\} else if)\b.*\)$|^(\s*)(?:\} )?(?:else|do)$")
    for path in C_SOURCES:
        for number, line in enumerate(lines_of(path), start=1):
            is_whole = line.count("(") == line.count(")")
            if head.match(line) and is_whole and not line.startswith("#"):
                yield f"{tap.name(path)}:{number}: {line.strip()}"


def own_threads():
    """A thread that takes signals may take one that the program waits for in another."""
    for path in tap.files("*.c", rooms=["src"]):
        for number, line in enumerate(lines_of(path), start=1):
            if "pthread_create(" in line and tap.name(path) not in ("src/base/thread.c", "src/cli/interrupt.c"):
                yield f"{tap.name(path)}:{number}: lk_thread_start() blocks signals"


def odd_names():
    for path in tap.files("*"):
        if re.search(r"\s", tap.name(path)):
            yield repr(tap.name(path))


report = tap.Report()
report.case("each file names its licence", without_spdx())
report.case("each C file opens with what it is for", without_opening())
report.case("each binding has a copy of the licence", without_licence())
report.case("each header is guarded", without_guard())
report.case(f"no C file is longer than {FILE_LINES_MAX} lines", long_files())
report.case(f"no function of src/ is longer than {FUNCTION_LINES_MAX} lines", long_functions())
report.case(f"no line of C is longer than {LINE_BYTES_MAX}", long_lines())
report.case("pages are filled at 100 columns (tools/wrap-pages)", unwrapped_pages())
report.case("no tabs in C", tabs())
report.case("every body has braces", missing_braces())
report.case("no white space at the end of a line, one end of line at the end", trailing_blanks())
report.case("threads of src/ take no signals", own_threads())
report.case("nothing is left unfinished", unfinished())
report.case("no white space in a file's name", odd_names())
report.finish()
