#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Every command of lk at a server that is silent while it opens the store. LK

Without a bound it gives the server ten seconds, lk serve gives its database five; then a sentence
says who was silent. A signal ends it at once. A command that is missing here fails the test. A
port that answers, but not TLS, is UNSUPPORTED for all of them: waiting does not help.
"""

import concurrent.futures
import os
import pathlib
import pty
import re
import signal
import subprocess
import sys
import tempfile
import threading

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "listeners"))
from credentials import Authority  # noqa: E402
from loadable import TLS, is_loadable, is_refused, lacked  # noqa: E402
from silence import LK, Silent, await_contact, end_by, lk, start  # noqa: E402

AT_ONCE = 12
COMMANDS = """
    run a -- true
    acquire a
    hold a
    renew a --token 1
    release a --token 1
    break a --reason x
    audit
    ls
    show a
    get a
    put a x
    del a
    values
    push q x
    claim q --wait 30
    done q 1 --token 1
    retry q 1 --token 1
    unpark q
    drop q
    cancel q 1 --reason x
    progress q 1 half
    result q 1
    push q 1 --wait 30
    work q -- true
    queues
    items q
    stats q
    watch
    limits
    top
    doctor
    backup copy.db
    bench
"""
WITHOUT_STORE = {"report", "passwd", "schema", "help", "version"}
STORES_OF_SERVICES = ("postgresql://u@127.0.0.1:{port}/d", "mysql://u:p@127.0.0.1:{port}/d",
                      "etcd://127.0.0.1:{port}", "etcd://127.0.0.1:{port},localhost:{port}")
SENTENCE = re.compile(r"^lk: UNAVAILABLE: (\S*127\.0\.0\.1:\d+\S*: no answer within \d+\.\d s: "
                      r"|.* (did not answer|no answer)\b)", re.MULTILINE)


def tell(words, status, wanted, err):
    if status != wanted:
        yield f"{' '.join(words)}: {status}, not {wanted}: {err}"


def begin(url, words):
    if words[0] != "top":
        return lk(url, *words)
    ours, theirs = pty.openpty()
    process = lk(url, *words, stdin=theirs, stdout=theirs)
    os.close(theirs)
    process.terminal = os.fdopen(ours)  # open as long as the process is known
    return process


def judge_end(words, begin_it):
    """It ends by itself, with a sentence."""
    process = begin_it()
    err = process.communicate()[1]
    yield from tell(words, process.returncode, 69, err)
    if not SENTENCE.search(err):
        yield f"{' '.join(words)}: no sentence: {err}"


def judge_signal(words, number, wanted, server, begin_it):
    ended = end_by(number, begin_it, lambda process: await_contact(server, process))
    yield from tell((*words, "and", number.name), *turn(ended, wanted))


def turn(ended, wanted):
    return ended[0], wanted, ended[1]


def judge_command(line):
    server = Silent(b"")
    words = line.split()
    url = f"lk://127.0.0.1:{server.port}"

    yield from judge_end(words, lambda: begin(url, words))
    for number in (signal.SIGINT, signal.SIGTERM):
        yield from judge_signal(words, number, 128 + number, server, lambda: begin(url, words))


def judge_service(pattern):
    server = Silent(b"")
    url = pattern.format(port=server.port)
    words = ("serve", "--listen", "127.0.0.1:0", "--http", "none", "--advertise", "127.0.0.1:1",
             "--store", url)

    if library := lacked(pattern.split(":")[0]):
        process = start(*words)
        err = process.communicate()[1]
        if not is_refused(library, process.returncode, err):
            yield f"{' '.join(words)}: it does not name {library[0]}: {err}"
        return
    yield from judge_end(words, lambda: start(*words))
    for number in (signal.SIGINT, signal.SIGTERM):
        yield from judge_signal(words, number, 0, server, lambda: start(*words))


class Evicting(Silent):
    """A Redis server that lets its client in, and is silent to what comes then."""

    INFO = b"redis_version:7.2.0\r\nredis_mode:standalone\r\nrun_id:0123456789abcdef\r\n"

    def __init__(self, words):
        self.answered = threading.Event()
        super().__init__(words)

    def accept(self):
        while True:
            client = self.socket.accept()[0]
            self.kept.append(client)
            threading.Thread(target=self.serve, args=[client], daemon=True).start()

    def serve(self, client):
        while received := client.recv(65536):
            if b"maxmemory" in received.lower() or b"memory" in received.lower():
                self.answered.set()
                return
            client.sendall(b"$%d\r\n%s\r\n" % (len(self.INFO), self.INFO))


def judge_claim():
    """The look at whether Redis evicts comes before the claim: a signal ends it, too."""
    server = Evicting(b"")

    def await_answer(process):
        while process.poll() is None and not server.answered.wait(0.01):
            pass

    for words in (("claim", "q"), ("claim", "q", "--wait", "30")):
        for number in (signal.SIGINT, signal.SIGTERM):
            def ask(words=words):
                server.answered.clear()
                return lk(f"redis://127.0.0.1:{server.port}", *words)

            yield from tell((*words, "and", number.name),
                            *turn(end_by(number, ask, await_answer), 128 + number))


def judge_without_tls(lines, place):
    """A service that speaks no TLS, as lks://."""
    service = start("serve", "--unix", f"{place}/s", "--listen", "127.0.0.1:0", "--http", "none",
                    "--insecure", "--ephemeral", stdout=subprocess.PIPE)
    port = next(line for line in service.stdout if line.startswith("lk://")).split(":")[-1].strip()
    ca = Authority(place, "ours").file
    for url in (f"lks://127.0.0.1:{port}?ca={ca}",
                f"lks://127.0.0.1:{port},localhost:{port}?ca={ca}"):
        for words in [line.split() for line in lines] + [["acquire", "a", "-n"], ["claim", "q"]]:
            process = begin(url, words)
            err = process.communicate()[1]
            yield from tell((url[:3], *words), process.returncode, 79, err)
            if not is_loadable(TLS):
                if not is_refused(TLS, process.returncode, err):
                    yield f"{' '.join(words)}: it does not name the library of TLS: {err}"
            elif "there is no TLS at this port" not in err:
                yield f"{' '.join(words)}: no sentence: {err}"
    service.terminate()
    service.communicate()


