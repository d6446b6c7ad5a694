# SPDX-License-Identifier: Apache-2.0
"""What is called of a shared library that is loaded later, as a table: library.py IN OUT LIBRARY.

IN has the names of its functions, one a line, and of its variables, with a * before them. OUT becomes
a header, to be included behind the library's own: the table struct lk_LIBRARY with a member for each
name, typed as the library declares it, and a macro for each that goes to the member.
src/base/library.h fills the table by LK_LIBRARY_NAMES; where the library is linked, LK_LIBRARY_MEMBERS
are its content.
"""
import sys

source, target, library = sys.argv[1:4]
with open(source, encoding="ascii") as file:
    lines = file.read().split()
names = [line.lstrip("*") for line in lines]
guard = f"LK_{library.upper()}_TABLE_H"
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Made from {source.rsplit('/', 1)[-1]} by library.py. */\n")
    file.write(f"#ifndef {guard}\n#define {guard}\n\n")
    file.write(f"struct lk_{library} {{\n")
    for name in names:
        file.write(f"    __typeof__({name}) *{name};\n")
    file.write(f"}};\nextern struct lk_{library} lk_{library};\n\n")
    file.write(f"#define LK_{library.upper()}_NAMES \\\n    ")
    file.write(", \\\n    ".join(f'"{name}"' for name in names) + "\n")
    file.write(f"#define LK_{library.upper()}_MEMBERS \\\n    ")
    file.write(", \\\n    ".join(f"&({name})" for name in names) + "\n\n")
    for line, name in zip(lines, names):
        if line == name:
            file.write(f"#define {name}(...) lk_{library}.{name}(__VA_ARGS__)\n")
        else:
            file.write(f"#define {name} (*lk_{library}.{name})\n")
    file.write("\n#endif\n")
