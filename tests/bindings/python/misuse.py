#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: misuse.py PATTERN LK: wrong arguments are exceptions of the right kind, and nothing is done."""

import copy
import math
import pickle
import threading

import lockkeeper
import support
from lockkeeper import Invalid
from support import Background, until

YEAR_S = 366 * 86400


class Arguments(support.StoreCase):
    def refuse(self, kind, call, *arguments, **options):
        with self.subTest(f"{arguments} {options}"):
            with self.assertRaises(kind) as caught:
                call(*arguments, **options)
            self.assertIs(type(caught.exception), kind)
            self.assertNotEqual(str(caught.exception), "")

    def tearDown(self):
        self.assertEqual(self.store.list(), [])

    def test_paths(self):
        self.refuse(Invalid, self.store.lock, "a" * 600, wait=0)
        self.refuse(Invalid, self.store.lock, wait=0)
        self.refuse(Invalid, self.store.lock, *[f"a{i}" for i in range(17)], wait=0)
        self.refuse(Invalid, self.store.list, "a" * 600)
        self.assertTrue(issubclass(Invalid, ValueError))

    def test_texts_that_c_would_cut_or_misread(self):
        for call in (self.store.lock, self.store.try_lock, self.store.ask, self.store.get,
                     self.store.show, self.store.list, lockkeeper.open):
            self.refuse(ValueError, call, "a\0b")
            self.refuse(TypeError, call, b"a")
            self.refuse(TypeError, call, 1)
            self.refuse(UnicodeEncodeError, call, "a\udc80")
        for name in ("owner", "note"):
            self.refuse(ValueError, self.store.lock, "a", wait=0, **{name: "x\0"})
            self.refuse(TypeError, self.store.lock, "a", wait=0, **{name: b"x"})
        self.refuse(TypeError, self.store.lock, None, wait=0)
        self.refuse(TypeError, self.store.get, None)
        self.refuse(TypeError, self.store.show, None)

    def test_durations(self):
        for wrong in (-1, -0.001, math.nan, -math.inf, 1e300):
            self.refuse(ValueError, self.store.lock, "a", wait=wrong)
            self.refuse(ValueError, self.store.lock, "a", ttl=wrong, wait=0)
        for wrong in ("1", b"1", [1], True, 1j, object()):
            self.refuse(TypeError, self.store.lock, "a", wait=wrong)
            self.refuse(TypeError, self.store.lock, "a", ttl=wrong, wait=0)
        self.refuse(ValueError, self.store.lock, "a", ttl=math.inf, wait=0)
        self.refuse(ValueError, self.store.lock, "a", ttl=0, wait=0)
        self.refuse(ValueError, self.store.lock, "a", wait=10**400)
        self.refuse(Invalid, self.store.lock, "a", ttl=0.01, wait=0)
        self.refuse(Invalid, self.store.lock, "a", ttl=1.5 * YEAR_S, wait=0)
        self.refuse(Invalid, self.store.lock, "a", until=1.0, wait=0)
        with self.store.lock("a", ttl=YEAR_S, wait=math.inf) as lease:
            self.assertGreater(lease.remaining, 0.99 * YEAR_S)

    def test_numbers(self):
        for name in ("limit", "units"):
            for wrong in (0, -1, 2**32, 2**64 + 1):
                self.refuse(ValueError, self.store.lock, "a", wait=0, **{name: wrong})
            for wrong in ("1", 1.0, True, b"1"):
                self.refuse(TypeError, self.store.lock, "a", wait=0, **{name: wrong})
        self.refuse(Invalid, self.store.lock, "a", limit=2, units=3, wait=0)
        for wrong in (-1, 0, 2**64):
            self.refuse(ValueError, self.store.renew, "a", owner="ana", token=wrong)
        self.refuse(Invalid, self.store.renew, "a")
        self.refuse(TypeError, self.store.lock, "a", shared=1, wait=0)
        self.refuse(TypeError, self.store.lock, "a", shared=None, wait=0)

    def test_values(self):
        for wrong in ("text", None, 1, [b"x"]):
            self.refuse(TypeError, self.store.put, "v", wrong)
        with self.store.lock("v") as lease:
            for wrong in ("text", {"v": "text"}, {1: b""}):
                self.refuse(TypeError, lease.release, wrong)
            self.refuse(TypeError, lease.put, None)
            lease.check()
        self.refuse(Invalid, self.store.put, "v", b"", token=5)

    def test_administration(self):
        self.refuse(TypeError, self.store.break_, "a", reason=None, by="ana")
        self.refuse(Invalid, self.store.break_, "a", reason="", by="ana")
        self.refuse(Invalid, self.store.break_, "a", reason="r" * 1025, by="ana")
        self.refuse(TypeError, self.store.set_limits, other=1)
        self.refuse(ValueError, self.store.set_limits, live=-1)
        self.refuse(ValueError, self.store.set_limits, live=2**64)
        self.refuse(ValueError, self.store.ask, "a", style="hurry")
        self.store.set_limits(live=7)
        self.assertEqual(self.store.limits().live, 7)


