# SPDX-License-Identifier: Apache-2.0
"""Joins the Lua files to one script and makes a C header of it: embed.py OUT IN...

Comments and indentation stay behind; the lines are counted as they come out. Names such as @LK_BUSY@ become
the values that C's headers have (src/model/constants.py). The header has the bytes, terminated, and the
SHA-1 by which a server knows the script.
"""
import hashlib
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[3] / "model"))
import constants

target, sources = sys.argv[1], sys.argv[2:]
known = constants.values()
lines = []
try:
    for source in sources:
        text = constants.fill(pathlib.Path(source).read_text(encoding="utf-8"), source, "\\'", known)
        for line in text.split("\n"):
            line = line.strip()
            if line and not line.startswith("--"):
                lines.append(line)
except constants.Unknown as unknown:
    sys.exit(str(unknown))
text = ("\n".join(lines) + "\n").encode()
data = text + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write("/* Made from the Lua files of src/engine/redis by embed.py. */\n")
    file.write(f'static const char script_sha[] = "{hashlib.sha1(text).hexdigest()}";\n')
    file.write("static const char script_text[] = {\n")
    for start in range(0, len(data), 16):
        file.write("    " + ", ".join(str(byte) for byte in data[start : start + 16]) + ",\n")
    file.write("};\n")
