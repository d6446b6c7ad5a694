# SPDX-License-Identifier: Apache-2.0
"""usage: agent.py: makes the calls that conformance.py asks for, by the functions of the binding."""

import sys
import urllib.parse

import lockkeeper


class Given:
    """The arguments of a call; None: not given."""

    def __init__(self, pairs):
        self.fields = {}
        for name, _, value in (pair.partition("=") for pair in pairs):
            self.fields.setdefault(name, []).append(urllib.parse.unquote_to_bytes(value))

    def octets(self, name):
        return self.fields.get(name, [None])[0]

    def text(self, name):
        return None if name not in self.fields else self.fields[name][0].decode()

    def texts(self, name):
        return [one.decode() for one in self.fields.get(name, [])]

    def number(self, name):
        return None if name not in self.fields else int(self.fields[name][0])

    def seconds(self, name):
        return None if name not in self.fields else int(self.fields[name][0]) / 1000

    def flag(self, name):
        return self.fields.get(name) == [b"yes"]

    def options(self, **kinds):
        """What is given of these, each read by its kind."""
        return {name: kind(self, name) for name, kind in kinds.items() if name in self.fields}


TEXT, NUMBER, SECONDS, FLAG = Given.text, Given.number, Given.seconds, Given.flag
LEASE = {"owner": TEXT, "token": NUMBER}


def say(word, **fields):
    """Prints a line; None is left out."""
    for name, value in fields.items():
        for one in value if isinstance(value, (list, tuple)) else [value]:
            if one is not None:
                shown = {True: "yes", False: "no"}[one] if isinstance(one, bool) else one
                octets = shown if isinstance(shown, bytes) else str(shown).encode()
                word += f" {name}={urllib.parse.quote(octets, safe='/')}"
    print(word)


def ms(seconds):
    return None if seconds is None else round(seconds * 1000)


def say_blockers(blockers):
    for one in blockers:
        say("blocker", path=one.path, owner=one.owner, note=one.note, held=one.held)


def say_answer(answer):
    say(answer.outcome.name.lower(), path=answer.paths, owner=answer.owner, ticket=answer.ticket,
        token=answer.token, ttl=ms(answer.ttl), expires_in=ms(answer.expires_in), in_use=answer.in_use,
        position=answer.position, created=answer.created, fixed=answer.fixed)
    say_blockers(answer.blockers)
    for value in answer.values:
        say("value", value=value.data, in_doubt=value.in_doubt)


def say_entries(entries):
    say("ok")
    for one in entries:
        say("entry", path=one.path, owner=one.owner, note=one.note, ticket=one.ticket, token=one.token,
            held=one.held, shared=one.shared, revoked=one.revoked, limit=one.limit, units=one.units,
            ttl=ms(one.ttl), expires_in=ms(one.expires_in), age=ms(one.age), position=one.position)
        say_blockers(one.blockers)


# ---- calls -----------------------------------------------------------------------------------------


