# SPDX-License-Identifier: Apache-2.0
"""The functions that an engine calls of a client library, as a table: client_library.py IN OUT LIBRARY.

IN has their names, one a line. OUT becomes a header, to be included behind the library's own: the
table struct lk_LIBRARY with a member for each, typed as the library declares it, and a macro for
each that sends calls to the member. src/engine/client_library.h fills the table.
"""
import sys

source, target, library = sys.argv[1:4]
with open(source, encoding="ascii") as file:
    names = file.read().split()
guard = f"LK_ENGINE_{library.upper()}_FUNCTIONS_H"
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Made from {source.rsplit('/', 1)[-1]} by client_library.py. */\n")
    file.write(f"#ifndef {guard}\n#define {guard}\n\n")
    file.write(f"struct lk_{library} {{\n")
    for name in names:
        file.write(f"    __typeof__({name}) *{name};\n")
    file.write(f"}};\nextern struct lk_{library} lk_{library};\n\n")
    file.write(f"#define LK_{library.upper()}_NAMES \\\n    ")
    file.write(", \\\n    ".join(f'"{name}"' for name in names) + "\n\n")
    for name in names:
        file.write(f"#define {name}(...) lk_{library}.{name}(__VA_ARGS__)\n")
    file.write("\n#endif\n")
