#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: embed.py OUTPUT FILE...

Writes the files of the page as a table in C (src/server/http/routes.h). index.html is "/", the
others are below "/page/". The tag of a file is made of its content, so that browsers fetch it again
when it has changed.
"""

import hashlib
import pathlib
import sys

TYPES = {
    ".html": "text/html; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".mjs": "text/javascript; charset=utf-8",
}
BYTES_A_LINE = 24


def literal(content):
    lines = (content[at:at + BYTES_A_LINE] for at in range(0, len(content), BYTES_A_LINE))
    return ",\n".join(",".join(str(byte) for byte in line) for line in lines)


def main(output, *names):
    arrays = []
    rows = []
    for number, name in enumerate(names):
        path = pathlib.Path(name)
        content = path.read_bytes()
        route = "/" if path.name == "index.html" else f"/page/{path.name}"
        tag = hashlib.sha256(content).hexdigest()[:16]
        arrays.append(f"static const unsigned char file_{number}[] = {{\n{literal(content)}}};\n")
        rows.append(f'    {{"{route}", "{TYPES[path.suffix]}", "\\"{tag}\\"", file_{number}, '
                    f"sizeof file_{number}}},\n")
    pathlib.Path(output).write_text(
        '#include "server/http/routes.h"\n\n' + "\n".join(arrays)
        + "\nconst struct lk_http_page_file lk_http_page_files[] = {\n" + "".join(rows) + "};\n"
        + f"const size_t lk_http_page_file_count = {len(rows)};\n")


main(*sys.argv[1:])