class Calls:
    store = None

    def open(self, given):
        self.store = lockkeeper.open(given.text("url"))
        say("ok")

    def close(self, _):
        self.store.close()
        say("ok")

    def ask(self, given):
        say_answer(self.store.ask(*given.texts("part"), **given.options(
            style=TEXT, shared=FLAG, limit=NUMBER, units=NUMBER, wait=SECONDS, ttl=SECONDS, until=SECONDS,
            owner=TEXT, note=TEXT, value=FLAG)))

    def renew(self, given):
        say_answer(self.store.renew(*given.texts("part"), **given.options(ttl=SECONDS, **LEASE)))

    def release(self, given):
        put = dict(zip(given.texts("put_path"), given.fields.get("put", []))) or None
        say_answer(self.store.release(*given.texts("part"), put=put, **given.options(**LEASE)))

    def break_(self, given):
        say("ok", count=self.store.break_(
            given.text("path"), reason=given.text("reason"), by=given.text("by"),
            owner=given.text("owner"), at_once=given.flag("now")))

    def put(self, given):
        self.store.put(given.text("path"), given.octets("value"), **given.options(**LEASE))
        say("ok")

    def delete(self, given):
        self.store.delete(given.text("path"), **given.options(**LEASE))
        say("ok")

    def read(self, given):
        value = self.store.read(given.text("path"))
        say("none" if value is None else "ok")
        if value is not None:
            say("value", value=value.data, in_doubt=value.in_doubt)

    def push(self, given):
        result = self.store.push(
            given.text("queue"), given.text("id"), given.octets("value"), needs=given.texts("need"),
            **given.options(delay=SECONDS, priority=NUMBER, again=FLAG, replace=FLAG, keep=SECONDS))
        say("ok", added=result.added, changed=result.changed, was=result.was)

    def push_many(self, given):
        counts = self.store.push_many(
            given.text("queue"), [(id, given.octets("value")) for id in given.texts("id")],
            **given.options(again=FLAG, replace=FLAG, keep=SECONDS))
        say("ok", count=counts.added, changed=counts.changed)

    def claim(self, given):
        options = given.options(owner=TEXT, ttl=SECONDS, wait=SECONDS, note=TEXT)
        if "attempts" in given.fields:
            options["max_attempts"] = given.number("attempts")
        if "max" in given.fields:
            claims = self.store.claim_many(given.text("queue"), given.number("max"), **options)
        else:
            claim = self.store.claim(given.text("queue"), **options)
            claims = [] if claim is None else [claim]
        say("granted" if claims else "none")
        for one in claims:
            say("claim", id=one.id, owner=one.owner, value=one.value, token=one.token, attempt=one.attempt,
                stolen=one.is_stolen, ttl=ms(one.ttl), expires_in=ms(one.expires_in))

    def done(self, given):
        self.store.done(given.text("queue"), given.text("id"), **given.options(
            result=Given.octets, keep=SECONDS, **LEASE))
        say("ok")

    def progress(self, given):
        self.store.progress(given.text("queue"), given.text("id"), given.octets("put"),
                            **given.options(**LEASE))
        say("ok")

    def done_many(self, given):
        say("ok", count=self.store.done_many(
            given.text("queue"), given.texts("id"), **given.options(**LEASE)))

    def retry(self, given):
        options = given.options(delay=SECONDS, error=Given.octets, uncounted=FLAG, park=FLAG, **LEASE)
        if "exit" in given.fields:
            options["exit_code"] = given.number("exit")
        self.store.retry(given.text("queue"), given.text("id"), **options)
        say("ok")

    def unpark(self, given):
        say("ok", count=self.store.unpark(given.text("queue"), *given.texts("id")))

    def drop(self, given):
        say("ok", count=self.store.drop(given.text("queue"), *given.texts("id")))

    def cancel(self, given):
        say("ok", count=int(self.store.cancel(
            given.text("queue"), given.text("id"), reason=given.text("reason"), by=given.text("by"),
            at_once=given.flag("now"))))

    def stats(self, given):
        stats = self.store.stats(given.text("queue"))
        say("ok", **{name: getattr(stats, name) for name in stats.__dataclass_fields__})

    def bound(self, given):
        self.store.set_limits(**{name: given.number(name) for name in given.fields})
        say("ok")

    def list(self, given):
        say_entries(self.store.list(given.text("prefix")))

    def show(self, given):
        say_entries(self.store.show(given.text("path")))

    def items(self, given):
        items = self.store.items(given.text("queue"))
        say("ok")
        for one in items:
            say("item", id=one.id, state=one.state, owner=one.owner, value=one.value,
                attempts=one.attempts, due_in=ms(one.due_in), expires_in=ms(one.expires_in),
                need=one.needs, priority=one.priority, exit=one.last_exit, error=one.last_error,
                progress=one.progress)


def main():
    calls = Calls()
    for line in sys.stdin:
        verb, *pairs = line.split()
        try:
            getattr(calls, {"break": "break_"}.get(verb, verb))(Given(pairs))
        except lockkeeper.Error as error:
            say(error.outcome.name.lower(), says=str(error), cycle=error.cycle)
            say_blockers(error.blockers)
        except ValueError as error:  # which the binding itself refuses
            say("invalid", says=str(error), refused=True)
        print(flush=True)


main()
