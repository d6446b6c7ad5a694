#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Both listeners with a password: authentication, and limits before it."""

import base64
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time

from service import PATIENCE_S, STRETCH, Closed, Http, Refused, Resp, Service, Wire, run, until

PASSWORD = "open sesame"


def refusal(answer, word):
    assert isinstance(answer, Refused) and str(answer).split()[0] == word, answer


def authentication(service):
    """a client authenticates by AUTH or HELLO"""
    wire = Resp(service.resp)
    refusal(wire.call("PING"), "NOAUTH")
    refusal(wire.call("ACQUIRE", "x"), "NOAUTH")
    refusal(wire.call("INFO"), "NOAUTH")
    refusal(wire.call("HELLO", 3), "NOAUTH")
    refusal(wire.call("NONSENSE"), "NOAUTH")
    refusal(wire.call("AUTH", PASSWORD[:-1]), "WRONGPASS")
    refusal(wire.call("AUTH", PASSWORD * 2), "WRONGPASS")
    refusal(wire.call("AUTH", ""), "WRONGPASS")
    refusal(wire.call("AUTH", "other", PASSWORD), "WRONGPASS")
    assert wire.call("AUTH", PASSWORD) == "OK" and wire.call("PING") == "PONG"
    other = Resp(service.resp)
    assert other.call("HELLO", 3, "AUTH", "default", PASSWORD)["proto"] == 3
    assert other.call("ACQUIRE", "x")["status"] == "granted"
    assert other.call("RESET") == "RESET"
    refusal(other.call("PING"), "NOAUTH")


def bounds(service):
    """before authentication few commands, bytes and arguments are accepted"""
    def ends(wire):
        try:
            while True:
                wire.value()
        except Closed:
            return True

    for data in [Resp.request("PING") * 40, Resp.request("AUTH", "x" * 600),
                 Resp.request(*"a b c d e f g h i".split()), b"y" * 600]:
        wire = Resp(service.resp)
        try:
            wire.send(data)
        except ConnectionError:
            pass
        assert ends(wire), data[:20]


def over_http(service):
    """over HTTP the password is sent as Bearer or Basic; only /healthz needs none"""
    basic = base64.b64encode(f"me:{PASSWORD}".encode()).decode()
    wrong = base64.b64encode(b"me:wrong").decode()
    for expected, headers in [
            (401, ()), (401, ("Authorization: Bearer wrong",)),
            (401, (f"Authorization: Basic {wrong}",)), (401, ("Authorization: Basic !!!",)),
            (401, ("Authorization: " + "x" * 2000,)),
            (200, (f"Authorization: Bearer {PASSWORD}",)),
            (200, (f"Authorization: Basic {basic}",))]:
        status, reply, _ = Http(service.http).call("GET", "/v1/requests", headers=headers)
        assert status == expected, (headers, status)
        assert ("www-authenticate" in reply) == (status == 401)
    assert Http(service.http).call("GET", "/healthz")[0] == 200
    assert Http(service.http).call("GET", "/metrics")[0] == 401


def elsewhere(service):
    """without a password only loopback addresses are accepted, and a bad file is refused"""
    def refused(*options):
        ended = subprocess.run([sys.argv[1], "serve", "--ephemeral", "--http", "none", *options],
                               capture_output=True, text=True, timeout=PATIENCE_S, check=False)
        return ended.returncode, ended.stderr

    assert refused("--listen", "0.0.0.0:0")[0] == 77
    for content in ["", "\n", "x" * 3000]:
        with tempfile.TemporaryDirectory() as place:
            path = pathlib.Path(place) / "password"
            path.write_text(content)
            path.chmod(0o600)
            code, text = refused("--listen", "127.0.0.1:0", "--password-file", str(path))
            assert code == 64 and "password" in text, (content[:5], code, text)
            assert "every user" not in text
            path.chmod(0o644)
            assert "every user" in refused("--listen", "127.0.0.1:0", "--password-file",
                                           str(path))[1]
    assert refused("--listen", "127.0.0.1:0", "--password-file", "/nowhere/at/all")[0] != 0


def changed(service):
    """SIGHUP reads the password again, for new connections; a bad file changes nothing"""
    known = Resp(service.resp)
    assert known.call("AUTH", PASSWORD) == "OK"
    for text, expected in [("another\n", "another"), ("", "another"), (PASSWORD + "\n", PASSWORD)]:
        file.write_text(text)
        service.process.send_signal(signal.SIGHUP)
        assert known.call("PING") == "PONG"
        until(lambda said=expected: Resp(service.resp).call("AUTH", said) == "OK")
    refusal(Resp(service.resp).call("AUTH", "another"), "WRONGPASS")


def silent(_):
    """an idle connection is closed before authentication, and kept after it"""
    own = Service(sys.argv[1], "--password-file", str(file), "--bound", "request-seconds=1")

    def come_in():
        wire = Resp(own.resp)
        try:
            return wire if wire.call("AUTH", PASSWORD) == "OK" else None
        except (Closed, ConnectionError):  # we were too slow
            return None

    authenticated = []
    until(lambda: authenticated.append(come_in()) or authenticated[-1])
    strangers = [Resp(own.resp), Resp(own.resp)]
    strangers[1].send(b"\r\n")
    for wire in strangers:
        try:
            wire.value()
            raise AssertionError("a stranger got an answer")
        except (Closed, ConnectionError):
            pass
    assert authenticated[-1].call("PING") == "PONG"
    authenticated[-1].close()
    assert own.end() == 0


