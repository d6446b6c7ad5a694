#!/usr/bin/env -S python3 -B
# SPDX-License-Identifier: Apache-2.0
"""What happens to a cluster, and what the store makes of it: test_cluster.py [--tls] LK HOLD [CASE]

Nodes die, slots move, replication stops. Clients are the program `lk`, a process a call; workers are
loops of them, each at a root of its own, that must never be refused and whose tokens must only grow.
"""
import json
import os
import signal
import subprocess
import sys
import threading

from with_servers import Servers

PATIENCE_S = 60
WORKERS = 4


class Cluster(Servers):
    def __init__(self, program, hold, has_tls):
        super().__init__(has_tls=has_tls)
        self.program, self.hold = program, hold
        self.number = 0
        self.cluster()
        self.ports = [int(name) for name in os.listdir(self.folder) if name.isdigit()]
        self.url = self.url_of(f"127.0.0.1:{port}" for port in self.ports)

    def lk(self, *words, url=None, owner="me"):
        result = subprocess.run([self.program, "-S", url or self.url, *words, "--json"],
                                capture_output=True, text=True, check=False,
                                env={**os.environ, "LK_OWNER": owner})
        try:
            return json.loads(result.stdout)
        except ValueError:
            return {"status": f"exit {result.returncode}", "error": result.stderr}

    def pid(self, port):
        with open(os.path.join(self.folder, str(port), "pid"), encoding="ascii") as file:
            return int(file.read())

    def kill(self, port):
        os.kill(self.pid(port), signal.SIGKILL)
        self.ports.remove(port)

    def at(self, port, *words):
        return self.cli("-p", str(port), *words).strip()

    def figure(self, port, name):
        """A number of what a node tells of replication."""
        for line in self.at(port, "INFO", "replication").splitlines():
            if line.startswith(f"{name}:"):
                return int(line.split(":")[1])
        return 0

    def any(self, *words):
        return self.at(self.ports[0], *words)

    def nodes(self):
        """Lines of CLUSTER NODES as dictionaries, of those that live."""
        found = []
        for line in self.any("CLUSTER", "NODES").splitlines():
            words = line.split()
            port = int(words[1].split("@")[0].split(":")[1])
            if port in self.ports:
                found.append({"id": words[0], "port": port, "master": "master" in words[2],
                              "of": words[3], "slots": words[8:]})
        return found

    def master_of(self, root):
        slot = int(self.any("CLUSTER", "KEYSLOT", root))
        for node in self.nodes():
            for span in node["slots"]:
                if "[" not in span:
                    low, _, high = span.partition("-")
                    if node["master"] and int(low) <= slot <= int(high or low):
                        return node
        return None

    def other_master(self, master):
        return next(n for n in self.nodes()
                    if n["master"] and n["slots"] and n["port"] != master["port"])

    def replica_of(self, master):
        return next((n for n in self.nodes() if n["of"] == master["id"]), None)

    def pair_of(self, root):
        """The master of a root and a replica that follows it; nodes may still learn of a change."""
        found = []

        def is_there():
            master = self.master_of(root)
            replica = self.replica_of(master) if master else None
            if not replica or "master_link_status:up" not in self.at(
                    replica["port"], "INFO", "replication"):
                return False
            found[:] = master, replica
            return True

        self.wait(f"a replica of the master of {root}", is_there)
        return found

    def case(self, name, test):
        self.number += 1
        wrong = test(self)
        print(f"{'not ok' if wrong else 'ok'} {self.number} - {name}", flush=True)
        if wrong:
            print(f"# {wrong}", flush=True)
        return not wrong


class Worker(threading.Thread):
    """Acquires and releases at a root of its own until stopped."""

    def __init__(self, cluster, root):
        super().__init__()
        self.cluster, self.root = cluster, root
        self.stop, self.wrong, self.rounds, self.last = False, None, 0, 0

    def run(self):
        while not self.stop and not self.wrong:
            got = self.cluster.lk("acquire", "--try", self.root, "--ttl", "30s", "--owner", self.root)
            if got["status"] != "granted":
                self.wrong = f"{self.root}: {got}"
            elif got["token"] < self.last:
                self.wrong = f"{self.root}: token {got['token']} after {self.last}"
            else:
                self.last = got["token"]
                self.cluster.lk("release", self.root, "--owner", self.root)
                self.rounds += 1


