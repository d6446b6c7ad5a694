#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Grants that the command never tells of. LK

A signal between a grant and the line that tells of it. A command that waits reads the queue meanwhile, to say what it waits for, and at the end of the wait
it gives a read under way a second to end. Here the service never answers that read: the command is
granted its lease or item, and has not printed the token. What holds for a signal at any moment: a
token that is not printed holds nothing.

A lease that cannot be confirmed. After a wait lk run renews its lease before it starts CMD. Here no renewal is
answered: CMD is not started, and the lease is released as soon as the service answers again.
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
from service import PATIENCE_S, STRETCH, Service  # noqa: E402

LK = sys.argv[1]
UNAVAILABLE = 69
READS = (b"\r\nSHOW\r\n", b"\r\nSTATS\r\n")


class Unanswering(Proxy):
    """The service waits for the rest of a command that has none."""

    def __init__(self, port):
        super().__init__(port, lambda: self)
        self.has_read = asyncio.Event()

    def passes(self, data, is_answer):
        if is_answer or not any(word in data for word in READS):
            return data
        self.has_read.set()
        return b"*9" + data[2:]


class Unconfirming(Proxy):
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
    front = Unanswering(service.resp[1])
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


async def play_stopped(number):
    """lk hold is stopped until the token is printed, so it finds the signal and the grant at once."""
    service = Service(LK)
    direct = f"lk://127.0.0.1:{service.resp[1]}"
    case = HeldLease()
    try:
        await case.block(direct)
        process = await start("-S", direct, *case.words)
        while '"waiting"' not in await lk("-S", direct, "ls", "p", "--json"):
            await asyncio.sleep(0.01)
        process.send_signal(signal.SIGSTOP)
        await case.grant(direct)
        assert await process.stdout.readline(), "no token"
        process.send_signal(number)
        process.send_signal(signal.SIGCONT)
        await process.communicate()
        assert process.returncode == 128 + number, process.returncode
        while await case.is_held(direct):
            await asyncio.sleep(0.01)
    finally:
        service.end()


async def play_unconfirmed(place):
    service = Service(LK)
    direct = f"lk://127.0.0.1:{service.resp[1]}"
    front = Unconfirming(service.resp[1])
    await front.listen(0)
    near = f"lk://127.0.0.1:{front.server.sockets[0].getsockname()[1]}"
    begun = os.path.join(place, "begun")
    try:
        await lk("-S", direct, "acquire", "--owner", "first", "p")
        run = await start("-S", near, "run", "--ttl", f"{4 * STRETCH}s", "p", "--", "touch", begun)
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


async def judge(playing):
    try:
        await asyncio.wait_for(playing, PATIENCE_S)
        return None
    except (AssertionError, asyncio.TimeoutError) as error:
        return repr(error)


async def main():
    cases = [(case, number) for case in (Lease(), HeldLease(), Claim())
             for number in (signal.SIGTERM, signal.SIGINT)]
    titles = [f"{case.words[0]}: {number.name}" for case, number in cases]
    plays = [play(*case) for case in cases]
    titles.append("hold: SIGTERM as the token is printed")
    plays.append(play_stopped(signal.SIGTERM))
    titles.append("what is not confirmed is released")
    with tempfile.TemporaryDirectory(prefix="lk-untold-") as place:
        os.environ["HOME"] = place
        plays.append(play_unconfirmed(place))
        found = await asyncio.gather(*map(judge, plays))
    print(f"1..{len(titles)}")
    for index, (title, trouble) in enumerate(zip(titles, found), 1):
        print(f"{'not ok' if trouble else 'ok'} {index} - {title}")
        if trouble:
            print(f"# {trouble}")
    sys.exit(any(found))


asyncio.run(main())