def has_etcd():
    said = start("serve", "--listen", "127.0.0.1:0", "--http", "none", "--store", "etcd://127.0.0.1:1").communicate()[1]
    return "built without etcd" not in said


def has(scheme):
    said = lk(f"{scheme}://127.0.0.1:1/", "ls").communicate()[1]
    return f"no engine for {scheme}" not in said


def judge_names(lines):
    helped = subprocess.run([LK, "help"], capture_output=True, text=True).stdout
    named = set(re.findall(r"^  ([a-z]+)  +\S", helped.split("Commands:")[1].split("\nThe store")[0],
                           re.MULTILINE))
    missing = named - {line.split()[0] for line in lines} - WITHOUT_STORE - {"serve"}
    return [f"not tried: {' '.join(sorted(missing))}"] if missing or "run" not in named else []


def cases(place):
    lines = [line.strip() for line in COMMANDS.strip().splitlines()]
    yield "every command is tried", lambda: judge_names(lines)
    yield "all commands, at a port without TLS", lambda: judge_without_tls(lines, place)
    for line in lines:
        yield f"lk {line}", lambda line=line: judge_command(line)
    for pattern in STORES_OF_SERVICES:
        scheme = pattern.split(":")[0]
        if has_etcd() if scheme == "etcd" else has(scheme):
            rest = f": UNSUPPORTED, as lk cannot use {lacked(scheme)[0]} here" if lacked(scheme) else ""
            yield f"lk serve --store {pattern}{rest}", lambda pattern=pattern: judge_service(pattern)
    if has("redis"):
        yield "lk claim, of a Redis that is silent once it is open", judge_claim


def main():
    with tempfile.TemporaryDirectory(prefix="lk-silent-") as place:
        os.environ["HOME"] = place
        os.chdir(place)
        named = list(cases(place))
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            found = list(pool.map(lambda case: list(case[1]()), named))
    print(f"1..{len(named)}")
    for number, ((title, _), troubles) in enumerate(zip(named, found), 1):
        print(f"{'not ok' if troubles else 'ok'} {number} - {title}")
        for trouble in troubles:
            print(f"# {trouble}")
    sys.exit(any(found))


main()
