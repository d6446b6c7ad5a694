#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: fold.py unpack CORPUS DIRECTORY
       fold.py fold DIRECTORY CORPUS

A corpus is a file with an input in each line, in hexadecimal (target.h). libFuzzer wants a directory
with a file for each. `fold` writes the inputs that are in the directory, the short ones first.
"""
import hashlib
import pathlib
import sys


def unpack(corpus, directory):
    directory.mkdir(parents=True, exist_ok=True)
    for number, line in enumerate(corpus.read_text(encoding="ascii").splitlines(), 1):
        try:
            found = bytes.fromhex(line)
        except ValueError:
            sys.exit(f"fuzz: {corpus}:{number}: is no input in hexadecimal")
        (directory / hashlib.sha1(found).hexdigest()).write_bytes(found)


def fold(directory, corpus):
    inputs = {each.read_bytes() for each in directory.iterdir()}
    lines = [f"{each.hex()}\n" for each in sorted(inputs, key=lambda each: (len(each), each))]
    corpus.write_text("".join(lines), encoding="ascii")


if __name__ == "__main__":
    if len(sys.argv) != 4 or sys.argv[1] not in ("unpack", "fold"):
        sys.exit(__doc__)
    {"unpack": unpack, "fold": fold}[sys.argv[1]](*map(pathlib.Path, sys.argv[2:]))
