#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What stands before a server, and answers in its place while that is away.

usage: strangers.py LK SOCKET URL

SOCKET is the path of the server's socket (also as redis://PATH), or its name in the directory
$LK_TEST_SERVER. In the URL {place} is the directory of a socket of that name: the server's, or that of
the proxies before it. A client that has been in contact with the server rides out what it says.
"""

import asyncio
import os
import pathlib
import sys
import tempfile

from proxy import Front, call, ride_out

PATIENCE_S = 120
STRANGERS = {
    "closes": b"",
    "HTTP": b"HTTP/1.0 503 Service Unavailable\r\n\r\n",
    "bytes": b"\0\1 no server is here\r\n",
    "zeros": bytes(64),
    "an error of Redis": b"-ERR no upstream host\r\n",
    "words of Redis": b"+OK\r\n",
    "a number of Redis": b":1\r\n",
    "an error of PostgreSQL": b"E\0\0\0\x27SFATAL\0C08006\0Mno server is there\0\0",
    "too many connections of MySQL": b"\x17\0\0\0\xff\x10\x04Too many connections",
}


async def judge(program, near, url, number):
    name, words = list(STRANGERS.items())[number]
    with tempfile.TemporaryDirectory(prefix="lk-front-") as place:
        front = Front(str(near))
        await front.listen(os.path.join(place, near.name))
        try:
            await asyncio.wait_for(
                ride_out(program, url.replace("{place}", str(near.parent)),
                         url.replace("{place}", place), [front], words, f"stranger{number}/a"),
                PATIENCE_S)
            return name, None
        except (AssertionError, asyncio.TimeoutError) as error:
            return name, repr(error)
        finally:
            front.close()


async def main():
    program, socket, url = sys.argv[1:]
    near = pathlib.Path(os.environ.get("LK_TEST_SERVER", "/")) / socket.removeprefix("redis://")
    # Made once: a busy server has no time for all to make it at once.
    code, _, err = await call(program, "-S", url.replace("{place}", str(near.parent)), "run", "made", "--",
                              "true")
    assert code == 0, err
    found = await asyncio.gather(*(judge(program, near, url, number)
                                   for number in range(len(STRANGERS))))
    print(f"1..{len(found)}")
    for number, (name, trouble) in enumerate(found, 1):
        print(f"{'not ok' if trouble else 'ok'} {number} - a waiter rides it out: {name}")
        if trouble:
            print(f"# {trouble}")
    sys.exit(any(trouble for _, trouble in found))


asyncio.run(main())
