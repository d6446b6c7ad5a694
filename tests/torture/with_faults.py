#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Runs a concurrent history on a store to which faults happen.

usage: with_faults.py STORE LK HISTORY CHECKER [HISTORY'S OPTION...]

STORE is one of stores.py; the databases run below their with_server.sh. As with_faults.py --fault
NUMBER URL it is what the history calls: one fault, chosen by the number, from its beginning until the
store is back. What is printed is for the checker. Nothing that was acknowledged may be lost by any:

  kill    the store's processes are killed (SIGKILL) and started again
  pause   they are stopped for a while (SIGSTOP, SIGCONT)
  cut     all connections are cut
  lose    for a while questions arrive, and no answer does
  stall   for a while nothing passes
  fill    its disk is full for a while, if $LK_TEST_DISK is one that may be filled

The folder of the store is made below TMPDIR, and is removed; logs are in $LK_TEST_LOGS.
"""
import asyncio
import collections
import contextlib
import os
import pathlib
import random
import shutil
import signal
import socket
import sys
import tempfile
import time

from stores import STORES, Failed

from proxy import Proxy  # stores.py knows where

QUIET_MAX_S = 0.8  # before a fault
DOWN_MAX_S = 0.5
PAUSE_MAX_S = 1.0
CHUNK_BYTES = 1 << 20


def now_us():
    return time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1000


def send(pid, number):
    """A process of a store may have ended meanwhile, as one does that serves a single client."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, number)


class Link:
    """Of one connection: an answer that is lost is its end."""

    def __init__(self, faults):
        self.faults = faults

    def passes(self, data, is_answer):
        return b"" if is_answer and self.faults.loses else data


class Faults:
    def __init__(self, store, disk):
        self.store = store
        self.disk = disk
        self.proxies = []
        self.loses = False
        self.counts = collections.Counter()
        self.kinds = [kind for kind in store.faults if disk or kind != "fill"] or ["nothing"]

    async def listen(self):
        for near, far in self.store.proxied.items():
            proxy = Proxy(far, lambda: Link(self))
            await proxy.listen(near)
            self.proxies.append(proxy)

    async def one(self, number):
        """Returns the lines for the checker."""
        rng = random.Random(number)
        kind = rng.choice(self.kinds)
        await asyncio.sleep(rng.random() * QUIET_MAX_S)
        begun = now_us()
        more = await getattr(self, kind)(rng)
        self.counts[kind] += 1
        return f"{more}fault {begun} {now_us()} {kind}\n"

    async def revive(self):
        await asyncio.to_thread(self.store.revive)

    async def nothing(self, _rng):
        return ""

    async def kill(self, rng):
        gone = now_us()
        concerned = await asyncio.to_thread(self.store.kill, rng)
        down = now_us()
        await asyncio.sleep(rng.random() * DOWN_MAX_S)
        await self.revive()
        return f"restart {gone} {now_us()} down {down}{concerned}\n"

    async def pause(self, rng):
        pids = self.store.pids()
        for pid in pids:
            send(pid, signal.SIGSTOP)
        try:
            await asyncio.sleep(rng.random() * PAUSE_MAX_S)
        finally:
            for pid in pids:
                send(pid, signal.SIGCONT)
        return ""

    async def cut(self, _rng):
        for proxy in self.proxies:
            proxy.cut()
        return ""

    async def lose(self, rng):
        self.loses = True
        await asyncio.sleep(rng.random() * PAUSE_MAX_S / 2)
        self.loses = False
        return ""

    async def stall(self, rng):
        for proxy in self.proxies:
            proxy.questions.clear()
            proxy.answers.clear()
        await asyncio.sleep(rng.random() * PAUSE_MAX_S)
        for proxy in self.proxies:
            proxy.questions.set()
            proxy.answers.set()
        return ""

    async def fill(self, rng):
        """What does not bear a full disk ends, and is started again when there is room."""
        gone = now_us()
        path = f"{self.disk}/ballast"
        try:
            self.take_all(path)
            await asyncio.sleep(rng.random() * PAUSE_MAX_S)
        finally:
            os.unlink(path)
        await self.revive()
        return f"restart {gone} {now_us()} unnoticed\n"

    @staticmethod
    def take_all(path):
        chunk = CHUNK_BYTES
        with open(path, "wb", buffering=0) as file:
            while chunk > 0:
                try:
                    file.write(bytes(chunk))
                except OSError:
                    chunk //= 2

    async def answer(self, reader, writer):
        try:
            writer.write((await self.one(int(await reader.readline()))).encode())
        except Failed as error:
            print(f"# with_faults: {error}", flush=True)
        writer.close()


async def run(faults, folder, command):
    await faults.listen()
    control = f"{folder}/faults"
    await asyncio.start_unix_server(faults.answer, control)
    logs = os.environ.get("LK_TEST_LOGS") or tempfile.gettempdir()
    process = await asyncio.create_subprocess_exec(
        *command, env={**os.environ, "LK_TEST_FAULTS": control, "TMPDIR": logs})
    try:
        code = await process.wait()
    finally:
        if process.returncode is None:
            process.kill()
    counts = " ".join(f"{kind}={count}" for kind, count in sorted(faults.counts.items()))
    print(f"# faults: {counts}", flush=True)
    return code


def ask_for_fault(number):
    with socket.socket(socket.AF_UNIX) as control:
        control.connect(os.environ["LK_TEST_FAULTS"])
        control.sendall(f"{number}\n".encode())
        answer = control.makefile().read()
    sys.stdout.write(answer)
    return 0 if answer else 1


def main():
    if sys.argv[1:2] == ["--fault"]:
        return ask_for_fault(sys.argv[2])
    if len(sys.argv) < 5 or sys.argv[1] not in STORES:
        print(__doc__, file=sys.stderr)
        return 2
    kind, program, history, checker, *options = sys.argv[1:]
    folder = tempfile.mkdtemp(prefix="store-")
    pathlib.Path(folder).chmod(0o755)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(1))
    store = STORES[kind](folder, program)
    try:
        store.start()
        url = store.url.replace("{folder}", folder)
        command = [history, "--silent", *options, "--faults", os.path.abspath(__file__), url, checker]
        return asyncio.run(run(Faults(store, os.environ.get("LK_TEST_DISK")), folder, command))
    except Failed as error:
        print(f"# with_faults: {error}", flush=True)
        return 1
    finally:
        store.stop()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
