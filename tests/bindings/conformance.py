# SPDX-License-Identifier: Apache-2.0
"""usage: conformance.py [--mutated] PATTERN LK AGENT... -- SCENARIO...: the scenarios of tests/conformance,
played through the public functions of a binding. README.md there has the grammar.

AGENT... is a program in the binding's language that makes one call at a time. A request is a line, a verb
and NAME=VALUE words; an answer is lines of the same form, up to an empty one: an outcome with its fields,
then the records that belong to it (blocker, value, entry, claim, item). Durations are milliseconds, flags
are yes or no, what is not there is left out, a list repeats its name, and every byte of a value that is not
plain is %XX. An error has the field `says`; `refused` is yes where the binding itself has refused. A wait
that is to go on beside other calls has an agent of its own on the same store.

What is not played is listed in NOT_PLAYED and NOT_PLAYED_BY_NAME with a reason, and printed; what is
unknown is an error. --mutated changes what the last step of each scenario expects: each must fail there.
"""

import contextlib
import os
import pathlib
import re
import select
import subprocess
import sys
import time
import traceback
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent / "python"))
import support

SOON_MS = 20_000  # leases and delays that are shorter need the clock of the C runner
KEEP_STRETCH = 60  # what is done must be there as long as a scenario that has no pause looks

NOT_PLAYED = {  # a pattern of a line, and why a scenario that has such a line is not played
    r"pause ": "the C runner's clock repeats what a stall of the machine has spoilt",
    r".* (ttl|until|delay) -?\d+ms\b": "as with pause",
    r".* cancels ": "each language ends a wait in its own way, which its own tests play",
    r".* blockers \d+ ": "a binding asks for 16 blockers",
    r".* pushes .* \+ .* (priority|needs|delay) ": "a push of several takes ids and values",
    r"(watch|events)\b": "the tests of work play events",
    r"(audit|values|queues)\b": "not every binding lists audits, values and queues",
}
NOT_PLAYED_BY_NAME = {
    "Only UTF-8": "a text of most languages cannot have such bytes; misuse has those that it can have",
    "A release of a batch puts all values or none": "it has more values than paths",
}
# An error has blockers and a cycle. The other numbers of a refusal stay in the library.
NOT_OF_ERRORS = {"position", "in use", "created", "token", "ticket", "fixed", "ttl", "value"}

UNITS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000}
WORD = re.compile(r'\s*(?:(#.*)|"((?:[^"\\]|\\.)*)"|(,)|([^\s,]+))')
ESCAPE = re.compile(rb'\\(?:x([0-9a-f]{2})|\{(.*?)\*(\d+)\}|(.))')


class Text(str):
    """A quoted word: never a keyword."""


def unescaped(raw):
    def one(found):
        if found[1]:
            return bytes([int(found[1], 16)])
        if found[2] is not None:
            return found[2] * int(found[3])
        return {b"n": b"\n", b"t": b"\t"}.get(found[4], found[4])

    return Text(ESCAPE.sub(one, raw.encode()).decode())


def words_of(line):
    words, at = [], 0
    while (found := WORD.match(line, at)) and not found[1]:
        words.append(unescaped(found[2]) if found[2] is not None else found[3] or found[4])
        at = found.end()
    return words


class Words:
    def __init__(self, words):
        self.words = words

    def next(self):
        return self.words.pop(0)

    def accept(self, *wanted):
        """Whether the next words are these; they are taken."""
        is_so = self.words[:len(wanted)] == list(wanted) and not any(
            isinstance(word, Text) for word in self.words[:len(wanted)])
        if is_so:
            del self.words[:len(wanted)]
        return is_so

    def duration(self):
        number, unit = re.fullmatch(r"(-?\d+)([a-z]+)", self.next()).groups()
        return int(number) * UNITS[unit]

    def several(self):
        """One word, or several that + joins."""
        found = [self.next()]
        while self.accept("+"):
            found.append(self.next())
        return found


def path_of(part):
    return part.partition("?")[0].strip("/")