def is_open(wire):
    wire.socket.setblocking(False)
    try:
        return wire.socket.recv(1) != b""
    except BlockingIOError:
        return True
    except ConnectionError:
        return False
    finally:
        wire.socket.settimeout(PATIENCE_S)


def unauthenticated(_):
    """unauthenticated connections have limits of their own, in total and by address"""
    own = Service(sys.argv[1], "--password-file", str(file), "--bound", "strangers=16",
                  "--bound", "connections=2", stderr=subprocess.PIPE)
    known = (f"Authorization: Bearer {PASSWORD}",)
    for address, client in [(own.resp, Resp), (own.http, Http)]:
        elsewhere = Wire(address, ("127.0.0.2", 0))
        silent = [Wire(address) for _ in range(40)]
        until(lambda silent=silent: not any(is_open(wire) for wire in silent[:32]))
        assert is_open(silent[-1]) and is_open(elsewhere)
        authenticated = [client(address) for _ in range(3)]
        if client is Resp:
            answers = [wire.call("AUTH", PASSWORD) for wire in authenticated]
            assert answers[:2] == ["OK", "OK"] and str(answers[2]).startswith("FULL"), answers
            assert authenticated[0].call("PING") == authenticated[1].call("PING") == "PONG"
        else:
            answers = [wire.call("GET", "/v1/limits", headers=known)[0] for wire in authenticated]
            assert answers == [200, 200, 429], answers
            assert Http(address).call("GET", "/healthz")[0] == 200
            assert Http(address).call("GET", "/readyz", headers=known)[0] == 200
        for wire in [elsewhere, *silent, *authenticated]:
            wire.close()
    own.process.send_signal(signal.SIGTERM)
    said_there = own.process.stderr.read()
    assert own.end() == 0
    assert "(reason=evicted listener=" in said_there, said_there


def guesses(_):
    """wrong passwords are answered with growing delays and logged; the right one at once"""
    own = Service(sys.argv[1], "--password-file", str(file), stderr=subprocess.PIPE)
    guesser, friend = Resp(own.resp), Resp(own.resp)
    count = min(6 + STRETCH, 9)  # each doubles the delay, in which the friend is answered
    begin = time.monotonic()
    guesser.send(b"".join(Resp.request("AUTH", f"guess {number}") for number in range(count)))
    assert friend.call("AUTH", PASSWORD) == "OK" and guesser.is_silent()
    for _ in range(count):
        refusal(guesser.value(), "WRONGPASS")
    assert time.monotonic() - begin > 0.5
    begin = time.monotonic()
    wire = Http(own.http)
    for number in range(6):
        headers = (f"Authorization: Bearer guess {number}",)
        assert wire.call("GET", "/v1/limits", headers=headers)[0] == 401
    assert time.monotonic() - begin > 0.25
    assert wire.call("GET", "/v1/limits", headers=(f"Authorization: Bearer {PASSWORD}",))[0] == 200
    for _ in range(12):
        guesser.put("AUTH", "guess again")
    wire.ask("GET", "/v1/limits", headers=("Authorization: Bearer wrong",))
    own.process.send_signal(signal.SIGTERM)
    said_there = own.process.stderr.read()
    assert own.end() == 0
    logged = len(re.findall(r"\(reason=password listener=\w+ peer=127\.0\.0\.1:", said_there))
    counted = re.findall(r"wrong password: (\d+) more", said_there)
    assert count + 6 <= logged + sum(map(int, counted)) <= count + 19, said_there
    assert "guess" not in said_there and PASSWORD not in said_there


def malformed(_):
    """malformed requests of strangers are answered with growing delays from the ninth on"""
    def over_resp(service):
        wire = Resp(service.resp)
        wire.send(b"*1\r\n:5\r\n")
        return wire

    def over_http(service):
        wire = Http(service.http)
        wire.send(b"GET / HTTP/1.1\r\nX-Y: " + b"z" * 20000)
        return wire

    def tls_over_http(service):
        wire = Http(service.http)
        wire.send(b"\x16\x03\x01\r\n\r\n")
        return wire

    def ends(wire):
        try:
            while True:
                wire.fill()
        except Closed:
            return wire.bytes

    own = Service(sys.argv[1], "--password-file", str(file))
    friend = Resp(own.resp)
    assert friend.call("AUTH", PASSWORD) == "OK"
    for offend, reply in [(over_resp, b"-ERR Protocol error"), (over_http, b'{"status":"invalid"')]:
        for _ in range(8):
            assert reply in ends(offend(own))
        begin = time.monotonic()
        for _ in range(5):
            assert reply in ends(offend(own))
        assert time.monotonic() - begin > 0.29
    assert ends(tls_over_http(own)).count(b"HTTP/1.1 400") == 1
    held = [offend(own) for offend in (over_resp, over_http, tls_over_http) for _ in range(3)]
    assert friend.call("PING") == "PONG" and held[-1].is_silent()
    held[0].close()
    held[3].cut()
    wire = Http(own.http)
    assert wire.call("GET", "/v1/limits", headers=(f"Authorization: Bearer {PASSWORD}",))[0] == 200
    assert own.end() == 0


with tempfile.TemporaryDirectory() as directory:
    file = pathlib.Path(directory) / "password"
    file.touch(0o600)
    file.write_text(PASSWORD + "\n")
    run([authentication, bounds, over_http, elsewhere, changed, silent, unauthenticated, guesses, malformed], "--password-file", str(file))
