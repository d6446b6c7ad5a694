# SPDX-License-Identifier: Apache-2.0
"""Joins the Lua files to one script and makes a C header of it: embed.py OUT IN...

Comments and indentation stay behind; the lines are counted as they come out. The header has the
bytes, terminated, and the SHA-1 by which a server knows the script.
"""
import hashlib
import sys

target, sources = sys.argv[1], sys.argv[2:]
lines = []
for source in sources:
    with open(source, encoding="utf-8") as file:
        for line in file:
            line = line.strip()
            if line and not line.startswith("--"):
                lines.append(line)
text = ("\n".join(lines) + "\n").encode()
data = text + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write("/* Made from the Lua files of src/engine/redis by embed.py. */\n")
    file.write(f'static const char script_sha[] = "{hashlib.sha1(text).hexdigest()}";\n')
    file.write("static const char script_text[] = {\n")
    for start in range(0, len(data), 16):
        file.write("    " + ", ".join(str(byte) for byte in data[start : start + 16]) + ",\n")
    file.write("};\n")