class Urls(support.unittest.TestCase):
    def test_urls(self):
        for url in ("", "nonsense", "ftp://host/x", "sqlite:", "lk://host:port"):
            with self.subTest(url), self.assertRaises((lockkeeper.Invalid, lockkeeper.Unsupported)):
                lockkeeper.open(url)
        with self.assertRaises(lockkeeper.Error):
            lockkeeper.open("sqlite:/proc/no/such/directory/locks.db")
        with self.assertRaises(lockkeeper.Unavailable):
            lockkeeper.open("lk+unix:/nonexistent/lk.sock").lock("a", wait=0, patience=0.1)


class Objects(support.StoreCase):
    def test_a_closed_store_refuses(self):
        lease = self.store.lock("t")
        self.store.close()
        self.store.close()
        self.assertTrue(self.store.closed)
        for call in (lambda: self.store.lock("a"), lambda: self.store.get("a"), self.store.list,
                     lambda: self.store.put("a", b""), self.store.examine, lambda: self.store.away,
                     lambda: lease.put(b""), lambda: lease.convert(shared=True)):
            with self.assertRaisesRegex(ValueError, "closed"):
                call()
        self.assertIn("closed", repr(self.store))
        self.assertIn("held", repr(lease))
        with self.assertRaises(lockkeeper.Unavailable):
            lease.release()
        self.assertEqual(lease.remaining, 0)

    def test_nothing_is_copied_or_pickled(self):
        with self.store.lock("t") as lease:
            for thing in (self.store, lease):
                for call in (copy.copy, copy.deepcopy, pickle.dumps):
                    with self.assertRaises(TypeError):
                        call(thing)

    def test_records_are_values(self):
        with self.store.lock("t"):
            entry, = self.store.list()
            self.assertEqual(pickle.loads(pickle.dumps(entry)), entry)
            with self.assertRaises(AttributeError):
                entry.path = "other"

    def test_closing_ends_waits_of_other_threads(self):
        with self.store.lock("t"):
            other = self.open()
            waiting = Background(other.lock, "t", owner="ben")
            until(lambda: self.waits("ben"))
            other.close()
            with self.assertRaises(lockkeeper.Cancelled):
                waiting.result()
            self.assertFalse(self.waits("ben"))

    def test_threads_share_a_store_and_a_lease(self):
        """Calls on one lease while it is released and converted, from many threads."""
        for _ in range(20):
            lease = self.store.lock("t", owner="ana", ttl=30)
            start = threading.Barrier(6)

            def use(action, start=start):
                start.wait()
                for _ in range(20):
                    try:
                        action()
                    except lockkeeper.LeaseLost:
                        pass

            actions = [lambda: lease.lost, lambda: lease.remaining, lambda: repr(lease),
                       lambda: lease.convert(), lease.check, lease.release]
            threads = [Background(use, action) for action in actions]
            for thread in threads:
                thread.result()
            self.assertEqual(self.store.list(), [])


if __name__ == "__main__":
    support.main_on_stores()