def under_load(cluster, disturb):
    """Runs disturb() while workers work; what went wrong, or None."""
    workers = [Worker(cluster, f"worker{i}") for i in range(WORKERS)]
    for worker in workers:
        worker.start()
    cluster.wait("the first rounds", lambda: all(w.rounds > 2 or w.wrong for w in workers))
    wrong = disturb(cluster)
    before = [worker.rounds for worker in workers]
    cluster.wait("the next rounds",
                 lambda: all(w.rounds > b + 3 or w.wrong for w, b in zip(workers, before)))
    for worker in workers:
        worker.stop = True
    for worker in workers:
        worker.join()
    return wrong or next((worker.wrong for worker in workers if worker.wrong), None)


# ---- cases ----


def lock_and_value_live_together(cluster):
    cluster.lk("put", "items/7", "first")
    key = "{items}/7"
    if cluster.cli("-c", "-p", str(cluster.ports[0]), "GET", key).strip() != "first":
        return "a plain GET does not read the value"
    slots = {cluster.any("CLUSTER", "KEYSLOT", each) for each in (key, "{items}:lk:h", "items")}
    if len(slots) != 1:
        return f"lock and value are in different slots: {slots}"
    for port in cluster.ports:
        cluster.at(port, "CONFIG", "RESETSTAT")

    def calls():
        total = 0
        for port in cluster.ports:
            for line in cluster.at(port, "INFO", "commandstats").splitlines():
                if line.startswith("cmdstat_evalsha:"):
                    total += int(line.split("calls=")[1].split(",")[0])
        return total

    got = cluster.lk("acquire", "--try", "items/7", "--value", "--owner", "me")
    if got.get("value") != "first" or calls() != 1:
        return f"lock and get: {got}, {calls()} calls"
    cluster.lk("release", "items/7", "--put", "second", "--owner", "me")
    if calls() != 2 or cluster.cli("-c", "-p", str(cluster.ports[0]), "GET", key).strip() != "second":
        return f"put and release: {calls()} calls"
    return None


def batches_cross_slots(cluster):
    got = cluster.lk("acquire", "--try", "one", "two", "three", "--owner", "a")
    if got["status"] != "granted" or len(got.get("tokens", [])) != 3:
        return f"{got}"
    if cluster.lk("acquire", "--try", "zero", "two", "--owner", "b")["status"] != "busy":
        return "a part of a batch was granted twice"
    if cluster.lk("acquire", "--try", "zero", "--owner", "c")["status"] != "granted":
        return "a refused batch has left something behind"
    if cluster.lk("acquire", "--queue", "one", "two", "--owner", "d")["status"] != "unsupported":
        return "a batch over several slots is queued"
    if cluster.lk("release", "one", "two", "three", "--owner", "a")["status"] != "ok":
        return "the batch was not released"
    if cluster.lk("acquire", "--try", "one", "two", "three", "--owner", "e")["status"] != "granted":
        return "a part of a released batch is held"
    return None


def batches_have_values_across_slots(cluster):
    """R15: each slot gives and writes the values of its own parts, the answer those of all."""
    parts = ("with/x", "second?shared", "with/y", "third")
    for wait in ("--try", "--wait=9s"):
        got = cluster.lk("acquire", wait, *parts, "--owner", "a", "--value")
        if got.get("values") != [{}, {}, {}, {}] or len(got.get("tokens", [])) != 4:
            return f"an empty batch: {got}"
        got = cluster.lk("release", "third", "with/y", "with/x", "second", "--owner", "a",
                         "--put", "of third", "--put", "of y")
        if got["status"] != "ok":
            return f"its release: {got}"
        got = cluster.lk("acquire", wait, *parts, "--owner", "a", "--value")
        if [each.get("value") for each in got["values"]] != [None, None, "of y", "of third"]:
            return f"values in another order: {got}"
        if "value" in got or cluster.lk("get", "with/y")["value"] != "of y":
            return f"a value elsewhere: {got}"
        cluster.lk("break", "third", "--now", "--reason", "gone", "--owner", "a")
        cluster.lk("release", *parts, "--owner", "a")
        got = cluster.lk("acquire", wait, "third", "with/y", "--owner", "b", "--value")
        if [each["in_doubt"] for each in got["values"]] != [True, False]:
            return f"another doubt: {got}"
        if got["value"] != "of third" or not got["in_doubt"]:
            return f"another first value: {got}"
        cluster.lk("release", "third", "with/y", "--owner", "b")
        for path in ("third", "with/y"):
            cluster.lk("del", path)
    return None


