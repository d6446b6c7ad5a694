# SPDX-License-Identifier: Apache-2.0
"""A proxy between clients and a private server, which can be told what may pass; one in whose server's place
something else answers for a while; and calls of lk beside it.

usage: proxy.py SOCKET PORT_FILE

Passes connections to a port of 127.0.0.1, whose number it writes to PORT_FILE, on to a unix socket: for
clients that know no unix sockets. Runs until it is killed.
"""

import asyncio
import json
import os
import sys


class Proxy:
    """Passes connections on to `far`, the path of a socket or a port of the loopback.

    For each connection `make_link()` makes an object whose passes(data, is_answer) returns the part
    of the data that may pass; the connection is cut behind it if that is not all. While
    `questions` or `answers` is not set none of them passes, and nothing is lost.
    """

    def __init__(self, far, make_link):
        self.far = far
        self.make_link = make_link
        self.questions = asyncio.Event()
        self.answers = asyncio.Event()
        self.questions.set()
        self.answers.set()
        self.cuts = 0
        self.ends = set()
        self.connections = set()  # what asyncio itself refers to weakly only
        self.server = None

    async def listen(self, place):
        """At the path of a socket, or at a port of the loopback."""
        if isinstance(place, int):
            self.server = await asyncio.start_server(self.serve, "127.0.0.1", place)
        else:
            self.server = await asyncio.start_unix_server(self.serve, place)

    def connect(self):
        if isinstance(self.far, int):
            return asyncio.open_connection("127.0.0.1", self.far)
        return asyncio.open_unix_connection(self.far)

    def cut(self):
        """Ends all connections at once, and what is on its way in them is lost."""
        for end in list(self.ends):
            end.transport.abort()
            self.cuts += 1

    async def pass_on(self, reader, writer, link, is_answer, ends):
        try:
            while data := await reader.read(4096):
                await (self.answers if is_answer else self.questions).wait()
                passing = link.passes(data, is_answer)
                writer.write(passing)
                if len(passing) < len(data):
                    self.cuts += 1
                    break
        finally:  # also when a client was killed: what it left unread resets the connection
            for end in ends:
                end.close()

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.connections.add(task)
        self.ends.add(writer)
        try:
            far_reader, far_writer = await self.connect()
            link, ends = self.make_link(), (writer, far_writer)
            await asyncio.gather(
                self.pass_on(reader, far_writer, link, False, ends),
                self.pass_on(far_reader, writer, link, True, ends),
                return_exceptions=True,
            )
        except OSError:
            writer.close()
        except asyncio.CancelledError:
            pass  # the command has ended before this connection
        finally:
            self.ends.discard(writer)
            self.connections.discard(task)

    def close(self):
        self.server.close()


# ---- something else answers

ENOUGH = 2  # connections that are answered so
UNAVAILABLE = 69  # lk's exit code


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


async def insist(program, *arguments):
    """The same, until the server has answered: a busy machine may not come to it in time."""
    while True:
        code, out, err = await call(program, *arguments)
        if code != UNAVAILABLE:
            return code, out, err


async def state_of(program, url, path, owner, state):
    """Until the owner's request is in that state."""
    while True:
        _, out, _ = await call(program, "-S", url, "ls", path, "--json")
        rows = [json.loads(line) for line in out.splitlines()]
        if any((row.get("owner"), row.get("state")) == (owner, state) for row in rows):
            return
        await asyncio.sleep(0.2)  # each look is a process, beside what is waited for


async def begin_waiter(program, direct, url, path):
    """A run that waits, begun again if the first contact took longer than it waits for that."""
    while True:
        waiter = asyncio.create_task(
            call(program, "-S", url, "run", "--owner", "second", "--ttl", "10m", path, "--", "true"))
        queued = asyncio.create_task(state_of(program, direct, path, "second", "waiting"))
        await asyncio.wait([waiter, queued], return_when=asyncio.FIRST_COMPLETED)
        if not waiter.done():
            return waiter
        queued.cancel()
        code, _, err = waiter.result()
        assert code == UNAVAILABLE, (code, err)


async def ride_out(program, direct, url, fronts, words, path):
    """A waiter that goes through the fronts is granted after `words` have answered in their place."""
    code, _, err = await insist(program, "-S", direct, "acquire", "--owner", "first", "--ttl", "10m", path)
    assert code == 0, err
    waiter = await begin_waiter(program, direct, url, path)
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
    code, _, err = await insist(program, "-S", direct, "release", "--owner", "first", path)
    assert code == 0, err
    code, _, err = await waiter
    assert code == 0, (code, err)


async def main(socket, file):
    proxy = Proxy(socket, Link)
    await proxy.listen(0)
    with open(file + ".new", "w", encoding="ascii") as written:
        written.write(str(proxy.server.sockets[0].getsockname()[1]))
    os.rename(file + ".new", file)
    await proxy.server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
