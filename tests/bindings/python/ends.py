#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: ends.py PATTERN LK: signals, fork(), the garbage collector, and the end of the interpreter."""

import gc
import os
import signal
import threading
import warnings
import weakref

import lockkeeper
import support
from support import STRETCH, Background, until


class Signals(support.StoreCase):
    def test_a_wait_in_the_main_thread_is_interrupted_and_withdrawn(self):
        program = self.program("""
import lockkeeper, sys
store = lockkeeper.open(sys.argv[1])
print("open", flush=True)
try:
    store.lock("t", owner="ben")
except KeyboardInterrupt:
    print([entry.owner for entry in store.list()], flush=True)
    raise SystemExit(3)
""")
        with self.store.lock("t", owner="ana"):
            self.assertEqual(program.heard(), "open")
            until(lambda: self.waits("ben"))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), (3, "['ana']\n", ""))

    def test_a_handler_runs_while_the_main_thread_waits(self):
        program = self.program("""
import lockkeeper, signal, sys
store = lockkeeper.open(sys.argv[1])
signal.signal(signal.SIGUSR1, lambda *_: print("handled", flush=True))
print("open", flush=True)
with store.lock("t", owner="ben"):
    print("granted", flush=True)
""")
        with self.store.lock("t"):
            self.assertEqual(program.heard(), "open")
            until(lambda: self.waits("ben"))
            program.signal(signal.SIGUSR1)
            self.assertEqual(program.heard(), "handled")
            self.assertTrue(self.waits("ben"))
        self.assertEqual(program.end(), (0, "granted\n", ""))


class Forks(support.StoreCase):
    def test_a_child_cannot_use_the_parents_store(self):
        """Also while another thread of the parent is inside the store and waits."""
        lease = self.store.lock("t", owner="ana", ttl=30)
        waiting = support.Background(self.store.lock, "t", owner="ben")
        until(lambda: self.waits("ben"))
        child = os.fork()
        if child == 0:
            code = 1
            try:
                code = self.in_the_child(lease)
            finally:
                os._exit(code)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)
        lease.check()
        self.assertTrue(self.holds("ana"))
        lease.release()
        waiting.result().release()

    def in_the_child(self, lease):
        wrong = 0
        for call in (lambda: self.store.lock("a"), lambda: self.store.get("a"), self.store.list,
                     lease.release):
            try:
                call()
                wrong += 1
            except lockkeeper.Internal as error:
                wrong += "fork" not in str(error)
        wrong += not lease.lost
        self.store.close()
        with lockkeeper.open(self.url) as mine:
            wrong += mine.try_lock("t") is not None
            with mine.lock("u", ttl=0.3 * STRETCH, on_lost=lambda _: None) as other:
                mine.break_("u", reason="a test", by="a test", at_once=True)
                wrong += not other.lost_event.wait(support.PATIENCE_S)
                try:
                    other.release()
                except lockkeeper.LeaseLost:
                    pass
        gc.collect()
        return wrong

    def test_a_child_waits_for_its_parent(self):
        lease = self.store.lock("t")
        with lease:
            child = os.fork()
            if child == 0:
                code = 1
                try:
                    with lockkeeper.open(self.url) as mine:
                        mine.lock("t", owner="child").release()
                    code = 0
                finally:
                    os._exit(code)
            until(lambda: self.waits("child"))
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), 0)

    def test_a_pool_of_processes_opens_its_own(self):
        program = self.program("""
import lockkeeper, multiprocessing, sys

def count(path):
    with lockkeeper.open(sys.argv[1]) as store, store.lock("t", wait=60) as lease:
        return lease.token

with lockkeeper.open(sys.argv[1]) as store, store.lock("parent"):
    with multiprocessing.get_context("fork").Pool(3) as pool:
        print(len(set(pool.map(count, range(9)))))
""")
        self.assertEqual(program.end(), (0, "9\n", ""))


