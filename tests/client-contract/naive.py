#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""usage: naive.py MISTAKE URL: a small client with a mistake on purpose, which a script must find.

With the mistake `none` it passes those scripts. It is no example: it has one lease and no waits.
"""

import os
import socket
import sys
import threading
import time

MISTAKE, URL = sys.argv[1], sys.argv[2]


class Gone(Exception):
    """The connection has ended, or its answer is no answer."""


def read(stream):
    line = stream.readline()
    if not line.endswith(b"\r\n"):
        raise Gone
    kind, rest = line[:1], line[1:-2]
    if kind == b"$":
        return stream.read(int(rest) + 2)[:-2].decode()
    if kind == b":":
        return int(rest)
    if kind == b"*":
        return [read(stream) for _ in range(int(rest))]
    if kind == b"%":
        return {read(stream): read(stream) for _ in range(int(rest))}
    return (kind + rest).decode()


def send(link, *words):
    parts = [str(word).encode() for word in words]
    link.sendall(b"*%d\r\n" % len(parts) + b"".join(b"$%d\r\n%s\r\n" % (len(p), p) for p in parts))


def connect(address, seconds):
    host, port = address.rsplit(":", 1)
    link = socket.create_connection((host, int(port)), seconds)
    send(link, "HELLO", "3")
    stream = link.makefile("rb")
    read(stream)
    return link, stream


def call(seconds, words):
    """The answer to these words; they are made again for each attempt."""
    end, address, pause = time.monotonic() + seconds, URL.split("//")[1], 0.01
    while (left := end - time.monotonic()) > 0 or MISTAKE == "follows-for-ever":
        try:
            link, stream = connect(address, max(left, 1))
            send(link, *words())
            answer = read(stream)
            link.close()
            if not str(answer).startswith("-MOVED"):
                return answer
            address = answer.split()[2]
            if MISTAKE == "follows-for-ever":
                continue
        except (Gone, OSError):
            pass
        time.sleep(max(0, min(pause, end - time.monotonic())))
        pause = min(pause * 2, 0.25)
    return None


class Lease:
    def __init__(self, path, owner, token, ttl, until):
        self.path, self.owner, self.token, self.ttl, self.until = path, owner, token, ttl, until
        self.is_over = False
        self.is_released = False
        threading.Thread(target=self.renew, daemon=True).start()

    def held(self):
        is_past = time.monotonic() >= self.until
        if MISTAKE == "revives":
            return not is_past
        self.is_over = self.is_over or is_past
        return not self.is_over

    def renew(self):
        while not self.is_released and not self.is_over:
            time.sleep(self.ttl * (1.1 if MISTAKE == "renews-late" else 1 / 3))
            sent = time.monotonic()
            answer = call(60, lambda: ("RENEW", self.path, "OWNER", self.owner, "TOKEN", self.token,
                                       "TTL", int(self.ttl * 1000), "META"))
            status = answer.get("status") if isinstance(answer, dict) else None
            if status == "ok":
                self.until = sent + answer["expires_in_ms"] / 1000 * 0.9995
            elif status == "lost" and MISTAKE != "deaf":
                self.is_over = True


def lock(path, ttl, patience):
    made = [os.urandom(8).hex()]
    sent = [0.0]

    def words():
        if MISTAKE == "new-owner":
            made.append(os.urandom(8).hex())
        sent[0] = time.monotonic()
        return "ACQUIRE", path, "OWNER", made[-1], "TTL", ttl, "META", "TRY"

    answer = call(patience / 1000, words)
    if not isinstance(answer, dict):
        return None, "unavailable"
    if "token" not in answer and MISTAKE != "trusts":
        return None, "internal"
    begun = time.monotonic() if MISTAKE == "counts-from-answer" else sent[0]
    until = begun + answer.get("expires_in_ms", ttl) / 1000 * 0.9995
    return Lease(path, made[-1], answer.get("token", 0), ttl / 1000, until), answer["status"]


def main():
    lease = None
    for line in sys.stdin:
        verb, *rest = line.split()
        said = "usage"
        if verb == "lock":
            lease, said = lock(rest[0], int(rest[1]), int(rest[3]))
        elif verb == "held":
            said = "yes" if lease.held() else "no"
        elif verb == "awaitlost":
            while lease.held():
                time.sleep(0.005)
            said = "lost"
        elif verb == "release":
            lease.is_released = True
            token = () if MISTAKE == "forgets-token" else ("TOKEN", lease.token)
            answer = call(10, lambda: ("RELEASE", lease.path, "OWNER", lease.owner) + token)
            said = answer.get("status", "") if isinstance(answer, dict) else "unavailable"
        print(said, flush=True)


if __name__ == "__main__":
    main()
