# SPDX-License-Identifier: Apache-2.0
"""The constants and sentences of the headers, for rules that are told in SQL and in Lua.

@LK_TTL_MAX_MS@ in such a text stands for the value that the header gives the name: a number, or a
sentence as it stands between quotes there. The programs that embed the texts call fill(). As a program it
prints the paths of the headers, on which the embedded texts depend.
"""
import ast
import collections.abc
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
HEADERS = ("include/lockkeeper/terms.h", "include/lockkeeper/lockkeeper.h", "src/base/owner.h",
           "src/model/path.h", "src/model/part.h", "src/model/command.h", "src/model/model.h",
           "src/model/exit_codes.h", "src/model/sentences.h", "src/engine/engine.h",
           "src/engine/event.h", "src/engine/procedures/sqlstates.h", "src/engine/redis/call.h")

USE = re.compile(r"@(LK_[A-Z0-9_]+)@")
COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
DEFINITION = re.compile(r"^#define (LK_[A-Z0-9_]+)[ \t]+(\S.*)$", re.MULTILINE)
ENUMERATION = re.compile(r"\benum(?: \w+)? \{([^{}]*)\}")
STRING = re.compile(r'"(?:[^"\\]|\\.)*"')
CONVERSION = re.compile(r"%(?:\.(?:\d+|\*))?(?:d|u|s|ld|lu|lld|llu|zu)")
INTEGER = re.compile(r"\bU?INT(?:64|32)_C\((\w+)\)")
LIMITS = {"INT64_MAX": 2 ** 63 - 1, "UINT64_MAX": 2 ** 64 - 1, "SIZE_MAX": 2 ** 64 - 1}


class Unknown(Exception):
    """A name that no header gives a value, with the file and the line of its use."""


def definitions(text):
    """Names and expressions, of macros without parameters and of enumerators."""
    text = COMMENT.sub(" ", text).replace("\\\n", " ")
    yield from DEFINITION.findall(text)
    for body in ENUMERATION.findall(text):
        before = None
        for entry in filter(None, (entry.strip() for entry in body.split(","))):
            name, equals, expression = (part.strip() for part in entry.partition("="))
            yield name, expression if equals else "0" if before is None else f"{before} + 1"
            before = name


class Values(collections.abc.Mapping):
    """What each name stands for, an int or a str. Names of other things are not there."""

    def __init__(self, texts):
        self.expressions = dict(pair for text in texts for pair in definitions(text))

    def __getitem__(self, name):
        if name in LIMITS:
            return LIMITS[name]
        expression = self.expressions[name]
        if '"' in expression:
            rest = STRING.sub(" ", expression).split()
            if not all(word in self.expressions for word in rest):
                raise KeyError(name)
            parts = re.findall(STRING.pattern + r"|LK_\w+", expression)
            return "".join(ast.literal_eval(part) if part[0] == '"' else self[part] for part in parts)
        expression = INTEGER.sub(r"\1", expression)
        if not re.fullmatch(r"[\w\s()+*-]+", expression):
            raise KeyError(name)
        try:
            return eval(expression, {"__builtins__": {}}, self)
        except (SyntaxError, NameError, TypeError) as error:
            raise KeyError(name) from error

    def __iter__(self):
        return iter(self.expressions)

    def __len__(self):
        return len(self.expressions)


def values():
    return Values((ROOT / header).read_text(encoding="utf-8") for header in HEADERS)


def numbered(sentence):
    """With %1$s, %2$s and so on for its conversions."""
    numbers = iter(range(1, 100))
    return CONVERSION.sub(lambda match: f"%{next(numbers)}$s", sentence)


def fill(text, path, quote="''", known=None):
    """The text with values for names. `quote`: how an apostrophe is written between apostrophes."""
    known = known or values()

    def value_of(match):
        try:
            value = known[match.group(1)]
        except KeyError:
            line = text.count("\n", 0, match.start()) + 1
            raise Unknown(f"{path}:{line}: no header has a constant {match.group(1)}") from None
        return numbered(value).replace("'", quote) if isinstance(value, str) else str(value)

    return USE.sub(value_of, text)


if __name__ == "__main__":
    print("\n".join(str(ROOT / header) for header in HEADERS))
