# SPDX-License-Identifier: Apache-2.0
"""usage: tcp.py SOCKET PORT_FILE

Passes connections to a port of 127.0.0.1, whose number it writes to PORT_FILE, on to a unix socket:
for clients that know no unix sockets. Runs until it is killed.
"""

import asyncio
import os
import sys


async def copy(reader, writer):
    try:
        while piece := await reader.read(65536):
            writer.write(piece)
            await writer.drain()
    except ConnectionError:
        pass
    writer.close()


async def pass_on(reader, writer):
    there, back = await asyncio.open_unix_connection(sys.argv[1])
    await asyncio.gather(copy(reader, back), copy(there, writer))


async def main():
    server = await asyncio.start_server(pass_on, "127.0.0.1", 0)
    with open(sys.argv[2] + ".new", "w", encoding="ascii") as file:
        file.write(str(server.sockets[0].getsockname()[1]))
    os.rename(sys.argv[2] + ".new", sys.argv[2])
    await server.serve_forever()


asyncio.run(main())
