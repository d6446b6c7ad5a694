# SPDX-License-Identifier: Apache-2.0
"""Cases of a Python test as TAP: each is a function, and its first line says what it shows."""

import traceback


def plan(count):
    print(f"1..{count}", flush=True)


def play(case, number, *arguments):
    """Whether it ended without an exception; what it raised is printed below it."""
    word, trouble = "ok", ""
    try:
        case(*arguments)
    except Exception:  # pylint: disable=broad-except
        word, trouble = "not ok", traceback.format_exc()
    print(f"{word} {number} - {case.__doc__.strip()}", flush=True)
    for line in trouble.splitlines():
        print(f"# {line}", flush=True)
    return word == "ok"


def run(cases, *arguments):
    """All of them, in order, each with these arguments. Returns the exit code: 1 if one failed."""
    plan(len(cases))
    results = [play(case, number, *arguments) for number, case in enumerate(cases, 1)]
    return int(not all(results))
