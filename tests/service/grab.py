#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""The interface of "grab" at /grab/ (docs/grab.md): its answers, a farm of builds over it, lk beside
it on the same locks, a soft shutdown and a restart, and what is refused. LK"""

import base64
import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import threading
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "listeners"))
from service import Closed, Http, Refused, Resp, Service, as_map, run, until  # noqa: E402

TTL_MS = 60000
TREE = ["farm", "farm/1", "farm/2", "farm/1/x", "farm/1/y"]
# What the old client's library sends besides.
OF_OLD_CLIENT = ("Accept-Encoding: identity", "User-Agent: Python-urllib/2.7", "Connection: close")


def now_ms():
    return int(time.time() * 1000)


def ask(service, target, method="GET", headers=(), body=b""):
    wire = Http(service.http)
    status, _, answer = wire.call(method, target, body, headers)
    wire.close()
    return status, answer


def grab(service, resource, owner, op="grab", ends=None):
    """One operation as the old client sends it; its answer."""
    target = f"/grab/{resource}?id={owner}&op={op}" + (f"&until={ends}" if ends is not None else "")
    status, answer = ask(service, target, headers=OF_OLD_CLIENT)
    assert status == 200, (target, status, answer)
    assert list(answer) == ["op", "id", "resource", "status", "data"], answer
    assert answer["op"] == op and answer["id"] == f"{owner}/{resource}", answer
    assert answer["resource"] == f"/{resource}", answer
    return answer


def stands(service, resource, owner):
    answer = grab(service, resource, owner)
    return answer["status"], answer["data"]["pos"]


def release(service, resource, owner):
    answer = grab(service, resource, owner, "release")
    assert answer["status"] == "ok", answer
    return answer["data"]


def lk(service, *words, code=0):
    host, port = service.resp
    done = subprocess.run([sys.argv[1], "-S", f"lk://{host}:{port}", *words], text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False)
    assert done.returncode == code, (words, done.returncode, done.stdout)
    return done.stdout


def queues(service):
    """tests share a parent, a reset has it alone, and nothing overtakes; positions say so"""
    assert stands(service, "db/t1", "a") == ("ok", {"/db": 1, "/db/t1": 1})
    assert stands(service, "db/t2", "b") == ("ok", {"/db": 1, "/db/t2": 1})
    assert stands(service, "db", "reset") == ("wait", {"/db": 2})
    assert stands(service, "db/t3", "c") == ("wait", {"/db": 3, "/db/t3": 1})
    assert stands(service, "db/t1", "d") == ("wait", {"/db": 3, "/db/t1": 2})
    assert stands(service, "db", "reset") == ("wait", {"/db": 2}), "polling keeps the place"
    assert release(service, "db/t1", "a") == 1, "/db/t1 moves on, /db does not"
    assert stands(service, "db", "reset") == ("wait", {"/db": 2})
    assert release(service, "db/t2", "b") == 2
    assert stands(service, "db/t3", "c") == ("wait", {"/db": 2, "/db/t3": 1})
    assert stands(service, "db", "reset") == ("ok", {"/db": 1})
    assert release(service, "db", "reset") == 1
    assert stands(service, "db/t3", "c") == ("ok", {"/db": 1, "/db/t3": 1})
    assert stands(service, "db/t1", "d") == ("ok", {"/db": 1, "/db/t1": 1})
    assert release(service, "db/t3", "c") == 1 and release(service, "db/t1", "d") == 2
    assert release(service, "db/t1", "d") == 0, "what is not there is released"


def own_ways(service):
    """one id waits for itself at another path, and a waiter that leaves lets others by"""
    assert stands(service, "own", "me") == ("ok", {"/own": 1})
    assert stands(service, "own/1", "me") == ("wait", {"/own": 2, "/own/1": 1})
    assert stands(service, "own", "you") == ("wait", {"/own": 3})
    assert release(service, "own/1", "me") == 1, "that queue is empty"
    assert stands(service, "own", "you") == ("wait", {"/own": 2})
    assert release(service, "own", "me") == 1
    assert stands(service, "own", "you") == ("ok", {"/own": 1})
    assert release(service, "own", "you") == 1


def looks(service):
    """peek, dump, stats and config tell who holds, who waits and since when"""
    began = now_ms()
    grab(service, "look/1", "a")
    grab(service, "look", "b")
    head = grab(service, "look", "x", "peek")["data"]
    assert head["/look"]["shared"] is True and head["/look"]["exes"] == {}, head
    assert list(head["/look"]["owners"]) == ["a/look/1"], head
    since = head["/look"]["owners"]["a/look/1"]
    assert began - 1 <= since <= now_ms() + 1 and head["/look"]["max_timestamp"] == since, head
    assert list(grab(service, "look/1", "x", "peek")["data"]) == ["/look", "/look/1"]
    status, dump = ask(service, "/grab/?op=dump&_=1")
    assert status == 200 and dump["id"] == "unknown/" and dump["resource"] == "/", dump
    assert set(dump["data"]) == {"config", "stats", "queues"}
    groups = dump["data"]["queues"]["/look"]
    assert [list(group["owners"]) for group in groups] == [["a/look/1"], ["b/look"]], groups
    assert [group["shared"] for group in groups] == [True, False]
    stats = grab(service, "look", "x", "stats")["data"]
    assert stats["by_owner"]["a/look/1"] == 2 and stats["by_lock"]["/look"] == 2, stats
    assert stats["total"] >= 3 and stats["max_queue_length"] >= 2 and stats["uptime"] >= 0
    config = grab(service, "look", "x", "config")["data"]
    assert config["timeout"] == TTL_MS and (config["host"], config["port"]) == service.http, config
    assert set(config) == {"help", "timestamp", "hash", "static_content", "version", "debug", "port",
                           "host", "gc_interval", "timeout"}
    assert ask(service, "/grab/look")[1]["op"] == "peek", "without an operation"
    release(service, "look/1", "a")
    release(service, "look", "b")


def life(service):
    """each grab sets the end again: 60 s from now, or from `until`, and a later one is told"""
    first = grab(service, "life", "a")["data"]["until"]
    assert abs(first - now_ms()) < 60000, first
    until(lambda: grab(service, "life", "a")["data"]["until"] > first)
    freeze = now_ms() + 14 * 24 * 3600 * 1000
    assert abs(grab(service, "life", "a", ends=freeze)["data"]["until"] - freeze) <= 1
    entry = ask(service, "/v1/requests/life")[1]["requests"][0]
    assert abs(entry["expires_in_ms"] - TTL_MS - 14 * 24 * 3600 * 1000) < 60000, entry
    told = grab(service, "life", "b")
    assert told["status"] == "wait" and abs(told["data"]["until"] - freeze) <= 1, told
    beside = grab(service, "life/1", "c")["data"]
    assert abs(beside["until"] - freeze) <= 1, "the wait is for the holder of the parent"
    far = now_ms() + 99 * 7 * 24 * 3600 * 1000
    cut = grab(service, "life", "a", ends=far)["data"]["until"]
    assert abs(cut + TTL_MS - now_ms() - 366 * 24 * 3600 * 1000) < 60000, "R11: at most 366 days"
    assert abs(grab(service, "life", "a")["data"]["until"] - now_ms()) < 60000, "shorter again"
    for resource, owner in (("life", "a"), ("life", "b"), ("life/1", "c")):
        release(service, resource, owner)
    # A holder elsewhere below the same parent is not waited for, so its end is not told.
    grab(service, "side/1", "a", ends=freeze)
    grab(service, "side/2", "b")
    assert grab(service, "side/2", "c")["data"]["until"] < now_ms() + 60000
    for resource, owner in (("side/1", "a"), ("side/2", "b"), ("side/2", "c")):
        release(service, resource, owner)


def killed(service):
    """a build that is killed, held or in line, is gone after its ttl"""
    assert grab(service, "dead", "a", ends=now_ms() - TTL_MS + 2000)["status"] == "ok"
    grab(service, "dead", "b", ends=now_ms() - TTL_MS + 2000)
    until(lambda: grab(service, "dead", "c")["status"] == "ok")
    assert list(grab(service, "dead", "x", "peek")["data"]["/dead"]["owners"]) == ["c/dead"]
    release(service, "dead", "c")


class Farm:
    """Builds and commands of lk that share a tree. `inside` has who is at work, and on what."""

    def __init__(self, service, store):
        self.service = service  # another one after a restart
        self.store = store
        self.lock = threading.Lock()
        self.inside = {}
        self.done = []
        self.wrong = []
        self.are_killed = True
        self.dying = 0  # builds that are being killed
        self.last_end = 0  # of what killed builds have left

    def enter(self, owner, resource):
        with self.lock:
            for other, held in self.inside.items():
                if f"{held}/".startswith(f"{resource}/") or f"{resource}/".startswith(f"{held}/"):
                    self.wrong.append((owner, resource, other, held))
            self.inside[owner] = resource

    def leave(self, owner):
        with self.lock:
            self.done.append((owner, self.inside.pop(owner)))

    def call(self, owner, resource, op, ends=""):
        """One operation, as often as it needs to be answered."""
        while True:
            try:
                code, answer = ask(self.service, f"/grab/{resource}?id={owner}&op={op}{ends}",
                                   headers=OF_OLD_CLIENT)
                if code != 503:  # which is what a service that is ending answers
                    return answer["status"]
            except (OSError, Closed):
                pass  # the service is not there just now
            time.sleep(0.01)

    def build(self, owner, choice):
        for _ in range(6):
            resource = choice.choice(TREE)
            until(lambda: self.call(owner, resource, "grab") == "ok")
            self.enter(owner, resource)
            time.sleep(choice.random() / 100)
            kept = self.call(owner, resource, "grab")
            assert kept == "ok", f"kept by polling, but {kept}"
            with self.lock:
                is_killed = self.are_killed and choice.random() < 0.2
                self.dying += is_killed
            self.leave(owner)
            if is_killed:
                self.kill(owner, resource)
            else:
                assert self.call(owner, resource, "release") == "ok"

    def kill(self, owner, resource):
        """It is not released: it ends when it was last polled to, which may not have passed yet."""
        until(lambda: self.call(owner, resource, "grab", f"&until={now_ms() - TTL_MS + 100}")
              in ("ok", "wait"))
        with self.lock:
            self.last_end = max(self.last_end, now_ms() + 100)
            self.dying -= 1

    def run_command(self, owner, resource):
        """`lk run`, its command inside; started as often as it finds no service to wait at."""
        while True:
            lk_run = subprocess.Popen(
                [sys.argv[1], "-S", self.store, "run", resource, "--owner", owner, "--ttl", "20s", "--",
                 "sh", "-c", "echo inside; cat"],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
            if lk_run.stdout.readline() == "inside\n":
                return lk_run
            _, messages = lk_run.communicate()
            assert messages.startswith("lk: UNAVAILABLE"), messages
            time.sleep(0.01)

    def command(self, owner, choice):
        for _ in range(6):
            resource = choice.choice(TREE)
            lk_run = self.run_command(owner, resource)
            self.enter(owner, resource)
            self.leave(owner)
            _, messages = lk_run.communicate()
            assert lk_run.returncode == 0, messages

    def start(self):
        threads = []
        for number in range(10):
            play, owner = (self.build, f"b{number}") if number < 8 else (self.command, f"lk{number}")
            arguments = (play, owner, random.Random(number))
            threads.append(threading.Thread(target=self.play, args=arguments))
            threads[-1].start()
        return threads

    def play(self, play, owner, choice):
        try:
            play(owner, choice)
        except Exception as problem:  # the thread's own traceback would not fail the test
            self.wrong.append((owner, repr(problem)))


def farm(service):
    """a farm of builds, some killed, beside lk: no overlaps, and a soft restart loses no lock"""
    del service
    with tempfile.TemporaryDirectory(prefix="lk-grab-") as place:
        options = ("--grab", "--unix", os.path.join(place, "socket"))
        own = Service(sys.argv[1], *options, durable=True, place=place)
        freeze = now_ms() + 14 * 24 * 3600 * 1000
        assert grab(own, "frozen", "f", ends=freeze)["status"] == "ok"
        builds = Farm(own, f"lk+unix:{place}/socket")
        threads = builds.start()
        until(lambda: len(builds.done) >= 12 or builds.wrong)
        builds.are_killed = False
        until(lambda: (not builds.dying and now_ms() > builds.last_end) or builds.wrong)
        assert grab(own, "any", "x", "shutdown")["status"] == "wait"
        assert grab(own, "other", "new")["status"] == "shutdown"
        assert own.end() == 0
        builds.service = Service(sys.argv[1], *options, durable=True, place=place)
        builds.are_killed = True
        for thread in threads:
            thread.join()
        assert not builds.wrong, builds.wrong
        assert len(builds.done) == 10 * 6
        until(lambda: grab(builds.service, "farm", "x", "peek")["data"] == {})
        kept = grab(builds.service, "frozen", "x", "peek")["data"]["/frozen"]["owners"]
        assert abs(kept["f/frozen"] - freeze) <= 1, kept
        assert builds.service.end() == 0


def beside_lk(service):
    """lk waits for builds and they for it, and shows them as it shows its own"""
    assert grab(service, "both/1", "a")["status"] == "ok"
    assert "a/both/1" in lk(service, "ls", "both")
    lk(service, "acquire", "--try", "both", "--owner", "o", code=75)
    waiter = subprocess.Popen([sys.argv[1], "-S", "lk://%s:%d" % service.resp, "run", "both", "--",
                               "echo", "it is mine"], stdout=subprocess.PIPE, text=True)
    until(lambda: "waiting" in lk(service, "ls", "both"))
    assert stands(service, "both/2", "b") == ("wait", {"/both": 3, "/both/2": 1})
    shown = lk(service, "show", "both")
    assert "a/both/1 holds both/1" in shown and "b/both/2" in shown, shown
    release(service, "both/1", "a")
    assert waiter.communicate()[0] == "it is mine\n" and waiter.returncode == 0
    until(lambda: stands(service, "both/2", "b") == ("ok", {"/both": 1, "/both/2": 1}))
    release(service, "both/2", "b")
    # Readers of a tree, which the old service did not have, stand in front of its writers.
    lk(service, "acquire", "both?shared", "--owner", "reader")
    assert stands(service, "both/1", "a") == ("wait", {"/both": 2, "/both/1": 1})
    assert grab(service, "both", "x", "peek")["data"]["/both"]["shared"] is True
    lk(service, "release", "both?shared", "--owner", "reader")
    assert stands(service, "both/1", "a")[0] == "ok"
    # A break is told to the build that had the lock.
    lk(service, "break", "both/1", "--now", "--reason", "test")
    assert stands(service, "both/1", "b")[0] == "ok"
    release(service, "both/1", "b")


def hostile(service):
    """what makes no sense is refused, and takes nothing"""
    bad = ["hx?op=grab", "hx?id=&op=grab", "hx?id=unknown&op=grab", "hx?op=release", "?id=a&op=grab",
           "hx?id=a%2Fb&op=grab", "hx?id=a%0Ab&op=grab", "hx?id=a%00&op=grab", "hx?id=a+b&op=grab",
           "hx?id=a&op=nosuch", "hx?id=a&op=GRAB", "hx?id=a&op=", "hx?id=a&op=grab&op=grab",
           "hx?id=a&id=b&op=grab", "hx?id=a&op=grab&until=1&until=2", "hx?id=a&op=grab&until=abc",
           "hx?id=a&op=grab&until=-1", "hx?id=a&op=grab&until=1e3", "hx?id=a&op=grab&until=",
           "hx?id=a&op=grab&until=0", "hx?id=a&op=grab&until=9999999999999999", "hx?id",
           "hx?id=a&op=grab&until=99999999999999999999", f"hx?id=a&op=grab&until={now_ms() - 61000}",
           "hx//y?id=a&op=grab", "../hx?id=a&op=grab", "hx/./y?id=a&op=grab", "//?op=peek",
           "hx%20y?id=a&op=grab", "hx%00?id=a&op=grab", "hx%zz?id=a&op=grab", "hx%FF?id=a&op=grab",
           "hx?id=%FF&op=grab", "hx?id=a%C3&op=release", "hx?id=%C0%AF&op=grab", "hx?id=%FF&op=peek",
           "hx?id=%ED%A0%80&op=grab",
           f"hx?id={'i' * 129}&op=grab", f"hx?id={'i' * 126}&op=grab", f"hx?id={'i' * 9000}&op=grab",
           f"{'p' * 513}?id=a&op=grab", f"{'p/' * 32}p?id=a&op=grab", "hx%7Bid%7D?id=a&op=grab"]
    for target in bad:
        status, answer = ask(service, f"/grab/{target}")
        assert status == 400 and answer["status"] == "invalid" and answer["error"], (target, answer)
    for op in ("grab", "release"):  # the name of a connection of RESP
        status, answer = ask(service, f"/grab/hx?id=conn:1.1&op={op}")
        assert status == 403 and answer["status"] == "denied", answer
    for method in ("POST", "PUT", "DELETE", "OPTIONS", "PATCH"):
        status, answer = ask(service, "/grab/hx?id=a&op=grab", method)
        assert status == 405 and answer["error"], (method, answer)
    wire = Http(service.http)
    wire.ask("HEAD", "/grab/hx?id=a&op=grab")
    status, headers = wire.head()
    wire.close()
    assert status == 405 and headers["allow"] == "GET", headers
    for target in ("/grab", "/grabx/hx?id=a&op=grab", "/Grab/hx?id=a&op=grab"):
        assert ask(service, target)[0] == 404, target
    assert not [path for path in ask(service, "/grab/?op=dump")[1]["data"]["queues"] if "h" in path]
    # Names that JSON must escape, a slash more, and the longest id.
    status, answer = ask(service, '/grab/q%22%5C/%C3%A9/?id=%22i&op=grab')
    assert status == 200 and answer["data"]["pos"] == {'/q"\\': 1, '/q"\\/é': 1}, answer
    assert ask(service, '/grab/q"?op=peek'.replace('"', "%22%5C"))[1]["data"]['/q"\\']["owners"]
    assert ask(service, "/grab/q%22%5C/%C3%A9?id=%22i&op=release")[1]["data"] == 2
    assert ask(service, "/grab/hx?id=%C3%A9&op=grab")[1]["id"] == "é/hx"
    assert ask(service, "/grab/hx?id=%C3%A9&op=release")[1]["data"] == 1
    assert ask(service, f"/grab/hx?id={'i' * 125}&op=grab")[1]["status"] == "ok"
    assert ask(service, f"/grab/hx?id={'i' * 125}&op=release")[1]["data"] == 1


def browsers(service):
    """a page of another site cannot use it, although a GET changes locks"""
    mozilla = "User-Agent: Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0"
    for headers in (("Sec-Fetch-Site: cross-site",), ("Sec-Fetch-Site: same-site",), (mozilla,),
                    (mozilla, "Sec-Fetch-Site: cross-site"), ("Sec-Fetch-Site: ",),
                    ("Origin: http://evil.example",), ("Host: evil.example",), ("Origin: null",)):
        for op in ("grab", "release", "shutdown"):
            status, answer = ask(service, f"/grab/page?id=a&op={op}", headers=headers)
            assert status == 403 and answer["status"] == "denied", (headers, answer)
    status, answer = ask(service, "/grab/?op=dump", headers=("Sec-Fetch-Site: cross-site",))
    assert status == 403, answer
    assert grab(service, "page", "x", "peek")["data"] == {}
    assert ask(service, "/grab/?op=dump", headers=(mozilla,))[0] == 200, "looking changes nothing"
    for site in ("same-origin", "none"):
        headers = (mozilla, f"Sec-Fetch-Site: {site}")
        assert ask(service, "/grab/page?id=a&op=grab", headers=headers)[0] == 200
    assert release(service, "page", "a") == 1


def crowd(service):
    """behind a crowd a build still learns its state, at a cost that is bounded"""
    wire = Resp(service.resp)
    count = 2100
    wire.send(b"".join(Resp.request("ACQUIRE", f"crowd/{n}", "OWNER", f"o{n}", "TTL", 600000)
                       for n in range(count)))
    assert all(not isinstance(wire.value(), Refused) for _ in range(count))
    status, pos = stands(service, "crowd", "a")
    assert (status, pos) == ("wait", {"/crowd": 2})
    assert stands(service, "crowd/1", "a") == ("wait", {"/crowd": 2, "/crowd/1": 2})
    assert stands(service, "beside", "a") == ("ok", {"/beside": 1})
    for resource, moved in (("crowd", 0), ("crowd/1", 0), ("beside", 1)):
        assert release(service, resource, "a") == moved, resource
    wire.send(b"".join(Resp.request("ACQUIRE", f"more/{n}", "OWNER", f"o{n}", "TTL", 600000)
                       for n in range(8000)))
    assert all(as_map(wire.value())["status"] == "granted" for _ in range(8000))
    status, answer = ask(service, "/grab/?op=dump")
    assert status == 429 and "pages" in answer["error"], str(answer)[:500]
    assert ask(service, "/grab/more?op=peek")[0] == 200
    assert ask(service, "/grab/crowd?op=peek")[0] == 200
    wire.close()


def bounds(service):
    """a bound of the service is a bound here (R22)"""
    own = Service(sys.argv[1], "--grab", "--bound", "live=1")
    assert stands(own, "a", "a")[0] == "ok"
    status, answer = ask(own, "/grab/b?id=b&op=grab")
    assert status == 429 and answer["status"] == "full", answer
    assert own.end() == 0


def password(service):
    """with a password each request needs it, as on the other routes"""
    with tempfile.NamedTemporaryFile("w", prefix="lk-grab-") as file:
        file.write("geheim\n")
        file.flush()
        own = Service(sys.argv[1], "--grab", "--password-file", file.name)
        for op in ("grab", "dump", "shutdown"):
            assert ask(own, f"/grab/x?id=a&op={op}")[0] == 401
        word = base64.b64encode(b"any:geheim").decode()
        status, answer = ask(own, "/grab/x?id=a&op=grab", headers=(f"Authorization: Basic {word}",))
        assert status == 200 and answer["status"] == "ok", answer
        assert own.end() == 0


def switched(service):
    """it is off unless it is asked for, on the command line, in a file or in the environment"""
    plain = Service(sys.argv[1])
    assert ask(plain, "/grab/x?id=a&op=grab")[0] == 404
    assert plain.end() == 0
    with tempfile.NamedTemporaryFile("w", prefix="lk-grab-") as file:
        file.write("grab = yes\n")
        file.flush()
        own = Service(sys.argv[1], "--config", file.name)
        assert stands(own, "x", "a")[0] == "ok"
        assert own.end() == 0
    done = subprocess.run([sys.argv[1], "serve", "--grab", "--http", "none", "--ephemeral"], text=True,
                          stderr=subprocess.PIPE, check=False)
    assert done.returncode == 64 and "--http" in done.stderr, done
    own = Service(sys.argv[1], starter=("env", "LK_SERVE_GRAB=yes"))
    assert stands(own, "x", "a")[0] == "ok"
    assert own.end() == 0


def shuts_down(service):
    """a shutdown takes nothing new, keeps what is there through a restart, and ends when all is free"""
    with tempfile.TemporaryDirectory(prefix="lk-grab-") as place:
        own = Service(sys.argv[1], "--grab", durable=True, place=place)
        assert stands(own, "s/1", "a")[0] == "ok"
        assert stands(own, "s", "b") == ("wait", {"/s": 2})
        freeze = now_ms() + 7 * 24 * 3600 * 1000
        assert grab(own, "frozen", "f", ends=freeze)["status"] == "ok"
        quiet = {"pos": {}, "until": 0}
        answer = grab(own, "any", "x", "shutdown")
        assert answer["status"] == "wait" and answer["data"] == quiet, answer
        answer = grab(own, "other", "new")
        assert answer["status"] == "shutdown" and answer["data"] == quiet, answer
        resp = Resp(own.resp)
        refused = resp.call("ACQUIRE", "other", "OWNER", "new")
        assert isinstance(refused, Refused) and str(refused).startswith("UNAVAILABLE"), refused
        assert isinstance(resp.call("CLAIM", "jobs", "OWNER", "new"), Refused)
        assert stands(own, "s", "b") == ("wait", {"/s": 2}), "what is in line stays"
        assert stands(own, "s/1", "a")[0] == "ok", "what is held stays"
        resp.close()
        assert own.end() == 0

        own = Service(sys.argv[1], "--grab", durable=True, place=place)
        assert stands(own, "s", "b") == ("wait", {"/s": 2})
        assert stands(own, "s/1", "a") == ("ok", {"/s": 1, "/s/1": 1})
        kept = grab(own, "frozen", "x", "peek")["data"]["/frozen"]["owners"]
        assert abs(kept["f/frozen"] - freeze) < 60000, kept
        assert stands(own, "other", "new")[0] == "ok", "the next service takes new ones"
        lk(own, "break", "other", "--reason", "test")
        status, answer = ask(own, "/grab/other?id=new&op=grab")
        assert status == 410 and answer["status"] == "lost", answer
        assert grab(own, "any", "x", "shutdown")["status"] == "wait"
        for resource, owner in (("s/1", "a"), ("frozen", "f"), ("other", "new")):
            release(own, resource, owner)
        assert stands(own, "s", "b") == ("ok", {"/s": 1}), "the next in line"
        assert grab(own, "any", "x", "shutdown")["status"] == "wait"
        release(own, "s", "b")
        answer = grab(own, "any", "x", "shutdown")
        assert answer["status"] == "ok" and answer["data"] == 0, answer
        assert own.process.wait(60) == 0
        own.process.stdout.close()
        assert os.path.exists(os.path.join(place, "locks.db"))


run([queues, own_ways, looks, life, killed, farm, beside_lk, hostile, browsers, bounds, password,
     switched, shuts_down, crowd], "--grab")
