#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""rediss: beside servers that have TLS, that have another kind of it, and that have none: test_tls.py LK [CASE]

Each case has servers of its own. Where no server of Redis does what is needed, a port of this program
answers.
"""
import asyncio
import os
import pathlib
import shutil
import socket
import ssl
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

from test_errors import STRETCH, Server, expect, run_cases
from with_servers import free_ports

from proxy import Front, ride_out  # noqa: E402, tests/procedures
from credentials import Authority, openssl  # noqa: E402, tests/listeners

TRY = ("acquire", "--try", "x")
SECRET = "open-sesame"
AT_ONCE = 16  # they wait, most of the time
GREETING = b"*2\r\n$4\r\nINFO\r\n$6\r\nserver\r\n"  # the first that a client without a password says
RUBBISH = {
    "closes": b"",
    "bytes": b"\0\1 no server is here\r\n",
    "HTTP": b"HTTP/1.0 503 Service Unavailable\r\n\r\n",
    "an error": b"-ERR no upstream host\r\n",
    "an endless text": b"$999999999\r\nxxxx",
    "too deep": b"*1\r\n" * 50,
    "no length": b"$x\r\n",
}


class TlsServer(Server):
    def __init__(self, program):
        super().__init__(program, has_tls=True)
        self.theirs = Authority(self.folder, "theirs")

    def server(self, *options, certificate=()):
        """One more server, with a port for TLS; HOST:PORT."""
        port = free_ports(1)[0]
        return self.begin(port, *self.tls.of_server(port, *certificate), "--tls-auth-clients", "no",
                          *options)

    def begin(self, port, *options):
        place = os.path.join(self.folder, f"socket{port}")
        self.start(f"server{port}", *options, "--bind", "127.0.0.1", "--unixsocket", place)
        self.wait("the server", lambda: self.cli("-s", place, "PING").startswith(("PONG", "NOAUTH")))
        return f"127.0.0.1:{port}"

    def url_at(self, place, *options, ca=None, secret=""):
        words = "".join(f"&{option}" for option in options)
        return f"rediss://{secret}{place}?ca={ca or self.tls.ours.file}{words}"

    def listen(self, serve):
        """A port of this program; `serve` gets each connection, in a thread."""
        listener = socket.create_server(("127.0.0.1", 0))

        def go_on():
            while True:
                try:
                    client = listener.accept()[0]
                except OSError:
                    return
                threading.Thread(target=self.serve_one, args=(serve, client), daemon=True).start()

        threading.Thread(target=go_on, daemon=True).start()
        return f"127.0.0.1:{listener.getsockname()[1]}"

    @staticmethod
    def serve_one(serve, client):
        try:
            serve(client)
        except OSError:  # ssl.SSLError is one
            pass
        finally:
            client.close()

    def context(self, certificate=None, key=None):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate or self.tls.certificate, key or self.tls.key)
        return context


# ---- certificates ----


def certificates_of_servers(t):
    t.single()
    t.answers("granted", *TRY)
    t.answers("ok", "release", "x")
    good = t.server()
    other = t.server(certificate=t.tls.ours.sign("other", names="DNS:elsewhere"))
    old = t.server(certificate=t.tls.ours.sign("old", days=-1))
    early = t.server(certificate=t.tls.ours.sign_for_later("early"))
    foreign = t.server(certificate=t.theirs.sign("foreign"))
    t.answers("granted", *TRY, url=t.url_at(good))
    t.answers("granted", *TRY, url=t.url_at(good.replace("127.0.0.1", "localhost")), owner="me")
    for place, says in ((other, "is for another name"), (old, "has expired"),
                        (early, "is not valid yet"),
                        (foreign, "not known here: rediss://HOST:PORT?ca=FILE names it")):
        t.answers("denied", *TRY, url=t.url_at(place),
                  says=f"{place}: the certificate of the Redis server ")
        t.answers("denied", *TRY, url=t.url_at(place), says=says)
    t.answers("denied", *TRY, url=f"rediss://{good}", says="not known here")  # the system's authorities
    t.answers("granted", *TRY, url=t.url_at(foreign, ca=t.theirs.file))
    # Of several servers the first decides: a wrong certificate is no server that is away.
    t.answers("denied", *TRY, url=t.url_at(f"{foreign},{good}"), says="not known here")


def certificates_of_clients(t):
    mine = t.tls.ours.sign("me")
    foreign = t.theirs.sign("foreign-client")
    for protocol in ("TLSv1.2", "TLSv1.3"):
        strict = t.server("--tls-auth-clients", "yes", "--tls-protocols", protocol)
        t.answers("granted", *TRY, url=t.url_at(strict, f"cert={mine[0]}", f"key={mine[1]}"))
        for _ in range(10):  # with TLS 1.3 it says so when the handshake is done here
            t.answers("denied", *TRY, url=t.url_at(strict),
                      says="wants a certificate of its clients: rediss://HOST:PORT?cert=FILE&key=FILE")
            t.answers("denied", *TRY, url=t.url_at(strict, f"cert={foreign[0]}", f"key={foreign[1]}"),
                      says="signed by an authority of its tls-ca-cert-file")
    open_key = os.path.join(t.folder, "open.key")
    shutil.copy(mine[1], open_key)
    os.chmod(open_key, 0o644)
    t.answers("denied", *TRY, url=t.url_at(strict, f"cert={mine[0]}", f"key={open_key}"), says="chmod 600")
    t.answers("invalid", *TRY, url=t.url_at(strict, f"cert={mine[0]}"), says="belong together")
    t.answers("invalid", *TRY, url=t.url_at(strict, "cert=/nowhere", f"key={mine[1]}"), says="/nowhere")
    t.answers("invalid", *TRY, url=t.url_at(strict, ca="/nowhere"), says="/nowhere")
    t.answers("invalid", *TRY, url=t.url_at(strict, "sni=x"), says='no option "sni"')
    t.answers("invalid", *TRY, url=f"redis://{strict}?ca={t.tls.ours.file}",
              says="use rediss:// in place of redis://")
    t.answers("invalid", *TRY, url=f"rediss://{t.folder}/socket", says="has no TLS: use redis://")


def the_doctor(t):
    t.single()
    answer = t.lk("doctor")
    text = str(answer)
    place = t.url.split("/")[2].partition("?")[0]
    expect(answer["exit"] == 0 and f"'tls of {place}': 'TLSv1.3'" in text, text)
    expect(f"'certificate_ends of {place}': '2" in text, text)
    expect(f"the certificate of {place} ends soon" in text, text)  # in two days


# ---- passwords ----


def passwords(t):
    server = t.server("--requirepass", SECRET)
    t.answers("denied", *TRY, url=t.url_at(server), says="wants a password: rediss://:PASSWORD@HOST")
    answer = t.answers("denied", *TRY, url=t.url_at(server, secret=":wrong-one@"), says="refuses the URL's")
    expect("wrong-one" not in str(answer), "the password is shown")
    t.answers("granted", *TRY, url=t.url_at(server, secret=f":{SECRET}@"))
    text = str(t.lk("doctor", url=t.url_at(server, secret=f":{SECRET}@")))
    expect("rediss://@127" in text and SECRET not in text, text)
    # What a run hands on is a URL for every directory, with the files and without the password.
    pathlib.Path(t.folder, "password").write_text(SECRET + "\n", encoding="ascii")
    os.chdir(t.folder)
    url = t.url_at(server, "password-file=password", ca="ours.crt")
    answer = t.lk("run", "outer", "--", "sh", "-c", f"cd / && {t.program} get x --json && echo \"$LK_STORE\"",
                  url=url)
    expect(answer["exit"] == 1, f"a store inside a run: {answer}")  # there is no value
    expect(SECRET not in str(answer), "the password is shown")


def passwords_stay_here(t):
    """No byte of a password is sent before the server is known, whatever answers."""
    seen = []

    def plain(client):
        client.settimeout(5)
        while data := client.recv(4096):
            seen.append(data)

    def stranger(client):
        wrapped = t.context(*t.theirs.sign("stranger")).wrap_socket(client, server_side=True)
        while data := wrapped.recv(4096):
            seen.append(b"decrypted " + data)

    def anonymous(client):
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.maximum_version = ssl.TLSVersion.TLSv1_2
        context.set_ciphers("aNULL:@SECLEVEL=0")
        context.wrap_socket(client, server_side=True)

    for serve, status in ((plain, "unavailable"), (stranger, "denied"), (anonymous, "unavailable")):
        place = t.listen(serve)
        t.answers(status, *TRY, url=t.url_at(place, secret=f"ana:{SECRET}@"))
    expect(seen, "no connection was made")
    expect(not any(SECRET.encode() in data or data.startswith(b"decrypted") for data in seen),
           f"{seen}")


# ---- TLS on one side ----


def tls_on_one_side(t):
    tls = t.server()
    port = free_ports(1)[0]
    plain = t.begin(port, "--port", str(port))
    t.answers("unavailable", *TRY, url=f"redis://{tls}",
              says="if this port is TLS, use rediss:// in place of redis://")
    t.answers("unavailable", *TRY, url=t.url_at(plain),
              says="no answer to TLS: if this port has none, use redis:// in place of rediss://")

    def refuse(client):  # as a server in protected mode
        client.sendall(b"-DENIED Redis is running in protected mode\r\n")
        client.recv(4096)

    def alert(client):  # as most servers with TLS: a record that says what it thinks of plain text
        client.recv(4096)
        client.sendall(bytes.fromhex("15030100020246"))

    t.answers("unsupported", *TRY, url=t.url_at(t.listen(refuse)),
              says="there is no TLS at this port: use redis:// in place of rediss://")
    t.answers("unsupported", *TRY, url=f"redis://{t.listen(alert)}",
              says="this port is TLS: use rediss:// in place of redis://")


# ---- hostile peers ----


def all_of(cases):
    """Runs them side by side; what is wrong with each, if anything."""
    with ThreadPoolExecutor(AT_ONCE) as pool:
        wrong = [text for text in pool.map(lambda case: case(), cases) if text]
    expect(not wrong, "; ".join(wrong))


def judge(t, name, url, *statuses):
    answer = t.lk("acquire", "--try", "hostile", url=url)
    if answer.get("status") not in statuses or not answer["error"]:
        return f"{name}: {answer}"
    return None


def handshakes_that_are_cut(t):
    """At each step: behind so many bytes of the server's."""
    server = t.server()
    host, port = server.split(":")
    sizes = []

    def cut_behind(count):
        def serve(client):
            far = socket.create_connection((host, int(port)))

            def forward():
                try:
                    while data := client.recv(4096):
                        far.sendall(data)
                except OSError:
                    pass

            threading.Thread(target=forward, daemon=True).start()
            sent = 0
            while sent < count and (data := far.recv(min(4096, count - sent))):
                client.sendall(data)
                sent += len(data)
            sizes.append(sent)
            client.shutdown(socket.SHUT_RDWR)
            far.close()
        return serve

    counts = [0, 1, 4, 5, 6, 60, 126, 127, 128, 200, 400, 600, 700, 760, 800, 900]
    all_of([lambda count=count: judge(t, f"cut behind {count}", t.url_at(t.listen(cut_behind(count))),
                                      "unavailable", "granted") for count in counts])
    expect(max(sizes) > 500, f"the handshake is shorter than that: {sizes}")
    t.answers("granted", "acquire", "--try", "afterwards", url=t.url_at(server))


