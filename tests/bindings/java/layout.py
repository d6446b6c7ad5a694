#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: layout.py CC INCLUDE JAVA...: the Java binding's mirror, as JAVA... prints it, beside the header.

JAVA... is the command that runs Mirror.java. Each struct must have the header's fields in its order, each
at its place and as wide; each constant its value; each function its arguments. Prints TAP.
"""

import pathlib
import subprocess
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "abi"))
from header import OF_THE_MODEL, Interface

C = Interface(*sys.argv[1:3])
TOLD = [line.split() for line in
        subprocess.run(sys.argv[3:], check=True, stdout=subprocess.PIPE, text=True).stdout.splitlines()]
COUNT = FAILURES = 0


def told(kind):
    lines = [line[1:] for line in TOLD if line[0] == kind]
    assert lines, f"no {kind}"
    return lines


def same(title, wanted, found):
    global COUNT, FAILURES
    COUNT += 1
    wrong = [f"{one}: {found.get(one)} in the header" for one in wanted if wanted[one] != found.get(one)]
    print(f"{'not ok' if wrong else 'ok'} {COUNT} - {title}")
    for line in wrong:
        print(f"# {line}")
    FAILURES += bool(wrong)


structs = [name for name, _ in told("struct")]
same("each struct has the fields of the header",
     {(name, *(field for owner, field, *_ in told("field") if owner == name)): True for name in structs},
     {(name, *(one.name for one in fields)): True for name, fields in C.structs().items()})

places = {f"sizeof({name})": int(size) for name, size in told("struct")}
for name, field, offset, width in told("field"):
    places[f"offsetof({name}, {field})"] = int(offset)
    if width != "-":
        places[f"sizeof((({name} *)0)->{field})"] = 8 if width == "p" else int(width)
        places[f"KIND((({name} *)0)->{field}) == 'p'"] = int(width == "p")
same("each field is where the compiler puts it", places, dict(zip(places, C.answers(places))))

constants = {name: int(value) for name, value in told("constant") if name not in OF_THE_MODEL[1]}
same("each constant has its value", constants, dict(zip(constants, C.answers(constants))))
outcomes = {f"LK_{name}": int(value) for name, value in told("outcome")}
same("each outcome is there", outcomes, {name: constants[name] for name in C.enumerations()["lk_outcome"]})
same("and no other", {"outcomes": len(outcomes)}, {"outcomes": constants["LK_OUTCOME_COUNT"]})

functions = {name: widths for name, *widths in told("function")}
same("each function has its arguments", functions,
     {name: [C.width(one) for one in (result, *arguments)]
      for name, (result, arguments) in C.functions().items()})
same("the version is that of the header", {"version": told("version")[0][0]}, {"version": C.version})
print(f"1..{COUNT}")
sys.exit(FAILURES > 0)
