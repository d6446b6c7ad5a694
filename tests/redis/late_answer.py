#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""with_servers.py single late_answer.py PROGRAM {url}

Runs `PROGRAM URL` with a server that takes too long to load the script behind a SCRIPT FLUSH: the
answer to SCRIPT LOAD is there only when the next question comes.
"""
import asyncio
import os
import pathlib
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "procedures"))
from proxy import Proxy  # noqa: E402


class Link:
    proxy = None
    is_flushed = False
    is_late = False  # it was

    def passes(self, data, is_answer):
        Link.is_flushed = Link.is_flushed or b"\r\nFLUSH\r\n" in data
        if not is_answer and b"\r\nLOAD\r\n" in data and Link.is_flushed and not Link.is_late:
            Link.is_late = True
            self.proxy.answers.clear()
        elif not is_answer and data.startswith(b"*"):  # else it is more of the script
            self.proxy.answers.set()
        return data


async def main():
    program, url = sys.argv[1:]
    with tempfile.TemporaryDirectory() as directory:
        Link.proxy = Proxy(url.removeprefix("redis://"), Link)
        near = os.path.join(directory, "socket")
        await Link.proxy.listen(near)
        command = await asyncio.create_subprocess_exec(program, f"redis://{near}")
        code = await command.wait()
    sys.exit(code if Link.is_late else "no script was loaded: nothing was tested")


asyncio.run(main())
