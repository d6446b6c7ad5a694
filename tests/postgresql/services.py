#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""Three services on one database (lk serve --store): where the others send their clients, and what
clients note while the one that leads is killed, stopped and continued, terminated, or cut off from
the database, and while that is killed. LK URL SOCKET [RESTART]

URL: of the database; {way} in it: a port that leads to its SOCKET. RESTART: a program that kills the
database and starts it again.

LK_TEST_SEED: which fault comes when. LK_TEST_SCALE: percent of the faults."""

import atexit
import os
import pathlib
import random
import re
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
import traceback

TESTS = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(TESTS), str(TESTS / "listeners"), str(TESTS / "procedures")]
import cases as tap_cases  # noqa: E402
from ports import free_ports  # noqa: E402
from service import Closed, Http, Refused, Resp, as_map, until  # noqa: E402

FAILOVER_MS = 1000  # while clients are checked: then any service may take over at any time
PATIENT_MS = 3000  # else: a busy machine must not change who leads
NEVER_MS = 3600000
CLIENTS = 6
PATHS = ["a", "b"]
FAULTS = 6
TTL_MS = 15000  # longer than any fault


class Way:
    """The connections of one service to the database; what is sent while it is stopped comes late."""

    def __init__(self, path):
        with tempfile.TemporaryDirectory() as directory:
            port = pathlib.Path(directory) / "port"
            self.process = subprocess.Popen(
                [sys.executable, "-B", pathlib.Path(__file__).parents[1] / "procedures" / "proxy.py",
                 path, port])
            until(port.exists)
            self.port = port.read_text(encoding="ascii")


class Member:
    """One of the services, which is started again at the same addresses."""

    schemes = ("lk", "http")
    options = ()
    tls = None
    way = None  # to the database, which can be cut

    def __init__(self, program, url, path=None):
        self.program = program
        self.way = None if path is None else Way(path)
        self.url = url if path is None else url.replace("{way}", self.way.port)
        self.resp, self.http = (("127.0.0.1", port) for port in free_ports(2))
        self.process = None

    def start(self, failover_ms=PATIENT_MS):
        addresses = [f"{host}:{port}" for host, port in (self.resp, self.http)]
        self.process = subprocess.Popen(
            [self.program, "serve", "--store", self.url, "--listen", addresses[0], "--http", addresses[1],
             "--failover", f"{failover_ms}ms", "--log-level", "info", *self.options],
            stdout=subprocess.PIPE, text=True)
        atexit.register(self.process.kill)  # also when others do not start
        for scheme, address in zip(self.schemes, addresses):
            assert self.process.stdout.readline().strip() == f"{scheme}://{address}"

    def end(self, number=signal.SIGTERM):
        self.process.send_signal(number)
        code = self.process.wait(60)
        self.process.stdout.close()
        self.process = None
        return code

    def info(self):
        """The fields of INFO, and the metrics of those names."""
        wire = Resp(self.resp)
        fields = dict(line.split(":", 1) for line in wire.call("INFO").split("\r\n") if ":" in line)
        wire.close()
        wire = Http(self.http)
        lines = wire.call("GET", "/metrics")[2].decode().splitlines()
        wire.close()
        metrics = dict(line.rsplit(" ", 1) for line in lines if not line.startswith("#"))
        leader = next((re.search('address="(.*)"', name)[1] for name in metrics
                       if name.startswith("lockkeeper_leader_info")), None)
        assert leader == fields.get("leader"), (leader, fields)
        for field, metric in (("is_leader", "is_leader"), ("epoch", "leader_epoch"),
                              ("takeovers", "takeovers_total")):
            assert fields[field] == metrics[f"lockkeeper_{metric}"], (fields, metrics)
        # What a follower on etcd has read may change from one call to the next.
        assert {fields["caught_up"], metrics["lockkeeper_caught_up"]} <= {"0", "1"}, fields
        return fields

    def ready(self):
        """The status of /readyz, and what it says."""
        wire = Http(self.http, tls=self.tls)
        status, _, body = wire.call("GET", "/readyz")
        wire.close()
        return status, body.decode()


class Services:
    database_restart = None  # a program that kills the database and starts it again

    def __init__(self, program, url, path=None, restart=None):
        self.database_restart = restart
        self.members = [Member(program, url, path) for _ in range(3)]
        for member in self.members:
            member.start()
        self.leader()

    def restart(self, failover_ms):
        """All of them; those that do not lead end first, so none of them leads in between."""
        leader = self.leader()
        for member in sorted(self.members, key=lambda member: member is leader):
            assert member.end() == 0
        for member in self.members:
            member.start(failover_ms)

    def leader(self):
        """The one that leads, once one does."""
        end = time.monotonic() + 60
        while time.monotonic() < end:
            for member in self.members:
                if member.ready()[0] == 200:
                    return member
            time.sleep(0.02)
        raise AssertionError("none of the services leads")

    def followers(self):
        leader = self.leader()
        others = [member for member in self.members if member is not leader]
        until(lambda: all("another service leads" in member.ready()[1] for member in others))
        return leader, others


# ---- clients and their notes ----------------------------------------------------------------------


class Notes:
    """What clients know: when they called and were answered, and with what."""

    def __init__(self):
        self.lock = threading.Lock()
        self.grants = []  # [path, client, token, asked, returned, held until]
        self.puts = []  # [path, number, called, returned or None]
        self.reads = []  # (path, number, called, returned)
        self.wrong = []

    def complain(self, text):
        with self.lock:
            self.wrong.append(text)

    def check(self):
        for one in self.grants:
            for other in self.grants:
                if one is not other and one[0] == other[0]:
                    self.check_pair(one, other)
        for path, number, called, returned in self.reads:
            self.check_read(path, number, called, returned)
        return self.wrong

    def check_pair(self, one, other):
        if one[1] != other[1]:
            if one[2] == other[2]:
                self.complain(f"two clients have one token: {one} {other}")
            if one[4] < other[5] and other[4] < one[5]:
                self.complain(f"granted twice: {one} {other}")
        if one[4] < other[3] and one[2] > other[2]:
            self.complain(f"a later grant has a smaller token: {one} {other}")

    def check_read(self, path, number, called, returned):
        """Nothing is read that was overwritten before the call, or written after it."""
        put = next((put for put in self.puts if put[1] == number), None)
        since = -1.0 if put is None else put[3]
        if put is not None and put[2] > returned:
            self.complain(f"{number} was read before it was put")
        for other in self.puts:
            if (other[0] == path and other[3] is not None and other[3] < called
                    and since is not None and other[2] > since):
                self.complain(f"{number} was read at {path} after {other[1]} was put")
                return


class Unknown(Exception):
    """No answer, or one that leaves the outcome open."""


class Client(threading.Thread):
    def __init__(self, services, notes, number, seed):
        super().__init__()
        self.services, self.notes = services, notes
        self.name_ = f"c{seed}-{number}"  # the store keeps what clients of former cases have put
        self.random = random.Random(seed)
        self.is_over = False
        self.cycles = 0
        self.puts = 0
        self.wire = None
        self.address = None

    def say(self, *words):
        """One call, at whichever service answers it."""
        try:
            if self.wire is None:
                address = self.address or self.random.choice(self.services.members).resp
                self.address = None
                self.wire = Resp(address)
                self.wire.socket.settimeout(4)
            answer = self.wire.call(*words)
        except (OSError, Closed) as error:
            self.leave()
            raise Unknown() from error
        if isinstance(answer, Refused) and str(answer).startswith(("MOVED", "UNAVAILABLE")):
            self.leave()
            if str(answer).startswith("MOVED"):
                _, slot, leader = str(answer).split()
                host, port = leader.rsplit(":", 1)
                assert slot == "0"
                self.address = (host, int(port))
            raise Unknown()
        return answer

    def leave(self):
        if self.wire is not None:
            self.wire.close()
        self.wire = None
        time.sleep(0.01)

    def insist(self, *words):
        """The same call until it is answered; the last call's time, and the answer."""
        while True:
            called = time.monotonic()
            try:
                return called, self.say(*words)
            except Unknown:
                if self.is_over:
                    raise

    def run(self):
        try:
            while not self.is_over:
                self.cycle(self.random.choice(PATHS))
        except Unknown:
            pass
        except Exception:
            self.notes.complain(traceback.format_exc())
        self.leave()

    def read(self, path):
        called, value = self.insist("GET", path)
        if not isinstance(value, Refused):
            self.notes.reads.append((path, value, called, time.monotonic()))

    def cycle(self, path):
        self.read(path)
        asked = time.monotonic()
        called, answer = self.insist("ACQUIRE", path, "OWNER", self.name_, "TTL", TTL_MS)
        answer = as_map(answer) if isinstance(answer, list) else {}
        if answer.get("status") != "granted":
            time.sleep(0.01)
            return
        token = answer["token"]
        grant = [path, self.name_, token, asked, time.monotonic(), called + TTL_MS / 1000]
        self.notes.grants.append(grant)
        for _ in range(self.random.randrange(4)):
            self.put(path, token, grant)
            self.read(path)
        grant[5] = min(grant[5], time.monotonic())
        self.insist("RELEASE", path, "OWNER", self.name_, "TOKEN", token)
        self.cycles += 1

    def put(self, path, token, grant):
        self.puts += 1
        note = [path, f"{self.name_}.{self.puts}", time.monotonic(), None]
        self.notes.puts.append(note)
        _, answer = self.insist("PUT", path, note[1], "OWNER", self.name_, "TOKEN", token)
        if answer == "OK":
            note[3] = time.monotonic()
        elif time.monotonic() < grant[5]:
            self.notes.complain(f"{self.name_} holds {path}, and its put is {answer}")


