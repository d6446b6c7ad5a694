#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: layout.py CC INCLUDE: the binding's mirror of the C interface beside what the C compiler says.

Every mirrored struct must have the header's fields, in its order, each with its offset, size and kind;
every constant its value; every function its result and its arguments. So a change of the header fails
here until the mirror has it too.
"""

import ctypes
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

import support
from lockkeeper import _abi, _errors, _records

CC, INCLUDE = sys.argv[1:3]

# A value of the kind of the field, as C sees it. Enumerations are unsigned where no value is negative.
KIND = """
#define KIND(x) _Generic((x), bool: 'b', char: 'c', int: 'i', unsigned: 'u', int64_t: 'i', \\
    uint64_t: 'u', default: 'p')
"""


def kind(ctype):
    """b: bool, c: char, i: signed, u: unsigned, p: pointer, v: nothing, s: a struct."""
    if ctype is None:
        return "v"
    if isinstance(ctype, type) and issubclass(ctype, ctypes.Structure):
        return "s"
    if isinstance(ctype, type) and issubclass(ctype, ctypes.Array):
        return "p"
    if ctype is ctypes.c_bool:
        return "b"
    if ctype in (ctypes.c_int, ctypes.c_int32, ctypes.c_int64):
        return "i"
    if ctype in (ctypes.c_uint, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_size_t):
        return "u"
    return "p"


def preprocessed():
    source = "#include <lockkeeper/lockkeeper.h>\n"
    return subprocess.run([CC, "-E", "-P", f"-I{INCLUDE}", "-x", "c", "-"], input=source, check=True,
                          stdout=subprocess.PIPE, text=True).stdout


HEADER = preprocessed()


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


def kind_in_c(declaration):
    """Of a type, with or without the name of an argument."""
    text = declaration.strip()
    if "*" in text or "[" in text:
        return "p"
    word = re.sub(r"^const ", "", text).split()[0]
    known = {"void": "v", "bool": "b", "_Bool": "b", "int": "i", "int32_t": "i", "int64_t": "i",
             "uint32_t": "u", "uint64_t": "u", "size_t": "u"}
    return known.get(word, "u" if re.search(r"typedef enum %s\b" % word, HEADER) else "?")


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


class Layout(unittest.TestCase):
    def test_each_struct_has_the_fields_of_the_header(self):
        for name, mirror in _abi.STRUCTS.items():
            with self.subTest(name):
                self.assertEqual([field for field, *_ in mirror._fields_], list(fields_in_c(name)))

    def test_each_field_is_where_the_compiler_puts_it(self):
        expected, expressions = [], []
        for name, mirror in _abi.STRUCTS.items():
            expressions += [f"sizeof({name})", f"_Alignof({name})"]
            expected += [(name, "size", ctypes.sizeof(mirror)),
                         (name, "alignment", ctypes.alignment(mirror))]
            for field, ctype, *_ in mirror._fields_:
                place = getattr(mirror, field)
                member = f"(({name} *)0)->{field}"
                expressions += [f"offsetof({name}, {field})", f"sizeof({member})"]
                expected += [(name, field, "offset", place.offset), (name, field, "size", place.size)]
                if kind(ctype) != "s":
                    expressions.append(f"KIND({member})")
                    expected.append((name, field, "kind", ord(kind(ctype))))
        for wanted, found in zip(expected, answers(expressions)):
            self.assertEqual(wanted, (*wanted[:-1], found))

    def test_each_constant_has_the_value_of_the_header(self):
        values = answers(_abi.CONSTANTS)
        for (name, value), found in zip(_abi.CONSTANTS.items(), values):
            self.assertEqual(value, found if value < 2**63 else found + 2**64, name)

    def test_each_outcome_is_there_and_has_its_exception(self):
        names = re.findall(r"LK_(\w+) = (\d+)",
                           re.search(r"typedef enum lk_outcome \{(.*?)\}", HEADER, re.DOTALL).group(1))
        self.assertEqual({name: int(value) for name, value in names},
                         {one.name: int(one) for one in _records.Outcome})
        good = {_records.Outcome.OK, _records.Outcome.GRANTED, _records.Outcome.WAITING}
        self.assertEqual(set(_errors.CLASSES), set(_records.Outcome) - good)
        for outcome, kind_of in _errors.CLASSES.items():
            self.assertEqual(kind_of.outcome, outcome)

    def test_each_function_has_the_arguments_of_the_header(self):
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            with self.subTest(name):
                found = re.search(r"([\w *]+?)\b%s\(((?:[^()]|\([^()]*\))*)\);" % name, HEADER)
                self.assertIsNotNone(found, "it is not in the header")
                self.assertEqual(kind(result), kind_in_c(found.group(1)))
                self.assertEqual([kind(one) for one in arguments],
                                 [kind_in_c(one) for one in split_arguments(found.group(2))])

    def test_the_version_is_that_of_the_header(self):
        self.assertIn(f'#define LK_VERSION "{_abi.VERSION}"',
                      pathlib.Path(INCLUDE, "lockkeeper", "lockkeeper.h").read_text())


support.main()