def replicas_are_waited_for(cluster):
    url = cluster.url + "?replicas=1"
    got = cluster.lk("acquire", "--try", "replicated", url=url, owner="me")
    if got["status"] != "granted":
        return f"{got}"
    got = cluster.lk("acquire", "--try", "replicated2",
                     url=cluster.url + "?replicas=5", owner="me")
    return None if got["status"] == "unavailable" else f"five replicas: {got}"


def move_one_of(cluster, roots):
    """Moves the lowest slots of a master, with one of the roots among them, but not all of them."""
    for root in roots:
        source = cluster.master_of(root)
        low, high = (int(each) for each in source["slots"][0].split("-"))
        count = int(cluster.any("CLUSTER", "KEYSLOT", root)) - low + 1
        if count < (high - low) * 3 // 4:
            break
    else:
        return "no root is among the lower slots"
    target = cluster.other_master(source)
    done = subprocess.run(cluster.command(
        "--cluster", "reshard", f"127.0.0.1:{cluster.ports[0]}", "--cluster-from", source["id"],
        "--cluster-to", target["id"], "--cluster-slots", str(count), "--cluster-yes"),
        capture_output=True, text=True, check=False)
    if done.returncode != 0:
        return f"not moved: {done.stdout[-300:]}{done.stderr[-300:]}"
    # The two nodes know it at once, the others as they hear of it.
    cluster.wait("the slots' move", lambda: (cluster.master_of(root) or {}).get("port")
                 == target["port"])
    return None


def slots_move_under_load(cluster):
    return under_load(cluster, lambda cluster: move_one_of(cluster, [f"worker{i}" for i in
                                                                     range(WORKERS)]))


def calls_wait_while_their_slot_moves(cluster):
    """Some of a root's keys may be here and some there: no client is answered until it is over."""
    cluster.lk("acquire", "--try", "moving/one", "--owner", "holder")
    slot = cluster.any("CLUSTER", "KEYSLOT", "moving")
    source = cluster.master_of("moving")
    target = cluster.other_master(source)
    cluster.at(target["port"], "CLUSTER", "SETSLOT", slot, "IMPORTING", source["id"])
    cluster.at(source["port"], "CLUSTER", "SETSLOT", slot, "MIGRATING", target["id"])
    asker = subprocess.Popen([cluster.program, "-S", cluster.url, "acquire", "--try", "moving/two",
                              "--json"], stdout=subprocess.PIPE, text=True)
    cluster.wait("a refusal", lambda: "errorstat_TRYAGAIN"
                 in cluster.at(source["port"], "INFO", "errorstats"))
    wrong = "the call was answered" if asker.poll() is not None else None
    for node in (source, target):
        cluster.at(node["port"], "CLUSTER", "SETSLOT", slot, "STABLE")
    got = json.loads(asker.communicate(timeout=PATIENCE_S)[0])
    return wrong or (None if got["status"] == "granted" else f"{got}")


# ---- waiters ----


def start_waiter(cluster, root):
    return subprocess.Popen([cluster.program, "-S", cluster.url, "acquire", root, "--wait", "60s",
                             "--owner", "waiter", "--json"], stdout=subprocess.PIPE, text=True)


def is_notified_by(cluster, words):
    """The ports of the nodes where PUBSUB ... says that a client listens to a channel of ours."""
    return [port for port in cluster.ports if cluster.at(port, "PUBSUB", words, "lk:e:*")]


def release_to(cluster, root, waiter):
    cluster.lk("release", root, "--owner", "holder")
    got = json.loads(waiter.communicate(timeout=PATIENCE_S)[0])
    if got["status"] != "granted":
        return f"{got}"
    cluster.lk("release", root, "--owner", "waiter")
    return None


def waiters_are_notified_in_their_slot(cluster):
    cluster.lk("acquire", "--try", "line", "--owner", "holder")
    waiter = start_waiter(cluster, "line")
    cluster.wait("a sharded channel", lambda: is_notified_by(cluster, "SHARDCHANNELS"))
    where = is_notified_by(cluster, "SHARDCHANNELS")
    if where != [cluster.master_of("line")["port"]] or is_notified_by(cluster, "CHANNELS"):
        return f"notified by {where}, and plainly by {is_notified_by(cluster, 'CHANNELS')}"
    return release_to(cluster, "line", waiter)


