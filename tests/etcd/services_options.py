#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""lk serve --store etcd://...: what it refuses, each with its exit code and a sentence that says what to
do, and nothing changed in etcd; users, TLS, and an etcd that has no space. LK

Passwords have "secret" in them, and are shown nowhere."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "postgresql"), str(HERE.parent / "listeners")]
import services as common  # noqa: E402
from cluster import Cluster  # noqa: E402
from ports import free_ports  # noqa: E402
from service import PATIENCE_S, STRETCH, Closed, Refused, Resp, until  # noqa: E402

LIMIT_S = PATIENCE_S
QUOTA = 8 * 1024 * 1024


class Etcd:
    """A cluster of one node, and its command line."""

    members = ()  # no services yet

    def __init__(self, extra=(), options=()):
        self.cluster = Cluster(1, extra)
        self.options = list(options)
        self.cluster.wait()

    @property
    def address(self):
        return self.cluster.addresses

    def ctl(self, *words, data=None):
        scheme = self.cluster.nodes[0].scheme
        ended = subprocess.run(["etcdctl", "--endpoints", f"{scheme}://{self.address}", f"--dial-timeout={LIMIT_S - 5}s",
                                f"--command-timeout={LIMIT_S - 5}s", *self.options, *words],
                               env={**os.environ, "ETCDCTL_API": "3"}, input=data, text=True,
                               capture_output=True, timeout=LIMIT_S)
        return ended.stdout + ended.stderr

    def value(self, key):
        return self.ctl("get", "--print-value-only", key).strip("\n")

    def values(self, prefix):
        return json.loads(self.ctl("get", "--prefix", prefix, "-w", "json"))["kvs"]

    def keys(self, prefix="lockkeeper/"):
        return self.ctl("get", "--prefix", prefix, "--keys-only").split()


class Service:
    def __init__(self, url, failover=f"{2 * STRETCH}s", **environment):
        self.address = ("127.0.0.1", free_ports(1)[0])
        self.errors = tempfile.TemporaryFile("w+")  # noqa: SIM115
        self.process = subprocess.Popen(
            [LK, "serve", "--store", url, "--listen", "%s:%d" % self.address, "--http", "none",
             "--failover", failover, "--log-level", "info"],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=self.errors, text=True,
            env={**os.environ, **environment})

    def log(self):
        self.errors.seek(0)
        return self.errors.read()

    def call(self, *words):
        wire = Resp(self.address)
        try:
            return wire.call(*words)
        finally:
            wire.close()

    def lead(self):
        """Until it leads; then what it may not show."""
        assert self.process.stdout.readline().startswith("lk://"), self.log()
        until(lambda: "\r\nis_leader:1\r\n" in self.call("INFO"))
        title = pathlib.Path(f"/proc/{self.process.pid}/cmdline").read_bytes().decode()
        assert "secret" not in title + self.log(), title
        return self

    def end(self):
        self.process.terminate()
        assert self.process.wait(LIMIT_S) == 0, self.log()
        self.process.stdout.close()
        self.errors.close()


def refuses(code, pattern, url, **environment):
    service = Service(url, **environment)
    output, _ = service.process.communicate(timeout=LIMIT_S)
    log = service.log()
    assert service.process.returncode == code and output == "", (service.process.returncode, log)
    assert len(log.splitlines()) == 1 and re.search(pattern, log) and "secret" not in log, log


def meets_the_next_format(*services):
    """One that leads is asked for a lock, so that it writes; no answer may be a grant."""
    try:
        assert "granted" not in str(services[0].call("ACQUIRE", "y", "OWNER", "two", "TTL", 60000))
    except (OSError, Closed):
        pass  # it has ended
    for service in services:
        assert service.process.wait(LIMIT_S) == 79, service.log()
        assert re.search("UNSUPPORTED: .* have format 2, and this program knows format 1", service.log()), service.log()
        service.process.stdout.close()
        service.errors.close()


def leads(url):
    service = Service(url).lead()
    try:
        assert service.call("ACQUIRE", "x", "OWNER", "one", "TTL", 60000) != []
    finally:
        service.end()


# ---- the cases ------------------------------------------------------------------------------------


