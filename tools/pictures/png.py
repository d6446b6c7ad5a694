#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: png.py FROM TO

A screenshot (PNG of 8 bits a channel, not interlaced) with 256 colours at most, and for each other
one the nearest of them. Of a page that is some text on few grounds nothing is lost that is seen,
and the file is a third as large.
"""

import collections
import struct
import sys
import zlib

SIGNATURE = b"\x89PNG\r\n\x1a\n"
COLOURS = 256


def chunks(data):
    at = len(SIGNATURE)
    while at < len(data):
        size, kind = struct.unpack(">I4s", data[at:at + 8])
        yield kind, data[at + 8:at + 8 + size]
        at += size + 12


def paeth(left, above, corner):
    guess = left + above - corner
    distances = (abs(guess - left), abs(guess - above), abs(guess - corner))
    return (left, above, corner)[distances.index(min(distances))]


def unfiltered(data, width, height, channels):
    """The lines of the picture."""
    size = width * channels
    above = bytearray(size)
    for y in range(height):
        kind = data[y * (size + 1)]
        line = bytearray(data[y * (size + 1) + 1:(y + 1) * (size + 1)])
        for x in range(size if kind else 0):
            left = line[x - channels] if x >= channels else 0
            corner = above[x - channels] if x >= channels else 0
            line[x] = line[x] + (left, above[x], (left + above[x]) // 2,
                                 paeth(left, above[x], corner))[kind - 1] & 255
        yield line
        above = line


def nearest(colour, palette):
    return min(range(len(palette)), key=lambda at: sum(
        (a - b) ** 2 for a, b in zip(colour, palette[at])))


def chosen(counts):
    """The most frequent colours of every hue first, so that what is rare keeps its own."""
    hues, others = {}, []
    for colour, _ in counts.most_common():
        if bytes(part >> 4 for part in colour) in hues:
            others.append(colour)
        else:
            hues[bytes(part >> 4 for part in colour)] = colour
    return [*hues.values(), *others][:COLOURS]


def main(source, target):
    with open(source, "rb") as file:
        parts = list(chunks(file.read()))
    width, height, depth, kind, _, _, interlaced = struct.unpack(">IIBBBBB", parts[0][1])
    assert depth == 8 and kind in (2, 6) and not interlaced, "png.py: not such a PNG"
    channels = 3 if kind == 2 else 4
    data = zlib.decompress(b"".join(content for name, content in parts if name == b"IDAT"))
    lines = [[bytes(line[x:x + 3]) for x in range(0, len(line), channels)]
             for line in unfiltered(data, width, height, channels)]
    counts = collections.Counter(colour for line in lines for colour in line)
    palette = chosen(counts)
    number = {colour: at for at, colour in enumerate(palette)}
    for colour in counts:
        if colour not in number:
            number[colour] = nearest(colour, palette)
    pixels = b"".join(b"\0" + bytes(number[colour] for colour in line) for line in lines)
    with open(target, "wb") as file:
        file.write(SIGNATURE)
        for name, content in ((b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 3, 0, 0, 0)),
                              (b"PLTE", b"".join(palette)),
                              (b"IDAT", zlib.compress(pixels, 9)), (b"IEND", b"")):
            file.write(struct.pack(">I", len(content)) + name + content
                       + struct.pack(">I", zlib.crc32(name + content)))


main(*sys.argv[1:])
