# SPDX-License-Identifier: Apache-2.0
"""Turns a text file into a C header that defines its bytes, terminated: embed.py IN OUT NAME.

An array, not a string literal: compilers need not take literals of more than 4095 bytes.
"""
import sys

source, target, name = sys.argv[1:4]
with open(source, "rb") as file:
    text = file.read() + b"\0"
with open(target, "w", encoding="ascii") as file:
    file.write(f"/* Made from {source.rsplit('/', 1)[-1]} by embed.py. */\n")
    file.write(f"static const char {name}[] = {{\n")
    for start in range(0, len(text), 16):
        file.write("    " + ", ".join(str(byte) for byte in text[start : start + 16]) + ",\n")
    file.write("};\n")
