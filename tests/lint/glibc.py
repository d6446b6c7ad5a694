#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: glibc.py PROGRAM|LIBRARY...

What is built calls no function of the C library that glibc 2.31 lacks: built where glibc is old, it
runs there and on all later systems.

A symbol with a later version is good if it is no later function. Where glibc is newer, functions
have moved into libc.so.6, and have a new version there beside the one that older programs ask for;
a few have another name in what older compilers and headers made.
"""

import re
import sys

import tap

OLDEST = (2, 31)

# Under other names in glibc 2.31: __xstat() and its kin, and strtol() and its kin.
RENAMED = re.compile(r"(f|l)?stat(64)?|fstatat(64)?|mknod(at)?|__isoc23_\w+")


def versions(listing):
    """Symbols of objdump's listing with the number of each of their versions: *UND* or a section."""
    for line in listing.splitlines():
        found = re.search(r" (\S+)\s+[0-9a-f]{8,}\s+\(?GLIBC_([0-9.]+)\)?\s+(\S+)$", line)
        if found:
            number = tuple(int(part) for part in found[2].split("."))
            yield found[1], number, found[3]


def offered(program):
    """What the C library that the program is started with here has under old versions, too."""
    for path in re.findall(r"lib[cm]\.so\.6 => (\S+)", tap.output("ldd", program)):
        for section, number, symbol in versions(tap.output("objdump", "-T", path)):
            if section != "*UND*" and number <= OLDEST:
                yield symbol


def is_old(symbol, known):
    return symbol in known or RENAMED.fullmatch(symbol) is not None


def newer(program, known):
    for section, number, symbol in versions(tap.output("objdump", "-T", program)):
        if section == "*UND*" and number > OLDEST and not is_old(symbol, known):
            yield (f"{symbol}() came with glibc {'.'.join(map(str, number))}: call what glibc "
                   "2.31 has, or the system call (src/base/system_call.h)")


def main(programs):
    report = tap.Report()
    for program in programs:
        name = program.rsplit("/", 1)[-1]
        known = set(offered(program))
        assert known, f"ldd names no C library of {name}, or that has no versions"
        report.case(f"{name} needs no function that glibc 2.31 lacks", newer(program, known))
    report.finish()


if __name__ == "__main__":
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    main(sys.argv[1:])
