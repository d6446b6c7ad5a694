#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""lk run whose lease cannot be confirmed. LK

After a wait lk run renews its lease before it starts CMD. Here no renewal is answered: CMD is not
started, and the lease is released as soon as the service answers again.
"""

import asyncio
import os
import pathlib
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "listeners"), str(TESTS / "procedures")]
from proxy import Proxy  # noqa: E402
from service import PATIENCE_S, Service  # noqa: E402

LK = sys.argv[1]
UNAVAILABLE = 69


class Front(Proxy):
    """Cuts the connections by which leases are renewed."""

    def __init__(self, port):
        super().__init__(port, lambda: self)
        self.releases = 0

    def passes(self, data, is_answer):
        if not is_answer and b"\r\nRENEW\r\n" in data:
            return b""
        self.releases += not is_answer and b"\r\nRELEASE\r\n" in data
        return data


async def start(*words):
    return await asyncio.create_subprocess_exec(LK, *words, stdin=asyncio.subprocess.DEVNULL,
                                                stdout=asyncio.subprocess.PIPE)


async def lk(*words):
    process = await start(*words)
    out, _ = await process.communicate()
    assert process.returncode == 0, words
    return out.decode()


async def play(place):
    service = Service(LK)
    direct = f"lk://127.0.0.1:{service.resp[1]}"
    front = Front(service.resp[1])
    await front.listen(0)
    near = f"lk://127.0.0.1:{front.server.sockets[0].getsockname()[1]}"
    begun = os.path.join(place, "begun")
    try:
        await lk("-S", direct, "acquire", "--owner", "first", "p")
        run = await start("-S", near, "run", "--ttl", "4s", "p", "--", "touch", begun)
        while '"waiting"' not in await lk("-S", direct, "ls", "p", "--json"):
            await asyncio.sleep(0.01)
        await lk("-S", direct, "release", "--owner", "first", "p")
        await run.communicate()
        assert run.returncode == UNAVAILABLE, run.returncode
        assert front.cuts > 0 and not os.path.exists(begun), "it was not confirmed"
        assert front.releases > 0, "it was not released"
    finally:
        front.close()
        service.end()


async def main():
    with tempfile.TemporaryDirectory(prefix="lk-unconfirmed-") as place:
        os.environ["HOME"] = place
        await asyncio.wait_for(play(place), PATIENCE_S)


print("1..1")
try:
    asyncio.run(main())
    print("ok 1 - what is not confirmed is released")
except (AssertionError, asyncio.TimeoutError) as error:
    print(f"not ok 1 - what is not confirmed is released\n# {error!r}")
    sys.exit(1)
