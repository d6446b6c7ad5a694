# SPDX-License-Identifier: Apache-2.0
"""A proxy between clients and a private server, which can be told what may pass."""

import asyncio


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
