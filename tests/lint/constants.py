#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What a header of C has a name for is told there alone: SQL and Lua have neither the number nor the sentence.

They write @LK_TTL_MAX_MS@, and src/model/constants.py puts in what the header says.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

import tap

sys.path.insert(0, str(tap.ROOT / "src" / "model"))
import constants

LEAST = 101  # smaller numbers stand for many things
PIECE = 14  # characters of a sentence that two texts do not share by chance

COMMENT = re.compile(r"--[^\n]*")
STRING = re.compile(r'"(?:[^"\\\n]|\\.)*"')
NUMBER = re.compile(r"(?<![\w.@])\d+(?![\w.@])")

# Numbers that are no bound, or not told once more where they stand: in which files, the text around, and why.
EXCEPTIONS = [(re.compile(files), re.compile(text, re.MULTILINE), why) for files, text, why in (
    ("sql$", r"\b(?:VAR)?(?:BINARY|CHAR)\(\d+\)", "a column is as wide as what is put into it"),
    ("(10_tables|12_steps).sql$", r"\b9223372036854775807\b", "the tables' format is kept as it is"),
    ("", r"\b(?:1000|1000000)\b", "milliseconds and microseconds of a second"),
    ("sql$", r"\bSHA2\([^;]*?\b256\)", "bits of a hash"),
    ("sql$", r"perish\((?:decision|locked, has_waiting, now_us), 256\)|\bLIMIT 256\b|\bTHEN 256\b|"
     r"has_waiting, 256,", "requests that one transaction lets perish"),
    ("sql$", r"\bROWS 256\b", "what the planner is to expect"),
    ("postgresql/.*sql$", r"\b(?:moment_us|now_us\(\)) - 10000\b", "10 ms: draws are behind the clock"),
    ("postgresql/.*sql$", r"\b9223372036854775807::numeric\b", "the greatest bigint"),
    ("9\\d_calls.sql$|85_sweep.sql$", r"(?:LIMIT|:=|due_roots\(.*,|rounds INT DEFAULT) (?:128|1024)\b",
     "rows that one transaction removes or sweeps"),
    ("91_public_checks.sql$", r"\bLEFT\(sentence, 128\)", "characters that SIGNAL takes"),
    ("92_public_locks.sql$", r"lk_check_clock\(60000000, 0\)", "a minute that a clock may be late"),
    ("94_public_work.sql$", r"-2147483648, 2147483647\b", "an exit code has 32 bits"),
    ("lua$", r"\+ (?:60000000|60000)$|kept_ms \+ 60000\)", "a key's expiry is renewed once a minute"),
    ("lua$", r"\bnow \+ 30000000\b", "workers are looked for again after half a minute"),
    ("groups.lua$", r"\bLOOK_MAX = 300000000\b", "locks of a root are looked at again after five minutes"),
    ("blockers.lua$|deadlock.lua$", r"= 16, 1024, 4$|ROOTS_CHECKED_MIN = 256$", "what one call may read"),
)]


def blank(match):
    return re.sub(r"[^\n]", " ", match.group())


def line_of(text, at):
    return text.count("\n", 0, at) + 1


def bounds(known):
    """Names by value, of the numbers that the headers name."""
    names = collections.defaultdict(list)
    for name in known:
        value = known.get(name)
        if isinstance(value, int) and abs(value) >= LEAST:
            names[abs(value)].append(name)
    return names


def numbers(name, text, names):
    text = COMMENT.sub(blank, text)
    for files, around, _ in EXCEPTIONS:
        if files.search(name):
            text = around.sub(blank, text)
    for match in NUMBER.finditer(text):
        if int(match.group()) in names:
            yield (f"{name}:{line_of(text, match.start())}: {match.group()} is "
                   f"@{'@ or @'.join(names[int(match.group())])}@")


