#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Both listeners over TLS, byte by byte and by redis-cli, curl and lk; and lks:// beside other servers."""

import atexit
import os
import pathlib
import select
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time
import warnings

from credentials import Authority, openssl
from service import PATIENCE_S, STRETCH, Closed, Http, Refused, Resp, Service, Wire, run, until

LK = sys.argv[1]
PLACE = pathlib.Path(tempfile.mkdtemp(prefix="lk-tls-"))
atexit.register(shutil.rmtree, PLACE, ignore_errors=True)
OURS = Authority(PLACE, "ours")
THEIRS = Authority(PLACE, "theirs")
CERTIFICATE, KEY = OURS.sign("locks")


def trust(*certificate, authority=OURS):
    """What a client of the service believes in, and shows."""
    context = ssl.create_default_context(cafile=authority.file)
    if certificate:
        context.load_cert_chain(*certificate)
    return context


def options(certificate=CERTIFICATE, key=KEY, *more):
    return ["--tls-cert", certificate, "--tls-key", key, *more]


def run_lk(*arguments, **environment):
    ended = subprocess.run([LK, *arguments], capture_output=True, text=True, timeout=PATIENCE_S,
                           check=False, env={**os.environ, **environment})
    return ended.returncode, ended.stdout, ended.stderr


def url(address, **more):
    query = "&".join(f"{name}={value}" for name, value in more.items())
    return f"lks://{address[0]}:{address[1]}" + (f"?{query}" if query else "")


def fails(code, text, *arguments):
    got, out, err = run_lk(*arguments)
    assert got == code and text in err, (arguments, got, out, err)


def refused_for_tls(service, **more):
    """How many connections were refused for their TLS, by the metrics."""
    http = Http(service.http, tls=more.get("tls", trust()))
    text = http.call("GET", "/metrics")[2].decode()
    http.close()
    name = 'lockkeeper_connections_refused_total{reason="tls"} '
    return next(int(line[len(name):]) for line in text.splitlines() if line.startswith(name))


# ---- one service with TLS -------------------------------------------------------------------------

def clients(service):
    """redis-cli, curl, Python and lk are served, by TLS 1.3 and by TLS 1.2"""
    for version in [ssl.TLSVersion.TLSv1_2, ssl.TLSVersion.TLSv1_3]:
        context = trust()
        context.minimum_version = context.maximum_version = version
        assert Resp(service.resp, 3, tls=context).call("PING") == "PONG"
        assert Http(service.http, tls=context).call("GET", "/healthz")[0] == 200
    said = subprocess.check_output(["redis-cli", "--tls", "--cacert", OURS.file, "-h", "localhost",
                                    "-p", str(service.resp[1]), "ACQUIRE", "a", "OWNER", "ana"])
    assert b"granted" in said, said
    said = subprocess.check_output(["curl", "-sS", "--cacert", OURS.file,
                                    f"https://localhost:{service.http[1]}/v1/requests/a"])
    assert b'"ana"' in said, said
    where = url(service.resp, ca=OURS.file)
    code, out, err = run_lk("ls", "--json", LK_STORE=where)
    assert code == 0 and '"ana"' in out, (code, out, err)
    code, out, err = run_lk("-S", where.replace("127.0.0.1", "localhost"), "run", "b", "--", "echo", "hi")
    assert code == 0 and out == "hi\n", (code, out, err)
    assert "certificate_ends: 2" in run_lk("-S", where, "doctor")[1]
    text = Http(service.http, tls=trust()).call("GET", "/metrics")[2].decode()
    assert "\nlockkeeper_tls_certificate_end_timestamp_seconds 2" in text \
        or "\nlockkeeper_tls_certificate_end_timestamp_seconds 1" in text, text


def old_versions(service):
    """TLS 1.1 is refused"""
    before = refused_for_tls(service)
    for address in [service.resp, service.http]:
        context = trust()
        context.set_ciphers("ALL:@SECLEVEL=0")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            context.minimum_version = ssl.TLSVersion.TLSv1
            context.maximum_version = ssl.TLSVersion.TLSv1_1
        try:
            Wire(address, tls=context)
            raise AssertionError("it was accepted")
        except ssl.SSLError as error:
            assert "VERSION" in str(error).upper() or "PROTOCOL" in str(error).upper(), error
    assert refused_for_tls(service) == before + 2


