#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""BACKUP: the file of a service that runs, in pieces: whole, bounded, for administrators alone."""

import os
import pathlib
import resource
import signal
import sqlite3
import subprocess
import sys
import tempfile

from service import PATIENCE_S, STRETCH, Closed, Refused, Resp, Service, run, until

LK = sys.argv[1]
PLACE = pathlib.Path(tempfile.mkdtemp(prefix="lk-backup-"))
VALUES = 64
VALUE = b"v" * 60000


class Backup(Resp):
    """A connection that is given a copy. Its pieces are bytes, whatever they contain."""

    def bulk(self, size):
        return self.exactly(size + 2)[:-2]

    def read(self):
        size = self.call("BACKUP")
        assert isinstance(size, int), size
        pieces = [None]
        while pieces[-1] != b"":
            pieces.append(self.call("BACKUP", "FROM", sum(len(piece) for piece in pieces[1:])))
            assert isinstance(pieces[-1], bytes) and len(pieces[-1]) <= 256 * 1024, pieces[-1]
        copy = b"".join(pieces[1:])
        assert len(copy) == size, (len(copy), size)
        return copy


def refusal(answer, word):
    assert isinstance(answer, Refused) and str(answer).split()[0] == word, answer


def open_copy(data, name):
    path = PLACE / name
    path.write_bytes(data)
    store = sqlite3.connect(path)
    assert store.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    return store


def left_of_copies(place):
    return [name for name in os.listdir(place) if "-copy" in name]


def moment(service):
    """a copy has each answered change, while others are served, and leaves nothing behind"""
    busy, client = Resp(service.resp), Backup(service.resp)
    for number in range(VALUES):
        assert busy.call("PUT", f"value/{number}", VALUE) == "OK"
    assert "granted" in busy.call("ACQUIRE", "db/before", "OWNER", "ana", "TTL", 600000)
    client.put("BACKUP")
    for _ in range(50):
        assert "granted" in busy.call("ACQUIRE", "db/beside", "OWNER", "ben", "TTL", 600000)
        assert busy.call("RELEASE", "db/beside", "OWNER", "ben") == "OK"
    assert isinstance(client.value(), int)
    store = open_copy(client.read(), "moment.db")
    assert store.execute("SELECT count(*) FROM lk_value").fetchone() == (VALUES,)
    assert store.execute("SELECT path FROM lk_locks WHERE owner = 'ana'").fetchall() == [("db/before",)]
    store.close()
    refusal(client.call("BACKUP", "FROM", 0), "LOST")  # the end has ended it
    assert left_of_copies(service.place) == []
    listed = subprocess.run([LK, "-S", f"sqlite:{PLACE}/moment.db", "ls", "db"], capture_output=True, text=True,
                            check=True, timeout=PATIENCE_S).stdout
    assert "db/before" in listed, listed


def order(service):
    """commands behind it wait for it, and bad arguments are refused"""
    client = Backup(service.resp)
    client.send(Resp.request("BACKUP") + Resp.request("BACKUP", "FROM", 0) + Resp.request("PING"))
    size, piece, pong = client.value(), client.value(), client.value()
    assert size > len(piece) > 0 and pong == "PONG", (size, pong)
    for words in [("FROM",), ("FROM", -1), ("FROM", "x"), ("TO", 1), ("FROM", 1, 2)]:
        refusal(client.call("BACKUP", *words), "ERR")
    assert client.call("BACKUP", "FROM", size - 1) != b""
    assert client.call("BACKUP", "FROM", 2**62) == b""
    refusal(client.call("BACKUP", "FROM", 0), "LOST")


def one_at_a_time(service):
    """there is one copy at a time: another client is told FULL until that is read, reset or closed"""
    first, second = Backup(service.resp), Backup(service.resp)
    assert first.call("BACKUP") > 0
    refusal(second.call("BACKUP"), "FULL")
    assert first.call("BACKUP") > 0  # in place of its own
    assert first.call("RESET") == "RESET"
    assert second.call("BACKUP") > 0
    refusal(first.call("BACKUP"), "FULL")
    second.cut()
    until(lambda: isinstance(first.call("BACKUP"), int))
    for _ in range(20):  # clients that leave while it is made
        first.put("BACKUP")
        first.cut()
        first = Backup(service.resp)
        until(lambda: isinstance(first.call("BACKUP"), int))
    first.read()


def without_room(service):
    """a disk without room refuses the copy, and the service goes on"""
    client = Backup(service.resp)
    assert client.call("BACKUP") > VALUES * len(VALUE)
    former = resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (1_000_000, resource.RLIM_INFINITY))
    refusal(client.call("BACKUP"), "UNAVAILABLE")
    assert left_of_copies(service.place) == [], left_of_copies(service.place)
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, former)
    assert client.read() != b""
    assert client.call("PUT", "after", "x") == "OK"


