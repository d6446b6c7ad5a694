#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: docs.py SOURCE_ROOT

The file that `make docs` makes: it needs nothing else, every link within it leads somewhere, and all pages are in it.
Prints TAP.
"""

import html.parser
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))

import cases

ROOT = pathlib.Path(sys.argv[1])
LOADED = {"src", "srcset", "data", "poster", "action", "background"}
VOID = {"br", "hr", "img", "meta", "input"}


class Reader(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.ids, self.links, self.loaded, self.tags, self.open, self.unclosed = [], [], [], set(), [], []
        self.texts = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            elif name == "href":
                self.links.append(value)
            elif name in LOADED or name.startswith("on"):
                self.loaded.append(value)

    def handle_endtag(self, tag):
        if tag in VOID:
            return
        if not self.open or self.open.pop() != tag:
            self.unclosed.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def read():
    with tempfile.TemporaryDirectory() as place:
        file = pathlib.Path(place) / "new" / "all.html"
        first = subprocess.run([ROOT / "tools/docs", file], check=True, capture_output=True, text=True, cwd=place)
        assert first.stdout == f"{file}\n", first.stdout
        text = file.read_text(encoding="utf-8")
        subprocess.run([ROOT / "tools/docs", file], check=True, stdout=subprocess.DEVNULL)
        assert file.read_text(encoding="utf-8") == text, "the same pages make another file"
    reader = Reader()
    reader.feed(text)
    return text, reader


TEXT, READER = read()


def needs_nothing():
    """it loads nothing: pictures are in it, and there are no scripts, frames or style sheets"""
    assert all(value.startswith("data:image/") for value in READER.loaded), READER.loaded
    assert len(READER.loaded) > 5
    assert not READER.tags & {"script", "link", "iframe", "object", "embed", "form"}, READER.tags
    assert not re.search(r"url\(|@import", TEXT[:TEXT.index("</style>")])


def links_lead_somewhere():
    """each link within it has its place, once, and the others are addresses"""
    twice = {name for name in READER.ids if READER.ids.count(name) > 1}
    assert not twice, twice
    lost = {link for link in READER.links if link.startswith("#") and link[1:] not in READER.ids}
    assert not lost, lost
    others = {link for link in READER.links if not link.startswith("#") and not re.match(r"https?://", link)}
    assert not others, others
    assert len([link for link in READER.links if link.startswith("#")]) > 300


def has_all_pages():
    """every page is in it, whole"""
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")]
    text = " ".join("".join(READER.texts).split())
    for page in pages:
        source = re.sub(r"^```.*?^```", "", page.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
        for title in re.findall(r"^#+ +([\w ,:]+)$", source, re.MULTILINE):
            assert title in text, (page.name, title)
    assert len([name for name in READER.ids if name.startswith("page-") and "--" not in name]) >= len(pages)
    assert not READER.unclosed and not READER.open, (READER.unclosed, READER.open)


def keeps_columns():
    """pictures of a terminal have blanks that no browser joins"""
    made = subprocess.run([ROOT / "tools/pictures/svg.py", "title"], input="A   B\n  C\n", check=True,
                          capture_output=True, text=True).stdout
    pictures = {file.name: file.read_text(encoding="utf-8") for file in ROOT.glob("docs/pictures/*.svg")}
    for name, picture in {**pictures, "made": made}.items():
        for text in re.findall(r"<text [^>]*>([^<]*)</text>", picture):
            assert " " not in text, (name, text)


def main():
    chosen = [keeps_columns, needs_nothing, links_lead_somewhere, has_all_pages]
    return cases.run(chosen)


sys.exit(main())
