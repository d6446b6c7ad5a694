# SPDX-License-Identifier: Apache-2.0
"""usage: conformance.py PATTERN LK SCENARIO...: the scenarios of tests/conformance, played through
the public functions of the binding. README.md there has the grammar. What is not played is listed
in NOT_PLAYED and NOT_PLAYED_BY_NAME with a reason, and printed; what is unknown is an error."""

import os
import pathlib
import re
import sys
import time
import traceback

import lockkeeper
import support

SOON_S = 20  # leases and delays that are shorter need the clock of the C runner

NOT_PLAYED = {  # a pattern of a line, and why a scenario that has such a line is not played
    r"pause ": "the C runner's clock repeats what a stall of the machine has spoilt",
    r".* (ttl|until|delay) -?\d+ms\b": "as with pause",
    r".* cancels ": "a wait is ended by signals and by tasks of asyncio; ends.py and aio.py do that",
    r".* blockers \d+ ": "the binding asks for 16 blockers",
    r".* pushes .* \+ .* (priority|needs|delay) ": "push_many() takes ids and values",
    r"(watch|events)\b": "work.py plays events",
    r"(audit|values|queues)\b": "the binding does not list audits, values and queues",
}
NOT_PLAYED_BY_NAME = {
    "Only UTF-8": "a text of Python cannot have such bytes; misuse.py has those that it can have",
    "A release of a batch puts all values or none": "it has more values than paths",
}
# An exception has blockers and a cycle. The other numbers of a refusal stay in the library.
NOT_OF_ERRORS = {"position", "in use", "created", "token", "ticket", "fixed", "ttl", "value"}

UNITS = {"ms": 0.001, "s": 1, "m": 60, "h": 3600, "d": 86400}
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

    def bytes(self):
        return self.next().encode()


def path_of(part):
    return part.partition("?")[0].strip("/")


def part_of(entry):
    """A part as scenarios spell it."""
    if entry.limit > 0:  # then it is shared, too
        units = f"&units={entry.units}" if entry.units > 1 else ""
        return f"{entry.path}?limit={entry.limit}{units}"
    return f"{entry.path}?shared" if entry.shared else entry.path


def same(what, found, wanted):
    if found != wanted:
        raise AssertionError(f"{what}: {found!r} instead of {wanted!r}")


