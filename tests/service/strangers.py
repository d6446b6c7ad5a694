#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What stands before a service, and answers in its place while that is away. LK

A load balancer or a proxy takes new connections while the service behind it is silent, and closes
them, or answers with HTTP, or with bytes of its own. A client that has been in contact with the
service rides that out: a waiter waits, and a holder goes on.
"""

import asyncio
import os
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "listeners"), str(TESTS / "procedures")]
from credentials import Authority  # noqa: E402
from loadable import TLS, is_loadable, is_refused  # noqa: E402
from proxy import Front, call, ride_out  # noqa: E402
from service import PATIENCE_S, Service  # noqa: E402

LK = sys.argv[1]
CASE_PATIENCE_S = 3 * PATIENCE_S  # a few at once, over TLS, on a busy machine
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


async def ride_out_of(scheme, port, query, hosts, stranger):
    path = f"{scheme}-{hosts}-{stranger}".replace(" ", "-")
    fronts = [Front(port) for _ in range(hosts)]
    for front in fronts:
        await front.listen(0)
    ports = [front.server.sockets[0].getsockname()[1] for front in fronts]
    url = f"{scheme}://" + ",".join(f"127.0.0.1:{each}" for each in ports) + query
    await ride_out(LK, f"{scheme}://127.0.0.1:{port}{query}", url, fronts, STRANGERS[stranger], path)
    for front in fronts:
        front.close()


async def first_contact(scheme, query, stranger, code, text):
    """What is no service is told at once, if there never was one."""
    front = Front(1)
    front.words = STRANGERS[stranger]
    await front.listen(0)
    port = front.server.sockets[0].getsockname()[1]
    got, _, err = await call(LK, "-S", f"{scheme}://127.0.0.1:{port}{query}", "ls", "a")
    assert got == code and text in err, (stranger, got, err)
    front.close()


async def refused():
    """Both by a client and by a service."""
    for words in (("-S", "lks://127.0.0.1:1", "ls", "a"),
                  ("serve", "--listen", "127.0.0.1:0", "--ephemeral", "--tls-cert", "x", "--tls-key", "x")):
        got, _, err = await call(LK, *words)
        assert is_refused(TLS, got, err), (words, got, err)


def cases(services):
    for scheme, (port, query) in services.items():
        for hosts in (1, 2):
            for stranger in STRANGERS:
                name = f"{scheme}: a waiter rides it out: {stranger}, {hosts} address(es)"
                yield name, ride_out_of(scheme, port, query, hosts, stranger)
    yield "lk: HTTP is named at the first contact", first_contact("lk", "", "HTTP", 79, "HTTP")
    if "lks" not in services:
        yield f"lks: UNSUPPORTED, as lk cannot use {TLS[0]} here", refused()
        return
    query = services["lks"][1]
    yield "lks: no TLS is named at the first contact", \
        first_contact("lks", query, "HTTP", 79, "no TLS")
    yield "lks: a refused handshake asks for no certificate", \
        first_contact("lks", query, "a refused handshake", 69, "TLS has failed")


async def judge(case):
    try:
        await asyncio.wait_for(case, CASE_PATIENCE_S)
        return None
    except (AssertionError, asyncio.TimeoutError) as error:
        return repr(error)


async def judge_all(judged):
    """A few at once: each has seconds to open the store, which an emulator takes for TLS alone."""
    room = asyncio.Semaphore(4)

    async def one(case):
        async with room:
            return await judge(case)

    return await asyncio.gather(*(one(case) for case in judged))


async def main():
    with tempfile.TemporaryDirectory(prefix="lk-strangers-") as place:
        os.environ["HOME"] = place
        ours = Authority(place, "ours")
        certificate, key = ours.sign("locks")
        plain = Service(LK)
        services = [plain]
        known = {"lk": (plain.resp[1], "")}
        if is_loadable(TLS):
            services.append(Service(LK, "--tls-cert", certificate, "--tls-key", key))
            known["lks"] = (services[-1].resp[1], f"?ca={ours.file}")
        named = list(cases(known))
        found = await judge_all(case for _, case in named)
        for service in services:
            service.end()
    print(f"1..{len(named)}")
    for number, ((name, _), trouble) in enumerate(zip(named, found), 1):
        print(f"{'not ok' if trouble else 'ok'} {number} - {name}")
        if trouble:
            print(f"# {trouble}")
    sys.exit(any(found))


asyncio.run(main())