# ---- the cases ------------------------------------------------------------------------------------


def others_name_the_leader(services):
    """a service that does not lead sends its clients to the one that does"""
    leader, others = services.followers()
    address = "%s:%d" % leader.resp
    for member in others:
        wire = Resp(member.resp)
        for words in (["ACQUIRE", "x"], ["GET", "x"], ["LIST"], ["PUSH", "q", "1"], ["EVENTS"],
                      ["WATCH"], ["WATCH", "x", "AFTER", 1], ["SUBSCRIBE", "x"], ["PSUBSCRIBE", "*"]):
            assert str(wire.call(*words)) == f"MOVED 0 {address}", wire.call(*words)
        assert wire.call("PING") == "PONG"
        wire.close()
        status, text = member.ready()
        assert status == 503 and address in text, (status, text)
        wire = Http(member.http)
        for path in ("/v1/requests?prefix=x", "/v1/events?prefix=x&after=7", "/"):
            status, headers, body = wire.call("GET", path)
            assert status == 307 and body["status"] == "unavailable", (path, status, body)
            assert headers["location"] == "http://%s:%d%s" % (*leader.http, path), headers
        wire.close()


def each_says_who_leads(services):
    """INFO, the metrics and lk doctor say of each service whether it leads, and who does"""
    leader, others = services.followers()
    address = "%s:%d" % leader.resp
    info = leader.info()
    assert (info["role"], info["is_leader"], info["leader"]) == ("master", "1", address), info
    assert (info["caught_up"], int(info["takeovers"]) > 0) == ("1", True), info
    for member in others:
        until(lambda member=member: member.info()["caught_up"] == "1")
        told = member.info()
        assert (told["role"], told["is_leader"], told["leader"]) == ("slave", "0", address), told
        assert (told["epoch"], told["loading"]) == (info["epoch"], "0"), (told, info)
    for member in services.members:
        doctor = subprocess.run([sys.argv[1], "-S", "lk://%s:%d" % member.resp, "doctor", "-v"],
                                capture_output=True, text=True, check=False).stdout
        lines = [" ".join(line.split()) for line in doctor.splitlines()]
        for line in (f"is_leader: {int(member is leader)}", f"leader: {address}",
                     f"epoch: {info['epoch']}"):
            assert line in lines, (line, doctor)


