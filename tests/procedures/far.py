#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a proxy that makes a server be far away.

usage: far.py [--serve LK] SOCKET COMMAND [ARGUMENT...]

SOCKET is the path of a server's socket (also as redis://PATH), or its name in the directory
$LK_TEST_SERVER. With --serve the server is a service of its own, and SOCKET any name. In an
argument {far} is replaced by the directory of the proxy's socket, which has the same name, and
{near} by that of the server's. All bytes come late, and from time to time the server seems frozen:
what is sent to it comes only when it goes on.
"""

import asyncio
import os
import pathlib
import sys
import tempfile

from proxy import Proxy

LATE_S = 0.06  # one way
GOES_S, FROZEN_S = 2, 1


class Link:
    def passes(self, data, _):
        return data


class FarProxy(Proxy):
    async def pass_on(self, reader, writer, link, is_answer, ends):
        """As the proxy's, with every piece late by the same time."""
        loop = asyncio.get_running_loop()
        pieces = asyncio.Queue()

        async def deliver():
            while (piece := await pieces.get()) is not None:
                due, data = piece
                await asyncio.sleep(due - loop.time())
                if not is_answer:
                    await self.questions.wait()
                writer.write(data)

        delivery = asyncio.create_task(deliver())
        try:
            while data := await reader.read(65536):
                pieces.put_nowait((loop.time() + LATE_S, data))
        except OSError:
            pass
        finally:  # what was sent before the end still arrives
            pieces.put_nowait(None)
            await delivery
            for end in ends:
                end.close()


async def freeze(proxy):
    while True:
        await asyncio.sleep(GOES_S)
        proxy.questions.clear()
        await asyncio.sleep(FROZEN_S)
        proxy.questions.set()


async def serve(program, near):
    service = await asyncio.create_subprocess_exec(
        program, "serve", "--unix", str(near), "--http", "none", "--ephemeral",
        stdout=asyncio.subprocess.PIPE)
    await service.stdout.readline()
    return service


async def run(words, near, far):
    proxy = FarProxy(str(near), Link)
    await proxy.listen(str(far / near.name))
    freezing = asyncio.create_task(freeze(proxy))
    command = await asyncio.create_subprocess_exec(
        *(word.replace("{far}", str(far)).replace("{near}", str(near.parent))
          for word in words[1:]))
    code = await command.wait()
    freezing.cancel()
    proxy.close()
    return code


async def main():
    words = sys.argv[1:]
    service = None
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        far = pathlib.Path(directory) / "far"
        far.mkdir()
        if words[0] == "--serve":
            near = pathlib.Path(directory) / words[2]
            service = await serve(words[1], near)
            words = words[2:]
        else:
            near = pathlib.Path(os.environ.get("LK_TEST_SERVER", "/")) / words[0].removeprefix("redis://")
        try:
            code = await run(words, near, far)
        finally:
            if service is not None:
                service.terminate()
                await service.wait()
    sys.exit(code)


asyncio.run(main())
