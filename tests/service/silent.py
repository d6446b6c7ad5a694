#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Servers that are silent while a store is opened: what a call waits bounds that, too. LK

A call without a bound gives a server ten seconds, and each of two services two to four. Calls that
wait for a second, try once or are ended by a signal give it less.
"""

import concurrent.futures
import os
import pathlib
import re
import signal
import sys
import tempfile

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TESTS / "listeners"))
from credentials import Authority  # noqa: E402
from loadable import is_refused, lacked  # noqa: E402
from silence import Silent, await_contact, end_by, lk  # noqa: E402

SCHEMES = {
    "lk": "lk://127.0.0.1:{port}",
    "lk of two": "lk://127.0.0.1:{port},localhost:{port}",
    "lks": "lks://127.0.0.1:{port}?ca={ca}",
    "lks of two": "lks://127.0.0.1:{port},localhost:{port}?ca={ca}",
    "redis": "redis://127.0.0.1:{port}",
    "redis of two": "redis://127.0.0.1:{port},localhost:{port}",
    "rediss": "rediss://127.0.0.1:{port}?ca={ca}",
    "rediss of two": "rediss://127.0.0.1:{port},localhost:{port}?ca={ca}",
    "postgresql": "postgresql://u@127.0.0.1:{port}/d",
    "mysql": "mysql://u:p@127.0.0.1:{port}/d",
}
SENTENCE = re.compile(r"UNAVAILABLE: (?:\S*127\.0\.0\.1:\d+\S*: no answer within (\d+\.\d) s: "
                      r"|none of the 2 services can be used after (\d+\.\d) s; .*127)")
UNBOUND_S = (9.5, 5.5)  # of one server, and of two
AT_ONCE = 4
TLS_RECORD = b"\x16\x03\x03\x00\x7a\x02"  # the head of one that does not come
INFO = b"redis_version:7.2.0\r\nredis_mode:cluster\r\nrun_id:0123456789abcdef\r\n"
REFUSED = object()  # in the place of what a server says: it is never asked
BEGINNINGS = {  # of what does not go on
    "lk": {"begins an answer": b"%7\r\n$6\r\nserver\r\n"},
    "lks": {"begins with TLS": TLS_RECORD},
    "lks of two": {"begins with TLS": TLS_RECORD},
    "redis": {"begins an answer": b"$5000\r\nredis_version:7",
              "is a cluster, and tells no slots": b"$%d\r\n%s\r\n" % (len(INFO), INFO)},
    "rediss": {"begins with TLS": TLS_RECORD},
    "rediss of two": {"begins with TLS": TLS_RECORD},
    "postgresql": {"agrees to TLS": b"S"},
    "mysql": {"begins a greeting": b"\x4a\x00\x00\x00\x0a8.0"},
}


def judge_refusal(scheme, ca):
    for words in (("run", "-w", "1", "a", "--", "true"), ("acquire", "a"), ("claim", "q")):
        process = lk(SCHEMES[scheme].format(port=1, ca=ca), *words)
        err = process.communicate()[1]
        if not is_refused(lacked(scheme.split()[0]), process.returncode, err):
            yield f"{words[0]}: {process.returncode}: {err}"


def judge(scheme, ca, begun, has_room):
    if begun is REFUSED:
        yield from judge_refusal(scheme, ca)
        return
    server = Silent(begun, has_room)
    url = SCHEMES[scheme].format(port=server.port, ca=ca)
    for words in (("run", "a", "--", "true"), ("work", "q", "--", "true"), ("hold", "a")):
        status, err = end_by(signal.SIGTERM, lambda words=words: lk(url, *words),
                             lambda process: await_contact(server, process))
        if status != 128 + signal.SIGTERM:
            yield f"{words[0]} and SIGTERM: {status}: {err}"
    bound = {}
    for words in (("run", "-w", "1", "a", "--", "true"), ("run", "-n", "a", "--", "true"),
                  ("acquire", "-w", "1", "a"), ("hold", "-n", "a"), ("claim", "q")):
        bound[" ".join(words[:2])] = lk(url, *words)
    for name, process in bound.items():
        err = process.communicate()[1]
        said = SENTENCE.search(err)
        if process.returncode != 69 or not said:
            yield f"{name}: {process.returncode}: {err}"
        elif not scheme.startswith("redis") and float(said[1] or said[2]) >= UNBOUND_S[" of " in scheme]:
            yield f"{name}: as long as a call without a bound: {err}"


def cases():
    probe = "".join(lk(f"{scheme}://127.0.0.1:1/", "ls").communicate()[1]
                    for scheme in ("redis", "rediss", "postgresql", "mysql"))
    for scheme in SCHEMES:
        if f"no engine for {scheme.split()[0]}" in probe:
            continue
        if lacked(scheme.split()[0]):
            yield scheme, f"UNSUPPORTED, as lk cannot use {lacked(scheme.split()[0])[0]} here", REFUSED, True
            continue
        yield scheme, "a server that says nothing", b"", True
        yield scheme, "a server that drops packets", None, False
        for what, words in BEGINNINGS.get(scheme, {}).items():
            yield scheme, f"a server that {what}", words, True


def main():
    with tempfile.TemporaryDirectory(prefix="lk-silent-") as place:
        os.environ["HOME"] = place
        named = list(cases())
        ca = Authority(place, "ours").file
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda case: list(judge(case[0], ca, *case[2:])), named))
    print(f"1..{len(named)}")
    for number, ((scheme, what, _, _), troubles) in enumerate(zip(named, found), 1):
        print(f"{'not ok' if troubles else 'ok'} {number} - {scheme}: {what}")
        for trouble in troubles:
            print(f"# {trouble}")
    sys.exit(any(found))


main()
