#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: silent_host.py LK URL...

The first host of each URL takes the connection and is silent, at 127.0.0.1:{silent}, or at 127.0.0.2
and $LK_TEST_PORT if the URL has that address. A later one is the store: it must have its turn. Of a
URL behind `serve=` a service is started on the store; with `service` a service is that later host.
A list goes on with `,+` and another URL of the same scheme.
"""

import functools
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "service"))
from silence import Silent, lk, start  # noqa: E402


def acquire(url):
    process = lk(url, "acquire", "silent", "--owner", "ana", "--ttl", "1s")
    err = process.communicate()[1]
    return process.returncode == 0, err


def serve(url):
    service = start("serve", "--listen", "127.0.0.1:0", "--http", "none", "--insecure", "--store", url,
                    stdout=subprocess.PIPE)
    line = service.stdout.readline()
    service.terminate()
    return line.startswith("lk://"), service.communicate()[1]


def beside_service(_, silent):
    service = start("serve", "--listen", "127.0.0.1:0", "--http", "none", "--insecure", "--ephemeral",
                    stdout=subprocess.PIPE)
    address = service.stdout.readline().strip().split("//")[1]
    is_ok, err = acquire(f"lk://127.0.0.1:{silent},{address}")
    service.terminate()
    service.communicate()
    return is_ok, err


@functools.cache
def silent_at(host, port):
    return Silent(b"", address=(host, port))


def silent_host_of(url):
    if "127.0.0.2" in url:
        return silent_at("127.0.0.2", int(os.environ["LK_TEST_PORT"]))
    return silent_at("127.0.0.1", 0)


def judge(url):
    server = silent_host_of(url)
    if url == "service":
        is_ok, err = beside_service(url, server.port)
    else:
        kind, at = (serve, url[len("serve="):]) if url.startswith("serve=") else (acquire, url)
        is_ok, err = kind(re.sub(r",\+\w+://", ",", at.replace("{silent}", str(server.port))))
    if is_ok and not server.accepted.acquire(blocking=False):
        return False, "the silent host has not been asked"
    return is_ok, err


def main():
    urls = sys.argv[2:]
    print(f"1..{len(urls)}")
    failures = 0
    with tempfile.TemporaryDirectory(prefix="lk-silent-") as place:
        os.environ["HOME"] = place
        for number, url in enumerate(urls, 1):
            is_ok, err = judge(url)
            print(f"{'ok' if is_ok else 'not ok'} {number} - {url}")
            if not is_ok:
                failures += 1
                print("\n".join(f"# {line}" for line in err.splitlines()))
    sys.exit(failures > 0)


main()