def rubbish_behind_the_handshake(t):
    context = t.context()

    def say(words):
        def serve(client):
            wrapped = context.wrap_socket(client, server_side=True)
            wrapped.recv(len(GREETING))
            wrapped.sendall(words) if words else None
            wrapped.settimeout(5)
            wrapped.recv(1)
        return serve

    def say_plainly(words):
        """In the middle of the session, without its keys."""
        def serve(client):
            copy = socket.socket(fileno=os.dup(client.fileno()))
            wrapped = context.wrap_socket(client, server_side=True)
            wrapped.recv(len(GREETING))
            copy.sendall(words)
            copy.close()
            wrapped.settimeout(5)
            wrapped.recv(1)
        return serve

    statuses = ("unavailable", "unsupported", "internal")
    all_of([lambda name=name, words=words: judge(t, name, t.url_at(t.listen(say(words))), *statuses)
            for name, words in RUBBISH.items()]
           + [lambda name=name, words=words: judge(
               t, f"{name}, in plain", t.url_at(t.listen(say_plainly(words))), *statuses)
              for name, words in RUBBISH.items() if words])


def what_answers_while_it_is_away(t):
    """A waiter rides it out, over a connection that was cut: in its place something else answers."""
    server = t.server()
    port = int(server.split(":")[1])

    async def ride(number, words):
        front = Front(port)
        await front.listen(0)
        place = f"127.0.0.1:{front.server.sockets[0].getsockname()[1]}"
        try:
            await asyncio.wait_for(ride_out(t.program, t.url_at(server), t.url_at(place), [front], words,
                                            f"away{number}/a"), 60 + 30 * STRETCH)
        except (AssertionError, asyncio.TimeoutError) as error:
            return f"{words}: {error!r}"
        finally:
            front.close()
        return None

    async def ride_all():
        return await asyncio.gather(*(ride(number, words) for number, words in
                                      enumerate([b"", b"-ERR no upstream host\r\n", bytes(64),
                                                 bytes.fromhex("15030300020250")])))

    wrong = [text for text in asyncio.run(ride_all()) if text]
    expect(not wrong, "; ".join(wrong))


