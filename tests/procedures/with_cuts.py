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

from proxy import Proxy

# The first exchange of a connection takes some 500 bytes: few are cut in it. One in four lives long
# enough for what cannot be said in less: the making of a schema.
BYTES_MIN, BYTES_MAX, BYTES_LONG = 300, 12000, 1000000

seed = int(os.environ.get("LK_TEST_SEED") or secrets.randbits(32))
rng = random.Random(seed)
server = pathlib.Path(os.environ["LK_TEST_SERVER"]) / sys.argv[1]


class Budget:
    """What may still pass."""

    def __init__(self):
        self.bytes = BYTES_LONG if rng.random() < 0.25 else rng.randint(BYTES_MIN, BYTES_MAX)

    def passes(self, data, _is_answer):
        passing = data[: self.bytes]
        self.bytes = max(self.bytes - len(data), 0)
        return passing


async def main():
    with tempfile.TemporaryDirectory() as directory:
        os.chmod(directory, 0o755)
        proxy = Proxy(str(server), Budget)
        await proxy.listen(str(pathlib.Path(directory) / server.name))
        arguments = [argument.replace("{cuts}", directory) for argument in sys.argv[2:]]
        print(f"# LK_TEST_SEED={seed}", flush=True)
        command = await asyncio.create_subprocess_exec(*arguments)
        code = await command.wait()
        print(f"# {proxy.cuts} connections were cut", flush=True)
        proxy.close()
    if code == 0 and proxy.cuts == 0:
        sys.exit("no connection was cut: nothing was tested")
    sys.exit(code)


asyncio.run(main())