def urls_are_checked(etcd):
    """a URL that is none says how one looks"""
    for place in ("", "ann:secret@", "a b", "host:port", "host:123456", "host:1,", "[::1", "host;x"):
        refuses(64, r"INVALID.*etcd://HOST", f"etcd://{place}")
    refuses(64, "INVALID.*16 hosts", "etcd://" + ",".join(["h"] * 17))
    refuses(64, "INVALID.*200 bytes", f"etcd://{etcd.address}/{'x' * 201}")
    refuses(64, "INVALID.*etcds", f"etcd://{etcd.address}?ca=x")
    refuses(64, "INVALID.*ca=FILE", f"etcds://{etcd.address}?secret=x")
    refuses(64, "INVALID.*%XX", f"etcd://:secret@{etcd.address}")
    assert etcd.keys() == []


class Impostor(threading.Thread):
    """Answers each connection with the same bytes, once it has sent something; `closes`: and ends it."""

    def __init__(self, words, closes=False):
        super().__init__(daemon=True)
        self.words, self.closes = words, closes
        self.socket = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.socket.getsockname()[1]
        self.start()

    def run(self):
        while True:
            try:
                client, _ = self.socket.accept()
            except OSError:
                return
            with client:
                client.recv(4096)
                client.sendall(self.words)
                while not self.closes and client.recv(4096):
                    pass

    def end(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self.join()


def frame(kind, flags, stream, content=b""):
    """A frame of HTTP/2."""
    return (len(content).to_bytes(3, "big") + bytes([kind, flags]) + stream.to_bytes(4, "big")
            + content)


def header(name, value):
    """A field of a block of headers, as text."""
    return b"\0" + bytes([len(name)]) + name + bytes([len(value)]) + value


def answer(message):
    """What a server of gRPC sends to a client whose first call gets this message."""
    data, headers, settings, end_stream, end_headers = 0, 1, 4, 1, 4
    return (frame(settings, 0, 0)
            + frame(headers, end_headers, 1, header(b":status", b"200"))
            + frame(data, 0, 1, b"\0" + len(message).to_bytes(4, "big") + message)
            + frame(headers, end_headers | end_stream, 1, header(b"grpc-status", b"0")))


def what_is_no_etcd_is_refused(etcd):
    """a host that is away, that has no etcd, or one that is too old, is told"""
    version = b"3.3.25"
    old = answer(b"\x12" + bytes([len(version)]) + version)
    other = frame(4, 0, 0) + frame(1, 5, 1, header(b":status", b"404"))
    for words, pattern in ((old, "UNSUPPORTED.*etcd 3.3;.*3.4 or later"),
                           (answer(b""), "UNSUPPORTED.*no etcd 3.4 or later"),
                           (other, "UNSUPPORTED.*no etcd 3.4 or later"),
                           (b"HTTP/1.1 400 Bad Request\r\n\r\n", "UNSUPPORTED.*no etcd 3.4 or later"),
                           (b"-ERR unknown command\r\n", "UNSUPPORTED.*no etcd 3.4 or later")):
        impostor = Impostor(words)
        refuses(79, pattern, f"etcd://{impostor.address}")
        impostor.end()
    # Cut off, malformed, compressed, larger than it says.
    for words in (b"", old[:30], answer(b"\xff\xff"), old.replace(b"\0\0\0\0\x08", b"\1\0\0\0\x08"),
                  old.replace(b"\0\0\0\0\x08", b"\0\0\0\1\x08")):
        impostor = Impostor(words, closes=True)
        refuses(69 if words != answer(b"\xff\xff") else 79, "UN", f"etcd://{impostor.address}")
        impostor.end()
    away = free_ports(1)[0]
    refuses(69, "UNAVAILABLE.*is it there", f"etcd://127.0.0.1:{away}")
    leads(f"etcd://127.0.0.1:{away},{etcd.address}/first-is-away")


def rides_out(etcd, service):
    """Whether a call is answered that begins while etcd is stopped, for half of the failover's time."""
    node = etcd.cluster.nodes[0]
    node.stop()
    threading.Timer(1.1 * STRETCH, node.process.send_signal, [signal.SIGCONT]).start()
    return service.call("PUT", "a", "1", "OWNER", "o") == "OK"


def all_nodes_are_asked_again(_):
    """nodes that are silent do not take the time from one that has an answer a little later"""
    etcd = Etcd()
    silent = [socket.create_server(("127.0.0.1", 0)) for _ in range(2)]  # connected, and not answered
    service = Service(",".join([f"etcd://{etcd.address}", *("127.0.0.1:%d" % s.getsockname()[1] for s in silent)]))
    try:
        service.lead()
        assert any(rides_out(etcd, service) for _ in range(3)), service.log()  # a busy machine may be too slow
    finally:
        service.end()
        etcd.cluster.end()


def the_library_is_named(etcd):
    """without nghttp2 the package is named"""
    with tempfile.TemporaryDirectory() as directory:
        pathlib.Path(directory, "libnghttp2.so.14").write_text("no library")
        refuses(79, r"UNSUPPORTED.*libnghttp2.so.14 \(in Debian, the package libnghttp2-14\)",
                f"etcd://{etcd.address}", LD_LIBRARY_PATH=directory)


def another_version_is_refused(etcd):
    """keys of another format, or of none, are left alone"""
    for leader, what in (('{"format":7,"epoch":1}', "have format 7"), ('{"format":0}', "tell no format"),
                         ('{"epoch":1}', "tell no format")):
        etcd.ctl("put", "other/leader", leader)
        refuses(79, f"UNSUPPORTED: the keys of services {what}, and this program knows format 1: use the program that made them",
                f"etcd://{etcd.address}/other")
        assert etcd.keys("other/") == ["other/leader"] and etcd.value("other/leader") == leader


def services_meet_the_next_format(etcd):
    """a later version that brings the keys up to date: a service that leads and one that follows end with 79"""
    url = f"etcd://{etcd.address}/next"
    leading = Service(url).lead()
    following = Service(url)
    assert following.process.stdout.readline().startswith("lk://"), following.log()
    until(lambda: "another service leads" in following.log())
    granted = leading.call("ACQUIRE", "x", "OWNER", "one", "TTL", 60000)
    leader = etcd.value("next/leader")
    etcd.ctl("put", "next/leader", leader.replace('"format":1', '"format":2'))
    kept = etcd.values("next/")
    meets_the_next_format(leading, following)
    assert granted != [] and etcd.values("next/") == kept


def enable_users(etcd):
    """root, a writer and a reader of the services' keys"""
    for words in (("user", "add", "root:secret"), ("role", "add", "reads"), ("role", "add", "writes"),
                  ("role", "grant-permission", "reads", "--prefix=true", "read", "lockkeeper/"),
                  ("role", "grant-permission", "writes", "--prefix=true", "readwrite", "lockkeeper/"),
                  ("user", "add", "reader:secret"), ("user", "add", "writer:secret@/"),
                  ("user", "grant-role", "reader", "reads"), ("user", "grant-role", "writer", "writes"),
                  ("auth", "enable")):
        etcd.ctl(*words)


def users_have_rights(etcd):
    """with users in etcd: none, a wrong password and one who may only read are refused"""
    refuses(77, "DENIED.*leave USER:PASSWORD@ out", f"etcd://writer:secret@{etcd.address}")
    enable_users(etcd)
    try:
        refuses(77, "DENIED.*USER:PASSWORD", f"etcd://{etcd.address}")
        refuses(77, "DENIED.*authentication failed", f"etcd://writer:secret2@{etcd.address}")
        refuses(77, "DENIED.*permission denied", f"etcd://reader:secret@{etcd.address}")
        refuses(77, "DENIED.*permission denied", f"etcd://writer:secret%40%2f@{etcd.address}/else")
        leads(f"etcd://writer:secret%40%2F@{etcd.address}")
    finally:
        etcd.ctl("--user", "root:secret", "auth", "disable")
    assert etcd.keys("else") == []


def signed_tokens_are_renewed(_):
    """where etcd signs its tokens, a change of its users is no reason to stop"""
    with tempfile.TemporaryDirectory() as directory:
        private, public = (os.path.join(directory, name) for name in ("private.pem", "public.pem"))
        subprocess.run(["openssl", "genrsa", "-out", private, "2048"], check=True, capture_output=True)
        subprocess.run(["openssl", "rsa", "-in", private, "-pubout", "-out", public], check=True, capture_output=True)
        etcd = Etcd(["--auth-token", f"jwt,pub-key={public},priv-key={private},sign-method=RS256,ttl=10m"])
        enable_users(etcd)
        # So long that no busy machine ends its epoch.
        service = Service(f"etcd://writer:secret%40%2F@{etcd.address}", failover="60s")
        try:
            service.lead()
            etcd.ctl("--user", "root:secret", "user", "add", "another:secret")
            assert service.call("PUT", "a", "1", "OWNER", "o") == "OK"
            assert "was not written" not in service.log()
        finally:
            service.end()
            etcd.cluster.end()


def certificates(directory):
    """An authority, and a certificate of it for 127.0.0.1, which servers and clients use."""
    def run(*words):
        subprocess.run(["openssl", *words], check=True, capture_output=True, cwd=directory)

    pathlib.Path(directory, "names").write_text("subjectAltName=IP:127.0.0.1\n")
    run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=ca",
        "-days", "2", "-keyout", "ca.key", "-out", "ca.crt")
    run("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-subj", "/CN=lk",
        "-keyout", "lk.key", "-out", "lk.csr")
    run("x509", "-req", "-in", "lk.csr", "-CA", "ca.crt", "-CAkey", "ca.key", "-CAcreateserial", "-days", "2",
        "-extfile", "names", "-out", "lk.crt")