# ---- a cluster ----


def a_cluster_with_a_stranger(t):
    """Each node is verified by the name that the cluster has for it: one with another is DENIED."""
    t.cluster()
    ports = [int(name) for name in os.listdir(t.folder) if name.isdigit()]
    masters = [port for port in ports if "role:master" in t.cli("-p", str(port), "INFO", "replication")]
    other = t.tls.ours.sign("other", names="DNS:elsewhere")
    stranger = masters[0]
    t.cli("-p", str(stranger), "CONFIG", "SET", "tls-cert-file", other[0], "tls-key-file", other[1])
    url = t.url_of([f"127.0.0.1:{port}" for port in masters[1:]])
    found = set()
    for number in range(40):
        answer = t.lk("acquire", "--try", f"root{number}", url=url)
        found.add(answer.get("status"))
        if answer.get("status") == "denied":
            expect(f"127.0.0.1:{stranger}: the certificate" in answer["error"]
                   and "for another name" in answer["error"], f"{answer}")
    expect(found == {"granted", "denied"}, f"{found}")


CASES = [
    ("certificates of servers", certificates_of_servers),
    ("certificates of clients", certificates_of_clients),
    ("what the doctor says", the_doctor),
    ("passwords", passwords),
    ("passwords stay here until the server is known", passwords_stay_here),
    ("TLS on one side only", tls_on_one_side),
    ("handshakes that are cut", handshakes_that_are_cut),
    ("rubbish behind the handshake", rubbish_behind_the_handshake),
    ("what answers while the server is away", what_answers_while_it_is_away),
    ("a cluster with a node of another name", a_cluster_with_a_stranger),
]

if __name__ == "__main__":
    sys.exit(run_cases(TlsServer, CASES))
