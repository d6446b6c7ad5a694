# SPDX-License-Identifier: Apache-2.0
"""Turns text files into a C header that defines their bytes, terminated: embed.py IN OUT NAME IN...

An array, not a string literal: compilers need not take literals of more than 4095 bytes.
"""
import sys

source, target, name = sys.argv[1:4]
text = b""
for each in [source, *sys.argv[4:]]:
    with open(each, "rb") as file:
        text += file.read()
text += b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Made from {source.rsplit('/', 1)[-1]} by embed.py. */\n")
    file.write(f"static const char {name}[] = {{\n")
    for start in range(0, len(text), 16):
        file.write("    " + ", ".join(str(byte) for byte in text[start : start + 16]) + ",\n")
    file.write("};\n")