def waiters_are_notified_plainly_without_shards(cluster):
    for word in ("-ssubscribe", "-spublish"):
        for port in cluster.ports:
            cluster.at(port, "ACL", "SETUSER", "default", word)
        cluster.lk("acquire", "--try", "line", "--owner", "holder")
        waiter = start_waiter(cluster, "line")
        cluster.wait("a plain channel", lambda: is_notified_by(cluster, "CHANNELS"))
        wrong = "both" if is_notified_by(cluster, "SHARDCHANNELS") else None
        wrong = release_to(cluster, "line", waiter) or wrong
        for port in cluster.ports:
            cluster.at(port, "ACL", "SETUSER", "default", word.replace("-", "+"))
        if wrong:
            return f"{word}: {wrong}"
    return None


def waiters_follow_their_slot(cluster):
    roots = [f"line{i}" for i in range(8)]
    waiters = {}
    for root in roots:
        cluster.lk("acquire", "--try", root, "--owner", "holder")
        waiters[root] = start_waiter(cluster, root)
    def notified():
        return all(cluster.at(cluster.master_of(root)["port"], "PUBSUB", "SHARDCHANNELS",
                              f"lk:e:*{{{root}}}") for root in roots)
    cluster.wait("the sharded channels", notified)
    wrong = move_one_of(cluster, roots)
    cluster.wait("the sharded channels, where the slots are now", notified)
    for root in roots:
        wrong = release_to(cluster, root, waiters[root]) or wrong
    return wrong


def a_forgetful_fail_over(cluster):
    """The replica misses the last writes; the master dies; tokens grow all the same."""
    master, replica = cluster.pair_of("forgotten")
    cluster.at(master["port"], "ACL", "SETUSER", "default", "-psync", "-sync")
    cluster.at(master["port"], "CLIENT", "KILL", "TYPE", "replica")
    cluster.wait("the link's end", lambda: "master_link_status:down"
                 in cluster.at(replica["port"], "INFO", "replication"))
    first = cluster.lk("acquire", "--try", "forgotten", "--owner", "first")
    if first["status"] != "granted":
        return f"{first}"
    cluster.kill(master["port"])
    cluster.wait("the fail-over", lambda: cluster.master_of("forgotten") is not None
                 and cluster.master_of("forgotten")["port"] == replica["port"])
    second = cluster.lk("acquire", "--try", "forgotten", "--owner", "second")
    if second["status"] != "granted":
        return f"the grant was not forgotten: {second}"
    return None if second["token"] > first["token"] else f"{second} after {first}"


def a_node_dies_under_load(cluster):
    def kill(cluster):
        master = cluster.master_of("worker1")
        if not cluster.replica_of(master):
            master = next(n for n in cluster.nodes() if n["master"] and cluster.replica_of(n))
        held = cluster.lk("acquire", "--try", "held", "--ttl", "60s", "--owner", "holder")
        offset = cluster.figure(master["port"], "master_repl_offset")
        replica = cluster.replica_of(master)["port"]
        cluster.wait("the replica", lambda: cluster.figure(replica, "slave_repl_offset") >= offset)
        cluster.kill(master["port"])
        cluster.wait("the fail-over", lambda: cluster.any("CLUSTER", "INFO").count("state:ok"))
        again = cluster.lk("acquire", "--try", "held", "--owner", "other")
        return None if again["status"] == "busy" else f"{held} and then {again}"

    return under_load(cluster, kill)


def roots_apart(cluster):
    """Two roots, in byte order, that live on different nodes."""
    first = cluster.master_of("apart0")["port"]
    return "apart0", next(root for root in (f"apart{i}" for i in range(1, 100))
                          if cluster.master_of(root)["port"] != first)


