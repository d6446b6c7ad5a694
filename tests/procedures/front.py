# SPDX-License-Identifier: Apache-2.0
"""A proxy in whose server's place something else answers for a while; and calls of lk beside it."""

import asyncio
import json

from proxy import Proxy

ENOUGH = 2  # connections that are answered so


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


async def call(program, *arguments):
    process = await asyncio.create_subprocess_exec(
        program, *arguments, stdin=asyncio.subprocess.DEVNULL, stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE)
    out, err = await process.communicate()
    return process.returncode, out.decode(), err.decode()


async def state_of(program, url, path, owner, state):
    """Until the owner's request is in that state."""
    while True:
        _, out, _ = await call(program, "-S", url, "ls", path, "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        if any((row["owner"], row["state"]) == (owner, state) for row in rows):
            return
        await asyncio.sleep(0.02)


async def ride_out(program, direct, url, fronts, words, path):
    """A waiter that goes through the fronts is granted after `words` have answered in their place."""
    code, _, err = await call(program, "-S", direct, "acquire", "--owner", "first", "--ttl", "10m", path)
    assert code == 0, err
    waiter = asyncio.create_task(
        call(program, "-S", url, "run", "--owner", "second", "--ttl", "10m", path, "--", "true"))
    await state_of(program, direct, path, "second", "waiting")
    for front in fronts:
        front.replace(words)
        if len(fronts) == 1:
            front.cut()
    for _ in range(ENOUGH):
        meeting = asyncio.create_task(fronts[0].met.acquire())
        await asyncio.wait([meeting, waiter], return_when=asyncio.FIRST_COMPLETED)
        assert not waiter.done(), waiter.result()
    for front in fronts:
        front.restore()
    code, _, err = await call(program, "-S", direct, "release", "--owner", "first", path)
    assert code == 0, err
    code, _, err = await waiter
    assert code == 0, (code, err)