def tls_is_checked(_):
    """over TLS: etcd's certificate is checked, and it may ask for one"""
    with tempfile.TemporaryDirectory() as directory:
        certificates(directory)
        ca, crt, key = (os.path.join(directory, name) for name in ("ca.crt", "lk.crt", "lk.key"))
        etcd = Etcd(["--cert-file", crt, "--key-file", key, "--client-cert-auth", "--trusted-ca-file", ca],
                    ["--cacert", ca, "--cert", crt, "--key", key])
        try:
            refuses(69, "UNAVAILABLE.*etcd cannot be reached.*not known here.*ca=FILE", f"etcds://{etcd.address}")
            refuses(69, "UNAVAILABLE.*etcd cannot be reached.*wants a certificate.*cert=FILE",
                    f"etcds://{etcd.address}?ca={ca}")
            refuses(69, "UNAVAILABLE.*etcd cannot be reached.*etcds://", f"etcd://{etcd.address}")
            port = etcd.address.split(":")[1]
            refuses(69, "UNAVAILABLE.*etcd cannot be reached.*another name",
                    f"etcds://localhost:{port}?ca={ca}&cert={crt}&key={key}")
            refuses(64, "INVALID.*no-such-file", f"etcds://{etcd.address}?ca=no-such-file")
            assert etcd.keys() == []
            leads(f"etcds://{etcd.address}/locks?ca={ca}&cert={crt}&key={key}")
        finally:
            etcd.cluster.end()


