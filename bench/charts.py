# SPDX-License-Identifier: Apache-2.0
"""Charts as SVG, drawn by hand: lines over two logarithmic scales, and ratios beside 1."""
import html
import math

COLOURS = ["#1f6f8b", "#c8553d", "#3d8b50", "#7a4fa3", "#b8860b", "#4a4a4a", "#c2407d"]
STYLE = """<style>
text { font: 12px system-ui, sans-serif; fill: #222 }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px; fill: #555 }
.section { font-size: 12px; font-weight: 600 }
.grid { stroke: #e3e3e3 }
.axis { stroke: #888 }
</style>"""


def start(width, height, title):
    return [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
            f'width="{width}" height="{height}" role="img" aria-label="{html.escape(title)}">',
            STYLE, f'<rect width="{width}" height="{height}" fill="#fff"/>',
            f'<text class="title" x="16" y="26">{html.escape(title)}</text>']


def text(x, y, words, anchor="start", kind="small"):
    return (f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
            f'{html.escape(words)}</text>')


def stroke(x1, y1, x2, y2, kind="grid"):
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def count_text(number):
    return f"{number:,.0f}" if number >= 1 else f"{number:g}"


def time_text(microseconds):
    if microseconds >= 1e6:
        return f"{microseconds / 1e6:g} s"
    return f"{microseconds / 1e3:g} ms" if microseconds >= 1e3 else f"{microseconds:g} µs"


def decades(low, high):
    """Powers of ten from below the least to above the greatest, two at least."""
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    return [10.0 ** power for power in range(first, max(last, first + 1) + 1)]


def lines(title, points_of):
    """A line for each name, of points (size, middle, low, high) in microseconds."""
    width, height, left, right, top, bottom = 720, 412, 70, 150, 58, 362
    every = [point for points in points_of.values() for point in points]
    across = decades(min(p[0] for p in every), max(p[0] for p in every))
    up = decades(min(p[2] for p in every), max(p[3] for p in every))

    def x_of(size):
        share = math.log10(size / across[0]) / math.log10(across[-1] / across[0])
        return left + share * (width - left - right)

    def y_of(cost):
        return bottom - math.log10(cost / up[0]) / math.log10(up[-1] / up[0]) * (bottom - top)

    out = start(width, height, title[:1].upper() + title[1:])
    for tick in across:
        out += [stroke(x_of(tick), top, x_of(tick), bottom),
                text(x_of(tick), bottom + 16, count_text(tick), "middle")]
    for tick in up:
        out += [stroke(left, y_of(tick), width - right, y_of(tick)),
                text(left - 6, y_of(tick) + 4, time_text(tick), "end")]
    out += [stroke(left, bottom, width - right, bottom, "axis"),
            stroke(left, top, left, bottom, "axis"),
            text((left + width - right) / 2, bottom + 36, "N", "middle"),
            text(left, top - 6, "median time of a call", kind="small")]
    ends = []
    for number, (name, points) in enumerate(sorted(points_of.items())):
        colour = COLOURS[number % len(COLOURS)]
        points = sorted(points)
        band = [(x_of(p[0]), y_of(p[3])) for p in points] + [
            (x_of(p[0]), y_of(p[2])) for p in reversed(points)]
        path = " ".join(f"{x_of(p[0]):.1f},{y_of(p[1]):.1f}" for p in points)
        out.append('<polygon points="' + " ".join(f"{x:.1f},{y:.1f}" for x, y in band)
                   + f'" fill="{colour}" opacity="0.15"/>')
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"/>')
        out += [f'<circle cx="{x_of(p[0]):.1f}" cy="{y_of(p[1]):.1f}" r="3" fill="{colour}"/>'
                for p in points]
        ends.append([y_of(points[-1][1]), name, colour])
    ends.sort()
    for above, below in zip(ends, ends[1:]):  # names one below the other
        below[0] = max(below[0], above[0] + 15)
    for y, name, colour in ends:
        out.append(f'<circle cx="{width - right + 14}" cy="{y - 4:.1f}" r="4" fill="{colour}"/>')
        out.append(text(width - right + 24, y, name, kind="name"))
    return "\n".join(out + ["</svg>"]) + "\n"


def sections(rows):
    """The rows, each section's behind its title."""
    section = None
    for row in rows:
        if row["section"] != section:
            section = row["section"]
            yield section, None
        yield None, row


def verdict(row):
    """The ratio, and whether it reaches its bar."""
    ratio = row["ratio"]
    figure = f"{ratio:.2f}" if ratio >= 0.1 else f"{ratio:.2g}"
    if not row["bar"]:
        return figure
    return f"{figure}, {'reaches' if row['holds'] == 'yes' else 'misses'} {row['bar']:.3g}"


def ratios(title, rows):
    """A bar for each comparison, from 1 to its ratio, with its quartiles and what it must reach."""
    left, right, width, step, top = 440, 130, 980, 22, 64
    lines_of = list(sections(rows))
    height = top + step * len(lines_of) + 40
    values = [row[key] for row in rows for key in ("ratio_low", "ratio", "ratio_high")]
    values += [row["bar"] for row in rows if row["bar"]] + [1.0]
    ticks = decades(min(values), max(values))

    def x_of(ratio):
        ratio = min(max(ratio, ticks[0]), ticks[-1])
        share = math.log10(ratio / ticks[0]) / math.log10(ticks[-1] / ticks[0])
        return left + share * (width - left - right)

    out = start(width, height, title)
    out.append(text(16, 44, "Right of 1 Lockkeeper is ahead. Thin lines: quartiles. Black marks: "
                            "what the ratio is to reach."))
    for tick in ticks:
        out += [stroke(x_of(tick), top - 6, x_of(tick), height - 30),
                text(x_of(tick), height - 14, f"{tick:g}", "middle")]
    out.append(stroke(x_of(1), top - 6, x_of(1), height - 30, "axis"))
    for number, (section, row) in enumerate(lines_of):
        y = top + step * number + step / 2
        if row is None:
            out.append(f'<rect x="10" y="{y - 9:.1f}" width="{left - 14}" height="18" fill="#fff"/>')
            out.append(text(16, y + 5, section if len(section) < 62 else section[:60] + "…",
                            kind="section"))
            continue
        colour = COLOURS[2] if row["ratio"] >= 1 else COLOURS[1]
        x1, x2 = sorted((x_of(1), x_of(row["ratio"])))
        name = f"{row['what']}, beside {row['peer']}"
        out += [text(left - 8, y + 4, name if len(name) < 70 else name[:68] + "…", "end"),
                f'<rect x="{x1:.1f}" y="{y - 6:.1f}" width="{max(x2 - x1, 1):.1f}" height="12" '
                f'fill="{colour}" opacity="0.75"/>',
                stroke(x_of(row["ratio_low"]), y, x_of(row["ratio_high"]), y, "axis"),
                text(width - right + 12, y + 4, verdict(row))]
        if row["bar"]:
            out.append(f'<line x1="{x_of(row["bar"]):.1f}" y1="{y - 9:.1f}" '
                       f'x2="{x_of(row["bar"]):.1f}" y2="{y + 9:.1f}" stroke="#222" '
                       'stroke-width="2"/>')
    return "\n".join(out + ["</svg>"]) + "\n"
