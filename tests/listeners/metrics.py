#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""GET /metrics: its two formats, what it counts, and that it does not grow.

metrics.py LK ROOT [PROMTOOL]: ROOT is the folder of the sources."""

import json
import pathlib
import re
import subprocess
import sys
import tempfile

from exposition import Exposition
from service import Http, Refused, Resp, Service, run, until

EXAMPLES = pathlib.Path(sys.argv[2]) / "examples" / "monitoring"
# Only of services that share a store (tests/postgresql/services.py).
SHARED = {"lockkeeper_is_leader", "lockkeeper_caught_up", "lockkeeper_leader_epoch",
          "lockkeeper_leader_info"}
MANUAL = pathlib.Path(sys.argv[2]) / "docs" / "operations.md"
PROMTOOL = sys.argv[3] if len(sys.argv) > 3 else None
OPEN = "application/openmetrics-text"
ROWS_MAX = 20  # roots with a row of their own
LABEL_MAX = 40  # samples of any other family


def scrape(service, accept=None):
    wire = Http(service.http)
    headers = (f"Accept: {accept}",) if accept else ()
    status, headers, body = wire.call("GET", "/metrics", headers=headers)
    wire.close()
    assert status == 200, body
    is_open = headers["content-type"] == f"{OPEN}; version=1.0.0; charset=utf-8"
    assert is_open or headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    return Exposition(body.decode(), is_open)


def fetch(service, accept=None):
    """The values alone."""
    return scrape(service, accept).values


def formats(service):
    """the format is the one that Accept prefers, and both have the same samples"""
    prometheus = (f"{OPEN};version=1.0.0;q=0.5,{OPEN};version=0.0.1;q=0.4,"
                  "text/plain;version=0.0.4;q=0.3,*/*;q=0.2")
    for accept, is_open in [
            (None, False), ("*/*", False), ("text/plain", False), (OPEN, True),
            (prometheus, True), (OPEN.upper(), True), (f" {OPEN} ; q=1 , */*", True),
            (f"{OPEN};q=0", False), (f"{OPEN};q=0.3, text/plain", False),
            (f"text/plain;q=0.5;version=0.0.4, {OPEN};q=0.5", True), (f"x{OPEN}", False),
            (f"text/html, {OPEN};charset=utf-8", True), (";;,=,;q=,q", False), (f"{OPEN};q=x", False)]:
        assert scrape(service, accept).is_open == is_open, accept
    assert scrape(service).names() == scrape(service, OPEN).names()
    wire = Http(service.http)
    wire.ask("HEAD", "/metrics", headers=(f"Accept: {OPEN}",))
    status, headers = wire.head()
    assert status == 200 and headers["content-type"].startswith(OPEN)


def promtool(service):
    """promtool finds nothing wrong with the metrics, and the alerts fire when they are to"""
    wire = Http(service.http)
    subprocess.run([PROMTOOL, "check", "metrics"], input=wire.call("GET", "/metrics")[2], check=True,
                   stdout=sys.stderr)
    subprocess.run([PROMTOOL, "check", "rules", EXAMPLES / "alerts.yml"], check=True,
                   stdout=sys.stderr)
    subprocess.run([PROMTOOL, "test", "rules", pathlib.Path(__file__).with_name("alerts.yml")],
                   check=True, stdout=sys.stderr)


class Change:
    """What has been counted between the beginning and the end of a block."""

    def __init__(self, service):
        self.service = service
        self.before = fetch(service)

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.after = fetch(self.service)

    def expect(self, **expected):
        """NAME=N, or NAME__VALUE=N where the family has a label."""
        for name, count in expected.items():
            name, _, value = name.partition("__")
            found = [sample for sample in self.after
                     if sample.split("{")[0] == f"lockkeeper_{name}"
                     and (not value or f'="{value}"}}' in sample)]
            assert len(found) == 1, (name, value, found)
            grown = self.after[found[0]] - self.before[found[0]]
            assert grown == count, f"{found[0]} grew by {grown}, not by {count}"


def decisions(service):
    """each kind of decision is counted"""
    wire = Resp(service.resp)

    def ask(part, owner, *words):
        return wire.call("ACQUIRE", part, "OWNER", owner, *words)

    with Change(service) as change:
        ask("d", "a", "TTL", 60000)
        ask("d", "b", "QUEUE", "TTL", 60000)
        ask("d", "c", "QUEUE", "TTL", 60000)
        ask("d", "e", "TRY")
        ask("d", "e", "WAIT", 1)
        wire.call("RELEASE", "d", "OWNER", "c")
        wire.call("RELEASE", "d", "OWNER", "a")
    change.expect(grants_total=2, queued_total=3, withdrawals_total=2, releases_total=1,
                  answers_total__busy=1, answers_total__timeout=1, answers_total__granted=1,
                  answers_total__waiting=2, wait_seconds_count=1, handoff_seconds_count=1,
                  perished_total__held=0, conversions_total=0, requests_live=1,
                  requests_waiting=0)
    with Change(service) as change:
        ask("d?shared", "b")
        assert isinstance(wire.call("RELEASE", "d", "OWNER", "a"), Refused)
        ask("d?shared", "a", "TTL", 60000)
        wire.call("BREAK", "d", "REASON", "test", "OWNER", "a")
        wire.call("BREAK", "d", "REASON", "test", "NOW")
    change.expect(conversions_total=1, answers_total__lost=1, breaks_total__revoked=1,
                  breaks_total__ended=2, grants_total=1, releases_total=0)
    with Change(service) as change:
        ask("d/1", "a", "TTL", 60000)
        ask("d/2", "b", "TTL", 60000)
        ask("d/2", "a", "QUEUE", "TTL", 60000)
        assert isinstance(ask("d/1", "b", "QUEUE", "TTL", 60000), Refused)
        wire.call("LIMIT", "LIVE", 1)
        assert isinstance(ask("d/3", "b"), Refused)
        wire.call("LIMIT", "LIVE", 0)
        wire.call("BREAK", "d/1", "REASON", "test", "NOW")
        wire.call("BREAK", "d/2", "REASON", "test", "NOW")
    change.expect(answers_total__deadlock=1, answers_total__full=1)


def endings(service):
    """what ends by its deadline or with its connection is counted by its state"""
    with Change(service) as change:
        guest = Resp(service.resp)
        guest.call("ACQUIRE", "p")
        wire = Resp(service.resp)
        wire.call("ACQUIRE", "p", "OWNER", "b", "TTL", 50, "QUEUE")
        until(lambda: fetch(service)["lockkeeper_requests_waiting"] == 0)
        guest.close()
        until(lambda: fetch(service)["lockkeeper_requests_live"] == 0)
    change.expect(perished_total__held=1, perished_total__waiting=1, releases_total=0)


def work(service):
    """changes of items and values are counted, claims taken over among them"""
    wire = Resp(service.resp)
    with Change(service) as change:
        wire.call("PUSH", "q", "1", "VALUE", "x")
        wire.call("CLAIM", "q", "OWNER", "a", "TTL", 50)
        other = Resp(service.resp)
        other.call("CLAIM", "q", "OWNER", "b", "WAIT", 60000)
        other.call("RETRY", "q", "1", "OWNER", "b")
        other.call("CLAIM", "q", "OWNER", "b", "TTL", 60000)
        other.call("DONE", "q", "1", "OWNER", "b")
        wire.call("PUT", "v", "x")
        wire.call("DEL", "v")
    change.expect(item_changes_total__pushed=1, item_changes_total__claimed=2,
                  item_changes_total__stolen=1, item_changes_total__freed=1,
                  item_changes_total__retried=1, item_changes_total__done=1,
                  item_changes_total__dropped=0, value_changes_total__put=1,
                  value_changes_total__deleted=1, grants_total=3)


def ready(service):
    """the age of the oldest item that is ready is seen while none claims it, by root"""
    wire = Resp(service.resp)

    def ages():
        read = scrape(service, OPEN)
        return (read.values["lockkeeper_oldest_ready_item_seconds"],
                read.labelled("lockkeeper_root_oldest_ready_item_seconds", "root"))

    assert ages() == (0, {"other roots": 0}), ages()
    wire.call("PUSH", "work/late", "1", "DELAY", 3600000)
    assert ages() == (0, {"other roots": 0}), ages()
    wire.call("PUSH", "work/now", "1")
    wire.call("PUSH", "work/soon", "1", "DELAY", 1)
    oldest, roots = ages()
    assert oldest > 0 and roots["work"] == oldest, (oldest, roots)
    until(lambda: re.search(r"^oldest_ready_item_ms:[1-9]", wire.call("INFO"), re.MULTILINE))
    wire.call("CLAIM", "work/now", "OWNER", "a", "TTL", 60000)
    until(lambda: ages()[0] > 0)  # the delay of the other is over
    wire.call("CLAIM", "work/soon", "OWNER", "a", "TTL", 60000)
    assert "\noldest_ready_item_ms:0\r" in wire.call("INFO")
    assert ages() == (0, {"other roots": 0}), ages()
    wire.call("RETRY", "work/now", "1", "OWNER", "a")
    assert ages()[0] > 0
    for number in range(12):
        wire.call("PUSH", f"many{number}", "1")
    assert len(ages()[1]) == 11 and ages()[1]["other roots"] > 0, ages()
    for queue in ["work/late", "work/now", *[f"many{number}" for number in range(12)]]:
        assert wire.call("DROP", queue, "1") == 1, queue
    wire.call("DONE", "work/soon", "1", "OWNER", "a")
    assert ages() == (0, {"other roots": 0}), ages()


def waits(service):
    """waits are seen while they last, by root, and without names of owners, notes or values"""
    wire = Resp(service.resp)
    roots = ["plain", 'quo"te', "back\\slash", "ünï", "*"]
    for number, root in enumerate(roots):
        wire.call("ACQUIRE", root, "OWNER", "secret-owner", "TTL", 60000, "NOTE", "secret-note")
        wire.call("ACQUIRE", f"{root}/inner", "OWNER", "secret-waiter", "TTL", 60000, "QUEUE")
        for waiter in range(number):
            wire.call("ACQUIRE", root, "OWNER", f"w{waiter}", "TTL", 60000, "QUEUE")
    wire.call("PUT", "elsewhere", "secret-value")
    for accept in None, OPEN:
        read = scrape(service, accept)
        count = read.labelled("lockkeeper_root_waiting_requests", "root")
        ages = read.labelled("lockkeeper_root_oldest_wait_seconds", "root")
        assert count == {**{root: i + 1 for i, root in enumerate(roots)}, "other roots": 0}, count
        assert set(ages) == set(count) and all(ages[root] > 0 for root in roots), ages
        assert ages["other roots"] == 0
        assert read.values["lockkeeper_oldest_wait_seconds"] == max(ages.values())
        assert read.values["lockkeeper_requests_waiting"] == sum(count.values())
        assert not any("secret" in sample for sample in read.values), read.values
    first = fetch(service)["lockkeeper_oldest_wait_seconds"]
    until(lambda: fetch(service)["lockkeeper_oldest_wait_seconds"] > first)
    for root in roots:
        wire.call("BREAK", root, "REASON", "test", "NOW")
        wire.call("BREAK", f"{root}/inner", "REASON", "test", "NOW")
    read = scrape(service)
    assert read.values["lockkeeper_requests_live"] == 0
    assert read.labelled("lockkeeper_root_waiting_requests", "root") == {"other roots": 0}
    assert read.values["lockkeeper_oldest_wait_seconds"] == 0


def blocked(service):
    """calls that block are counted by what they block for"""
    wires = [Resp(service.resp) for _ in range(4)]
    with Change(service) as change:
        wires[0].call("ACQUIRE", "x", "OWNER", "a", "TTL", 60000)
        wires[1].put("ACQUIRE", "x", "OWNER", "b", "WAIT", 60000)
        wires[2].put("CLAIM", "idle", "WAIT", 60000)
        wires[3].put("EVENTS", "nowhere", "WAIT", 60000)
        until(lambda: sum(count for sample, count in fetch(service).items()
                          if sample.startswith("lockkeeper_calls_blocked")) == 3)
    change.expect(calls_blocked__grant=1, calls_blocked__item=1, calls_blocked__event=1)
    for wire in wires[1:]:
        wire.cut()
    until(lambda: fetch(service)['lockkeeper_calls_blocked{for="event"}'] == 0)
    wires[0].call("BREAK", "x", "REASON", "test", "NOW")


def bounded(service):
    """a scrape has as many lines with 600 contended roots as with 30, and they add up"""
    wire = Resp(service.resp)
    sizes = []
    made = 0
    for size in 30, 600:
        for number in range(made, size):
            wire.call("ACQUIRE", f"b{number}", "OWNER", "holder", "TTL", 600000)
            for waiter in range(2 if number == 7 else 1):
                wire.call("ACQUIRE", f"b{number}", "OWNER", f"o{waiter}-{number}", "TTL", 600000,
                          "QUEUE")
        made = size
        read = scrape(service)
        count = read.labelled("lockkeeper_root_waiting_requests", "root")
        sizes.append(len(read.values))
        assert 10 < len(count) <= ROWS_MAX + 1, count
        assert sum(count.values()) == size + 1 and count["b7"] == 2, count
        ages = read.labelled("lockkeeper_root_oldest_wait_seconds", "root")
        assert ages["b0"] == max(ages.values()) and 0 < ages["other roots"] < ages["b0"], ages
    assert abs(sizes[0] - sizes[1]) <= 2 * (ROWS_MAX - 10), sizes
    for family in read.families.values():
        assert len(family.samples) <= LABEL_MAX, family.name
    for number in range(made):
        for owner in "holder", f"o0-{number}", f"o1-{number}":
            wire.call("RELEASE", f"b{number}", "OWNER", owner)
    until(lambda: fetch(service)["lockkeeper_requests_live"] == 0)


def connections(service):
    """connections are counted by listener, and refused ones by reason"""
    wires = [Resp(service.resp) for _ in range(3)]
    assert all(wire.call("PING") == "PONG" for wire in wires)
    values = fetch(service)
    assert values['lockkeeper_connections{listener="resp"}'] >= 3
    assert values['lockkeeper_connections{listener="http"}'] >= 1
    small = Service(sys.argv[1], "--bound", "connections=2")
    kept = [Resp(small.resp) for _ in range(2)]
    assert all(wire.call("PING") == "PONG" for wire in kept)
    assert isinstance(Resp(small.resp).value(), Refused)
    values = fetch(small)
    assert values['lockkeeper_connections{listener="resp"}'] == values["lockkeeper_connections_max"]
    assert values['lockkeeper_connections_refused_total{reason="full"}'] == 1
    assert small.end() == 0
    with tempfile.NamedTemporaryFile("w") as file:
        file.write("right\n")
        file.flush()
        closed = Service(sys.argv[1], "--password-file", file.name)
        assert isinstance(Resp(closed.resp).call("AUTH", "wrong"), Refused)
        wire = Http(closed.http)
        body = wire.call("GET", "/metrics", headers=("Authorization: Bearer right",))[2].decode()
        assert 'lockkeeper_connections_refused_total{reason="password"} 1\n' in body
        assert closed.end() == 0


def events(service):
    """events are counted when they are kept, and when they are dropped because of a bound"""
    wire = Resp(service.resp)
    with Change(service) as change:
        wire.call("LIMIT", "EVENTS", 3)
        for _ in range(5):
            wire.call("PUSH", "e", "1")
            wire.call("DROP", "e", "1")
    change.expect(events_kept=3, events_total=10, events_dropped_total=7)
    assert change.after["lockkeeper_events_kept_bytes"] > 0
    wire.call("LIMIT", "EVENTS", 0)


def store(_):
    """a store's commits and sizes are shown, and the age of a wait survives a restart"""
    with tempfile.TemporaryDirectory() as place:
        first = Service(sys.argv[1], durable=True, place=place)
        wire = Resp(first.resp)
        for owner in "a", "b":
            wire.call("ACQUIRE", "kept", "OWNER", owner, "TTL", 600000, "QUEUE")
        wire.call("PUSH", "work", "1")
        values = fetch(first)
        item_age = values["lockkeeper_oldest_ready_item_seconds"]
        assert values["lockkeeper_ready"] == 1
        assert values["lockkeeper_commit_seconds_count"] == values["lockkeeper_batches_total"] > 0
        assert values['lockkeeper_store_bytes{file="database"}'] > 0
        assert values["lockkeeper_commit_running_seconds"] == 0
        age = values["lockkeeper_oldest_wait_seconds"]
        assert first.end() == 0
        second = Service(sys.argv[1], durable=True, place=place)
        read = scrape(second, OPEN)
        assert read.labelled("lockkeeper_root_waiting_requests", "root")["kept"] == 1
        assert read.values["lockkeeper_oldest_wait_seconds"] > age
        assert read.values["lockkeeper_oldest_ready_item_seconds"] > item_age > 0
        assert read.values["process_start_time_seconds"] > values["process_start_time_seconds"]
        with Change(second) as change:
            Resp(second.resp).call("RELEASE", "kept", "OWNER", "a")
        change.expect(handoff_seconds_count=1, wait_seconds_count=1)
        assert change.after["lockkeeper_wait_seconds_sum"] > age
        assert second.end() == 0


