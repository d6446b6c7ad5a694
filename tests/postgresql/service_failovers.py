#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Three services on a PostgreSQL that fails over: its primary is killed, and a standby that has been
waited for, or has not, becomes the primary. LK SERVER

LK_TEST_SEED: what the clients do."""

import os
import pathlib
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
from services import Client, Member, Notes, Refused, Resp, Services, as_map, until  # noqa: E402

HERE = pathlib.Path(__file__).resolve().parent
FAILOVER_MS = 1000
CLIENTS = 4
BACKENDS_MAX = 8  # of three services: one each, and one that waits for the standby


class Server:
    """A PostgreSQL server in a directory: with its socket, and its files in `data`."""

    def __init__(self, directory):
        self.directory = directory
        self.data = os.path.join(directory, "data")

    def run(self, function, *arguments):
        """A function of servers.sh."""
        subprocess.run(["sh", "-c", '. "${0%/*}/servers.sh"; "$@"', str(HERE / "-"), function,
                        *map(str, arguments)], check=True, stdout=sys.stderr)

    def copy(self, primary):
        """Makes a standby of it, of what is there or of nothing."""
        shutil.rmtree(self.data, ignore_errors=True)
        self.run("make_standby", primary.directory, self.directory, "-c fsync=off")

    def start(self):
        self.run("on_server", self.directory, "-w", "-s", "-o",
                 f"-k {self.directory} -c listen_addresses='' -c max_connections=200 -c fsync=off",
                 "-l", os.path.join(self.directory, "log"), "start")

    def promote(self):
        self.run("on_server", self.directory, "-w", "-s", "promote")

    def ask(self, *statements):
        """What the statements print, each of them in a transaction of its own."""
        words = ["psql", "-h", self.directory, "-U", "postgres", "-Atq", "postgres"]
        for statement in statements:
            words += ["-c", statement]
        return subprocess.run(words, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()

    def set(self, name, value):
        self.ask(f"ALTER SYSTEM SET {name} = '{value}'", "SELECT pg_reload_conf()")
        until(lambda: self.ask(f"SHOW {name}") == value)

    def kill(self):
        """As if the machine had lost its power: all of its processes at once, and its memory."""
        with open(os.path.join(self.data, "postmaster.pid"), encoding="ascii") as file:
            lines = file.read().splitlines()
        first, segment = int(lines[0]), lines[6].split()[1]
        tasks = pathlib.Path(f"/proc/{first}/task/{first}/children")
        os.kill(first, signal.SIGSTOP)  # it starts no others
        processes = [*(int(word) for word in tasks.read_text().split()), first]
        memory = set()
        for process in processes:
            try:
                memory |= set(re.findall(r"/dev/shm/PostgreSQL\.\d+",
                                         pathlib.Path(f"/proc/{process}/maps").read_text()))
                os.kill(process, signal.SIGKILL)
            except (ProcessLookupError, FileNotFoundError):
                pass
        until(lambda: not any(os.path.exists(f"/proc/{process}") for process in processes))
        for file in memory:
            pathlib.Path(file).unlink(missing_ok=True)
        subprocess.run(["ipcrm", "-m", segment], check=True)


class Cluster(Services):
    """Three services; the URL names both servers."""

    def __init__(self, program, servers, log):
        hosts = ",".join(server.directory for server in servers)
        url = f"postgresql://postgres@/postgres?host={hosts}&target_session_attrs=read-write"
        self.log = log
        self.members = [Member(program, url) for _ in range(3)]
        for member in self.members:
            member.start(FAILOVER_MS)
        self.leader()

    def said(self, text):
        """How often a line of their logs has it."""
        return pathlib.Path(self.log).read_text(errors="replace").count(text)

    def doctor(self, member):
        words = [member.program, "-S", "lk://%s:%d" % member.resp, "doctor", "-v"]
        ended = subprocess.run(words, capture_output=True, text=True, check=False)
        return ended.stdout + ended.stderr


def wait_for_standby(primary):
    until(lambda: primary.ask("SELECT count(*) FROM pg_stat_replication"
                              " WHERE state = 'streaming'") == "1")


def acquire(services, path, owner, *words):
    wire = Resp(services.leader().resp)
    answer = wire.call("ACQUIRE", path, "OWNER", owner, *words)
    wire.close()
    return as_map(answer)


# ---- the cases ------------------------------------------------------------------------------------


def a_cancelled_commit_is_not_acknowledged(services, primary, standby):
    """what the synchronous standby may lack is not acknowledged, also where the wait is cancelled"""
    receiver = int(standby.ask("SELECT pid FROM pg_stat_wal_receiver"))
    wire = Resp(services.leader().resp)
    os.kill(receiver, signal.SIGSTOP)
    try:
        wire.put("ACQUIRE", "cancelled", "OWNER", "one", "TTL", 600000)
        waiting = "FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
        until(lambda: primary.ask(f"SELECT count(*) {waiting}") == "1")
        assert primary.ask(f"SELECT pg_cancel_backend(pid) {waiting}") == "t"
        assert str(wire.value()).startswith("UNAVAILABLE")
        # No service can lead now. Each tries again and again; its old attempts end on the server.
        tried = services.said("the store could not be loaded")
        until(lambda: services.said("the store could not be loaded") >= tried + 9)
        count = primary.ask("SELECT count(*) FROM pg_stat_activity"
                            " WHERE application_name = 'lockkeeper'")
        assert int(count) <= BACKENDS_MAX, count
    finally:
        os.kill(receiver, signal.SIGCONT)
    wire.close()
    assert acquire(services, "cancelled", "one", "TTL", 600000)["status"] == "granted"


def a_synchronous_standby_takes_over(services, primary, standby):
    """the primary is killed and its standby promoted: clients see nothing false, and go on"""
    seed = int(os.environ.get("LK_TEST_SEED", random.randrange(1 << 30)))
    print(f"# LK_TEST_SEED={seed}")
    kept = acquire(services, "kept", "ana", "TTL", 600000)
    notes = Notes()
    clients = [Client(services, notes, i, seed + i) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        until(lambda: all(client.cycles > 5 for client in clients) or notes.wrong)
        begun = time.monotonic()
        primary.kill()
        standby.promote()
        promoted = time.monotonic()
        before = [client.cycles for client in clients]
        until(lambda: all(c.cycles > b for c, b in zip(clients, before)) or notes.wrong)
        print(f"# promoted after {promoted - begun:.1f} s, and every client has gone on "
              f"{time.monotonic() - promoted:.1f} s later")
    finally:
        for client in clients:
            client.is_over = True
        for client in clients:
            client.join(60)
    wrong = notes.check()
    print(f"# {len(notes.grants)} grants, {len(notes.puts)} puts, {len(notes.reads)} reads")
    assert not wrong, "\n".join(wrong[:5])
    assert acquire(services, "kept", "ana", "TTL", 600000)["token"] == kept["token"]
    assert acquire(services, "kept", "ben")["status"] == "busy"


def a_former_primary_acknowledges_nothing(services, primary, standby):
    """the former primary comes back by mistake: with its standby gone, nothing can be decided there"""
    leader, others = services.followers()
    epoch = standby.ask("SELECT epoch FROM lockkeeper_service.leader")
    seen = primary.ask("SELECT epoch FROM lockkeeper_service.leader")
    member = others[0]
    assert member.end() == 0
    member.start(FAILOVER_MS)  # the URL has the former primary first
    until(lambda: "%s:%d" % leader.resp in member.ready()[1])
    assert primary.ask("SELECT epoch FROM lockkeeper_service.leader") == seen
    assert standby.ask("SELECT epoch FROM lockkeeper_service.leader") == epoch
    assert acquire(services, "kept", "ben")["status"] == "busy"


WARNING = "a fail-over of the database may lose the last commits"


def tokens_grow_though_commits_are_lost(services, primary, standby):
    """an asynchronous standby is warned of; it loses grants, and later tokens are greater than theirs"""
    leader = services.leader()
    until(lambda: "may_lose_commits: 0" in services.doctor(leader))
    assert WARNING not in services.doctor(leader) and services.said(WARNING) == 0
    standby.copy(primary)
    wait_for_standby(primary)
    until(lambda: WARNING in services.doctor(services.leader()))
    assert services.said(WARNING) == 1
    standby.set("primary_conninfo", "")
    until(lambda: standby.ask("SELECT count(*) FROM pg_stat_wal_receiver") == "0")
    lost = [acquire(services, f"lost/{i}", "one", "TTL", 600000)["token"] for i in range(20)]
    assert lost == sorted(set(lost))
    primary.kill()
    standby.promote()
    until(lambda: not isinstance(call(services, "LIST"), Refused))
    for i in range(20):
        answer = acquire(services, f"lost/{i}", "two", "TTL", 600000)
        assert answer["status"] == "granted", f"lost/{i} was not lost: {answer}"
        assert answer["token"] > lost[-1], (answer, lost)
    assert acquire(services, "kept", "ben")["status"] == "busy"


def call(services, *words):
    try:
        wire = Resp(services.leader().resp)
        answer = wire.call(*words)
        wire.close()
        return answer
    except OSError as error:
        return Refused(str(error))


def play(services, first, second):
    """The cases, each on what the one before has left: its primary, and its standby."""
    yield a_cancelled_commit_is_not_acknowledged, first, second
    yield a_synchronous_standby_takes_over, first, second
    first.start()
    yield a_former_primary_acknowledges_nothing, first, second
    first.kill()
    yield tokens_grow_though_commits_are_lost, second, first


def main():
    first = Server(sys.argv[2])
    second = Server(tempfile.mkdtemp(dir=os.path.dirname(first.directory)))
    os.chmod(second.directory, 0o755)
    log = os.path.join(second.directory, "services.log")
    errors = os.dup(2)
    with open(log, "wb") as file:
        os.dup2(file.fileno(), 2)  # of all that is started here
    services = None
    number, trouble, title = 0, "", "three services start on a primary with a synchronous standby"
    print("1..5", flush=True)
    try:
        second.copy(first)
        first.set("synchronous_standby_names", "*")
        wait_for_standby(first)
        services = Cluster(sys.argv[1], [first, second], log)
        for case, primary, standby in play(services, first, second):
            number += 1
            print(f"ok {number} - {title}", flush=True)
            title = case.__doc__
            case(services, primary, standby)
    except Exception:
        trouble = traceback.format_exc()
    finally:
        for member in services.members if services is not None else ():
            if member.process is not None:
                member.process.kill()
        print(f"{'not ok' if trouble else 'ok'} {number + 1} - {title}", flush=True)
        if trouble:
            text = trouble + pathlib.Path(log).read_text(errors="replace")[-4000:]
            print("".join(f"# {line}\n" for line in text.splitlines()), flush=True)
        try:
            second.kill()
        except (OSError, ValueError):
            pass
        shutil.rmtree(second.directory, ignore_errors=True)
        os.dup2(errors, 2)
    sys.exit(1 if trouble else 0)


if __name__ == "__main__":
    main()