def a_leader_elsewhere_is_refused(services):
    """no client is granted anything by the service at a wrong --advertise, and the error names it"""
    leader = services.leader()
    others = [member for member in services.members if member is not leader]
    stranger, port = free_ports(2)
    for member in services.members:
        assert member.end() == 0
    alone = subprocess.Popen([leader.program, "serve", "--ephemeral", "--listen", f"127.0.0.1:{stranger}",
                              "--http", "none"], stdout=subprocess.PIPE, text=True)
    atexit.register(alone.kill)
    assert alone.stdout.readline().strip() == f"lk://127.0.0.1:{stranger}"
    try:
        refuses_the_leader_at(leader, others[0], f"127.0.0.1:{stranger}", 1, "has a store of its own")
        refuses_the_leader_at(leader, others[0], f"127.0.0.1:{port}", 2, "Connection refused")
    finally:
        alone.kill()
        alone.wait()
        alone.stdout.close()
    for member in services.members:
        member.start()
    services.leader()


def is_loading(member):
    wire = Resp(member.resp)
    info = wire.call("INFO")
    wire.close()
    return "\nloading:1\r" in info


def doctor_reports_without_a_leader(services):
    """lk doctor reports on one of the services where none of them can reach the store"""
    ways = [member.way for member in services.members if member.way is not None]
    for way in ways:
        os.kill(way.process.pid, signal.SIGSTOP)
    try:
        until(lambda: not ways or all(map(is_loading, services.members)))
        hosts = ",".join("%s:%d" % member.resp for member in services.members)
        doctor = subprocess.run([sys.argv[1], "-S", f"lk://{hosts}", "doctor", "-v"],
                                capture_output=True, text=True, check=False)
        assert re.search(f"^loading: *{int(ways != [])}$", doctor.stdout, re.M), doctor
    finally:
        for way in ways:
            os.kill(way.process.pid, signal.SIGCONT)
    services.leader()