def a_full_etcd_is_told(_):
    """an etcd without space makes calls UNAVAILABLE, says what to do, and goes on when that is done"""
    etcd = Etcd(["--quota-backend-bytes", str(QUOTA)])
    service = Service(f"etcd://{etcd.address}")
    try:
        service.lead()
        for _ in range(2 * QUOTA // 1000000):
            etcd.ctl("put", "filler", data="x" * 1000000)
        assert "NOSPACE" in etcd.ctl("alarm", "list")
        until(lambda: str(service.call("PUT", "a", "1", "OWNER", "o")).startswith("UNAVAILABLE"))
        until(lambda: "etcdctl alarm disarm" in service.log())
        revision = re.search(r'"revision":(\d+)', etcd.ctl("get", "filler", "-w", "json"))[1]
        for words in (("del", "filler"), ("compact", revision), ("defrag",), ("alarm", "disarm")):
            etcd.ctl(*words)
        until(lambda: not isinstance(service.call("ACQUIRE", "x", "OWNER", "one"), Refused))
    finally:
        service.end()
        etcd.cluster.end()


def small_requests_are_told(_):
    """an etcd that takes small requests alone is told how to take those that services make"""
    etcd = Etcd(["--max-request-bytes", "32768"])
    service = Service(f"etcd://{etcd.address}")
    try:
        service.lead()
        assert service.call("PUT", "a", "x" * 30000, "OWNER", "o") == "OK"
        for size in (40000, 65536):  # beyond what etcd takes
            until(lambda size=size: str(service.call("PUT", "a", "x" * size, "OWNER", "o")).startswith("UNAVAILABLE"))
        until(lambda: "--max-request-bytes 1572864" in service.log())
        until(lambda: service.call("PUT", "a", "y", "OWNER", "o") == "OK")
        wire = Resp(service.address)  # many at once: a message beyond what its server of gRPC takes
        for i in range(20):
            wire.put("PUT", f"b/{i}", "x" * 65536, "OWNER", "o")
        for _ in range(20):
            assert str(wire.value()).startswith("UNAVAILABLE")
        wire.close()
        until(lambda: service.call("PUT", "a", "z", "OWNER", "o") == "OK")
    finally:
        service.end()
        etcd.cluster.end()


CASES = [urls_are_checked, what_is_no_etcd_is_refused, all_nodes_are_asked_again, the_library_is_named,
         another_version_is_refused, services_meet_the_next_format, users_have_rights, signed_tokens_are_renewed, tls_is_checked, small_requests_are_told, a_full_etcd_is_told]

if __name__ == "__main__":
    LK = os.path.abspath(sys.argv[1])
    ETCD = Etcd()
    try:
        common.run(ETCD, CASES)
    finally:
        ETCD.cluster.end()
