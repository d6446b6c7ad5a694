#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: symbols.py liblk-model.a liblockkeeper.so

What the objects need and offer: the model is pure, and the shared library exports what its headers
document and nothing else.
"""

import re
import sys

import tap

# All that the model may need: memory and text without I/O, and the end of a failed assertion.
# The names with __ are what the compiler makes of them, or puts in beside them.
MODEL_NEEDS = {
    "__assert_fail", "bcmp", "memchr", "memcmp", "memcpy", "memmove", "memset", "snprintf",
    "strlen",
    "__memcpy_chk", "__memmove_chk", "__memset_chk", "__snprintf_chk", "__stack_chk_fail",
    "_GLOBAL_OFFSET_TABLE_",
    # from src/base: the allocator that is used when none is given, and error texts
    "lk_allocator_libc", "lk_error_clear", "lk_error_set",
}


def symbols(path, *options):
    listing = tap.output("nm", "--portability", *options, path)
    return {line.split()[0] for line in listing.splitlines() if len(line.split()) > 1}


def impure(archive):
    defined = symbols(archive, "--defined-only")
    for symbol in sorted(symbols(archive, "--undefined-only") - defined - MODEL_NEEDS):
        yield f"the model needs {symbol}"


def mutable(archive):
    """Data that can be written to: sections d, b and common, but not relocated constants."""
    listing = tap.output("nm", "--portability", "--defined-only", archive)
    for line in listing.splitlines():
        fields = line.split()
        if len(fields) > 1 and fields[1] in "bBcCdDsSgG" and not is_constant(archive, fields[0]):
            yield f"{fields[0]} is a variable"


def is_constant(archive, symbol):
    """A table of pointers is constant, and relocated when it is loaded: .data.rel.ro."""
    return re.search(rf"\.data\.rel\.ro\S*\s+\S+\s+{re.escape(symbol)}$",
                     tap.output("objdump", "--syms", archive), re.MULTILINE) is not None


def documented():
    for path in tap.files("*.h", rooms=["include"]):
        text = re.sub(r"/\*.*?\*/", "", path.read_text(), flags=re.DOTALL)
        text = re.sub(r"^#.*$", "", text, flags=re.MULTILINE)
        for declaration in re.findall(r"LK_PUBLIC([^;]*);", text):
            yield re.search(r"\b(lk_\w+)\s*\(", declaration).group(1)


def main(model, library):
    report = tap.Report()
    report.case("the model needs no more than memory and text", impure(model))
    report.case("the model has no variable", mutable(model))
    exported = symbols(library, "--dynamic", "--defined-only")
    public = set(documented())
    report.case("the library exports every public function",
                sorted(f"{symbol} is not exported" for symbol in public - exported))
    report.case("the library exports nothing else",
                sorted(f"{symbol} is in no public header" for symbol in exported - public))
    report.finish()


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