def run_briefly(member, hosts):
    return subprocess.run([member.program, "-S", f"lk://{hosts}", "run", "--wait", "2s", "y", "--", "echo", "ran"],
                          capture_output=True, text=True, check=False)


def refuses_the_leader_at(leader, follower, address, count, reason):
    """One service leads and advertises that address; clients find out at another one."""
    leader.options = (*type(leader).options, "--advertise", address)
    leader.start()
    until(lambda: leader.ready()[0] == 200)
    del leader.options
    follower.start()
    until(lambda: address in follower.ready()[1])
    host = "%s:%d" % follower.resp
    asked = run_briefly(leader, ",".join(count * [host]))
    said = f"{host} says that {address} leads, which cannot be used: "
    assert (asked.returncode, asked.stdout) == (69, ""), asked
    assert said in asked.stderr and reason in asked.stderr and "--advertise" in asked.stderr, asked
    found = run_briefly(leader, "%s,%s:%d" % (host, *leader.resp))
    assert (found.returncode, found.stdout) == (0, "ran\n"), found
    assert follower.end() == 0 and leader.end() == 0


class Stream(Http):
    """Server-sent events."""

    def __init__(self, address, after=0):
        super().__init__(address)
        self.ask("GET", f"/v1/events?prefix=w&after={after}")
        assert self.head()[0] == 200

    def event(self):
        """The number and the kind of the next event; Closed: the stream has ended."""
        while (found := re.search(rb"id: (\d+)\nevent: (\w+)\ndata: .*\n\n", self.bytes)) is None:
            self.fill()
        self.bytes = self.bytes[found.end():]
        return int(found[1]), found[2].decode()


def watch(member, after=0):
    """A connection that gets events as pushes."""
    wire = Resp(member.resp, version=3)
    assert wire.call("WATCH", "w", "AFTER", after) == "OK"
    return wire