class Player:
    def __init__(self, url):
        self.url, self.store = url, lockkeeper.open(url)
        self.kept, self.waits = {}, {}
        self.seen = {}  # (owner, paths): ticket and token, as they were seen last

    def owner(self, word):
        return None if word == "anyone" else self.kept.get(("owner", word), word)

    # ---- steps: each returns what checks look at -------------------------------------------------

    def step(self, line):
        words = Words(words_of(line))
        if words.accept("expect"):
            self.expect(words)
        elif words.accept("reopen"):
            self.store.close()
            self.store = lockkeeper.open(self.url)
        else:
            at = words.words.index("->")
            expected, words = Words(words.words[at + 1:]), Words(words.words[:at])
            outcome, answer = self.outcome(words)
            wanted = expected.next()
            if outcome != wanted:
                raise AssertionError(f"the outcome: {outcome} ({answer}) instead of {wanted}")
            self.check(answer, expected)

    def outcome(self, words):
        """The outcome of a call by its name, and its answer or exception."""
        try:
            answer = self.call(words)
        except lockkeeper.Error as error:
            return error.outcome.name.lower(), error
        except ValueError as error:  # which the binding itself refuses
            return "invalid", error
        if words.words:
            raise AssertionError(f"unknown words: {words.words}")
        return answer.get("outcome", "ok") if isinstance(answer, dict) else \
            answer.outcome.name.lower(), answer

    def call(self, words):
        for verb in ("bound", "count"):
            if words.accept(verb):
                return getattr(self, verb)(words)
        self.who = words.next()
        owner = self.owner(self.who)
        for phrase, style in (("asks", "queue"), ("tries", "try"), ("waits for", "wait")):
            if words.accept(*phrase.split()):
                parts = words.several()
                return self.store.ask(*parts, style=style, owner=owner, **self.options(words))
        verb = words.next()
        return getattr(self, verb)(owner, words)

    def options(self, words):
        options = {}
        while words.words:
            name = words.next()
            if name == "ttl":
                options[name] = words.duration()
            elif name == "until":
                options[name] = time.time() + words.duration()
            elif name == "within":
                options["wait"] = words.duration()
            elif name in ("shared", "value"):
                options[name] = True
            elif name in ("limit", "units"):
                options[name] = int(words.next())
            elif name == "note":
                options[name] = words.next()
            elif name == "token":
                options[name] = self.kept["token", words.next()]
            elif name == "with":
                options.setdefault("put", []).append(words.bytes())
            else:
                raise AssertionError(f"unknown option {name}")
        return options

    def begins(self, owner, words):
        words.accept("waiting", "for")
        parts = words.several()
        call = support.Background(self.store.ask, *parts, style="wait", owner=owner,
                                  **self.options(words))
        self.waits[owner, tuple(map(path_of, parts))] = call
        support.until(lambda: not call.thread.is_alive() or self.request(owner, parts, False),
                      "the wait")

    def gets(self, owner, words):
        return self.waits.pop((owner, tuple(map(path_of, words.several())))).result()

    def renews(self, owner, words):
        return self.store.renew(*words.several(), owner=owner, **self.options(words))

    def releases(self, owner, words):
        parts = words.several()
        options = self.options(words)
        if "put" in options:
            options["put"] = dict(zip(map(path_of, parts), options["put"]))
        return self.store.release(*parts, owner=owner, **options)

    def breaks(self, admin, words):
        path, options = words.next(), {"reason": ""}
        while words.words:
            name = words.next()
            if name == "now":
                options["at_once"] = True
            else:
                word = words.next()
                options.update({"owner": self.owner(word)} if name == "of" else {name: word})
        return {"count": self.store.break_(path, by=admin, **options)}

    def puts(self, owner, words):
        path, options = words.next(), self.options(words)
        (value,) = options.pop("put")
        self.store.put(path, value, owner=owner, **options)
        return {}

    def deletes(self, owner, words):
        self.store.delete(words.next(), owner=owner, **self.options(words))
        return {}

    def reads(self, _, words):
        value = self.store.read(words.next())
        if value is None:
            return {"outcome": "none"}
        return {"value": value.data, "in doubt": value.in_doubt}

    def pushes(self, _, words):
        items = [word.rpartition("/") for word in words.several()]
        value, options = None, {}
        while words.words:
            name = words.next()
            if name == "with":
                value = words.bytes()
            elif name == "needs":
                options.setdefault("needs", []).append(words.next())
            else:
                options[name] = words.duration() if name == "delay" else int(words.next())
        if len(items) == 1:
            return {"added": self.store.push(items[0][0], items[0][2], value, **options)}
        return {"count": self.store.push_many(
            items[0][0], [(id, value) for _, _, id in items]).added}

    def claims(self, owner, words):
        queue, options, most = words.next(), {}, None
        while words.words:
            name = words.next()
            if name == "max":
                most = int(words.next())
            elif name == "attempts":
                options["max_attempts"] = int(words.next())
            elif name == "within":
                options["wait"] = words.duration()
            else:
                options[name] = words.duration() if name == "ttl" else words.next()
        if most is None:
            claim = self.store.claim(queue, owner=owner, **options)
            claims = [] if claim is None else [claim]
        else:
            claims = self.store.claim_many(queue, most, owner=owner, **options)
        if not claims:
            return {"outcome": "timeout" if options.get("wait") else "busy"}
        first = claims[0]
        return {"outcome": "granted", "item": first.id, "items": [claim.id for claim in claims],
                "attempt": first.attempt, "stolen": first.is_stolen, "value": first.value,
                "token": first.token, "ticket": 0, "ttl": first.ttl,
                "owner": first.owner, "row": first.row_id, "expires_in": first.expires_in}

    def finishes(self, owner, words):
        items = [word.rpartition("/") for word in words.several()]
        token = self.kept["token", words.next()] if words.accept("token") else None
        if len(items) == 1:
            self.store.done(items[0][0], items[0][2], owner=owner, token=token)
            return {}
        count = self.store.done_many(items[0][0], [id for _, _, id in items], owner=owner,
                                     token=token)
        return {"count": count, "outcome": "ok" if count == len(items) else "lost"}

    def retries(self, owner, words):
        queue, _, id = words.next().rpartition("/")
        options = {}
        while words.words:
            name = words.next()
            if name == "token":
                options[name] = self.kept["token", words.next()]
            elif name == "delay":
                options[name] = words.duration()
            elif name == "exit":
                options["exit_code"] = int(words.next())
            else:
                options[name] = words.bytes()
        self.store.retry(queue, id, owner=owner, **options)
        return {}

    def unparks(self, _, words):
        if words.words[1:] == ["all"]:
            return {"count": self.store.unpark(words.next()), "all": words.next()}
        queue, _, id = words.next().rpartition("/")
        return {"count": self.store.unpark(queue, id)}

    def drops(self, _, words):
        if words.words[1:] == ["parked"]:
            return {"count": self.store.drop(words.next()), "all": words.next()}
        items = [word.rpartition("/") for word in words.several()]
        count = self.store.drop(items[0][0], *[id for _, _, id in items])
        return {"count": count, "outcome": "ok" if count == len(items) else "lost"}

    def count(self, words):
        stats = self.store.stats(words.next())
        return {name.replace("_", "-"): getattr(stats, name)
                for name in stats.__dataclass_fields__}

    def bound(self, words):
        bounds = dict(word.split("=") for word in words.words)
        words.words = []
        self.store.set_limits(**{name.replace("-", "_"): int(value)
                                 for name, value in bounds.items()})
        return {}

    # ---- what lives ------------------------------------------------------------------------------

    def request(self, owner, parts, is_held):
        """The entries of the request for exactly these paths; with modes, if they are given."""
        requests = {}
        for entry in self.store.show(path_of(parts[0])):
            if entry.owner == owner and entry.held == is_held:
                requests.setdefault(entry.ticket, []).append(entry)
        for entries in requests.values():
            if sorted(entry.path for entry in entries) == sorted(map(path_of, parts)):
                return entries
        return None

    def expect(self, words):
        if words.accept("nothing"):
            prefix = words.next() if words.accept("below") else None
            return same("what lives", self.store.list(prefix), [])
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
            raise AssertionError(f"{owner} has no such request: {self.store.list()}")
        same("the parts", sorted(map(part_of, entries)), sorted(parts))
        return self.check(entries[0], words)

    def lines(self, line, lines):
        """A listing, and exactly the lines that must come."""
        words = Words(words_of(line))
        what = words.next()
        where = None if not words.words or words.words[0] == "->" else words.next()
        call = getattr(self.store, what)
        if words.accept("->"):
            try:
                call(where)
            except lockkeeper.Error as error:
                same("the outcome", error.outcome.name.lower(), words.next())
                return self.check(error, words)
            raise AssertionError("it is not refused")
        found = call(where) if where is not None else call()
        same("the number of lines", len(found), len(lines))
        for one, wanted in zip(found, lines):
            words = Words(words_of(wanted)[1:])
            if what == "items":
                same("the item", one.id, words.next())
                same("the state", one.state, words.next())
                if words.accept("by"):
                    same("the owner", one.owner, self.owner(words.next()))
            else:
                same("the owner", one.owner, self.owner(words.next()))
                same("held", one.held, words.accept("holds") or not words.accept("waits", "for"))
                same("the part", part_of(one), words.next())
            self.check(one, words)
        return None

    # ---- checks ----------------------------------------------------------------------------------

    def check(self, answer, words):
        is_error = isinstance(answer, Exception)
        if isinstance(answer, (lockkeeper.Answer, lockkeeper.Entry)):
            paths = answer.paths if isinstance(answer, lockkeeper.Answer) else (answer.path,)
            key = (answer.owner, frozenset(paths))
            before = self.seen.get(key, (0, 0))
            if answer.ticket or answer.token:
                self.seen[key] = (answer.ticket or before[0], answer.token or before[1])
        else:
            before = (0, 0)
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
        def field(name):
            return answer[name] if isinstance(answer, dict) else getattr(answer, name)

        if name == "blocked by":
            self.check_blockers(field("blockers"), words)
        elif name == "cycle":
            same(name, list(field("cycle")), [self.owner(word) for word in words.words])
        elif name == "says":
            if isinstance(answer, lockkeeper.Error):
                same(name, words.words[0] in str(answer), True)
        elif name in ("token", "ticket"):
            self.check_number(name, field(name), field("ticket"), before[name == "token"], words)
        elif name == "keep token":
            self.kept["token", words.words[1]] = field("token")
        elif name == "keep owner":
            self.kept["owner", words.words[1]] = field("owner")
        elif name == "item":
            same(name, field(name), words.next())
        elif name == "items":
            same(name, field(name), words.words)
        elif name in ("created", "fixed", "revoked", "added", "stolen"):
            same(name, field(name), words.next() == "yes")
        elif name == "in doubt":
            found = answer[name] if isinstance(answer, dict) else answer.values[0].in_doubt
            same(name, found, words.next() == "yes")
        elif name == "doubts":
            same(name, [value.in_doubt for value in answer.values],
                 [word == "yes" for word in words.words])
        elif name == "value":
            found = answer.values[0].data if isinstance(answer, lockkeeper.Answer) \
                and answer.values else None if isinstance(answer, lockkeeper.Answer) \
                else field("value")
            same(name, found, octets(words.next()))
        elif name == "values":
            same(name, [value.data for value in answer.values], [*map(octets, words.words)])
        elif name in ("note", "reason"):
            same(name, field(name) or "", words.next())
        elif name == "ttl":
            same(name, field(name), words.duration())
        elif name in ("expires within", "age within"):
            same(name, field("age" if name[0] == "a" else "expires_in") <= words.duration(), True)
        elif name == "expires after":
            same(name, field("expires_in") > words.duration(), True)
        elif name == "due":
            words.next()
            same(name, field("due_in") <= words.duration(), True)
        elif name == "needs":
            same(name, list(field(name)), [] if words.words == ["nothing"] else words.words)
        elif name in ("exit", "error"):
            word = words.next()
            same(name, field("last_" + name), None if word == "none" else
                 int(word) if name == "exit" else word.encode())
        else:  # numbers: position, in use, count, attempts, priority, the counts of a queue
            found = field(name.replace(" ", "_") if not isinstance(answer, dict) else name)
            same(name, found, int(words.next()))

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
            return same("blockers", found, ())
        blockers = list(found)
        while words.words:
            if not blockers:
                raise AssertionError(f"no blocker {words.words}")
            blocker = blockers.pop(0)
            same("a blocker", blocker.owner, self.owner(words.next()))
            if words.accept("at"):
                same("its path", blocker.path, words.next())
            if words.accept("held"):
                same("it is held", blocker.held, True)
            elif words.accept("waiting"):
                same("it is held", blocker.held, False)
            if words.accept("note"):
                same("its note", blocker.note, words.next())
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
            if int(number) * UNITS[unit] < SOON_S:
                return "as with pause"
    return None


def main():
    only, failed, count = os.environ.get("LK_TEST_ONLY", ""), 0, 0
    stores = support.Stores(*sys.argv[1:3])
    try:
        for name, lines in scenarios(sys.argv[3:]):
            reason = why_not(name, lines)
            if reason is not None:
                print(f"# not played: {name}: {reason}")
                continue
            if only not in name:
                continue
            count += 1
            player = Player(stores.fresh())
            try:
                player.play(lines)
                print(f"ok {count} - {name}", flush=True)
            except Exception:  # reported as the scenario's
                failed += 1
                print(f"not ok {count} - {name}")
                for text in [player.line, *traceback.format_exc().splitlines()]:
                    print(f"# {text}", flush=True)
            player.store.close()
    finally:
        stores.remove()
    print(f"1..{count}")
    sys.exit(1 if failed or not count else 0)


main()