def examples(_):
    """the dashboard and the alert rules name metrics that a service has, and the manual has all"""
    service = Service(sys.argv[1], durable=True)
    read = scrape(service)
    dashboard = json.loads((EXAMPLES / "dashboard.json").read_text())
    texts = {"dashboard.json": "\n".join(
        target["expr"] for panel in dashboard["panels"] for target in panel.get("targets", [])),
             "alerts.yml": (EXAMPLES / "alerts.yml").read_text()}
    for file, text in texts.items():
        named = set(re.findall(r"\b(?:lockkeeper|process)_[a-z0-9_]+", text))
        assert named, file
        missing = named - read.names() - SHARED
        assert not missing, f"{file}: {sorted(missing)}"
        for name, label, value in re.findall(
                r'(lockkeeper_\w+)\{(?:instance=~"[^"]*",)?(\w+)=~?"([^"]*)"\}', text):
            for one in value.split("|") if label != "instance" else []:
                assert f'{name}{{{label}="{one}"}}' in read.values, (name, label, one)
    ids = [panel["id"] for panel in dashboard["panels"]]
    assert len(ids) == len(set(ids)), "two panels have one id"
    manual = MANUAL.read_text()
    alerts = re.findall(r"- alert: (\w+)", texts["alerts.yml"])
    titles = [panel["title"] for panel in dashboard["panels"]]
    families = {re.sub("_(bucket|sum|count)$", "", name) for name in read.names()}
    told = {row.split("|")[1].strip() for row in manual.splitlines() if row.startswith("| ")}
    missing = [name for name in alerts + titles if name not in told]
    missing += [name for name in families if f"`{name}`" not in manual]
    assert not missing, f"not in the manual: {sorted(missing)}"
    assert service.end() == 0


run([formats, decisions, endings, work, ready, waits, bounded, connections, events, blocked, store, examples]
    + ([promtool] if PROMTOOL else []))
