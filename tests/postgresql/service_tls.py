#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Commands of lk that name three services on one PostgreSQL by lks://, with TLS and users: while the
one that leads is killed. LK SERVER"""

import os
import pathlib
import signal
import ssl
import subprocess
import sys
import tempfile
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from services import Member, Services, until  # noqa: E402 (it knows where the next ones are)
from credentials import ANA, BEN, OPS, Authority, write_users  # noqa: E402

FAILOVER_MS = 1000
LIMIT_S = 120


class Cluster(Services):
    """Three services, each with a certificate of its own; that of the third is for another host."""

    def __init__(self, program, server, place):
        authority = Authority(place, "ours")
        users = place / "users"
        write_users(users)
        users.chmod(0o600)
        self.authority = authority.file
        self.server = server
        url = f"postgresql://postgres@/postgres?host={server}"
        self.members = [Member(program, url) for _ in range(3)]
        for number, member in enumerate(self.members):
            names = "DNS:elsewhere.example" if number == 2 else "IP:127.0.0.1"
            certificate, key = authority.sign("service", names, file=f"service{number}")
            member.schemes = ("lks", "https")
            member.options = ("--tls-cert", certificate, "--tls-key", key, "--users", str(users))
            member.tls = ssl.create_default_context(cafile=authority.file)
            member.tls.check_hostname = False
        all_members = self.members
        for number, member in enumerate(all_members):
            member.start(FAILOVER_MS)
            self.members = all_members[:number + 1]
            self.leader()

    def kill_first(self):
        """Kills the one that leads, which is the first; then the second leads, as the third, which
        clients cannot use, hands over to it."""
        first, second, third = self.members
        assert self.leader() is first
        assert first.end(signal.SIGKILL) == -signal.SIGKILL
        self.members = [second, third]
        if self.leader() is third:
            assert third.end() == 0
            self.members = [second]
            self.leader()
            third.start(FAILOVER_MS)
        self.members = [first, second, third]

    def words(self, user, secret, *words, first=0):
        """lk as that user; the URL begins with the service of that number."""
        order = [self.members[(first + i) % 3] for i in range(3)]
        hosts = ",".join("%s:%d" % member.resp for member in order)
        return [self.members[0].program, "-S", f"lks://{user}:{secret}@{hosts}?ca={self.authority}",
                *words]

    def call(self, *words, first=0):
        """What it ends with and says."""
        ended = subprocess.run(self.words(*words, first=first), text=True, capture_output=True,
                               timeout=LIMIT_S)
        return ended.returncode, ended.stdout + ended.stderr

    def begin(self, directory, *words):
        return subprocess.Popen(self.words(*words), cwd=directory, text=True,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE)


def play(services, place):
    alone = 'mkdir in || exit 9; echo "$0" >>log; until [ -e "$1" ]; do sleep 0.05; done; rmdir in'
    holder = services.begin(place, "ana", ANA, "run", "--ttl", "10m", "a/x", "--", "sh", "-c", alone,
                            "one", "go")
    until(lambda: (place / "in").exists() or holder.poll() is not None)
    waiter = services.begin(place, "ana", ANA, "run", "--ttl", "10m", "a/x", "--", "sh", "-c", alone,
                            "two", "go")
    begun = [holder, waiter]
    try:
        until(lambda: services.call("ana", ANA, "ls", "a", "--json")[1].count("\n") == 2)
        code, token = services.call("ana", ANA, "acquire", "a/kept", "--owner", "me", "--ttl", "10m")
        assert code == 0, token
        services.kill_first()
        for first in range(3):  # one is gone, one leads, and one has no certificate for this host
            code, said = services.call("ana", ANA, "acquire", "a/kept", "--owner", "me", first=first)
            assert (code, said) == (0, token), (first, code, said)
        code, said = services.call("ben", BEN, "release", "a/kept", "--token", token.strip())
        assert code == 77, (code, said)
        # The same owner of another user is another one at the next leader, too.
        code, said = services.call("ops", OPS, "release", "a/kept", "--owner", "me")
        assert code != 0 and "LOST" in said, (code, said)
        code, said = services.call("ops", OPS, "acquire", "a/kept", "--owner", "me", "--try")
        assert code == 75 and "held by me of ana," in said, (code, said)
        code, said = services.call("ana", BEN, "ls", "a", first=1)
        assert code == 69 and "refuses the password" in said and BEN not in said, (code, said)
        assert holder.poll() is None and waiter.poll() is None
        (place / "go").touch()
        for process in begun:
            _, errors = process.communicate(timeout=LIMIT_S)
            assert process.returncode == 0, (process.returncode, errors)
        assert (place / "log").read_text().split() == ["one", "two"]
    finally:
        for process in begun:
            if process.poll() is None:
                process.kill()
            process.communicate()


def main():
    trouble, services = "", None
    print("1..1", flush=True)
    with tempfile.TemporaryDirectory() as directory:
        try:
            services = Cluster(os.path.abspath(sys.argv[1]), sys.argv[2], pathlib.Path(directory))
            play(services, pathlib.Path(directory))
        except Exception:
            trouble = traceback.format_exc()
        finally:
            for member in services.members if services is not None else ():
                if member.process is not None:
                    member.process.kill()
    print(f"{'not ok' if trouble else 'ok'} 1 - users of lks:// keep their leases, their places and "
          "their rights while the service that leads is killed", flush=True)
    for line in trouble.splitlines():
        print(f"# {line}", flush=True)
    sys.exit(1 if trouble else 0)


main()
