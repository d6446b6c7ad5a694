#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""A signal between a grant and the line that tells of it. LK

A command that waits reads the queue meanwhile, to say what it waits for, and at the end of the wait
it gives a read under way a second to end. Here the service never answers that read: the command is
granted its lease or item, and has not printed the token. What holds for a signal at any moment: a
token that is not printed holds nothing.
"""

import asyncio
import contextlib
import json
import os
import pathlib
import signal
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS / "listeners"), str(TESTS / "procedures")]
from proxy import Proxy  # noqa: E402
from service import PATIENCE_S, Service  # noqa: E402

LK = sys.argv[1]
READS = (b"\r\nSHOW\r\n", b"\r\nSTATS\r\n")


class Front(Proxy):
    """The service waits for the rest of a command that has none."""

    def __init__(self, port):
        super().__init__(port, lambda: self)
        self.has_read = asyncio.Event()

    def passes(self, data, is_answer):
        if is_answer or not any(word in data for word in READS):
            return data
        self.has_read.set()
        return b"*9" + data[2:]


async def start(*words):
    return await asyncio.create_subprocess_exec(
        LK, *words, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)


async def lk(*words):
    process = await start(*words)
    out, err = await process.communicate()
    assert process.returncode == 0, (words, err)
    return out.decode()


async def rows(*words):
    return [json.loads(line) for line in (await lk(*words, "--json")).splitlines()]


class Lease:
    words = ("acquire", "-v", "--owner", "second", "p")

    async def block(self, url):
        await lk("-S", url, "acquire", "--owner", "first", "p")

    async def grant(self, url):
        await lk("-S", url, "release", "--owner", "first", "p")

    async def is_held(self, url):
        return any((row["owner"], row["state"]) == ("second", "held")
                   for row in await rows("-S", url, "ls", "p"))


class HeldLease(Lease):
    words = ("hold", "-v", "--owner", "second", "p")


class Claim:
    words = ("claim", "-v", "-w", "10m", "q")

    async def block(self, url):
        pass

    async def grant(self, url):
        await lk("-S", url, "push", "q", "1")

    async def is_held(self, url):
        return any(row["claimed_now"] for row in await rows("-S", url, "queues"))


async def play(case, number):
    service = Service(LK)
    direct = f"lk://127.0.0.1:{service.resp[1]}"
    front = Front(service.resp[1])
    await front.listen(0)
    near = f"lk://127.0.0.1:{front.server.sockets[0].getsockname()[1]}"
    try:
        await case.block(direct)
        process = await start("-S", near, *case.words)
        await front.has_read.wait()
        await case.grant(direct)
        while not await case.is_held(direct):
            await asyncio.sleep(0.01)
        with contextlib.suppress(ProcessLookupError):  # on a slow machine it has printed it by then
            process.send_signal(number)
        out, err = await process.communicate()
        if await case.is_held(direct):
            assert out, f"it is held, and nothing was printed: {process.returncode} {err}"
        else:
            assert process.returncode == 128 + number, (process.returncode, out, err)
    finally:
        front.close()
        service.end()


async def judge(case, number):
    try:
        await asyncio.wait_for(play(case, number), PATIENCE_S)
        return None
    except (AssertionError, asyncio.TimeoutError) as error:
        return repr(error)


async def main():
    cases = [(case, number) for case in (Lease(), HeldLease(), Claim())
             for number in (signal.SIGTERM, signal.SIGINT)]
    with tempfile.TemporaryDirectory(prefix="lk-unprinted-") as place:
        os.environ["HOME"] = place
        found = await asyncio.gather(*(judge(*case) for case in cases))
    print(f"1..{len(cases)}")
    for index, ((case, number), trouble) in enumerate(zip(cases, found), 1):
        print(f"{'not ok' if trouble else 'ok'} {index} - {case.words[0]}: {number.name}")
        if trouble:
            print(f"# {trouble}")
    sys.exit(any(found))


asyncio.run(main())