def a_frozen_node_costs_no_lease_elsewhere(cluster):
    """One process has a lease on a node that freezes, and shorter ones on another."""
    frozen, healthy = roots_apart(cluster)
    victim = cluster.master_of(frozen)
    replica = cluster.replica_of(victim)
    stopped = [cluster.pid(node["port"]) for node in (victim, replica) if node]
    for port in cluster.ports:
        cluster.at(port, "CONFIG", "SET", "cluster-require-full-coverage", "no")
    # The healthy one first: then the frozen one was renewed before it.
    holder = subprocess.Popen([cluster.hold, cluster.url, healthy, "2000", frozen, "6000"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    try:
        if holder.stdout.readline() != "held\n":
            return "the leases were not granted"
        for pid in stopped:
            os.kill(pid, signal.SIGSTOP)
        lost = holder.stdout.readline()
        if lost != f"lost {frozen}\n":
            return f"first: {lost!r}"
        return None
    finally:
        for pid in stopped:
            os.kill(pid, signal.SIGCONT)
        holder.kill()
        holder.communicate()
        for port in cluster.ports:
            cluster.at(port, "CONFIG", "SET", "cluster-require-full-coverage", "yes")
        cluster.wait("the cluster", lambda: all(
            "cluster_state:ok" in cluster.at(port, "CLUSTER", "INFO") for port in cluster.ports))


class Crowd(threading.Thread):
    """Takes turns at a root, in the queue, until stopped."""

    def __init__(self, cluster, root, owner):
        super().__init__()
        self.cluster, self.root, self.owner = cluster, root, owner
        self.stop, self.wrong, self.rounds = False, None, 0

    def run(self):
        while not self.stop and not self.wrong:
            got = self.cluster.lk("acquire", "--wait", "20s", self.root, "--owner", self.owner)
            if got["status"] != "granted":
                self.wrong = f"{got}"
            else:
                self.rounds += 1
                self.cluster.lk("release", self.root, "--owner", self.owner)


def a_batch_gets_its_turn_in_a_crowd(cluster):
    """Four clients take turns at one root of a batch: there is never a moment when it is free."""
    first, second = roots_apart(cluster)
    crowd = [Crowd(cluster, f"{second}/x", f"crowd{i}") for i in range(4)]
    for member in crowd:
        member.start()
    try:
        cluster.wait("the crowd", lambda: all(m.rounds > 1 or m.wrong for m in crowd))
        for _ in range(3):
            got = cluster.lk("acquire", "--wait", "20s", f"{first}/x", f"{second}/x")
            if got["status"] != "granted" or len(got["tokens"]) != 2:
                return f"the batch: {got}"
            cluster.lk("release", f"{first}/x", f"{second}/x")
    finally:
        for member in crowd:
            member.stop = True
        for member in crowd:
            member.join()
    return next((m.wrong for m in crowd if m.wrong), None)


def batches_wait_and_give_up(cluster):
    """A wait for a batch that runs out is TIMEOUT and leaves nothing; a break of it is LOST."""
    first, second = roots_apart(cluster)
    for held in (first, second):
        cluster.lk("acquire", "--try", held, "--owner", "holder")
        for words in (("acquire", "--owner", "named"), ("run",)):
            words += ("--wait", "700ms", second, first)
            if words[0] == "run":
                got = subprocess.run([cluster.program, "-S", cluster.url, *words, "--", "true"],
                                     capture_output=True, text=True, check=False)
                if got.returncode != 75:
                    return f"run: {got}"
            else:
                got = cluster.lk(*words)
                if got["status"] != "timeout":
                    return f"{words}: {got}"
        cluster.lk("release", held, "--owner", "holder")
        for root in (first, second):
            got = cluster.lk("acquire", "--try", root, "--owner", "other")
            if got["status"] != "granted":
                return f"{root} was not given back: {got}"
            cluster.lk("release", root, "--owner", "other")
    # It is queued at the second root and holds the first; there it is broken.
    cluster.lk("acquire", "--try", second, "--owner", "holder")
    waiter = subprocess.Popen([cluster.program, "-S", cluster.url, "acquire", "--json", "--wait",
                               "60s", first, second, "--owner", "batch"],
                              stdout=subprocess.PIPE, text=True)
    cluster.wait("the queued batch", lambda: cluster.lk(
        "break", second, "--owner", "batch", "--reason", "test").get("broken") == 1)
    if waiter.wait() != 78:
        return f"broken: {waiter.stdout.read()}"
    got = cluster.lk("acquire", "--try", first, "--owner", "other")
    for root, owner in ((first, "other"), (second, "holder")):
        cluster.lk("release", root, "--owner", owner)
    return None if got["status"] == "granted" else f"{first} was not given back: {got}"


def each_root_has_its_token(cluster):
    """What runs under a batch writes each of its values, with the token of its own root."""
    first, second = roots_apart(cluster)
    script = """set -e
        set -- $LK_PATH : $LK_TOKENS
        test "$LK_TOKEN" = "$4" && test "$4" != "$5"
        "$LK" put "$1" one --token "$4"
        "$LK" put "$2" two --token "$5"
        "$LK" del "$2" --token "$5"
        "$LK" run --inherit "$2" -- true
        "$LK" put "$2" two --token "$4"
    """
    got = subprocess.run([cluster.program, "-S", cluster.url, "run", second, first, "--",
                          "sh", "-c", script], capture_output=True, text=True, check=False,
                         env={**os.environ, "LK": cluster.program})
    if got.returncode != 78 or f"in LK_TOKENS is the token of {first}" not in got.stderr:
        return f"{got}"
    got = cluster.lk("get", second)
    return None if got.get("value") == "one" else f"{got}"


def batches_in_each_others_way(cluster):
    """Batches in all orders, and a single request across them: no client waits for ever."""
    first, second = roots_apart(cluster)
    third = next(root for root in (f"apart{i}" for i in range(100))
                 if root not in (first, second))
    orders = ((first, second, third), (third, second, first), (second, third, first))
    wrong = []

    def work(number):
        for _ in range(4):
            parts = orders[number]
            owner = f"batch{number}"
            got = cluster.lk("acquire", "--wait", "50s", *parts, "--owner", owner)
            if got["status"] != "granted":
                wrong.append(f"{owner}: {got}")
            cluster.lk("release", *parts, "--owner", owner)

    threads = [threading.Thread(target=work, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return wrong[0] if wrong else None


def a_node_dies_in_a_batch(cluster):
    """The roots of a batch on the other nodes are released although one fails (R14)."""
    held = [f"part{i}" for i in range(12)]
    got = cluster.lk("acquire", "--try", *held, "--ttl", "60s", "--owner", "batch")
    if got["status"] != "granted":
        return f"{got}"
    victim = cluster.master_of(held[0])
    dead = [root for root in held if cluster.master_of(root)["port"] == victim["port"]]
    replica = cluster.replica_of(victim)
    if replica:  # so that no replica takes over
        cluster.kill(replica["port"])
    cluster.kill(victim["port"])
    for port in cluster.ports:
        cluster.at(port, "CONFIG", "SET", "cluster-require-full-coverage", "no")
    released = cluster.lk("release", *held, "--owner", "batch")
    if released["status"] != "unavailable":
        return f"released: {released}"
    for root in set(held) - set(dead):
        got = cluster.lk("acquire", "--try", root, "--owner", "other")
        if got["status"] != "granted":
            return f"{root} was not released: {got}"
        cluster.lk("release", root, "--owner", "other")
    # A part that cannot be reached: the others are given back.
    alive = sorted(set(held) - set(dead))
    got = cluster.lk("acquire", "--try", alive[0], dead[0], alive[-1], "--owner", "second")
    if got["status"] != "unavailable":
        return f"{got}"
    for root in (alive[0], alive[-1]):
        got = cluster.lk("acquire", "--try", root, "--owner", "third")
        if got["status"] != "granted":
            return f"{root} was not given back: {got}"
    return None


def main():
    has_tls = sys.argv[1] == "--tls"
    program, hold, *wanted = sys.argv[1 + has_tls:]
    cluster = Cluster(os.path.abspath(program), os.path.abspath(hold), has_tls)
    cases = [
        ("lock and value live in one slot, in one call each", lock_and_value_live_together),
        ("batches cross slots", batches_cross_slots),
        ("batches have values across slots", batches_have_values_across_slots),
        ("replicas are waited for", replicas_are_waited_for),
        ("waiters are notified in their own slot", waiters_are_notified_in_their_slot),
        ("waiters are notified plainly where there are no shards",
         waiters_are_notified_plainly_without_shards),
        ("waiters follow their slot", waiters_follow_their_slot),
        ("calls wait while their slot moves", calls_wait_while_their_slot_moves),
        ("slots move under load", slots_move_under_load),
        ("a batch gets its turn in a crowd", a_batch_gets_its_turn_in_a_crowd),
        ("batches wait, and give up", batches_wait_and_give_up),
        ("each root has its token", each_root_has_its_token),
        ("batches in each other's way", batches_in_each_others_way),
        ("a frozen node costs no lease elsewhere", a_frozen_node_costs_no_lease_elsewhere),
        ("a forgetful fail-over does not turn tokens back", a_forgetful_fail_over),
        ("a node dies under load", a_node_dies_under_load),
        ("a node dies in the middle of a batch", a_node_dies_in_a_batch),
    ]
    cases = [case for case in cases if not wanted or wanted[0] in case[0]]
    print(f"1..{len(cases)}", flush=True)
    try:
        good = [cluster.case(*case) for case in cases]
    finally:
        cluster.stop()
    return 0 if all(good) else 1


if __name__ == "__main__":
    sys.exit(main())