def is_closed(wire):
    try:
        while True:
            wire.fill()
    except Closed:
        return True


def watchers_find_the_next_leader(services):
    """one that was replaced ends its watches and waits, and watchers go on behind what they saw"""
    leader = services.leader()
    wire = Resp(leader.resp)
    watches = [watch(leader), Stream(leader.http)]
    wire.call("ACQUIRE", "w", "OWNER", "one", "TTL", 600000)
    push = watches[0].value()
    assert push[:2] == ("push", "event") and push[3]["event"] == "granted", push
    assert watches[1].event() == (push[3]["sequence"], "granted")
    wire.put("ACQUIRE", "w", "OWNER", "two", "WAIT", 600000)
    assert watches[0].value()[3]["event"] == "queued"
    number, kind = watches[1].event()
    assert kind == "queued"
    os.kill(leader.process.pid, signal.SIGSTOP)
    members, services.members = services.members, [m for m in services.members if m is not leader]
    new = services.leader()
    services.members = members
    other = Resp(new.resp)
    assert other.call("RELEASE", "w", "OWNER", "one") == "OK"
    os.kill(leader.process.pid, signal.SIGCONT)
    assert str(wire.value()).startswith("UNAVAILABLE")
    until(lambda: str(wire.call("WATCH", "w")) == "MOVED 0 %s:%d" % new.resp)
    assert all(is_closed(each) for each in watches)
    for each in watches:
        each.close()
    watches = [watch(new, number), Stream(new.http, number)]
    push = watches[0].value()[3]
    assert (push["sequence"], push["event"]) == (number + 1, "released"), push
    assert watches[1].event() == (number + 1, "released")
    for each in (wire, other, *watches):
        each.close()


def what_is_acknowledged_stays(services):
    """a lease, a value and an item outlive the service that granted them"""
    leader = services.leader()
    epoch = int(leader.info()["epoch"])
    wire = Resp(leader.resp)
    granted = as_map(wire.call("ACQUIRE", "kept", "OWNER", "one", "TTL", 600000))
    assert granted["status"] == "granted"
    assert wire.call("PUT", "kept", "text", "OWNER", "one") == "OK"
    assert wire.call("PUSH", "work", "7", "VALUE", "do") == 1
    wire.close()
    assert leader.end(signal.SIGKILL) == -signal.SIGKILL
    members, services.members = services.members, [m for m in services.members if m is not leader]
    new = services.leader()
    assert int(new.info()["epoch"]) > epoch and int(new.info()["takeovers"]) > 0
    wire = Resp(new.resp)
    again = as_map(wire.call("ACQUIRE", "kept", "OWNER", "one", "TTL", 600000))
    assert again["token"] == granted["token"], (granted, again)
    assert as_map(wire.call("ACQUIRE", "kept", "OWNER", "two"))["status"] == "busy"
    assert wire.call("GET", "kept") == "text"
    assert as_map(wire.call("CLAIM", "work"))["id"] == "7"
    wire.close()
    services.members = members
    leader.start()


def hand_over_waits_for_no_lease(services):
    """one that is terminated hands over at once, whatever its clients do, and ends with 0"""
    services.restart(NEVER_MS)
    leader = services.leader()
    wire = Resp(leader.resp)
    assert as_map(wire.call("ACQUIRE", "x", "OWNER", "one", "TTL", 600000))["status"] == "granted"
    assert as_map(wire.call("ACQUIRE", "bound", "OWNER", "b", "BOUND"))["status"] == "granted"
    wire.put("ACQUIRE", "x", "OWNER", "two", "WAIT", 600000)
    idle = Http(leader.http)
    assert idle.call("GET", "/healthz")[0] == 200
    deaf = Resp(leader.resp)  # never reads what it asked for
    deaf.socket.settimeout(0.5)
    try:
        while True:
            deaf.send(Resp.request("PING", "x" * 100000))
    except TimeoutError:
        pass
    others = [wire, idle, deaf, watch(leader), Stream(leader.http)]
    members, services.members = services.members, [m for m in services.members if m is not leader]
    begun = time.monotonic()
    leader.process.send_signal(signal.SIGTERM)
    new = services.leader()
    print(f"# handed over in {(time.monotonic() - begun) * 1000:.0f} ms")
    assert leader.end() == 0
    assert str(wire.value()).startswith("UNAVAILABLE") and is_closed(others[3]) and is_closed(others[4])
    for each in others:
        each.close()
    wire = Resp(new.resp)
    assert as_map(wire.call("ACQUIRE", "bound", "OWNER", "other"))["status"] == "granted"
    assert as_map(wire.call("ACQUIRE", "x", "OWNER", "one"))["status"] == "granted"
    wire.close()
    services.members = members
    leader.start(NEVER_MS)


