# SPDX-License-Identifier: Apache-2.0
"""The C interface, as its header and the compiler tell it: for the tests that compare a binding's mirror.

Uses the arguments of the program: CC INCLUDE first.
"""

import pathlib
import re
import subprocess
import sys
import tempfile

CC, INCLUDE = sys.argv[1:3]

# A value of the kind of the field, as C sees it. Enumerations are unsigned where no value is negative.
KIND = """
#define KIND(x) _Generic((x), bool: 'b', char: 'c', int: 'i', unsigned: 'u', int64_t: 'i', \\
    uint64_t: 'u', default: 'p')
"""


def preprocessed():
    source = "#include <lockkeeper/lockkeeper.h>\n"
    return subprocess.run([CC, "-E", "-P", f"-I{INCLUDE}", "-x", "c", "-"], input=source, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


HEADER = preprocessed()
VERSION = re.search(r'^#define LK_VERSION "(.*)"$',
                    pathlib.Path(INCLUDE, "lockkeeper", "lockkeeper.h").read_text(encoding="utf-8"),
                    re.MULTILINE).group(1)


def answers(expressions):
    """What a C program prints for each of them."""
    with tempfile.TemporaryDirectory() as place:
        path = pathlib.Path(place)
        lines = "".join(f'printf("%lld\\n", (long long)({one}));\n' for one in expressions)
        (path / "layout.c").write_text(
            f"#include <stdio.h>\n#include <lockkeeper/lockkeeper.h>\n{KIND}\nint main(void) {{\n"
            f"{lines}return 0; }}\n")
        subprocess.run([CC, "-std=gnu17", f"-I{INCLUDE}", path / "layout.c", "-o", path / "layout"],
                       check=True)
        output = subprocess.run([path / "layout"], check=True, stdout=subprocess.PIPE, text=True)
        return [int(line) for line in output.stdout.split()]


def fields_in_c(name):
    body = re.search(r"typedef struct %s \{(.*?)\} %s;" % (name, name), HEADER, re.DOTALL).group(1)
    for declaration in body.split(";")[:-1]:
        pointer = re.search(r"\(\*(\w+)\)", declaration)
        yield pointer.group(1) if pointer else re.search(r"(\w+)(\[\w+\])?$", declaration).group(1)


def function_in_c(name):
    """Its result and its arguments, as texts; None: it is not in the header."""
    found = re.search(r"([\w *]+?)\b%s\(((?:[^()]|\([^()]*\))*)\);" % name, HEADER)
    return found and (found.group(1), list(split_arguments(found.group(2))))


def word_of(declaration):
    """The type, with or without the name of an argument; a pointer is "p"."""
    text = declaration.strip()
    if "*" in text or "[" in text:
        return "p"
    return re.sub(r"^const ", "", text).split()[0]


def is_enumeration(word):
    return re.search(r"typedef enum %s\b" % word, HEADER) is not None


def kind_in_c(declaration):
    """b: bool, i: signed, u: unsigned, p: pointer, v: nothing."""
    word = word_of(declaration)
    known = {"p": "p", "void": "v", "bool": "b", "_Bool": "b", "int": "i", "int32_t": "i",
             "int64_t": "i", "uint32_t": "u", "uint64_t": "u", "size_t": "u"}
    return known.get(word, "u" if is_enumeration(word) else "?")


def width_in_c(declaration):
    """p: pointer, v: nothing, else its bytes."""
    word = word_of(declaration)
    known = {"p": "p", "void": "v", "bool": "1", "_Bool": "1", "int": "4", "int32_t": "4",
             "uint32_t": "4", "int64_t": "8", "uint64_t": "8", "size_t": "8"}
    return known.get(word, "4" if is_enumeration(word) else "?")


def split_arguments(text):
    depth, one = 0, ""
    for letter in text:
        depth += {"(": 1, ")": -1}.get(letter, 0)
        if letter == "," and depth == 0:
            yield one
            one = ""
        else:
            one += letter
    if one.strip() != "void":
        yield one
