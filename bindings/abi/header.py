# SPDX-License-Identifier: Apache-2.0
"""The C interface as its headers tell it: include/lockkeeper, but for canal.h.

Interface reads the declarations from what the preprocessor makes of lockkeeper.h, and asks a compiled
program for the values of constants. The bindings' tests ask the compiler for sizes, offsets and kinds, too.
"""

import collections
import pathlib
import re
import subprocess
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]

# Bounds of a request that no public header names: the header that has them, and which.
OF_THE_MODEL = ("model/command.h", ("LK_PARTS_MAX", "LK_BLOCKERS_MAX", "LK_FAILURE_BYTES_MAX"))

# A value of the kind of the field, as C sees it. Enumerations are unsigned where no value is negative.
KIND = """
#define KIND(x) _Generic((x), bool: 'b', char: 'c', int: 'i', unsigned: 'u', int64_t: 'i', \\
    uint64_t: 'u', default: 'p')
"""

# A field, an argument or a result. `base` is a type without its const and its stars; a callback has
# its result and its arguments in `callback`.
Item = collections.namedtuple("Item", "name base stars is_const array callback")


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


def item(declaration):
    """Of a declaration with a name."""
    text = " ".join(declaration.split())
    found = re.fullmatch(r"(.+?)\(\*\s?(\w+)\)\((.*)\)", text)
    if found:
        callback = item(found[1] + " result"), [item(one) for one in split_arguments(found[3])]
        return Item(found[2], None, 0, False, None, callback)
    found = re.fullmatch(r"(const )?(?:struct )?(\w+)([ *]|const\b)*?(\w+)(?:\[(\w+)\])?", text)
    return Item(found[4], found[2], text.count("*"), bool(found[1]), found[5], None)


class Interface:
    def __init__(self, compiler="cc", include=ROOT / "include"):
        self.compiler, self.include = compiler, pathlib.Path(include)
        self.text = subprocess.run(
            [compiler, "-E", "-P", f"-I{include}", "-x", "c", "-"], check=True, stdout=subprocess.PIPE,
            input="#include <lockkeeper/lockkeeper.h>\n", text=True).stdout
        self.source = "".join(
            (self.include / "lockkeeper" / name).read_text(encoding="utf-8")
            for name in ("terms.h", "lockkeeper.h", "watch.h", "work.h"))
        self.version = re.search(r'^#define LK_VERSION "(.*)"$', self.source, re.MULTILINE)[1]

    # ---- what is declared ------------------------------------------------------------------------

    def structs(self):
        """The fields of each, by its name."""
        return {found[1]: [item(one) for one in found[2].split(";")[:-1]] for found in
                re.finditer(r"typedef struct (\w+) \{(.*?)\} \1;", self.text, re.DOTALL)
                if found[1].startswith("lk_")}

    def enumerations(self):
        """The names of each one's constants, by its own."""
        return {found[1]: re.findall(r"(LK_\w+) =", found[2]) for found in
                re.finditer(r"typedef enum (lk_\w+) \{(.*?)\}", self.text, re.DOTALL)}

    def callbacks(self):
        """Result and arguments of each type of functions that has a name."""
        return {found[2]: (item(found[1] + " result"), [item(one) for one in split_arguments(found[3])])
                for found in re.finditer(r"typedef (\w+) (lk_\w+)\(([^;]*)\);", self.text)}

    def functions(self):
        """Result and arguments of each."""
        declarations = re.finditer(
            r'visibility\("default"\)\)\)\s*([^;{]*?)\b(lk_\w+)\(((?:[^()]|\([^()]*\))*)\);', self.text)
        return {found[2]: (item(found[1] + " result"), [item(one) for one in split_arguments(found[3])])
                for found in declarations}

    def constants(self):
        """The value of each, of enumerations and macros."""
        names = re.findall(r"^#define (LK_(?!PUBLIC|VERSION)\w+)\s", self.source, re.MULTILINE)
        in_enumerations = re.findall(r"\b(LK_\w+) = -?\d+", self.text)
        return self.values([*in_enumerations, *names, *OF_THE_MODEL[1]], OF_THE_MODEL[0])

    # ---- what the compiler says ------------------------------------------------------------------

    def run(self, lines, header=None):
        """What a C program of these lines prints, by words."""
        own = f'#include "{header}"\n' if header else ""
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place)
            (path / "asks.c").write_text(
                f"#include <stdio.h>\n#include <lockkeeper/lockkeeper.h>\n{own}{KIND}\n"
                f"int main(void) {{\n{lines}return 0; }}\n", encoding="utf-8")
            subprocess.run([self.compiler, "-std=gnu17", f"-I{self.include}", f"-I{ROOT / 'src'}",
                            path / "asks.c", "-o", path / "asks"], check=True)
            return subprocess.run([path / "asks"], check=True, stdout=subprocess.PIPE,
                                  text=True).stdout.split()

    def answers(self, expressions):
        """The value of each, in 64 bits with a sign."""
        return [int(one) for one in self.run(
            "".join(f'printf("%lld\\n", (long long)({one}));\n' for one in expressions))]

    def values(self, names, header=None):
        found = self.run("".join(
            f'printf(({one}) < 0 ? "%lld\\n" : "%llu\\n", (long long)({one}));\n' for one in names), header)
        return dict(zip(names, map(int, found)))

    # ---- what tests compare ----------------------------------------------------------------------

    def is_enumeration(self, base):
        return base in self.enumerations()

    def kind(self, one):
        """b: bool, i: signed, u: unsigned, p: pointer, v: nothing."""
        known = {"void": "v", "bool": "b", "_Bool": "b", "int": "i", "int32_t": "i", "int64_t": "i",
                 "uint32_t": "u", "uint64_t": "u", "size_t": "u"}
        if one.stars or one.array or one.callback:
            return "p"
        return known.get(one.base, "u" if self.is_enumeration(one.base) else "?")

    def width(self, one):
        """p: pointer, v: nothing, else its bytes."""
        known = {"void": "v", "bool": "1", "_Bool": "1", "int": "4", "int32_t": "4", "uint32_t": "4",
                 "int64_t": "8", "uint64_t": "8", "size_t": "8"}
        if one.stars or one.array or one.callback:
            return "p"
        return known.get(one.base, "4" if self.is_enumeration(one.base) else "?")