def same(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


# ---- agents --------------------------------------------------------------------------------------------


class Record:
    """A line of an answer, and the lines that belong to it. A field that is not there is an error, unless
    it may be none."""

    def __init__(self, line):
        self.name, *pairs = line.decode().split()
        self.fields, self.records = {}, {}
        for name, _, value in (pair.partition("=") for pair in pairs):
            self.fields.setdefault(name, []).append(urllib.parse.unquote_to_bytes(value))

    def __repr__(self):
        return " ".join([self.name, *(f"{name}={value!r}" for name, values in self.fields.items()
                                      for value in values), *map(repr, sum(self.records.values(), []))])

    def of(self, kind):
        return self.records.get(kind, [])

    def bytes(self, name):
        """None: it is not there."""
        return self.fields[name][0] if name in self.fields else None

    def text(self, name):
        return self.bytes(name).decode() if name in self.fields else None

    def texts(self, name):
        return [one.decode() for one in self.fields.get(name, [])]

    def number(self, name):
        return int(self.fields[name][0])

    def flag(self, name):
        return {b"yes": True, b"no": False}[self.fields[name][0]]

    @property
    def part(self):
        """A part as scenarios spell it."""
        if self.number("limit") > 0:  # then it is shared, too
            units = f"&units={self.number('units')}" if self.number("units") > 1 else ""
            return f"{self.text('path')}?limit={self.number('limit')}{units}"
        return f"{self.text('path')}?shared" if self.flag("shared") else self.text("path")


def encoded(value):
    if isinstance(value, bool):
        return "yes" if value else "no"
    return urllib.parse.quote(value if isinstance(value, bytes) else str(value), safe="/?:,+")


class Agent:
    def __init__(self, command):
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def ask(self, verb, given):
        words = [verb] + [f"{name}={encoded(one)}" for name, value in given.items() if value is not None
                          for one in (value if isinstance(value, list) else [value])]
        self.process.stdin.write((" ".join(words) + "\n").encode())
        self.process.stdin.flush()

    def has_answered(self, within_s=0):
        """Answers are read whole, so what is there is the next one."""
        return bool(select.select([self.process.stdout], [], [], within_s)[0])

    def answer(self):
        if not self.has_answered(support.PATIENCE_S):
            raise AssertionError("the call does not end")
        answer = last = None
        while (line := self.process.stdout.readline()).strip():
            record = Record(line)
            if answer is None:
                answer = last = record
            else:
                # A blocker belongs to the entry before it; all others to the answer.
                last = last if record.name == "blocker" else answer
                last.records.setdefault(record.name, []).append(record)
                last = record if record.name == "entry" else last
        if not line:
            raise AssertionError("the agent has ended")
        return answer

    def call(self, verb, **given):
        self.ask(verb, given)
        return self.answer()

    def end(self):
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            with contextlib.suppress(BrokenPipeError):
                stream.close()


class Agents:
    """Agents that have no store open; they are used again."""

    def __init__(self, command):
        self.command, self.idle = command, []

    def opened(self, url):
        agent = self.idle.pop() if self.idle else Agent(self.command)
        same("open", agent.call("open", url=url).name, "ok")
        return agent

    def closed(self, agent):
        try:
            same("close", agent.call("close").name, "ok")
            self.idle.append(agent)
        except (OSError, AssertionError):  # it has ended, or is not to be used again
            agent.end()


# ---- a scenario ----------------------------------------------------------------------------------------


class Player:
    def __init__(self, agents, url):
        self.agents, self.url, self.line = agents, url, None
        self.agent = agents.opened(url)
        self.kept, self.waits = {}, {}
        self.seen = {}  # (owner, paths): ticket and token, as they were seen last

    def end(self):
        for agent in self.waits.values():  # they wait still
            agent.end()
        self.agents.closed(self.agent)

    def owner(self, word):
        return None if word == "anyone" else self.kept.get(("owner", word), word)

    # ---- steps: each returns what checks look at -------------------------------------------------

    def step(self, line):
        words = Words(words_of(line))
        if words.accept("expect"):
            self.expect(words)
        elif words.accept("reopen"):
            self.agent.call("close")
            same("open", self.agent.call("open", url=self.url).name, "ok")
        else:
            at = words.words.index("->")
            expected, words = Words(words.words[at + 1:]), Words(words.words[:at])
            answer = self.call(words)
            if words.words:
                raise AssertionError(f"unknown words: {words.words}")
            wanted = expected.next()
            if answer.name != wanted:
                raise AssertionError(f"the outcome: {answer} instead of {wanted}")
            self.check(answer, expected)

    def call(self, words):
        for verb in ("bound", "count"):
            if words.accept(verb):
                return getattr(self, verb)(words)
        owner = self.owner(words.next())
        for phrase, style in (("asks", "queue"), ("tries", "try"), ("waits for", "wait")):
            if words.accept(*phrase.split()):
                return self.agent.call("ask", part=words.several(), style=style, owner=owner,
                                       **self.options(words))
        return getattr(self, words.next())(owner, words)

    def options(self, words):
        options = {}
        while words.words:
            name = words.next()
            if name in ("ttl", "delay"):
                options[name] = words.duration()
            elif name == "keep":
                options[name] = words.duration() * KEEP_STRETCH
            elif name == "until":
                options[name] = int(time.time() * 1000) + words.duration()
            elif name == "within":
                options["wait"] = words.duration()
            elif name in ("shared", "value", "uncounted", "again"):
                options[name] = True
            elif name in ("parking", "replacing"):
                options[{"parking": "park", "replacing": "replace"}[name]] = True
            elif name in ("limit", "units", "priority", "max", "attempts", "exit"):
                options[name] = int(words.next())
            elif name in ("note", "error"):
                options[name] = words.next()
            elif name == "token":
                options[name] = self.kept["token", words.next()]
            elif name in ("with", "needs"):
                options.setdefault({"with": "put", "needs": "need"}[name], []).append(words.next())
            else:
                raise AssertionError(f"unknown option {name}")
        return options

    def begins(self, owner, words):
        words.accept("waiting", "for")
        parts = words.several()
        agent = self.agents.opened(self.url)
        self.waits[owner, tuple(map(path_of, parts))] = agent
        agent.ask("ask", {"part": parts, "style": "wait", "owner": owner, **self.options(words)})
        support.until(lambda: agent.has_answered() or self.request(owner, parts, False), "the wait")

    def gets(self, owner, words):
        key = owner, tuple(map(path_of, words.several()))
        answer = self.waits[key].answer()
        self.agents.closed(self.waits.pop(key))
        return answer

    def renews(self, owner, words):
        return self.agent.call("renew", part=words.several(), owner=owner, **self.options(words))

    def releases(self, owner, words):
        parts, options = words.several(), self.options(words)
        if "put" in options:
            options["put_path"] = [path_of(part) for part, _ in zip(parts, options["put"])]
        return self.agent.call("release", part=parts, owner=owner, **options)

    def breaks(self, admin, words):
        path, options = words.next(), {"reason": "", "now": False}
        while words.words:
            name = words.next()
            if name == "now":
                options[name] = True
            elif name == "of":
                options["owner"] = self.owner(words.next())
            else:
                options[name] = words.next()
        return self.agent.call("break", path=path, by=admin, **options)

    def puts(self, owner, words):
        path, options = words.next(), self.options(words)
        (options["value"],) = options.pop("put")
        return self.agent.call("put", path=path, owner=owner, **options)

    def deletes(self, owner, words):
        return self.agent.call("delete", path=words.next(), owner=owner, **self.options(words))

    def reads(self, _, words):
        return self.agent.call("read", path=words.next())

    def items(self, words):
        """The queue, and the ids in it."""
        items = [word.rpartition("/") for word in words.several()]
        return items[0][0], [id for _, _, id in items]

    def pushes(self, _, words):
        queue, ids = self.items(words)
        options = self.options(words)
        (value,) = options.pop("put", [None])
        return self.agent.call("push" if len(ids) == 1 else "push_many", queue=queue, id=ids, value=value,
                               **options)

    def claims(self, owner, words):
        queue, options = words.next(), self.options(words)
        answer = self.agent.call("claim", queue=queue, owner=owner, **options)
        if answer.name == "none":
            answer.name = "timeout" if options.get("wait") else "busy"
        elif answer.name == "granted":
            claims = answer.of("claim")
            answer.fields = {**claims[0].fields, "item": [one.bytes("id") for one in claims],
                             "ticket": [b"0"]}
        return answer

    def of_several(self, answer, ids):
        """How many are done is told; the others were lost."""
        if answer.name == "ok" and answer.number("count") < len(ids):
            answer.name = "lost"
        return answer

    def finishes(self, owner, words):
        queue, ids = self.items(words)
        options = {"queue": queue, "id": ids, "owner": owner, **self.options(words)}
        if len(ids) == 1:
            (options["result"],) = options.pop("put", [None])
            return self.agent.call("done", **options)
        return self.of_several(self.agent.call("done_many", **options), ids)

    def tells(self, owner, words):
        queue, ids = self.items(words)
        return self.agent.call("progress", queue=queue, id=ids, owner=owner, **self.options(words))

    def retries(self, owner, words):
        queue, ids = self.items(words)
        return self.agent.call("retry", queue=queue, id=ids, owner=owner, **self.options(words))

    def unparks(self, _, words):
        if words.words[1:] == ["all"]:
            queue, _ = words.next(), words.next()
            return self.agent.call("unpark", queue=queue)
        queue, ids = self.items(words)
        return self.agent.call("unpark", queue=queue, id=ids)

    def drops(self, _, words):
        if words.words[1:] == ["parked"]:
            queue, _ = words.next(), words.next()
            return self.agent.call("drop", queue=queue)
        queue, ids = self.items(words)
        return self.of_several(self.agent.call("drop", queue=queue, id=ids), ids)

    def removes(self, admin, words):
        queue, ids = self.items(words)
        options = {"reason": "", "now": words.accept("now")}
        if words.accept("reason"):
            options["reason"] = words.next()
        return self.agent.call("cancel", queue=queue, id=ids, by=admin, **options)

    def count(self, words):
        return self.agent.call("stats", queue=words.next())

    def bound(self, words):
        bounds = dict(word.split("=") for word in words.words)
        words.words = []
        return self.agent.call("bound", **{name.replace("-", "_"): value for name, value in bounds.items()})

    # ---- what lives ------------------------------------------------------------------------------

    def listed(self, verb, **given):
        answer = self.agent.call(verb, **given)
        same("the outcome", answer.name, "ok")
        return answer.of("entry")

    def request(self, owner, parts, is_held):
        """The entries of the request for exactly these paths; with modes, if they are given."""
        requests = {}
        for entry in self.listed("show", path=path_of(parts[0])):
            if entry.text("owner") == owner and entry.flag("held") == is_held:
                requests.setdefault(entry.number("ticket"), []).append(entry)
        for entries in requests.values():
            if sorted(entry.text("path") for entry in entries) == sorted(map(path_of, parts)):
                return entries
        return None

    def expect(self, words):
        if words.accept("nothing"):
            prefix = words.next() if words.accept("below") else None
            return same("what lives", self.listed("list", prefix=prefix), [])
        owner = self.owner(words.next())
        if words.accept("has", "nothing", "at"):
            parts = words.several()
            for is_held in (True, False):
                same("what lives", self.request(owner, parts, is_held), None)
            return None
        is_held = words.accept("holds") or not words.accept("waits", "for")
        parts = words.several()
        entries = self.request(owner, parts, is_held)
        if entries is None:
            raise AssertionError(f"{owner} has no such request: {self.listed('list')}")
        same("the parts", sorted(entry.part for entry in entries), sorted(parts))
        return self.check(entries[0], words)

    def lines(self, line, lines):
        """A listing, and exactly the lines that must come."""
        words = Words(words_of(line))
        what = words.next()
        where = None if not words.words or words.words[0] == "->" else words.next()
        answer = self.agent.call(what, **{
            {"list": "prefix", "show": "path", "items": "queue"}[what]: where})
        if words.accept("->"):
            same("the outcome", answer.name, words.next())
            return self.check(answer, words)
        same("the outcome", answer.name, "ok")
        found = answer.of("item" if what == "items" else "entry")
        same("the number of lines", len(found), len(lines))
        for one, wanted in zip(found, lines):
            words = Words(words_of(wanted)[1:])
            if what == "items":
                same("the item", one.text("id"), words.next())
                same("the state", one.text("state"), words.next())
                if words.accept("by"):
                    same("the owner", one.text("owner"), self.owner(words.next()))
            else:
                same("the owner", one.text("owner"), self.owner(words.next()))
                same("held", one.flag("held"), words.accept("holds") or not words.accept("waits", "for"))
                same("the part", one.part, words.next())
            self.check(one, words)
        return None

    # ---- checks ----------------------------------------------------------------------------------

    def look(self, answer):
        """Ticket and token of this request as they were seen before."""
        if not answer.texts("path"):
            return 0, 0
        key = (answer.text("owner"), frozenset(answer.texts("path")))
        before = self.seen.get(key, (0, 0))
        found = answer.number("ticket"), answer.number("token")
        if any(found):
            self.seen[key] = tuple(new or old for new, old in zip(found, before))
        return before

    def check(self, answer, words):
        is_error = "says" in answer.fields
        before = (0, 0) if is_error else self.look(answer)
        while words.words:
            if not words.accept(","):
                raise AssertionError(f"unknown words: {words.words}")
            at = words.words.index(",") if "," in words.words else len(words.words)
            one = Words(words.words[:at])
            del words.words[:at]
            name = one.next()
            if name in ("blocked", "keep", "in", "expires", "broken", "age"):
                name += " " + one.next()
            if not (is_error and name in NOT_OF_ERRORS):
                self.check_one(answer, name, one, before)

    def check_one(self, answer, name, words, before):
        if name == "blocked by":
            self.check_blockers(answer.of("blocker"), words)
        elif name == "cycle":
            same(name, answer.texts("cycle"), [self.owner(word) for word in words.words])
        elif name == "says":
            if "refused" not in answer.fields:
                same(name, words.words[0] in answer.text("says"), True)
        elif name in ("token", "ticket"):
            self.check_number(name, answer.number(name), answer.number("ticket"),
                              before[name == "token"], words)
        elif name == "keep token":
            self.kept["token", words.words[1]] = answer.number("token")
        elif name == "keep owner":
            self.kept["owner", words.words[1]] = answer.text("owner")
        elif name in ("item", "items"):
            same(name, answer.texts("item")[:1] if name == "item" else answer.texts("item"), words.words)
        elif name in ("created", "fixed", "revoked", "added", "changed", "stolen"):
            same(name, answer.flag(name), words.next() == "yes")
        elif name == "in doubt":
            same(name, answer.of("value")[0].flag("in_doubt"), words.next() == "yes")
        elif name == "doubts":
            same(name, [one.flag("in_doubt") for one in answer.of("value")],
                 [word == "yes" for word in words.words])
        elif name == "value":
            holder = answer.of("value")[0] if answer.of("value") else answer
            same(name, holder.bytes("value"), octets(words.next()))
        elif name == "values":
            same(name, [one.bytes("value") for one in answer.of("value")], [*map(octets, words.words)])
        elif name in ("note", "reason", "was"):
            same(name, answer.text(name) or "", words.next())
        elif name == "ttl":
            same(name, answer.number(name), words.duration())
        elif name in ("expires within", "age within", "due"):
            if name == "due":
                words.next()
            field = {"e": "expires_in", "a": "age", "d": "due_in"}[name[0]]
            same(name, answer.number(field) <= words.duration(), True)
        elif name == "expires after":
            same(name, answer.number("expires_in") > words.duration(), True)
        elif name == "needs":
            same(name, answer.texts("need"), [] if words.words == ["nothing"] else words.words)
        elif name == "exit":
            word = words.next()
            same(name, answer.text(name), None if word == "none" else word)
        elif name in ("error", "progress"):
            same(name, answer.bytes(name), octets(words.next()))
        else:  # numbers: position, in use, count, attempt, attempts, priority, the counts of a queue
            same(name, answer.number(name.replace(" ", "_").replace("-", "_")), int(words.next()))

    def check_number(self, name, found, ticket, before, words):
        relation = words.next()
        if relation == "above":
            is_so = found > self.kept["token", words.next()]
        else:
            is_so = {"none": found == 0, "same": found == before, "ticket": found == ticket,
                     "new": found != 0 and found != before}[relation]
        if not is_so:
            raise AssertionError(f"{name} {found} is not {relation}; it was {before}")

    def check_blockers(self, found, words):
        if words.accept("nobody"):
            return same("blockers", found, [])
        blockers = list(found)
        while words.words:
            if not blockers:
                raise AssertionError(f"no blocker {words.words}")
            blocker = blockers.pop(0)
            same("a blocker", blocker.text("owner"), self.owner(words.next()))
            if words.accept("at"):
                same("its path", blocker.text("path"), words.next())
            if words.accept("held"):
                same("it is held", blocker.flag("held"), True)
            elif words.accept("waiting"):
                same("it is held", blocker.flag("held"), False)
            if words.accept("note"):
                same("its note", blocker.text("note"), words.next())
        return same("more blockers", blockers, [])

    def play(self, lines):
        while lines:
            line = lines.pop(0)
            self.line = line
            if re.match(r"(list|show|items)\b", line):
                following = []
                while lines and lines[0].startswith("|"):
                    following.append(lines.pop(0))
                self.lines(line, following)
            elif " begins waiting for " in line:
                self.call(Words(words_of(line)))
            else:
                self.step(line)


def octets(word):
    return None if word == "none" and not isinstance(word, Text) else word.encode()


# ---- all of them ---------------------------------------------------------------------------------------


def scenarios(paths):
    """(name, lines) of each; `needs` and `rules` are for the C runner."""
    for path in paths:
        name, lines = None, []
        for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
            line = line.strip()
            if line.startswith("scenario "):
                if name is not None:
                    yield name, lines
                name, lines = line.split('"')[1], []
            elif line and not line.startswith(("#", "needs ", "rules ")):
                lines.append(line)
        yield name, lines


def why_not(name, lines):
    if name in NOT_PLAYED_BY_NAME:
        return NOT_PLAYED_BY_NAME[name]
    for line in lines:
        for pattern, reason in NOT_PLAYED.items():
            if re.match(pattern, line + " "):
                return reason
        for number, unit in re.findall(r" (?:ttl|until|delay) (\d+)(m?s)\b", line):
            if int(number) * UNITS[unit] < SOON_MS:
                return "as with pause"
    return None


def mutated(lines):
    """The lines up to the last that expects something, which then expects something else; and that line."""
    others = {"yes": "no", "no": "yes", "granted": "waiting", "waiting": "granted", "ok": "lost"}
    for at in range(len(lines) - 1, -1, -1):
        before, arrow, expected = lines[at].rpartition("-> ")
        words = expected.split(" ")
        last = words[-1]
        if not arrow:
            continue
        if re.fullmatch(r"\d+", last):
            words[-1] = str(int(last) + 1)
        elif len(words) > 1 and last in ("yes", "no"):
            words[-1] = others[last]
        else:
            outcome = words[0].rstrip(",")
            words[0] = words[0].replace(outcome, others.get(outcome, "ok"))
        line = before + arrow + " ".join(words)
        return [*lines[:at], line], line
    return None, None


def played(agents, url, lines, is_mutated):
    """Plays them. Returns why that is not as it should be, as lines; empty: it is."""
    if is_mutated:
        lines, wrong = mutated(lines)
    try:
        player = Player(agents, url)
    except (OSError, AssertionError) as error:
        return [f"its store is not opened: {error}"]
    try:
        player.play(list(lines))
        return ["it has passed, and expects what is wrong:", wrong] if is_mutated else []
    except AssertionError as error:  # reported as the scenario's
        if is_mutated and player.line == wrong:
            return []
        return [player.line, *str(error).splitlines()]
    except Exception:
        return [player.line, *traceback.format_exc().splitlines()]
    finally:
        player.end()


def main():
    arguments = sys.argv[1:]
    is_mutated = arguments[0] == "--mutated"
    if is_mutated:
        del arguments[0]
    at = arguments.index("--")
    stores, agents = support.Stores(*arguments[:2]), Agents(arguments[2:at])
    only, failed, count = os.environ.get("LK_TEST_ONLY", ""), 0, 0
    try:
        for name, lines in scenarios(arguments[at + 1:]):
            reason = why_not(name, lines)
            if reason is None and is_mutated and mutated(lines)[0] is None:
                reason = "no step of it has an outcome to change"
            if reason is not None:
                print(f"# not played: {name}: {reason}")
                continue
            if only not in name:
                continue
            count += 1
            trouble = played(agents, stores.fresh(), lines, is_mutated)
            failed += bool(trouble)
            print(f"{'not ok' if trouble else 'ok'} {count} - {name}", flush=True)
            for text in trouble:
                print(f"# {text}", flush=True)
    finally:
        for agent in agents.idle:
            agent.end()
        stores.remove()
    print(f"1..{count}")
    sys.exit(1 if failed or not count else 0)


main()
