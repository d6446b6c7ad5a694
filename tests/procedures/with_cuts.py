#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs a command beside a proxy that cuts connections at random bytes.

usage: with_server.sh with_cuts.py SOCKET COMMAND [ARGUMENT...]

SOCKET is the name of the private server's socket in its directory; {cuts} in an argument is replaced by
the directory of the proxy's, which has the same name. Each connection is cut after so many bytes, of
both directions together, as a random number says: in the middle of a question, of an answer, or
between them. LK_TEST_SEED chooses the numbers.
"""

import asyncio
import os
import pathlib
import random
import secrets
import sys
import tempfile

# The first exchange of a connection takes some 500 bytes: few are cut in it. One in four lives long
# enough for what cannot be said in less: the making of a schema.
BYTES_MIN, BYTES_MAX, BYTES_LONG = 300, 12000, 1000000

seed = int(os.environ.get("LK_TEST_SEED") or secrets.randbits(32))
rng = random.Random(seed)
server = pathlib.Path(os.environ["LK_TEST_SERVER"]) / sys.argv[1]
cuts = 0
connections = set()  # what asyncio itself refers to weakly only


class Budget:
    """What may still pass."""

    def __init__(self):
        self.bytes = BYTES_LONG if rng.random() < 0.25 else rng.randint(BYTES_MIN, BYTES_MAX)


async def pass_on(reader, writer, budget, ends):
    global cuts
    try:
        while data := await reader.read(4096):
            writer.write(data[: budget.bytes])
            budget.bytes -= len(data)
            if budget.bytes <= 0:
                cuts += 1
                break
    finally:  # also when a client was killed: what it left unread resets the connection
        for end in ends:
            end.close()


async def serve(reader, writer):
    connections.add(asyncio.current_task())
    try:
        far_reader, far_writer = await asyncio.open_unix_connection(str(server))
        budget, ends = Budget(), (writer, far_writer)
        await asyncio.gather(
            pass_on(reader, far_writer, budget, ends),
            pass_on(far_reader, writer, budget, ends),
            return_exceptions=True,
        )
    except OSError:
        writer.close()
    except asyncio.CancelledError:
        pass  # the command has ended before this connection
    finally:
        connections.discard(asyncio.current_task())


async def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        proxy = await asyncio.start_unix_server(serve, str(pathlib.Path(directory) / server.name))
        arguments = [argument.replace("{cuts}", directory) for argument in sys.argv[2:]]
        print(f"# LK_TEST_SEED={seed}", flush=True)
        command = await asyncio.create_subprocess_exec(*arguments)
        code = await command.wait()
        print(f"# {cuts} connections were cut", flush=True)
        proxy.close()
    if code == 0 and cuts == 0:
        sys.exit("no connection was cut: nothing was tested")
    sys.exit(code)


asyncio.run(main())
