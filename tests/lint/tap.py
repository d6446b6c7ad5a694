# SPDX-License-Identifier: Apache-2.0
"""What the lint programs share: the files of the repository, and findings as TAP."""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
ROOMS = ["include", "src", "bindings", "tests", "bench", "examples", "tools", ".ci"]


class Report:
    """One case for each rule; its findings are above it, a line each."""

    def __init__(self):
        self.count = 0
        self.is_good = True

    def case(self, rule, findings):
        self.count += 1
        findings = list(findings)
        for finding in findings:
            print(f"# {finding}")
        print(f"{'not ok' if findings else 'ok'} {self.count} - {rule}")
        self.is_good = self.is_good and not findings

    def finish(self):
        print(f"1..{self.count}")
        sys.exit(0 if self.is_good else 1)


def files(*patterns, rooms=None):
    """Files of the repository that fit one of the patterns, in order."""
    found = set()
    for room in rooms or ROOMS:
        for pattern in patterns:
            found.update(path for path in (ROOT / room).rglob(pattern) if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def name(path):
    return str(path.relative_to(ROOT))


def output(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
