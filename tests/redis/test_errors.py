#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What a server may refuse, lose or find in its keys, and what is said of it: test_errors.py LK [CASE]

Each case has servers of its own. Clients are the program `lk`: its answer, its sentence and its exit
code are what is looked at.
"""
import json
import os
import signal
import subprocess
import sys
import threading
import time

from with_servers import BUS, Servers, free_ports

# How many times longer than else times are, on a machine that is busy (tests/timed).
STRETCH = int(os.environ.get("LK_TEST_STRETCH", "1"))
EXITS = {"granted": 0, "ok": 0, "busy": 75, "lost": 78, "unavailable": 69, "denied": 77,
         "full": 73, "invalid": 64, "internal": 70, "unsupported": 79, "timeout": 75, "waiting": 75,
         "none": 1, "deadlock": 76}
RIGHTS = ["~*", "&lk:e:*", "+@read", "+@write", "+@pubsub", "+evalsha", "+script|load", "+info",
          "+time", "+wait", "+select", "+asking", "+cluster|slots"]  # as in docs/redis.md


class Wrong(Exception):
    pass


def expect(is_right, what):
    if not is_right:
        raise Wrong(what)


class Server(Servers):
    def __init__(self, program, has_tls=False):
        super().__init__(has_tls=has_tls)
        self.program = program

    def lk(self, *words, url=None, owner="me"):
        """The answer, or of a command that prints none what is on stderr; and the exit code."""
        result = subprocess.run([self.program, "-S", url or self.url, *words, "--json"],
                                capture_output=True, text=True, check=False, timeout=60 * STRETCH,
                                env={**os.environ, "LK_OWNER": owner})
        expect(result.returncode in EXITS.values(), f"{words}: exit {result.returncode}")
        try:
            answer = json.loads(result.stdout.splitlines()[-1])
        except (ValueError, IndexError):
            answer = {}
        answer.setdefault("error", result.stderr.strip())
        return {**answer, "exit": result.returncode}

    def lk_lines(self, *words):
        """What a listing prints, an object a line."""
        result = subprocess.run([self.program, "-S", self.url, *words, "--json"],
                                capture_output=True, text=True, check=False)
        return [json.loads(line) for line in result.stdout.splitlines()]

    def answers(self, status, *words, says="", **options):
        """The answer has this status and exit code, and its sentence says this."""
        answer = self.lk(*words, **options)
        expect(answer["exit"] == EXITS[status] and answer.get("status", status) == status,
               f"{words}: not {status}: {answer}")
        expect(says in answer["error"], f"{words}: '{says}' is not said: {answer}")
        return answer

    def path(self):
        return os.path.join(self.folder, "socket")

    def redis(self, *words):
        return self.cli("-s", self.path(), *words).strip()

    def single_with_port(self):
        """A server on a socket and a port; what is behind the @ of a URL."""
        port = free_ports(1)[0]
        self.single("--port", str(port), "--bind", "127.0.0.1")
        self.url = f"redis://127.0.0.1:{port}"
        return f"127.0.0.1:{port}"

    def restart(self, *options):
        """Kills the server and starts it again in the same folder."""
        self.processes[-1].kill()
        self.processes[-1].wait()
        folder = os.path.join(self.folder, "server")
        self.processes.append(subprocess.Popen(
            ["redis-server", "--dir", folder, "--save", "", "--logfile", "log", "--port", "0",
             "--unixsocket", self.path(), *options],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL))

    def wait_for_pong(self):
        self.wait("the server", lambda: "PONG" in self.redis("PING"))


# ---- access ----


def passwords(t):
    server = t.single_with_port()
    t.redis("CONFIG", "SET", "requirepass", "right-one")
    try_it = ("acquire", "--try", "x")
    t.answers("denied", *try_it, says="wants a password: redis://:PASSWORD@HOST")
    t.answers("denied", "ls", url=f"redis://default@{server}", says="?password-file=FILE")
    answer = t.answers("denied", *try_it, url=f"redis://:wrong-one@{server}",
                       says="refuses the URL's password")
    expect("wrong-one" not in json.dumps(answer), "the password is shown")
    t.answers("denied", *try_it, url=f"redis://unknown:right-one@{server}",
              says="does not know its user")
    t.answers("granted", *try_it, url=f"redis://:right-one@{server}")
    t.answers("granted", *try_it, url=f"redis://default:right-one@{server}")
    file = os.path.join(t.folder, "password")
    with open(file, "w", encoding="utf-8") as out:
        out.write("right-one\n")
    for url in (f"redis://{server}?password-file={file}",
                f"redis://default@{server}?password-file={file}"):
        t.answers("granted", *try_it, url=url)
        inner = subprocess.run([t.program, "-S", url, "run", "outer", "--", t.program, "get", "x"],
                               capture_output=True, text=True, check=False, cwd="/")
        expect(inner.returncode == EXITS["none"], f"a store inside a run: {inner}")
    t.answers("invalid", *try_it, url=f"redis://{server}?password-file=/nowhere", says="/nowhere")
    t.redis("--no-auth-warning", "-a", "right-one", "CONFIG", "SET", "requirepass", "")
    t.answers("denied", *try_it, url=f"redis://:right-one@{server}", says="has no password")


def rights(t):
    url = f"redis://weak:secret@{t.single_with_port()}"

    def weak(*rules):
        t.redis("ACL", "SETUSER", "weak", "reset", "on", ">secret", *rules)

    weak(*RIGHTS)
    t.answers("granted", "acquire", "--try", "x", "y", url=url)
    t.answers("ok", "put", "x", "value", url=url)
    t.answers("ok", "ls", url=url)
    t.answers("ok", "show", "x", url=url)
    t.answers("ok", "push", "queue", "1", url=url)
    t.answers("ok", "break", "y", "--reason", "a test", url=url)
    t.answers("ok", "release", "x", "y", url=url)
    t.answers("ok", "doctor", url=url)
    for missing in ("-evalsha", "-info", "-hset", "-hget", "-time"):
        weak(*RIGHTS, missing)
        t.answers("denied", "acquire", "--try", "z", url=url, says="the Redis server says: ")
    weak(*(rule.replace("~*", "~other*") for rule in RIGHTS))
    t.answers("denied", "acquire", "--try", "z", url=url, says="the Redis server says: ")
    weak(*RIGHTS, "-script|load")
    t.redis("SCRIPT", "FLUSH")
    t.answers("denied", "acquire", "--try", "z", url=url, says="script")


# ---- replicas ----


def wait_for_x(t, url):
    log = os.path.join(t.folder, "waiting.log")
    with open(log, "wb") as stderr:
        waiting = subprocess.Popen([t.program, "-S", url, "run", "x", "--", "true"], stderr=stderr)
    t.wait("the queue", lambda: any(each["state"] == "waiting" for each in t.lk_lines("ls")))
    return waiting, log


def granted_in_the_queue(t, url, wait_s):
    """What acquire ends with, and says, that is granted in the queue: it waits for so long in all."""
    t.answers("granted", "acquire", "x", owner="holder")
    waiting = subprocess.Popen([t.program, "-S", url, "acquire", "--wait", f"{wait_s}s", "x"],
                               stderr=subprocess.PIPE, text=True)
    t.wait("the queue", lambda: waiting.poll() is not None
           or any(each["state"] == "waiting" for each in t.lk_lines("ls")))
    t.answers("ok", "release", "x", owner="holder")
    return waiting.communicate(timeout=60 + wait_s)[1], waiting.returncode


def missing_replicas(t):
    """?replicas=1 without a replica: nothing waits for ever, and nothing stays held."""
    t.single()
    url = t.url + "?replicas=1"
    says = "too few replicas have confirmed the grant in time (?replicas=1)"
    for words in (("acquire", "--try", "x"), ("acquire", "--wait", "60s", "x"),
                  ("acquire", "--try", "x", "y", "--value")):
        t.answers("unavailable", *words, url=url, says=says)
        expect(t.lk_lines("ls") == [], f"{words}: something is held")
    run = subprocess.run([t.program, "-S", url, "run", "x", "--", "true"], capture_output=True,
                         text=True, check=False, timeout=60)
    expect(run.returncode == EXITS["unavailable"] and says in run.stderr, f"{run}")
    expect(t.lk_lines("ls") == [], "a run left something held")
    # One that waits in the queue when it is granted goes on until its time is up.
    code, wait_s = EXITS["timeout"], 2
    while code == EXITS["timeout"] and wait_s < 60:  # on a busy machine its time was up before
        wait_s *= 2
        said, code = granted_in_the_queue(t, url, wait_s)
    expect(code == EXITS["unavailable"] and says in said, said)
    expect("releases its request" in said, said)
    expect(t.lk_lines("ls") == [], "a wait left something held")
    # Without a limit it goes on, and says why; ended, it releases what it has.
    t.answers("granted", "acquire", "x", owner="holder")
    waiting, log = wait_for_x(t, url)
    t.answers("ok", "release", "x", owner="holder")
    t.wait("the reason", lambda: any(line.startswith("lk: AWAY: for ") and says in line for line in open(log)))
    waiting.terminate()
    expect(waiting.wait(60) == 128 + signal.SIGTERM, f"{waiting}")
    expect(t.lk_lines("ls") == [], "a wait that was ended left something held")


def fewer_databases(t):
    place = t.single_with_port()
    t.url = f"redis://{place}/5"
    t.answers("granted", "acquire", "x", owner="holder")
    waiting, log = wait_for_x(t, t.url)
    t.restart("--port", place.rpartition(":")[2], "--databases", "1")
    t.wait("the reason", lambda: any("DB index is out of range" in line for line in open(log)))
    waiting.kill()


# ---- what a store cannot ----


def unsupported(t):
    t.single()
    stores = "sqlite:, postgresql:, mysql: and services (lk://)"
    t.answers("unsupported", "watch", "x", says=f"events are kept by {stores}")
    for words in (("limits",), ("limits", "live=5"), ("limits", "events=100")):
        t.answers("unsupported", *words, says=f"cannot keep bounds of its own, as {stores} do")
    t.answers("unsupported", "done", "queue", "1", "--table", "work", "--token", "1",
              says="Name the store in whose database the table is")


# ---- what a server cannot ----


def memory_is_full(t):
    t.single()
    for path in ("alone", "root/one", "root/two"):
        t.answers("granted", "acquire", "--try", path)
    t.answers("granted", "acquire", "--try", "valued", "--value")
    t.answers("ok", "push", "queue", "1")
    claim = t.answers("granted", "claim", "queue", "--owner", "me")
    t.redis("CONFIG", "SET", "maxmemory", "1")
    t.answers("full", "acquire", "--try", "new", says="OOM")
    t.answers("full", "acquire", "--try", "root/three", says="OOM")
    t.answers("full", "put", "key", "value", says="OOM")
    t.answers("ok", "renew", "alone")
    t.answers("ok", "renew", "root/one")
    for path in ("alone", "root/one", "root/two", "valued"):
        t.answers("ok", "release", path)
    t.answers("ok", "done", "queue", claim["id"], "--owner", "me")
    t.redis("CONFIG", "SET", "maxmemory", "0")
    t.answers("granted", "acquire", "--try", "alone", "root", "valued", owner="other")


def loading(t):
    t.single()
    t.answers("granted", "acquire", "--try", "x", "--ttl", "1h")
    t.redis("EVAL", "for i = 1, 40000 do redis.call('SET', 'key' .. i, 'value') end", "0")
    t.redis("SAVE")
    answer = []

    def ask():
        answer.append(t.lk("acquire", "--try", "x", owner="other").get("status"))

    # Two minutes or more. It looks at its sockets after each KiB, about six times a second: an ask
    # has several exchanges to make before its time is up, also on a busy machine.
    t.restart("--key-load-delay", "3000", "--loading-process-events-interval-bytes", "1024")
    t.wait("the socket", lambda: "LOADING" in t.redis("GET", "key1"))
    t.answers("unavailable", "acquire", "--try", "x", says="LOADING")

    def refused():
        return t.redis("INFO", "errorstats").partition("errorstat_LOADING:count=")[2]

    before = refused()
    asker = threading.Thread(target=ask)
    asker.start()
    t.wait("a refusal", lambda: answer or refused() != before)
    t.redis("CONFIG", "SET", "key-load-delay", "0")  # and it is loaded
    asker.join()
    expect(answer == ["busy"], f"{answer}")


def a_replica(t):
    t.single()
    replica = os.path.join(t.folder, "replica-socket")
    port = free_ports(1)[0]
    t.start("master", "--port", str(port), "--bind", "127.0.0.1")
    t.wait("the master", lambda: "PONG" in t.cli("-p", str(port), "PING"))
    t.start("replica", "--port", "0", "--unixsocket", replica, "--replicaof", f"127.0.0.1 {port}",
            "--repl-diskless-sync-delay", "0")
    t.wait("the replica", lambda: "master_link_status:up"
           in t.cli("-s", replica, "INFO", "replication"))
    t.answers("unavailable", "acquire", "--try", "x", url=f"redis://{replica}", says="READONLY")
    other = free_ports(1)[0]
    t.start("second", "--port", str(other), "--bind", "127.0.0.1", "--replicaof",
            f"127.0.0.1 {port}", "--repl-diskless-sync-delay", "0")
    t.wait("the second", lambda: "master_link_status:up"
           in t.cli("-p", str(other), "INFO", "replication"))
    t.answers("granted", "acquire", "--try", "x",
              url=f"redis://127.0.0.1:{other},127.0.0.1:{port}")


def a_cluster_that_is_down(t):
    port = free_ports(1, BUS)[0]
    t.start("node", "--port", str(port), "--bind", "127.0.0.1", "--cluster-enabled", "yes")
    t.wait("the node", lambda: "PONG" in t.cli("-p", str(port), "PING"))
    t.url = f"redis://127.0.0.1:{port}"
    # If its time is up in the middle of an exchange, the call says that instead.
    t.wait("the reason", lambda: "no node of the cluster has the slot"
           in t.answers("unavailable", "acquire", "--try", "x")["error"])
    t.cli("-p", str(port), "CLUSTER", "ADDSLOTSRANGE", "0", "16382")  # not the last one
    t.wait("the reason", lambda: "CLUSTERDOWN"
           in t.answers("unavailable", "acquire", "--try", "x")["error"])
    t.cli("-p", str(port), "CLUSTER", "ADDSLOTS", "16383")
    t.answers("granted", "acquire", "--try", "x")  # a moment later


def forgotten_scripts(t):
    t.single()
    wrong = []

    def work(root):
        for _ in range(15):
            for word in ("acquire", "release"):
                answer = t.lk(word, *(["--try"] if word == "acquire" else []), root, owner=root)
                if answer["exit"] != 0:
                    wrong.append(answer)

    workers = [threading.Thread(target=work, args=(f"worker{i}",)) for i in range(3)]
    for worker in workers:
        worker.start()
    while any(worker.is_alive() for worker in workers):
        t.redis("SCRIPT", "FLUSH")
    expect(not wrong, f"{wrong}")


def a_busy_script(t):
    t.single()
    busy = subprocess.Popen(["redis-cli", "-s", t.path(), "EVAL", "while true do end", "0"],
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    t.redis("CONFIG", "SET", "busy-reply-threshold", "1")
    t.wait("the server", lambda: "BUSY" in t.redis("GET", "x"))
    t.answers("unavailable", "acquire", "--try", "x", says="BUSY")
    t.redis("SCRIPT", "KILL")
    busy.wait()
    t.answers("granted", "acquire", "--try", "x")


# ---- what was there before ----


def grace(t):
    """R11: what lived when the server died lives at least its ttl from when it is back."""
    t.single()
    t.redis("CONFIG", "SET", "appendonly", "yes")
    t.wait("the file", lambda: "aof_rewrite_in_progress:0" in t.redis("INFO", "persistence"))
    t.redis("CONFIG", "SET", "appendfsync", "always")
    t.answers("granted", "acquire", "--try", "alone", "--ttl", f"{10 * STRETCH}s", owner="holder")
    for path in ("root/one", "root/two"):
        t.answers("granted", "acquire", "--try", path, "--ttl", f"{10 * STRETCH}s", owner="holder")
    t.answers("granted", "acquire", "--try", "side", "root/batch", "--ttl", f"{10 * STRETCH}s", owner="holder")
    t.processes[-1].kill()
    t.processes[-1].wait()
    time.sleep(10.2 * STRETCH)  # all deadlines pass meanwhile: this is about time
    t.restart("--appendonly", "yes")
    t.wait_for_pong()
    # The first call moves the deadline of the batch in both of its roots, and those of one root.
    for path in ("side", "alone", "root/one", "root/two"):
        t.answers("busy", "acquire", "--try", path, owner="other")
    t.answers("ok", "renew", "alone", owner="holder")
    t.answers("ok", "renew", "root/one", owner="holder")
    t.answers("granted", "acquire", "root", "--wait", f"{50 * STRETCH}s", owner="other")


def waiters_outlast_a_loss_of_data(t):
    """A server that forgets: waiters ask again. A break is one, restart or not."""
    t.single()

    def waiting():
        return len([line for line in t.lk_lines("ls", "x") if line["state"] == "waiting"])

    def start(*words):
        return subprocess.Popen([t.program, "-S", t.url, "run", "--wait", "50s", "--note", "waits",
                                 "x", *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                text=True)

    t.answers("granted", "acquire", "--try", "x", owner="holder")
    waiters = [start("--", "echo", "ran") for _ in range(2)]
    t.wait("the waiters", lambda: waiting() == 2)
    t.restart()
    t.wait_for_pong()
    for waiter in waiters:
        out, err = waiter.communicate()
        expect(waiter.returncode == 0 and out == "ran\n" and err.count("asked for again") <= 1,
               f"{waiter.returncode} {out!r} {err!r}")
    # What was broken stays so: the record of it is in the store that came back.
    t.redis("CONFIG", "SET", "appendonly", "yes")
    t.wait("the file", lambda: "aof_rewrite_in_progress:0" in t.redis("INFO", "persistence"))
    t.redis("CONFIG", "SET", "appendfsync", "always")
    t.answers("granted", "acquire", "--try", "x", owner="holder")
    waiter = start("--", "echo", "ran")
    t.wait("the waiter", lambda: waiting() == 1)
    os.kill(waiter.pid, signal.SIGSTOP)
    owner = next(line["owner"] for line in t.lk_lines("ls", "x") if line["state"] == "waiting")
    t.answers("ok", "break", "x", "--owner", owner, "--reason", "test")
    t.restart("--appendonly", "yes")
    t.wait_for_pong()
    os.kill(waiter.pid, signal.SIGCONT)
    out, err = waiter.communicate()
    expect(waiter.returncode == 78, f"broken: {waiter.returncode} {out!r} {err!r}")


def tokens_rise(t):
    """R4: whatever the server has forgotten, under several roots at once."""
    t.single()
    roots = [f"root{i}" for i in range(4)]
    last = dict.fromkeys(roots, 0)
    wrong = []

    def ask(root):
        token = t.answers("granted", "acquire", "--try", f"{root}/x")["token"]
        t.answers("ok", "release", f"{root}/x")
        if token <= last[root]:
            wrong.append(f"{root}: {token} after {last[root]}")
        last[root] = token

    def ask_all():
        askers = [threading.Thread(target=ask, args=(root,)) for root in roots]
        for asker in askers:
            asker.start()
        for asker in askers:
            asker.join()
        expect(not wrong, f"{wrong}")

    ask_all()
    t.redis("SAVE")
    ask_all()
    t.restart()  # with what there was at the first round
    t.wait_for_pong()
    ask_all()
    os.unlink(os.path.join(t.folder, "server", "dump.rdb"))
    t.restart()  # with nothing
    t.wait_for_pong()
    ask_all()
    t.redis("FLUSHALL")
    ask_all()


def garbage(t):
    """Whatever is in our keys: a sentence, no crash, and what is held is not granted."""
    t.single()
    kinds = {"h": "hash", "t": "zset", "p": "zset", "d": "hash", "a": "list", "i": "hash",
             "q": "zset"}

    def make():
        t.redis("FLUSHALL")
        for path in ("r/one", "r/two", "r/three"):
            t.answers("granted", "acquire", "--try", path, "--value", owner="holder")
        t.lk("acquire", "--queue", "r/one", owner="waiter")
        t.lk("push", "r/queue", "1", "value")
        t.lk("claim", "r/queue", owner="worker")
        t.lk("push", "r/queue", "2", "value")

    def look(what):
        for words in (("ls", "r"), ("show", "r/one"), ("audit", "r"), ("ls",), ("get", "r/one"),
                      ("acquire", "--try", "r/new"), ("claim", "r/queue"), ("stats", "r/queue"),
                      ("items", "r/queue"), ("renew", "r/one"), ("break", "r/two", "--reason", "x"),
                      ("release", "r/two")):
            answer = t.lk(*words, owner="holder")
            if answer["exit"] == EXITS["internal"]:
                expect("{r}:lk:" in answer["error"] and "delete" in answer["error"],
                       f"{what}: {words}: what to do is not said: {answer}")
        answer = t.lk("acquire", "--try", "r/one", owner="thief")
        expect(answer["exit"] != 0, f"{what}: what is held was granted: {answer}")
        expect("PONG" in t.redis("PING"), f"{what}: the server is gone")

    for key, kind in kinds.items():
        make()
        other = ("SET", "{r}:lk:" + key, "x") if kind != "string" else ()
        t.redis("DEL", "{r}:lk:" + key)
        t.redis(*other)
        if key in "hp":  # without these it is unknown what was held; the sentence is what counts
            answer = t.lk("acquire", "--try", "r/one", owner="thief")
            expect(answer["exit"] == EXITS["internal"], f"a string for {key}: {answer}")
        look(f"a string for {key}")
    for value in ("", "x", "L", "R", "E", "L" + "x" * 20, "R" + "x" * 40, "R" + "\\255" * 100,
                  "L" + "\\0" * 40, "x" * 5000):
        make()
        t.redis("EVAL", f"redis.call('HSET', KEYS[1], 'x', '{value}')", "1", "{r}:lk:h")
        answer = t.lk("acquire", "--try", "r/one", owner="thief")
        expect(answer["exit"] == EXITS["internal"], f"field x '{value[:9]}': {answer}")
        look(f"field x '{value[:9]}'")
    for prefix in ("r", "n"):
        make()
        t.redis("EVAL", "for _, f in ipairs(redis.call('HKEYS', KEYS[1])) do "
                f"if f:sub(1, 1) == '{prefix}' then "
                "redis.call('HSET', KEYS[1], f, '\\193garbage') end end", "1", "{r}:lk:h")
        look(f"fields {prefix}")
    for member in ("X", "Xr/one", "Xr/one\\0", "ar/one\\0", "cr\\0001\\0", "or\\0", "S\\0\\0\\0"):
        make()
        t.redis("EVAL", f"redis.call('ZADD', KEYS[1], 0, '{member}')", "1", "{r}:lk:p")
        look(f"place {member}")
    make()
    t.redis("ZADD", "{r}:lk:t", "0", "absent")
    look("a deadline of an absent owner")
    make()
    t.redis("SET", "{}:lk:w:holder", "x")
    t.redis("SET", "{}:lk:w:thief", "x")
    answer = t.lk("acquire", "--queue", "r/two", owner="thief")
    expect(answer["exit"] != 0, f"waits: {answer}")


# ---- the doctor ----


def doctor(t):
    t.single()
    answer = t.lk("doctor")
    text = json.dumps(answer)
    expect(answer["exit"] == 0 and "replicates asynchronously" in text, f"the caveat: {answer}")
    expect("append-only" in text and "noeviction" in text, f"{answer}")
    expect("may drop locks" not in text and f'eviction of {t.path()}"' in text, text)
    t.redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
    expect("may drop locks" in json.dumps(t.lk("doctor")), "evictions are not warned of")
    answer = t.lk("doctor", url=t.url + "?replicas=2")
    expect("fewer replicas" in json.dumps(answer), f"{answer}")


def doctor_of_a_cluster(t):
    t.cluster()
    text = json.dumps(t.lk("doctor"))
    expect("3 masters of a cluster" in text and text.count("replicas of") == 3, text)


def workers_on_a_server_that_evicts(t):
    """`lk work` and `lk claim` warn at their start of a server that may drop the queue."""
    t.single()

    def said_by(*words):
        return subprocess.run([t.program, "-S", t.url, *words], capture_output=True, text=True,
                              check=False, timeout=60).stderr

    work = ("work", "jobs", "--workers", "2", "--drain")
    for words in ((*work, "--", "true"), ("claim", "jobs")):
        t.redis("CONFIG", "SET", "maxmemory-policy", "noeviction")
        expect("WARNING" not in said_by(*words), f"{words}: a warning without a cause")
        t.redis("CONFIG", "SET", "maxmemory-policy", "allkeys-lru")
        said = said_by(*words)
        expect(said.count("lk: WARNING: ") == 1 and "(maxmemory-policy allkeys-lru;" in said,
               f"{words}: {said}")
        expect("WARNING" not in said_by("-q", *words), f"-q {words}: a warning")


CASES = [
    ("a server that is back with fewer databases", fewer_databases),
    ("workers on a server that evicts", workers_on_a_server_that_evicts),
    ("passwords", passwords),
    ("rights", rights),
    ("replicas that are missing", missing_replicas),
    ("what a store cannot", unsupported),
    ("memory that is full: releases and renewals go on", memory_is_full),
    ("a server that loads", loading),
    ("a replica", a_replica),
    ("a cluster that is down", a_cluster_that_is_down),
    ("scripts that are forgotten under load", forgotten_scripts),
    ("a script that does not end", a_busy_script),
    ("grace after a restart", grace),
    ("waiters outlast a loss of data", waiters_outlast_a_loss_of_data),
    ("tokens after a restart that forgets", tokens_rise),
    ("garbage in the keys", garbage),
    ("what the doctor says", doctor),
    ("what the doctor says of a cluster", doctor_of_a_cluster),
]


def run_cases(servers, all_cases):
    """Each case with fresh servers of this class, those that the command line names; the exit code."""
    program = os.path.abspath(sys.argv[1])
    cases = [case for case in all_cases if len(sys.argv) < 3 or sys.argv[2] in case[0]]
    print(f"1..{len(cases)}", flush=True)
    failed = 0
    for number, (name, test) in enumerate(cases, 1):
        server = servers(program)
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
        try:
            test(server)
            print(f"ok {number} - {name}", flush=True)
        except Wrong as wrong:
            failed += 1
            print(f"not ok {number} - {name}\n# {wrong}", flush=True)
        finally:
            server.stop()
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(run_cases(Server, CASES))