def pieces(known):
    """Names by what their sentences say between two conversions, without the rule's number."""
    for name in known:
        if name.startswith("LK_TEXT_"):
            for piece in re.split(r"%(?:\.(?:\d+|\*))?[a-z]+|^R\d+[a-z]?: ", known[name]):
                piece = piece.strip()
                if len(piece) >= PIECE:
                    yield piece, name


def sentences(name, text, known):
    text = COMMENT.sub(blank, text).replace("''", "'").replace("\\'", "'")
    for piece, sentence in known:
        at = text.find(piece)
        if at >= 0:
            yield f"{name}:{line_of(text, at)}: \"{piece}\" is of @{sentence}@"


def told_again(texts, known):
    names, told = bounds(known), list(pieces(known))
    for place, text in texts:
        yield from numbers(place, text, names)
        yield from sentences(place, text, told)


def all_told_again(known):
    yield from told_again(((tap.name(path), path.read_text(encoding="utf-8"))
                           for path in tap.files("*.sql", "*.lua", rooms=["src"])), known)
    literals = {known.expressions[name].strip(): name for name in known if name.startswith("LK_TEXT_")}
    for path in tap.files("*.c", rooms=["src"]):
        for literal in STRING.findall(path.read_text(encoding="utf-8")):
            if literal in literals:
                yield f"{tap.name(path)}: {literal} is {literals[literal]}"


def unknown_names():
    """A name that no header has ends the build, with the file and the line."""
    for script, suffix, arguments in (("src/sql/embed.py", "sql", ("IN", "OUT", "text")),
                                      ("src/engine/redis/script/embed.py", "lua", ("OUT", "IN"))):
        with tempfile.TemporaryDirectory() as place:
            source = pathlib.Path(place, f"made_up.{suffix}")
            source.write_text("SELECT 1;\nSELECT @LK_TTL_MAX_MS@, @LK_NO_SUCH_BOUND@;\n")
            words = {"IN": source, "OUT": pathlib.Path(place, "out.h")}
            done = subprocess.run([sys.executable, "-B", tap.ROOT / script]
                                  + [words.get(word, word) for word in arguments],
                                  stderr=subprocess.PIPE, text=True, check=False)
            expected = f"{source}:2: no header has a constant LK_NO_SUCH_BOUND\n"
            if done.returncode == 0 or done.stderr != expected:
                yield f"{script}: ends with {done.returncode} and says {done.stderr!r}"


HEADER = """
#define LK_TTL_MAX_MS (INT64_C(366) * 24 * 60 * 60 * 1000) /* R11 */
enum lk_bound { LK_FIRST, LK_NAME_MAX = 123, LK_BEHIND };
#define LK_TEXT_TTL "R11: a ttl isn't longer than %lld ms, " \\
    "and %s"
"""
AGAIN = """-- no text is longer than 31622400000
IF ttl_ms > 31622400000 OR name > 123 OR name < @LK_NAME_MAX@ OR id = lk_123 THEN
    CALL lk_refuse('R11: a ttl isn''t longer than a day');
"""


def samples():
    known = constants.Values([HEADER])
    told = [finding.split(": ", 1)[0] + " " + finding.split("@")[1]
            for finding in told_again([("made_up.sql", AGAIN)], known)]
    expected = ["made_up.sql:2 LK_TTL_MAX_MS", "made_up.sql:2 LK_NAME_MAX", "made_up.sql:3 LK_TEXT_TTL"]
    if told != expected:
        yield f"found are {told}"
    filled = constants.fill("@LK_FIRST@ @LK_BEHIND@ '@LK_TEXT_TTL@' @lk_own@", "made_up.sql", known=known)
    if filled != "0 124 'R11: a ttl isn''t longer than %1$s ms, and %2$s' @lk_own@":
        yield f"filled in is {filled}"


report = tap.Report()
report.case("no SQL and no Lua tells a constant or a sentence once more", all_told_again(constants.values()))
report.case("one that does is found", samples())
report.case("an unknown name is an error that says where it is", unknown_names())
report.finish()
