#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The Markdown files: what they link to in this repository is there, headings and pictures included."""

import re

import tap

LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)|<img src=\"([^\"]+)\"")
FENCE = re.compile(r"^```.*?^```", re.MULTILINE | re.DOTALL)


def pages():
    yield from sorted(tap.ROOT.glob("*.md"))
    for room in ["docs"] + tap.ROOMS:
        yield from sorted((tap.ROOT / room).rglob("*.md"))


def anchors(path):
    """The names that a reader's browser can jump to, as GitHub makes them of headings."""
    text = FENCE.sub("", path.read_text(encoding="utf-8"))
    for heading in re.findall(r"^#+ +(.*)$", text, re.MULTILINE):
        heading = re.sub(r"[`*]|\]\([^)]*\)|\[", "", heading).strip().lower()
        yield re.sub(r"[^\w\- ]", "", heading).replace(" ", "-")
    yield from re.findall(r'<a (?:id|name)="([^"]+)"', text)


def broken():
    for page in pages():
        text = re.sub(r"`[^`\n]*`", "", FENCE.sub("", page.read_text(encoding="utf-8")))
        for link in (markdown or html for markdown, html in LINK.findall(text)):
            if re.match(r"[a-z]+:", link):
                continue
            target, _, anchor = link.partition("#")
            path = (page.parent / target).resolve() if target else page
            if not path.exists():
                yield f"{tap.name(page)}: {link}: there is no such file"
            elif anchor and path.suffix == ".md" and anchor not in anchors(path):
                yield f"{tap.name(page)}: {link}: there is no such heading"


report = tap.Report()
report.case("every link leads somewhere", broken())
report.finish()
