#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""A service that cannot write for a while reports it and recovers by itself. Its log messages never
block it."""

import fcntl
import os
import resource
import sqlite3
import sys
import time

from service import PATIENCE_S, Http, Refused, Resp, Service, run, until


def set_room(service, is_there):
    """Lets files grow or not: if not, writes fail as on a full disk."""
    size = resource.RLIM_INFINITY if is_there else 0
    resource.prlimit(service.process.pid, resource.RLIMIT_FSIZE, (size, resource.RLIM_INFINITY))


def full_pipe(size=4096):
    """A full pipe."""
    reader, writer = os.pipe()
    fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, size)
    os.set_blocking(writer, False)
    try:
        while True:
            os.write(writer, b"x")
    except BlockingIOError:
        pass
    os.set_blocking(writer, True)  # it is the same for the service
    os.set_blocking(reader, False)
    return reader, writer


def read_all(reader):
    text = b""
    try:
        while piece := os.read(reader, 65536):
            text += piece
    except BlockingIOError:
        pass
    return text


def fail_many(wire, count):
    for number in range(count):
        answer = wire.call("PUT", "value", str(number))
        assert isinstance(answer, Refused) and str(answer).startswith("UNAVAILABLE"), answer


def is_ready(service):
    wire = Http(service.http)
    status = wire.call("GET", "/readyz")[0]
    metrics = wire.call("GET", "/metrics")[2].decode()
    wire.close()
    assert status in (200, 503), status
    said = "lockkeeper_ready 1" in metrics.splitlines()
    return status == 200 and said


def stuck_stderr(_):
    """unread log messages are dropped, and repeated ones are logged ten times a second, and counted"""
    fill_stderr(*full_pipe())


def foreign_stderr(_):
    """so they are where stderr belongs to another user, and cannot be opened once more"""
    reader, writer = full_pipe(65536)
    os.fchmod(writer, 0)
    rights = "--bounding-set=-dac_override,-dac_read_search"
    fill_stderr(reader, writer, ["setpriv", rights] if os.geteuid() == 0 else [])


def fill_stderr(reader, writer, starter=()):
    service = Service(sys.argv[1], durable=True, stderr=writer, starter=starter)
    assert fcntl.fcntl(writer, fcntl.F_GETFL) & os.O_NONBLOCK == 0, "stderr is shared"
    wire = Resp(service.resp)
    assert wire.call("PUT", "value", "before") == "OK"
    set_room(service, False)
    end = time.monotonic() + 1.2  # long enough for two complaints
    failed = 0
    while failed < 500 or time.monotonic() < end:
        fail_many(wire, 50)
        failed += 50
    assert read_all(reader).strip(b"x") == b""
    text = b""
    end = time.monotonic() + PATIENCE_S
    while b"more of these" not in text:
        assert time.monotonic() < end, text
        fail_many(wire, 10)
        text += read_all(reader)
    lines = text.decode().splitlines()
    assert "lines were dropped" in lines[0], lines
    assert len(lines) < 80, lines
    assert sum("a batch was not written: " in line for line in lines) >= 1, lines
    set_room(service, True)
    until(lambda: wire.call("PUT", "value", "after") == "OK")
    assert service.end() == 0
    os.close(reader)
    os.close(writer)


def readiness(service):
    """the service is not ready while it cannot write, and recovers by itself"""
    wire = Resp(service.resp)
    assert is_ready(service) and wire.call("PUT", "value", "before") == "OK"
    set_room(service, False)
    fail_many(wire, 1)
    for _ in range(3):
        assert not is_ready(service)
    until(lambda: wire.call("GET", "value") == "before")  # it is loaded
    assert not is_ready(service)
    set_room(service, True)
    until(lambda: is_ready(service))
    assert wire.call("GET", "value") == "before"
    assert wire.call("PUT", "value", "after") == "OK"


def committing_s(service):
    """For how long the present commit has been under way."""
    wire = Http(service.http)
    metrics = wire.call("GET", "/metrics")[2].decode()
    wire.close()
    name = "lockkeeper_commit_running_seconds "
    return next(float(line[len(name):]) for line in metrics.splitlines() if line.startswith(name))


def hanging(service):
    """a commit that hangs holds up nothing that does not depend on it, whichever thread commits"""
    waits = Resp(service.resp)
    goes_on = Resp(service.resp)
    for number in range(10):
        for quick in range(50):
            assert waits.call("PUT", "value", f"{number} {quick}") == "OK"
        other = sqlite3.connect(f"{service.place}/locks.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        waits.put("PUT", "value", f"{number} late")
        until(lambda: committing_s(service) > 0.1)
        assert goes_on.call("PING") == "PONG"
        assert waits.is_silent()
        other.execute("ROLLBACK")
        other.close()
        assert waits.value() == "OK"
    assert goes_on.call("GET", "value") == "9 late"


run([readiness, hanging, stuck_stderr, foreign_stderr])