def wrong_trust(service):
    """lk refuses a wrong name and an unknown authority, and says what to do"""
    fails(77, "?ca=FILE", "-S", url(service.resp), "ls")
    fails(77, "?ca=FILE", "-S", url(service.resp, ca=THEIRS.file), "ls")
    fails(77, "?ca=FILE", "-S", url(service.resp, ca=THEIRS.file), "run", "x", "--", "true")
    certificate, key = OURS.sign("elsewhere", "DNS:elsewhere.example,IP:127.0.0.2")
    other = Service(LK, *options(certificate, key))
    for host in ["127.0.0.1", "localhost"]:
        fails(77, "another name", "-S", url((host, other.resp[1]), ca=OURS.file), "ls")
    assert other.end() == 0
    for name in ["verify=no", "ca=", "ca", "insecure=1", "sslmode=disable"]:
        assert run_lk("-S", f"lks://localhost:{service.resp[1]}?{name}", "ls")[0] == 64, name


def plain_bytes(service):
    """a client without TLS is told so"""
    before = refused_for_tls(service)
    answer = Resp(service.resp).call("PING")
    assert isinstance(answer, Refused) and "lks://" in str(answer), answer
    wire = Wire(service.http)
    wire.send(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
    assert wire.line() == b"HTTP/1.1 400 Bad Request"
    fails(79, "lks://", "-S", "lk://127.0.0.1:%d" % service.resp[1], "ls")
    assert refused_for_tls(service) == before + 3


def tls_bytes(_):
    """TLS at a plain port: lk says lk://, and the service goes on"""
    plain = Service(LK)
    for address in [plain.resp, plain.http]:
        fails(79, "no TLS at this port", "-S", url(address, ca=OURS.file), "ls")
    assert Resp(plain.resp).call("PING") == "PONG"
    assert plain.end() == 0


def exchange(wire, data):
    """Sends all of it, and takes what arrives meanwhile: one thread, as a session is for one."""
    wire.socket.setblocking(False)
    while data:
        for step in [wire.fill, lambda: wire.socket.send(data)]:
            try:
                data = data[step() or 0:]
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                pass
        select.select([wire.socket], [wire.socket], [], PATIENCE_S)
    wire.socket.settimeout(PATIENCE_S)


def volume(service):
    """large values, pipelines and answers arrive whole and in order"""
    wire = Resp(service.resp, tls=trust())
    text = "v" * 65536
    wire.send(b"".join(Resp.request("PUT", f"big/{i}", text) for i in range(40)))
    assert [wire.value() for _ in range(40)] == ["OK"] * 40
    count = 5000
    exchange(wire, b"".join(Resp.request("ECHO", f"{i}-{text[:500]}") for i in range(count)))
    for i in range(count):
        assert wire.value() == f"{i}-{text[:500]}"
    for number in range(40):  # answers that are not read for a while
        wire.put("GET", f"big/{number}")
    assert all(wire.value() == text for _ in range(40))
    http = Http(service.http, tls=trust())
    for number in range(3):
        assert http.call("GET", f"/v1/values/big/{number}")[2] == text.encode()
    status, _, _ = http.call("PUT", "/v1/values/big/x", text.encode())
    assert status == 200 and wire.call("GET", "big/x") == text


def in_pieces(service):
    """a handshake and a request that arrive byte by byte are served"""
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    tls = trust().wrap_bio(incoming, outgoing, server_hostname="localhost")
    peer = socket.create_connection(service.resp, PATIENCE_S)
    peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def go_on(step):
        while True:
            try:
                return step()
            except ssl.SSLWantReadError:
                pass
            finally:
                for byte in outgoing.read():
                    peer.send(bytes([byte]))
            incoming.write(peer.recv(65536))

    go_on(tls.do_handshake)
    go_on(lambda: tls.write(b"PING\r\nPING\r\n"))
    said = b""
    while len(said) < 14:
        said += go_on(lambda: tls.read(100))
    assert said == b"+PONG\r\n" * 2
    peer.close()


def cut(service):
    """a bound request perishes when its connection is cut, and a wait over HTTP is withdrawn"""
    holder = Resp(service.resp, tls=trust())
    assert holder.call("ACQUIRE", "cut")[1] == "granted"
    waiter = Resp(service.resp, tls=trust())
    waiter.put("ACQUIRE", "cut", "OWNER", "next", "WAIT", 60000)
    gone = Http(service.http, tls=trust())
    gone.ask("POST", "/v1/acquire", {"parts": ["cut"], "owner": "gone", "wait": "60s"})
    watcher = Resp(service.resp, tls=trust())
    until(lambda: len(watcher.call("LIST", "cut")[1]) == 3)
    gone.socket.close()
    until(lambda: len(watcher.call("LIST", "cut")[1]) == 2)
    holder.cut()
    assert waiter.value()[1] == "granted"


def events(service):
    """events arrive over RESP and over HTTP"""
    follower = Resp(service.resp, 3, tls=trust())
    assert follower.call("WATCH", "events") == "OK"
    stream = Http(service.http, tls=trust())
    stream.ask("GET", "/v1/events?prefix=events")
    assert stream.head()[0] == 200
    maker = Resp(service.resp, tls=trust())
    for number in range(50):
        assert maker.call("ACQUIRE", f"events/{number}")[1] == "granted"
    for number in range(50):
        assert f"events/{number}" in str(follower.value())
    while b"events/49" not in stream.bytes:
        stream.fill()


# ---- services of their own ------------------------------------------------------------------------

def hello_of_a_client():
    """The first bytes of a handshake."""
    hello = ssl.MemoryBIO()
    try:
        trust().wrap_bio(ssl.MemoryBIO(), hello, server_hostname="localhost").do_handshake()
    except ssl.SSLWantReadError:
        pass
    return hello.read()


def ends(wire):
    """The service's part of the handshake, and then the end."""
    try:
        while True:
            wire.fill()
    except Closed:
        wire.close()


def abandoned(_):
    """each handshake that its client abandons is ended"""
    service = Service(LK, *options(), "--bound", "request-seconds=1", stderr=subprocess.DEVNULL)
    start = hello_of_a_client()
    silent = []
    for _ in range(100):
        silent.append(Wire(service.resp))
        silent[-1].send(start)
        time.sleep(0.002)  # so that each one's time is over in a turn of its own
    for wire in silent:
        ends(wire)
    assert service.end() == 0


def half_done(_):
    """handshakes that stay half done are ended in time, and cost an honest client nothing"""
    service = Service(LK, *options(), "--bound", f"request-seconds={4 * STRETCH}", "--bound", "strangers=16",
                      stderr=subprocess.PIPE)
    before = refused_for_tls(service)
    honest = Resp(service.resp, tls=trust())
    start = hello_of_a_client()
    silent = []
    for number in range(100):
        for address in [service.resp, service.http]:
            wire = Wire(address)
            try:
                wire.send(start[:[0, 1, 20, len(start) - 1, len(start)][number % 5]])
            except ConnectionError:
                pass  # closed for a newer one already
            silent.append(wire)
        assert honest.call("PING") == "PONG"
    assert Http(service.http, tls=trust()).call("GET", "/healthz")[0] == 200
    assert Resp(service.resp, tls=trust()).call("PING") == "PONG"
    for wire in silent:
        ends(wire)
    assert refused_for_tls(service) > before
    assert honest.call("PING") == "PONG"
    assert service.end() == 0
    assert "took too long" in service.process.stderr.read()


def reload(_):
    """SIGHUP takes new files; what is open and held stays; unusable files change nothing"""
    certificate, key = OURS.sign("first", file="live")
    log = PLACE / "log"
    with open(log, "w", encoding="utf-8") as stderr:
        service = Service(LK, *options(certificate, key), stderr=stderr)
    holder = Resp(service.resp, tls=trust())
    assert holder.call("ACQUIRE", "kept")[1] == "granted"
    browser = Http(service.http, tls=trust())

    def name_now():
        for address in [service.resp, service.http]:
            wire = Wire(address, tls=trust())
            name = dict(wire.socket.getpeercert()["subject"][0])["commonName"]
            wire.close()
        return name

    def is_refused(text):
        service.process.send_signal(signal.SIGHUP)
        return f"the former certificate stays: the {text}" in log.read_text()

    assert name_now() == "first"
    OURS.sign("second", file="live")
    service.process.send_signal(signal.SIGHUP)
    until(lambda: name_now() == "second")
    pathlib.Path(key).write_text("no key")
    until(lambda: is_refused("key"))
    OURS.sign("third", days=-1, file="live")
    until(lambda: is_refused("certificate"))
    assert name_now() == "second"
    assert holder.call("ACQUIRE", "kept")[1] == "granted"
    assert browser.call("GET", "/healthz")[0] == 200
    assert service.end() == 0


def client_certificates(_):
    """with --tls-ca, clients need a certificate signed by it"""
    service = Service(LK, *options(CERTIFICATE, KEY, "--tls-ca", str(OURS.file)))
    mine, foreign = OURS.sign("ana"), THEIRS.sign("eve")
    for address, kind in [(service.resp, Resp), (service.http, Http)]:
        for shown in [[], foreign]:
            try:
                wire = kind(address, tls=trust(*shown))
                wire.call(*(["PING"] if kind is Resp else ["GET", "/healthz"]))
                raise AssertionError("it was let in")
            except (ssl.SSLError, Closed, ConnectionError):
                pass
    assert Resp(service.resp, tls=trust(*mine)).call("PING") == "PONG"
    assert Http(service.http, tls=trust(*mine)).call("GET", "/healthz")[0] == 200
    assert refused_for_tls(service, tls=trust(*mine)) == 4
    fails(77, "cert=FILE&key=FILE", "-S", url(service.resp, ca=OURS.file), "ls")
    shown = {"cert": foreign[0], "key": foreign[1]}
    fails(77, "--tls-ca", "-S", url(service.resp, ca=OURS.file, **shown), "ls")
    shown = {"cert": mine[0], "key": mine[1]}
    code, _, err = run_lk("-S", url(service.resp, ca=OURS.file, **shown), "ls")
    assert code == 0, err
    os.chmod(mine[1], 0o644)
    fails(77, "chmod 600", "-S", url(service.resp, ca=OURS.file, **shown), "ls")
    fails(64, "belong together", "-S", url(service.resp, cert=mine[0]), "ls")
    assert service.end() == 0


def certificate_names(_):
    """the name in a certificate is its common name, else its first alternative name; or there is none"""
    for number, (subject, names, expected) in enumerate([
            ("/CN=ana", "DNS:other", "ana"),
            ("/O=us/CN=ana of us", "DNS:other", "ana of us"),
            ("/O=us", "IP:127.0.0.1,email:ana@us.example,DNS:ana", "ana@us.example"),
            ("/O=us", "URI:spiffe://us/ana", "spiffe://us/ana"),
            ("/O=us", "IP:127.0.0.1", "-"),
            ("/CN=ana/CN=ben", "DNS:ana", "-"),
            ("/CN=ana\nben", "DNS:ana", "-")]):
        files = OURS.sign(f"name{number}", names, subject=subject)
        said = subprocess.check_output([sys.argv[2], CERTIFICATE, KEY, OURS.file, *files], text=True)
        assert said == expected + "\n", (subject, names, said)


def expired_peer(_):
    """lk refuses a service with an expired certificate, and one that is not valid yet"""
    for files, text in [(OURS.sign("late", days=-1), "has expired"),
                        (OURS.sign_for_later("early"), "not valid yet")]:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(*files)
        listening = socket.create_server(("127.0.0.1", 0))

        def serve():
            peer = listening.accept()[0]
            try:
                context.wrap_socket(peer, server_side=True).close()
            except (ssl.SSLError, OSError):
                peer.close()

        server = threading.Thread(target=serve)
        server.start()
        fails(77, text, "-S", url(listening.getsockname(), ca=OURS.file), "ls")
        server.join()
        listening.close()


def starts(_):
    """unusable files are refused at the start, with their names and what to do"""
    def refuses(code, text, *more):
        fails(code, text, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", "--ephemeral",
              *more)

    open_key = PLACE / "open.key"
    shutil.copy(KEY, open_key)
    open_key.chmod(0o644)
    secret_key = PLACE / "secret.key"
    openssl("pkey", "-in", KEY, "-aes256", "-passout", "pass:x", "-out", secret_key)
    secret_key.chmod(0o600)
    refuses(77, "chmod 600", *options(CERTIFICATE, str(open_key)))
    refuses(64, "passphrase", *options(CERTIFICATE, str(secret_key)))
    refuses(64, "has expired", *options(*OURS.sign("old", days=-1)))
    refuses(64, "not valid yet", *options(PLACE / "ours-early.crt", PLACE / "ours-early.key"))
    refuses(64, "does not belong", *options(CERTIFICATE, OURS.sign("one more")[1]))
    refuses(64, "No such file", *options(str(PLACE / "none"), KEY))
    refuses(64, "not a file", *options(str(PLACE), KEY))
    refuses(64, "none in PEM", *options(KEY, KEY))
    os.chmod(CERTIFICATE, 0o600)
    refuses(64, "no private key", *options(CERTIFICATE, CERTIFICATE))
    refuses(64, "no certificate", *options(CERTIFICATE, KEY, "--tls-ca", KEY))
    settings = PLACE / "settings"
    settings.write_text("tls-cert = relative.crt\n")
    refuses(64, "begin it with /", "--config", str(settings))
    settings.write_text(f"tls-cert = {CERTIFICATE}\ntls-key = {open_key}\n")
    refuses(77, "chmod 600", "--config", str(settings))
    refuses(64, "--tls-key is missing", "--tls-cert", CERTIFICATE)
    refuses(64, "--tls-cert is missing", "--tls-key", KEY)
    refuses(64, "--tls-cert is missing", "--tls-ca", str(OURS.file))


def openness(_):
    """other machines need a password and TLS, or --insecure for what is missing"""
    password = PLACE / "password"
    password.write_text("secret\n")
    password.chmod(0o600)
    with_password = ["--password-file", str(password)]

    def refuses(text, but_not, *more):
        for option, other in [("--listen", "--http"), ("--http", "--listen")]:
            code, _, err = run_lk("serve", option, "0.0.0.0:0", other, "none", "--ephemeral", *more)
            assert code == 77 and text in err and "--insecure" in err, (code, err)
            assert but_not not in err, err

    refuses("users or a password (--users or --password-file FILE) and TLS (--tls-cert FILE --tls-key FILE)", "\0")
    refuses("--tls-cert", "--password-file", *with_password)
    refuses("--password-file", "--tls-cert", *options())
    for more, warning in [([*options(), *with_password], None),
                          ([*with_password, "--insecure"], "without TLS"),
                          ([*options(), "--insecure"], "can take, break and read"),
                          (["--insecure"], "without TLS")]:
        service = Service(LK, "--listen", "0.0.0.0:0", *more, stderr=subprocess.PIPE)
        assert service.end() == 0
        said = service.process.stderr.read()
        assert (warning is None and "WARNING" not in said) or (warning or "\0") in said, (more, said)


def unix_socket(_):
    """a Unix socket stays plain beside ports with TLS"""
    path = PLACE / "socket"
    service = subprocess.Popen([LK, "serve", "--unix", str(path), "--listen", "127.0.0.1:0",
                                "--ephemeral", *options()], stdout=subprocess.PIPE, text=True)
    atexit.register(service.kill)
    said = [service.stdout.readline().strip() for _ in range(2)]
    assert said[0].startswith("lks://127.0.0.1:") and said[1] == f"lk+unix:{path}", said
    assert run_lk("-S", f"lk+unix:{path}", "ls")[0] == 0
    service.terminate()
    assert service.wait(PATIENCE_S) == 0


def main():
    together = [clients, old_versions, wrong_trust, plain_bytes, tls_bytes, volume, in_pieces, cut,
                events]
    alone = [abandoned, half_done, reload, client_certificates, certificate_names, expired_peer, starts,
             openness, unix_socket]
    run([*together, *alone], *options())


if __name__ == "__main__":
    main()