def by_lk(service):
    """lk backup makes a new file for its user alone, or nothing"""
    url = "lk://%s:%d" % service.resp
    path = PLACE / "by_lk.db"

    def backup(where, store=url):
        return subprocess.run([LK, "-S", store, "backup", str(where)], capture_output=True, text=True,
                              check=False, timeout=PATIENCE_S)
    ended = backup(path)
    assert ended.returncode == 0 and ended.stdout == f"{path}: {path.stat().st_size} bytes\n", ended
    assert path.stat().st_mode & 0o777 == 0o600
    ended = backup(path)
    assert ended.returncode == 64 and "is there already" in ended.stderr, ended
    assert backup(PLACE / "no" / "copy.db").returncode == 69
    reader = Backup(service.resp)
    assert reader.call("BACKUP") > 0
    ended = backup(PLACE / "full.db")
    assert ended.returncode == 73 and "another client" in ended.stderr, ended
    reader.close()
    until(lambda: backup(PLACE / "again.db").returncode == 0)
    ended = subprocess.run(["prlimit", "--fsize=100000:unlimited", LK, "-S", url, "backup", PLACE / "cut.db"],
                           capture_output=True, text=True, check=False, timeout=PATIENCE_S,
                           preexec_fn=lambda: signal.signal(signal.SIGXFSZ, signal.SIG_IGN), restore_signals=False)
    assert ended.returncode == 69 and "cut.db" in ended.stderr, ended
    assert not [name for name in os.listdir(PLACE) if name.startswith(("full", "cut", "no"))]


def idle(_):
    """a copy that its client does not read is given up, so that others get theirs"""
    own = Service(LK, "--bound", f"request-seconds={STRETCH}", durable=True)
    silent, other = Backup(own.resp), Backup(own.resp)
    assert silent.call("BACKUP") > 0
    refusal(other.call("BACKUP"), "FULL")
    until(lambda: isinstance(other.call("BACKUP"), int))
    refusal(silent.call("BACKUP", "FROM", 0), "LOST")
    assert own.end() == 0


def administrators(_):
    """with users it needs the right to administer everything, as the rules are now"""
    users = PLACE / "users"

    def write(*rules):
        subprocess.run([LK, "passwd", users, "ops", *rules], input="operator\n", text=True, check=True,
                       timeout=PATIENCE_S)

    def change(rules):
        users.write_text(" ".join(users.read_text().split()[:2] + [rules]) + "\n")
        own.process.send_signal(signal.SIGHUP)

    write("--allow", "lock,read,put,break,watch,push,claim:/", "--allow", "admin:a")
    own = Service(LK, "--users", str(users), durable=True)
    refusal(Backup(own.resp).call("BACKUP"), "NOAUTH")
    ops = Backup(own.resp)
    assert ops.call("AUTH", "ops", "operator") == "OK"
    refusal(ops.call("BACKUP"), "DENIED")
    change("admin:/")
    until(lambda: isinstance(ops.call("BACKUP"), int))
    assert ops.read() != b""
    assert ops.call("BACKUP") > 0
    change("admin:a")
    until(lambda: isinstance(ops.call("BACKUP", "FROM", 0), Refused))
    refusal(ops.call("BACKUP", "FROM", 0), "DENIED")
    assert own.end() == 0


def ends(_):
    """what a killed service was copying is removed, a stop ends a copy, and memory has no file"""
    own = Service(LK, durable=True)
    left = pathlib.Path(own.place) / "locks.db-copy.aBc123"
    assert Backup(own.resp).call("BACKUP") > 0
    own.process.kill()
    own.process.wait(PATIENCE_S)
    assert left_of_copies(own.place) == []
    left.write_text("a part")
    again = Service(LK, durable=True, place=own.place)
    assert left_of_copies(own.place) == []
    client = Backup(again.resp)
    client.put("BACKUP")
    assert again.end() == 0
    try:
        answer = client.value()
        assert isinstance(answer, int) or str(answer).startswith("UNAVAILABLE"), answer
    except Closed:
        pass
    own.end()
    memory = Service(LK)
    refusal(Resp(memory.resp).call("BACKUP"), "UNSUPPORTED")
    assert memory.end() == 0


try:
    run([moment, order, one_at_a_time, without_room, by_lk, idle, administrators, ends])
finally:
    subprocess.run(["rm", "-rf", PLACE], check=False)
