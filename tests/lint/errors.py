#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""An error that a function fills in may be NULL, so the function reads nothing of it.

An `lk_error *` that is not const is an output: its caller may want none. What the function needs of
it is in an outcome of its own, or in a local error. A function that first gives a NULL a place
(`error = error != NULL ? ...`) may read it.
"""

import re

import tap

PARAMETER = re.compile(r"(?<!const )(?:struct )?\blk_error \*(\w+)[,)]")
COMMENTS = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
WRITERS = {"src/base/error.c"}  # lk_error_set() and lk_error_clear(), which accept NULL


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def functions(text):
    """Each function of a formatted file: the line of its name, its head and its body."""
    for match in re.finditer(r"^(\w[^;{}#]*?\))\s*\{\n(.*?)^\}", text, re.MULTILINE | re.DOTALL):
        yield text.count("\n", 0, match.start(2)), match.group(1), match.group(2)


def reads(text):
    for line, head, body in functions(COMMENTS.sub(blank, text)):
        for name in PARAMETER.findall(re.sub(r"\s+", " ", head)):
            if re.search(rf"\b{name} = {name} != NULL", body):
                continue
            for read in re.finditer(rf"(?<![\w.>*]){name}->|(?<!\w)\*{name}\b", body):
                yield line + body.count("\n", 0, read.start()) + 1, name


def findings(path):
    for line, name in reads(path.read_text()):
        yield f"{tap.name(path)}:{line}: `{name}` may be NULL: lk_error_set() fills it in"


SAMPLE = """
static lk_outcome give(struct lk_error *error) {
    return fail(error) ? error->outcome : LK_OK;
}
static void take(const lk_error *error, int a) {
    print(error->text);
}
"""


def main():
    report = tap.Report()
    report.case("no function reads an error that it fills in",
                (finding for path in tap.files("*.c", "*.h", rooms=["src"])
                 if tap.name(path) not in WRITERS for finding in findings(path)))
    report.case("such a function is found",
                [] if list(reads(SAMPLE)) == [(3, "error")] else ["the sample is not found"])
    report.finish()


main()
