#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The messages of the last commits. Sources without their history (a tarball) have none to look at."""

import re
import subprocess

import tap

LAST = 50
SUBJECT_MAX = 72
FILES_MAX = 3  # that a commit may change without saying why
SUBJECT = re.compile(r"[a-z0-9][a-z0-9/_., -]*: \S.*[^.\s]$", re.IGNORECASE)


def history():
    """(its number, subject, body, how many files it changes) of each."""
    git = ["git", "-c", f"safe.directory={tap.ROOT}", "-C", tap.ROOT]
    top = subprocess.run([*git, "rev-parse", "--show-toplevel"], check=False, stdout=subprocess.PIPE,
                         stderr=subprocess.DEVNULL, text=True).stdout.strip()
    if top != str(tap.ROOT):
        return
    log = tap.output(*git, "log", f"-{LAST}", "--no-merges", "--min-parents=1", "--name-only",
                     "--format=%x01%h%x02%s%x02%b%x02")
    for entry in log.split("\x01")[1:]:
        number, subject, body, files = entry.split("\x02")
        yield number, subject, body.strip(), len(files.split())


def badly_named():
    for number, subject, _, _ in history():
        if len(subject) > SUBJECT_MAX:
            yield f"{number}: {len(subject)} characters: {subject}"
        if not SUBJECT.match(subject):
            yield f"{number}: not `area: what`: {subject}"


def unexplained():
    for number, subject, body, files in history():
        if files > FILES_MAX and not body:
            yield f"{number}: {files} files, and no reason: {subject}"


report = tap.Report()
report.case(f"a subject is `area: what`, in at most {SUBJECT_MAX} characters", badly_named())
report.case(f"what changes more than {FILES_MAX} files says why", unexplained())
report.finish()
