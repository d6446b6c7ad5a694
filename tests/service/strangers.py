#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What stands before a service, and answers in its place while that is away. LK

A load balancer or a proxy takes new connections while the service behind it is silent, and closes
them, or answers with HTTP, or with bytes of its own. A client that has been in contact with the
service rides that out: a waiter waits, and a holder goes on.
"""

import asyncio
import json
import os
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "listeners"), str(TESTS / "procedures")]
from certificates import Authority  # noqa: E402
from proxy import Proxy  # noqa: E402
from service import PATIENCE_S, Service  # noqa: E402

LK = sys.argv[1]
ENOUGH = 2  # connections that a stranger has answered
STRANGERS = {
    "closes": b"",
    "HTTP": b"HTTP/1.0 503 Service Unavailable\r\n\r\n",
    "bytes": b"\0\1 no service is here\r\n",
    "an error": b"-ERR no upstream host\r\n",
    "another error": b"-LOADING a dataset into memory\r\n",
    "TLS": b"\x15\x03\x01\x00\x02\x02\x70",  # an alert: there is nothing of this name
    "a refused handshake": b"\x15\x03\x03\x00\x02\x02\x28",
    "a refused certificate": b"\x15\x03\x03\x00\x02\x02\x30",  # and none has been shown
}


class Link:
    def passes(self, data, _):
        return data


class Front(Proxy):
    """Passes all on; or, while it has words of its own, says these to each new connection."""

    words = None

    def __init__(self, port):
        super().__init__(port, Link)
        self.met = asyncio.Semaphore(0)

    async def serve(self, reader, writer):
        if self.words is None:
            await super().serve(reader, writer)
            return
        try:
            writer.write(self.words)
            await reader.read(1)  # else what was sent, and is unread, resets the connection
            writer.close()
        except OSError:
            pass
        self.met.release()

    def replace(self, words):
        """The service falls silent: its connections stay, and nothing passes."""
        self.words = words
        self.questions.clear()
        self.answers.clear()

    def restore(self):
        self.words = None
        self.cut()
        self.questions.set()
        self.answers.set()


async def lk(*arguments):
    process = await asyncio.create_subprocess_exec(
        LK, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def state_of(url, path, owner, state):
    """Until the owner's request is in that state."""
    while True:
        _, out, _ = await lk("-S", url, "ls", path, "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        if any((row["owner"], row["state"]) == (owner, state) for row in rows):
            return
        await asyncio.sleep(0.02)


async def ride_out(scheme, port, query, hosts, stranger):
    path = f"{scheme}-{hosts}-{stranger}".replace(" ", "-")
    direct = f"{scheme}://127.0.0.1:{port}{query}"
    fronts = [Front(port) for _ in range(hosts)]
    for front in fronts:
        await front.listen(0)
    ports = [front.server.sockets[0].getsockname()[1] for front in fronts]
    url = f"{scheme}://" + ",".join(f"127.0.0.1:{each}" for each in ports) + query
    code, _, err = await lk("-S", direct, "acquire", "--owner", "first", "--ttl", "10m", path)
    assert code == 0, err
    waiter = asyncio.create_task(
        lk("-S", url, "run", "--owner", "second", "--ttl", "10m", path, "--", "true"))
    await state_of(direct, path, "second", "waiting")
    for front in fronts:
        front.replace(STRANGERS[stranger])
        if hosts == 1:
            front.cut()
    for _ in range(ENOUGH):
        await fronts[0].met.acquire()
    assert not waiter.done(), waiter.result()
    for front in fronts:
        front.restore()
    code, _, err = await lk("-S", direct, "release", "--owner", "first", path)
    assert code == 0, err
    code, _, err = await waiter
    assert code == 0, (code, err)
    for front in fronts:
        front.close()


async def first_contact(scheme, query, stranger, code, text):
    """What is no service is told at once, if there never was one."""
    front = Front(1)
    front.words = STRANGERS[stranger]
    await front.listen(0)
    port = front.server.sockets[0].getsockname()[1]
    got, _, err = await lk("-S", f"{scheme}://127.0.0.1:{port}{query}", "ls", "a")
    assert got == code and text in err, (stranger, got, err)
    front.close()


def cases(services):
    for scheme, (port, query) in services.items():
        for hosts in (1, 2):
            for stranger in STRANGERS:
                name = f"{scheme}: a waiter rides it out: {stranger}, {hosts} address(es)"
                yield name, ride_out(scheme, port, query, hosts, stranger)
    query = services["lks"][1]
    yield "lk: HTTP is named at the first contact", first_contact("lk", "", "HTTP", 79, "HTTP")
    yield "lks: no TLS is named at the first contact", \
        first_contact("lks", query, "HTTP", 79, "no TLS")
    yield "lks: a refused handshake asks for no certificate", \
        first_contact("lks", query, "a refused handshake", 69, "TLS has failed")


async def judge(case):
    try:
        await asyncio.wait_for(case, PATIENCE_S)
        return None
    except (AssertionError, asyncio.TimeoutError) as error:
        return repr(error)


async def main():
    with tempfile.TemporaryDirectory(prefix="lk-strangers-") as place:
        os.environ["HOME"] = place
        ours = Authority(place, "ours")
        certificate, key = ours.sign("locks")
        plain = Service(LK)
        secure = Service(LK, "--tls-cert", certificate, "--tls-key", key)
        named = list(cases({"lk": (plain.resp[1], ""),
                            "lks": (secure.resp[1], f"?ca={ours.file}")}))
        found = await asyncio.gather(*(judge(case) for _, case in named))
        plain.end()
        secure.end()
    print(f"1..{len(named)}")
    for number, ((name, _), trouble) in enumerate(zip(named, found), 1):
        print(f"{'not ok' if trouble else 'ok'} {number} - {name}")
        if trouble:
            print(f"# {trouble}")
    sys.exit(any(found))


asyncio.run(main())
