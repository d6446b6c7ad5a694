#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: svg.py TITLE <CAPTURE

A screen, as `tmux capture-pane -e` writes it, as SVG: runs of characters of one look, each at its
own column, so that the columns stay columns whatever font there is.
"""

import html
import re
import sys
import unicodedata

CELL_WIDTH, CELL_HEIGHT, MARGIN = 8.4, 18, 12
GROUND, TEXT, FAINT = "#1d1f21", "#d6d8d6", "#8b908d"
COLOURS = ["#5c6370", "#d9716f", "#98c379", "#e5c07b", "#7aa6da", "#c397d8", "#70c0b1", "#eaeaea"]


class Look:
    def __init__(self):
        self.reset()

    def reset(self):
        self.bold = self.dim = self.reverse = False
        self.colour = None

    def take(self, codes):
        for code in [int(code or 0) for code in codes.split(";")]:
            if code == 0:
                self.reset()
            elif code == 1:
                self.bold = True
            elif code == 2:
                self.dim = True
            elif code == 7:
                self.reverse = True
            elif code in (22, 27):
                self.bold, self.dim = (False, False) if code == 22 else (self.bold, self.dim)
                self.reverse = self.reverse and code != 27
            elif 30 <= code <= 37:
                self.colour = COLOURS[code - 30]
            elif code == 39:
                self.colour = None

    def key(self):
        text = self.colour or (FAINT if self.dim else TEXT)
        return (text, self.bold, self.reverse)


def width(character):
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def runs(line, look):
    """The line's runs: column, columns, text, look."""
    column, start, text, key = 0, 0, "", look.key()
    for piece in re.split(r"(\x1b\[[0-9;]*m)", line):
        match = re.fullmatch(r"\x1b\[([0-9;]*)m", piece)
        if match:
            if text:
                yield start, column - start, text, key
            look.take(match.group(1))
            start, text, key = column, "", look.key()
            continue
        text += piece
        column += sum(width(character) for character in piece)
    if text:
        yield start, column - start, text, key


def draw(row, start, columns, text, key):
    colour, bold, reverse = key
    x, y = MARGIN + start * CELL_WIDTH, MARGIN + row * CELL_HEIGHT
    if reverse:
        yield (f'<rect x="{x:.1f}" y="{y}" width="{columns * CELL_WIDTH:.1f}" '
               f'height="{CELL_HEIGHT}" fill="{colour}"/>')
        colour = GROUND
    if text.strip():
        weight = ' font-weight="bold"' if bold else ""
        text = text.replace(" ", "\u00a0")  # browsers draw several blanks as one, and not all know a way out
        yield (f'<text x="{x:.1f}" y="{y + 13.5:.1f}" textLength="{columns * CELL_WIDTH:.1f}" '
               f'fill="{colour}"{weight}>{html.escape(text)}</text>')


def main(title):
    lines = re.sub(r"[\s]+\Z", "", sys.stdin.read()).split("\n")
    look, shapes, columns = Look(), [], 0
    for row, line in enumerate(lines):
        for start, count, text, key in runs(line, look):
            columns = max(columns, start + (count if key[2] else len(text.rstrip())))
            shapes += draw(row, start, count, text, key)
    wide = 2 * MARGIN + columns * CELL_WIDTH
    high = 2 * MARGIN + len(lines) * CELL_HEIGHT
    print(f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide:.0f}" height="{high}" '
          f'viewBox="0 0 {wide:.0f} {high}" role="img" font-family="ui-monospace, '
          f'Menlo, Consolas, \'DejaVu Sans Mono\', monospace" font-size="14">')
    print(f"<title>{html.escape(title)}</title>")
    print(f'<rect width="100%" height="100%" fill="{GROUND}"/>')
    print("\n".join(shapes))
    print("</svg>")


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    main(sys.argv[1])
