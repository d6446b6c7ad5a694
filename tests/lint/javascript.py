#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Scripts in JavaScript: Node.js can parse each, and the page has no way to make markup of a text."""

import json
import re
import subprocess

import tap

# What parses a text as markup or as a script. The service's policy for the page forbids most of it, too.
MARKUP = re.compile(r"\b(innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment"
                    r"|DOMParser|srcdoc|eval|new Function|setTimeout\(\"|localStorage|sessionStorage)\b")


# The syntax is that of the Node.js that the binding needs. An older one (Debian 11's) is not asked.
needed = int(json.loads((tap.ROOT / "bindings/node/package.json").read_text())["engines"]["node"].strip(">="))
there = tap.output("node", "--version").strip()
is_old = int(there.strip("v").split(".")[0]) < needed


def unparsed():
    for path in tap.files("*.js", "*.mjs"):
        parsed = subprocess.run(["node", "--check", path], stderr=subprocess.PIPE, text=True)
        if parsed.returncode != 0:
            yield f"{tap.name(path)}: {' '.join(parsed.stderr.split())[:300]}"


def markup():
    for path in tap.files("*.mjs", rooms=["src"]):
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), start=1):
            if MARKUP.search(line):
                yield f"{tap.name(path)}:{number}: {line.strip()}"


def inline():
    for path in tap.files("*.html", rooms=["src"]):
        for found in re.findall(r"<style|<script(?! type=\"module\" src=)|\s(?:on\w+|style)=|https?://(?!www\.w3\.org)",
                                path.read_text(encoding="utf-8")):
            yield f"{tap.name(path)}: {found.strip()}"


report = tap.Report()
if is_old:
    report.case(f"Node.js parses every script: not asked, {there} is older than {needed}", [])
else:
    report.case("Node.js parses every script", unparsed())
report.case("the page puts no text in as markup, and stores nothing", markup())
report.case("the page's HTML has no inline script or style, and names no other site", inline())
report.finish()
