#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: layout.py CC INCLUDE: the binding's mirror of the C interface beside what the C compiler says.

Every mirrored struct must have the header's fields, in its order, each with its offset, size and kind;
every constant its value; every function its result and its arguments. The mirror is generated (bindings/abi),
and this is what holds the generator to the compiler.
"""

import ctypes
import pathlib
import re
import sys
import unittest

import support
from lockkeeper import _abi, _errors, _library, _records

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "bindings" / "abi"))
from header import OF_THE_MODEL, Interface

C = Interface(*sys.argv[1:3])


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


class Layout(unittest.TestCase):
    def test_each_struct_has_the_fields_of_the_header(self):
        structs = C.structs()
        self.assertEqual(set(_abi.STRUCTS), set(structs))
        for name, mirror in _abi.STRUCTS.items():
            with self.subTest(name):
                self.assertEqual([field for field, *_ in mirror._fields_],
                                 [one.name for one in structs[name]])

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
        for wanted, found in zip(expected, C.answers(expressions)):
            self.assertEqual(wanted, (*wanted[:-1], found))

    def test_each_constant_has_the_value_of_the_header(self):
        told = {name: value for name, value in _abi.CONSTANTS.items() if name not in OF_THE_MODEL[1]}
        for (name, value), found in zip(told.items(), C.answers(told)):
            self.assertEqual(value, found if value < 2**63 else found + 2**64, name)

    def test_each_outcome_is_there_and_has_its_exception(self):
        names = re.findall(r"LK_(\w+) = (\d+)",
                           re.search(r"typedef enum lk_outcome \{(.*?)\}", C.text, re.DOTALL).group(1))
        self.assertEqual({name: int(value) for name, value in names},
                         {one.name: int(one) for one in _records.Outcome})
        good = {_records.Outcome.OK, _records.Outcome.GRANTED, _records.Outcome.WAITING}
        self.assertEqual(set(_errors.CLASSES), set(_records.Outcome) - good)
        for outcome, kind_of in _errors.CLASSES.items():
            self.assertEqual(kind_of.outcome, outcome)

    def test_each_function_has_the_arguments_of_the_header(self):
        functions = C.functions()
        self.assertEqual(set(_abi.FUNCTIONS), set(functions))
        for name, (result, arguments) in _abi.FUNCTIONS.items():
            with self.subTest(name):
                found_result, found_arguments = functions[name]
                self.assertEqual(kind(result), C.kind(found_result))
                self.assertEqual([kind(one) for one in arguments],
                                 [C.kind(one) for one in found_arguments])

    def test_the_version_is_that_of_the_header(self):
        self.assertEqual(C.version, _library.VERSION)


support.main()