def hurt(services, fault):
    leader = services.leader()
    if fault == "stop":
        os.kill(leader.process.pid, signal.SIGSTOP)
        time.sleep(2.5 * FAILOVER_MS / 1000)
        os.kill(leader.process.pid, signal.SIGCONT)
    elif fault == "cut":
        os.kill(leader.way.process.pid, signal.SIGSTOP)
        until(lambda: services.leader() is not leader)
        time.sleep(FAILOVER_MS / 1000)
        os.kill(leader.way.process.pid, signal.SIGCONT)
    elif fault == "database":
        subprocess.run([services.database_restart], check=True)
    else:
        code = leader.end(signal.SIGKILL if fault == "kill" else signal.SIGTERM)
        assert code == (0 if fault == "terminate" else -signal.SIGKILL), (fault, code)
        leader.start(FAILOVER_MS)
    time.sleep(0.5)


def clients_see_nothing_false(services):
    """while the one that leads or the database fails, no client sees what must not be"""
    kinds = ["kill", "stop", "terminate"]
    kinds += ["cut"] if services.members[0].way is not None else []
    kinds += ["database"] if services.database_restart is not None else []
    seed = int(os.environ.get("LK_TEST_SEED", random.randrange(1 << 30)))
    count = max(len(kinds), FAULTS * int(os.environ.get("LK_TEST_SCALE", 100)) // 100)
    print(f"# LK_TEST_SEED={seed}")
    choice = random.Random(seed)
    faults = kinds + [choice.choice(kinds) for _ in range(count - len(kinds))]
    choice.shuffle(faults)
    watch_clients(services, seed, faults, hurt)


def watch_clients(services, seed, faults, hurt):
    """Clients note what they see while hurt(services, fault) is called for one fault after the other."""
    services.restart(FAILOVER_MS)
    notes = Notes()
    clients = [Client(services, notes, i, seed + i) for i in range(CLIENTS)]
    for client in clients:
        client.start()
    try:
        for fault in faults:
            hurt(services, fault)
        before = [client.cycles for client in clients]
        until(lambda: all(c.cycles > b for c, b in zip(clients, before)) or notes.wrong)
    finally:
        for client in clients:
            client.is_over = True
        for client in clients:
            client.join(60)
    wrong = notes.check()
    print(f"# {len(faults)} faults, {len(notes.grants)} grants, {len(notes.puts)} puts, "
          f"{len(notes.reads)} reads")
    assert not wrong, "\n".join(wrong[:5])


CASES = [others_name_the_leader, each_says_who_leads, a_leader_elsewhere_is_refused,
         doctor_reports_without_a_leader, watchers_find_the_next_leader, what_is_acknowledged_stays,
         hand_over_waits_for_no_lease, clients_see_nothing_false]


def run(services, cases):
    """Each case is a function of the services."""
    try:
        code = tap_cases.run(cases, services)
    finally:
        for member in services.members:
            for each in (member, member.way):
                if each is not None and each.process is not None:
                    each.process.kill()
    sys.exit(code)


if __name__ == "__main__":
    run(Services(*sys.argv[1:]), CASES)
