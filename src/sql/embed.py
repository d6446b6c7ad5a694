# SPDX-License-Identifier: Apache-2.0
"""Turns text files into a C header that defines their bytes, terminated: embed.py IN OUT NAME IN...

Names such as @LK_TTL_MAX_MS@ become the values that C's headers have (src/model/constants.py). An array,
not a string literal: compilers need not take literals of more than 4095 bytes.
"""
import pathlib
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "model"))
import constants

source, target, name = sys.argv[1:4]
known = constants.values()
text = ""
try:
    for each in [source, *sys.argv[4:]]:
        text += constants.fill(pathlib.Path(each).read_text(encoding="utf-8"), each, known=known)
except constants.Unknown as unknown:
    sys.exit(str(unknown))
data = text.encode() + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Made from {source.rsplit('/', 1)[-1]} by embed.py. */\n")
    file.write(f"static const char {name}[] = {{\n")
    for start in range(0, len(data), 16):
        file.write("    " + ", ".join(str(byte) for byte in data[start : start + 16]) + ",\n")
    file.write("};\n")