class Garbage(support.StoreCase):
    def test_a_lease_that_is_thrown_away_ends_at_its_deadline(self):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            lease = self.store.lock("t", owner="ana", ttl=0.3 * STRETCH)
            gone = weakref.ref(lease)
            del lease
            # The thread that has acquired it may have it a moment longer.
            support.until(lambda: gc.collect() >= 0 and caught, "the warning")
            kinds = [one.category for one in caught]
            caught.clear()  # they keep what they are about
        self.assertIsNone(gone())
        self.assertEqual(kinds, [ResourceWarning])
        with self.store.lock("t", wait=support.PATIENCE_S):
            pass

    def test_a_store_and_its_leases_in_a_cycle(self):
        """Whatever the order is in which they are collected."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for _ in range(30):
                store = lockkeeper.open(self.url)
                leases = [store.lock(f"t{i}", owner="ana", ttl=0.2 * STRETCH) for i in range(3)]
                store.cycle = leases
                leases[0].cycle = store
                leases[1].on_lost(lambda _, cycle=leases: None)
                gone = weakref.ref(store)
                del store, leases
                until(lambda gone=gone: gc.collect() >= 0 and gone() is None)  # a loss may be told
        until(lambda: self.store.list() == [])

    def test_leases_are_lost_while_they_are_collected(self):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            for i in range(40):
                lease = self.store.lock(f"t{i}", ttl=0.06 * STRETCH, on_lost=lambda _: gc.collect())
                self.store.break_(f"t{i}", reason="a test", by="a test", at_once=True)
                del lease
        gc.collect()
        self.assertEqual(self.store.list(), [])

    def test_no_thread_and_no_file_stays(self):
        def open_files():
            return len(os.listdir("/proc/self/fd"))

        def use():
            with lockkeeper.open(self.url) as store, store.lock("t"):
                pass

        use()
        files, threads = open_files(), threading.active_count()
        for _ in range(5):
            use()
        self.assertEqual((open_files(), threading.active_count()), (files, threads))


class Exits(support.StoreCase):
    """The end of the interpreter with leases held, waits in progress, and callbacks due."""

    def check_exit(self, source, code=0, out=""):
        program = self.program("import lockkeeper, sys, threading, time, os\n"
                               "store = lockkeeper.open(sys.argv[1])\n" + source)
        self.assertEqual(program.end(), (code, out, ""))

    def test_with_a_lease_held(self):
        self.check_exit("lease = store.lock('t', ttl=30)")
        self.check_exit("lease = store.lock('u', ttl=30); store.cycle = lease; del lease")
        self.check_exit("lease = store.lock('v', ttl=30); raise SystemExit(5)", code=5)

    def test_with_a_callback_due(self):
        self.check_exit(f"""
leases = [store.lock(f't{{i}}', ttl={0.06 * STRETCH}, on_lost=lambda _: time.sleep(0.001)) for i in range(8)]
for i in range(8):
    store.break_(f't{{i}}', reason='a test', by='a test', at_once=True)""")

    def test_with_a_daemon_that_waits(self):
        self.check_exit("""
held = store.lock('t', owner='ana')
threading.Thread(target=store.lock, args=['t'], kwargs={'owner': 'ben'}, daemon=True).start()
while len(store.list()) < 2:
    time.sleep(0.005)
threading.excepthook = lambda _: None""")
        self.assertFalse(self.waits("ben"))

    def test_with_a_daemon_that_locks_and_unlocks(self):
        self.check_exit(f"""
started = threading.Event()
def run():
    while True:
        with store.lock('t', ttl={0.06 * STRETCH}):
            started.set()
threading.excepthook = lambda _: None
for _ in range(3):
    threading.Thread(target=run, daemon=True).start()
started.wait()""")


class Away(support.unittest.TestCase):
    def test_a_store_that_goes_away_and_comes_back(self):
        path = os.path.join(support.STORES.place, "away")
        service = support.STORES.serve(path)
        with lockkeeper.open(f"lk+unix:{path}") as store:
            lease = store.lock("t", ttl=0.5 * STRETCH)
            service.kill()
            service.wait()
            with self.assertRaises(lockkeeper.Unavailable):
                store.lock("u", wait=0, patience=0.05)
            until(lambda: store.away > 0, "that it is away")
            until(lambda: lease.lost, "the loss")  # without any answer
            waiting = Background(store.lock, "u")  # as long as it takes
            support.STORES.serve(path)
            waiting.result().release()
            store.put("v", b"as ever")
            until(lambda: store.away == 0, "that it is back")
            self.assertEqual(store.get("v"), b"as ever")
            with self.assertRaises(lockkeeper.LeaseLost):
                lease.release(put=b"x")


if __name__ == "__main__":
    support.main_on_stores()
