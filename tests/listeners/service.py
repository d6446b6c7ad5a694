# SPDX-License-Identifier: Apache-2.0
"""A private service, and plain sockets to its listeners. Prints TAP."""

import atexit
import json
import os
import pathlib
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
import cases as tap_cases  # noqa: E402

# How many times longer than else times are, on a machine that is busy (tests/timed).
STRETCH = int(os.environ.get("LK_TEST_STRETCH", "1"))
PATIENCE_S = 50 + 10 * STRETCH  # longer than any time that a case waits for


def measure_memory():
    """Makes a sanitizer's allocator return freed memory at once, in services started from now on, so
    that resident memory is memory in use."""
    options = "quarantine_size_mb=0:thread_local_quarantine_size_kb=0"
    os.environ["ASAN_OPTIONS"] = ":".join(
        [os.environ.get("ASAN_OPTIONS", ""), options, "allocator_release_to_os_interval_ms=50"])


class Service:
    """`lk serve` as a child process; its files are removed with it, unless they are in a place of the
    caller's."""

    def __init__(self, program, *options, durable=False, stderr=None, starter=(), place=None):
        self.place = place or tempfile.mkdtemp(prefix="lk-listeners-")
        self.is_temporary = place is None
        where = ["--dir", self.place] if durable else ["--ephemeral"]
        self.process = subprocess.Popen(
            [*starter, program, "serve", "--listen", "127.0.0.1:0", "--http", "127.0.0.1:0", *where,
             *options], stdout=subprocess.PIPE, stderr=stderr, text=True)
        atexit.register(self.process.kill)  # also when a case has failed
        is_tls = "--tls-cert" in options
        self.resp = self.address("lks://" if is_tls else "lk://")
        self.http = self.address("https://" if is_tls else "http://")

    def address(self, scheme):
        line = self.process.stdout.readline().strip()
        if line.startswith("lk+unix:"):  # its address is the caller's
            line = self.process.stdout.readline().strip()
        if not line.startswith(scheme):
            raise AssertionError(f"the service said {line!r} instead of {scheme}...")
        host, port = line[len(scheme):].rsplit(":", 1)
        return host, int(port)

    def sockets(self):
        """The number of its open sockets."""
        count = 0
        for name in os.listdir(f"/proc/{self.process.pid}/fd"):
            try:
                link = os.readlink(f"/proc/{self.process.pid}/fd/{name}")
                count += link.startswith("socket:")
            except FileNotFoundError:
                pass  # closed meanwhile
        return count

    def has_shadow(self):
        """Whether a thread sanitizer uses shadow memory, several bytes for each byte."""
        with open(f"/proc/{self.process.pid}/exe", "rb") as program:
            return b"__tsan_init" in program.read()

    def resident_kb(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS:"))

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(PATIENCE_S)
        self.process.stdout.close()
        if self.is_temporary:
            shutil.rmtree(self.place, ignore_errors=True)
        return code


class Closed(Exception):
    pass


class Wire:
    """A connection that is read byte by byte."""

    def __init__(self, address, source=None, tls=None):
        self.socket = socket.create_connection(address, PATIENCE_S, source)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if tls is not None:
            self.socket = tls.wrap_socket(self.socket, server_hostname=address[0])
        self.bytes = b""

    def close(self):
        self.socket.close()

    def cut(self):
        """Closes with RST, as if the client's machine had lost the connection."""
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.socket.close()

    def send(self, data):
        self.socket.sendall(data)

    def fill(self):
        try:
            more = self.socket.recv(65536)
        except ConnectionResetError:
            more = b""
        if not more:
            raise Closed()
        self.bytes += more

    def line(self):
        while b"\r\n" not in self.bytes:
            self.fill()
        line, self.bytes = self.bytes.split(b"\r\n", 1)
        return line

    def exactly(self, size):
        while len(self.bytes) < size:
            self.fill()
        piece, self.bytes = self.bytes[:size], self.bytes[size:]
        return piece

    def is_silent(self):
        """Whether nothing arrives for longer than the service takes to send a reply."""
        self.socket.settimeout(0.2)
        try:
            self.fill()
            return False
        except TimeoutError:
            return True
        finally:
            self.socket.settimeout(PATIENCE_S)


class Refused(Exception):
    """A RESP error."""


class Resp(Wire):
    def __init__(self, address, version=2, tls=None):
        super().__init__(address, tls=tls)
        if version == 3:
            self.call("HELLO", 3)

    @staticmethod
    def request(*words):
        words = [word if isinstance(word, bytes) else str(word).encode() for word in words]
        return b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(w), w) for w in words)

    def put(self, *words):
        self.send(self.request(*words))

    def value(self):
        line = self.line()
        kind, rest = line[:1], line[1:]
        if kind == b"$":
            return None if rest == b"-1" else self.bulk(int(rest))
        if kind in b"*>":
            items = [self.value() for _ in range(int(rest))]
            return ("push", *items) if kind == b">" else items
        if kind == b"%":
            return {self.value(): self.value() for _ in range(int(rest))}
        plain = {b"+": rest.decode(), b"_": None, b"#": rest == b"t"}
        if kind in plain:
            return plain[kind]
        if kind == b":":
            return int(rest)
        if kind == b"-":
            return Refused(rest.decode())
        raise AssertionError(f"not RESP: {line!r}")

    def bulk(self, size):
        data = self.exactly(size + 2)[:-2]
        try:
            return data.decode()
        except UnicodeDecodeError:
            return data

    def call(self, *words):
        self.put(*words)
        return self.value()


def as_map(flat):
    return dict(zip(flat[::2], flat[1::2]))


class Http(Wire):
    """HTTP requests on one connection."""

    def ask(self, method, path, body=b"", headers=()):
        if isinstance(body, dict):
            body = json.dumps(body).encode()
            headers = ("Content-Type: application/json", *headers)
        if not any(header.startswith("Host:") for header in headers):
            headers = ("Host: localhost", *headers)
        head = "\r\n".join([f"{method} {path} HTTP/1.1", *headers,
                            f"Content-Length: {len(body)}", "", ""])
        self.send(head.encode() + body)

    def head(self):
        status = int(self.line().split()[1])
        headers = {}
        while line := self.line().decode():
            name, value = line.split(":", 1)
            headers[name.lower()] = value.strip()
        return status, headers

    def reply(self):
        status, headers = self.head()
        body = self.exactly(int(headers.get("content-length", 0)))
        if headers.get("content-type") == "application/json":
            body = json.loads(body)
        return status, headers, body

    def call(self, *arguments, **more):
        self.ask(*arguments, **more)
        return self.reply()


def until(condition):
    """Waits until the condition holds."""
    end = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > end:
            raise AssertionError("it has not come about")
        time.sleep(0.01)


def run(cases, *options):
    """Runs every case on one service, with a file if the arguments say so: LK [durable]"""
    run_groups((cases, options))


def run_groups(*groups):
    """The same, with a service of its own for each (cases, options)."""
    tap_cases.plan(sum(len(cases) for cases, _ in groups))
    begun = 0
    are_good = True
    for cases, options in groups:
        are_good = run_group(cases, options, begun + 1) and are_good
        begun += len(cases)
    sys.exit(0 if are_good else 1)


def run_group(cases, options, first):
    service = Service(sys.argv[1], *options, durable="durable" in sys.argv[2:])
    is_good = all([tap_cases.play(case, number, service) for number, case in enumerate(cases, first)])
    code = service.end()
    if code != 0:
        print(f"# the service ended with {code}")
    return is_good and code == 0
