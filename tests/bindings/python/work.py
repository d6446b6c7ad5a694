#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: work.py PATTERN LK: queues of work, and events."""

import asyncio
import gc
import os
import pickle
import signal
import sqlite3
import threading

import lockkeeper
import support
from lockkeeper import _lease
from support import STRETCH, Background, move, until

FAST = {"retry_min": 0.001, "retry_max": 0.002}


class Queues(support.StoreCase):
    def states(self, queue="mails"):
        return [(item.id, item.state) for item in self.store.items(queue)]

    def test_more_are_pushed_than_one_step_takes(self):
        for options, wanted in (({}, (1001, 0, 0)), ({}, (0, 1001, 0)), ({"again": True}, (0, 1001, 1001))):
            counts = self.store.push_many("mails", ((str(i), None) for i in range(1001)), **options)
            self.assertEqual(counts, lockkeeper.PushCounts(*wanted))

    def test_an_item_that_is_there_is_left_or_replaced(self):
        added = self.store.push("mails", "1", b"old")
        self.assertEqual((bool(added), added), (True, lockkeeper.PushResult(True, False, None)))
        left = self.store.push("mails", "1", b"new")
        self.assertEqual((bool(left), left), (False, lockkeeper.PushResult(False, False, "ready")))
        self.assertEqual(self.store.push("mails", "1", b"new", delay=1000, replace=True),
                         lockkeeper.PushResult(False, True, "ready"))
        item, = self.store.items("mails")
        self.assertEqual((item.state, item.value), ("delayed", b"new"))
        counts = self.store.push_many("mails", [("1", b"newer"), ("2", None)], replace=True)
        self.assertEqual(counts, lockkeeper.PushCounts(1, 1, 1))
        self.assertEqual([item.value for item in self.store.items("mails")], [b"newer", None])

    def test_an_item_that_is_pushed_again_while_it_is_worked_on(self):
        self.store.push("mails", "1", b"old")
        seen = []
        for item in self.store.work("mails", drain=True, ttl=20):
            seen.append((item.value, item.attempt))
            if len(seen) == 1:
                self.assertEqual(self.store.push("mails", "1", b"new", again=True),
                                 lockkeeper.PushResult(False, True, "claimed"))
                self.assertEqual(self.states(), [("1", "again")])
                self.assertEqual(self.store.push("mails", "1").was, "again")
        self.assertEqual(seen, [(b"old", 1), (b"new", 1)])
        self.assertEqual(self.states(), [])

    def test_a_loop_finishes_what_it_goes_on_from(self):
        self.store.push_many("mails", [("1", b"one"), ("2", b"a\0b"), ("3", None)])
        seen = []
        work = self.store.work("mails", drain=True, ttl=20, note="a test")
        for item in work:
            seen.append((item.id, item.value, item.attempt))
            entry, = self.store.list("mails")
            self.assertEqual((entry.token, entry.note), (item.token, "a test"))
            self.assertFalse(item.lost)
            item.check()
        self.assertEqual(seen, [("1", b"one", 1), ("2", b"a\0b", 1), ("3", None, 1)])
        self.assertEqual((work.counts.claims, work.counts.done), (3, 3))
        self.assertEqual(self.states(), [])
        self.assertEqual(list(work), [])

    def test_an_item_that_is_done_leaves_nothing_behind(self):
        gc.collect()
        before = len(_lease._watched)
        for i in range(20):
            self.store.push("mails", str(i))
        for item in self.store.work("mails", drain=True):
            pass
        del item
        until(lambda: gc.collect() >= 0 and len(_lease._watched) <= before)

    def test_an_item_is_decided_on_by_its_methods(self):
        self.store.push("mails", "1")
        seen = []
        with self.store.work("mails", drain=True, **FAST) as work:
            for item in work:
                seen.append(item.attempt)
                if len(seen) == 1:
                    item.retry("no route", exit_code=3)
                    kept, = self.store.items("mails")
                    self.assertEqual((kept.last_error, kept.last_exit), (b"no route", 3))
                elif len(seen) == 2:
                    item.give_back()
                else:
                    item.done()
                    self.assertEqual(self.states(), [])
                with self.assertRaises(ValueError):
                    item.done()
        self.assertEqual(seen, [1, 2, 2])  # what was given back has its attempt back
        self.assertEqual((work.counts.done, work.counts.retried), (1, 2))

    def test_an_item_that_is_done_is_kept_with_its_result(self):
        self.store.push("sums", "1", b"in", keep=60)
        self.store.push("sums", "2")
        self.store.push("sums", "3", keep=60)
        with self.assertRaises(lockkeeper.Timeout) as raised:
            self.store.result("sums", "1", wait=0)
        self.assertIsInstance(raised.exception, TimeoutError)
        lost = []
        with self.store.work("sums", drain=True, **FAST) as work:
            for item in work:
                item.on_lost(lost.append)
                item.progress("half")
                self.assertEqual(self.store.item("sums", item.id).progress, b"half")
                if item.id == "1":
                    item.done(b"out")
                    with self.assertRaisesRegex(ValueError, "decided"):
                        item.done(b"other")
                    with self.assertRaises(lockkeeper.LeaseLost):
                        item.progress("late")
                elif item.id == "2":
                    item.done(bytearray(b"two"), keep=60)
                self.assertFalse(item.lost)
        self.assertEqual((work.counts.done, work.counts.lost, lost), (3, 0, []))
        self.assertEqual([self.store.result("sums", str(i)) for i in (1, 2, 3)], [b"out", b"two", None])
        kept = self.store.item("sums", "1")
        self.assertEqual((kept.state, kept.value, kept.progress), ("done", b"out", None))
        self.assertGreater(kept.due_in, 0)
        self.assertEqual(self.store.stats("sums").done_now, 3)
        self.assertIsNone(self.store.item("sums", "4"))
        with self.assertRaises(lockkeeper.NoValue):
            self.store.result("sums", "4")

    def test_a_function_decides_on_a_result(self):
        self.store.push_many("sums", [("1", b"1"), ("2", b"2")], keep=60)

        def double(item):
            item.done(item.value * 2)
            return b"of no interest"

        self.assertEqual(self.store.run_workers("sums", double, drain=True).done, 2)
        self.assertEqual([self.store.result("sums", id) for id in "12"], [b"11", b"22"])

    def test_a_result_is_awaited_until_its_item_is_parked(self):
        self.store.push("sums", "1", keep=60)
        waiter = Background(self.store.result, "sums", "1")
        with self.store.work("sums") as work:
            next(work).park("no such sum", 4)
        with self.assertRaisesRegex(lockkeeper.ItemParked, "the item is parked: exit 4, no such sum") as raised:
            waiter.result()
        self.assertEqual(raised.exception.item.last_exit, 4)
        self.assertEqual(pickle.loads(pickle.dumps(raised.exception)).item.id, "1")
        other = self.open()
        self.store.push("sums", "2", keep=60)
        waiter = Background(other.result, "sums", "2")
        until(lambda: other._gate._cancels)
        other.close()
        with self.assertRaises(lockkeeper.Cancelled):
            waiter.result()

    def test_a_result_that_is_refused(self):
        self.store.push("sums", "1")
        with self.store.work("sums", **FAST) as work:
            item = next(work)
            for wrong in (lambda: item.done("text"), lambda: item.done(1), lambda: item.progress(1)):
                self.assertRaises(TypeError, wrong)
            with self.assertRaises(ValueError):
                item.done(b"x" * 65537)
            with self.assertRaises(lockkeeper.Invalid):
                item.progress("x" * 1025)
            with self.assertRaises(lockkeeper.Invalid):
                item.done(b"out", keep=400 * 86400)
        self.assertIn(b"366 days", self.store.item("sums", "1").last_error)
        self.assertEqual(self.store.stats("sums").done, 0)

    def test_an_item_chooses_when_it_is_tried_again(self):
        self.store.push_many("mails", [("1", None), ("2", None), ("3", None)])

        def send(item):
            item.retry("not now", delay=3600, uncounted=item.id == "2")

        with self.store.work("mails", max_attempts=1) as work:
            item = next(work)
            with self.assertRaises(ValueError):
                item.retry(delay=-1)
            item.retry("not now", 4, delay=3600, uncounted=True)
        other = self.open()
        pool = Background(other.run_workers, "mails", send)
        until(lambda: {state for _, state in self.states()} == {"delayed"})
        other.close()
        with self.assertRaises(lockkeeper.Cancelled):
            pool.result()
        for item, attempts in zip(self.store.items("mails"), (0, 0, 1)):
            self.assertEqual((item.attempts, item.last_error), (attempts, b"not now"))
            self.assertGreater(item.due_in, 3000)

    def stopping(self, work, path):
        """An item whose worker has no more time for its store, which is away."""
        item = next(work)
        work.stop()
        move(path, f"{path}.away")
        return item

    def test_an_end_that_is_not_answered_is_asked_for_again(self):
        if not self.url.startswith("sqlite:"):
            return  # there it takes the ten seconds for which an unreachable store is asked
        path = self.url[len("sqlite:"):]
        for call, arguments in (("give_back", ()), ("park", ("no way",)), ("retry", ("no route",)),
                                ("done", ()), ("done", (b"out",))):
            self.store.push("mails", "1", keep=60 if arguments == (b"out",) else None)
            with self.store.work("mails", **FAST) as work:
                item = self.stopping(work, path)
                for _ in range(3):
                    with self.assertRaises(lockkeeper.Unavailable):
                        getattr(item, call)(*arguments)
                move(f"{path}.away", path)
                self.assertEqual(self.states(), [("1", "claimed")])
                getattr(item, call)(*arguments)
                self.assertNotIn(("1", "claimed"), self.states())
                with self.assertRaisesRegex(ValueError, "decided"):
                    item.done()  # it is known
                self.assertEqual((next(work, None), work.counts.unknown), (None, 1))
            self.assertEqual(self.store.unpark("mails"), int(call == "park"))
        self.assertEqual(self.store.stats("mails").done, 2)
        self.assertEqual(self.store.result("mails", "1"), b"out")
        self.assertIsNone(self.store.stats("mails").oldest_ready)

    def test_a_turn_says_nothing_of_the_item_before(self):
        if not self.url.startswith("sqlite:"):
            return
        path = self.url[len("sqlite:"):]
        self.store.push("mails", "1")
        with self.store.work("mails") as work:
            self.stopping(work, path)
            self.assertIsNone(next(work, None))
            self.assertEqual((work.counts.unknown, work.counts.done), (1, 0))
            move(f"{path}.away", path)
            self.assertEqual(self.states(), [("1", "claimed")])

    def test_an_exception_in_the_block_gives_the_item_back(self):
        self.store.push("mails", "1")
        with self.assertRaises(KeyError):
            with self.store.work("mails", **FAST) as work:
                for item in work:
                    raise KeyError("no address")
        kept, = self.store.items("mails")
        self.assertEqual((kept.attempts, kept.last_error), (1, b"KeyError: 'no address'"))
        with self.store.work("mails") as work:
            next(work)
        self.assertEqual(self.states(), [("1", "ready")])  # given back at the end of the block

    def test_a_loop_that_is_left_gives_back(self):
        self.store.push("mails", "1")
        slow = {"retry_min": 60}
        with self.store.work("mails", **slow) as work:
            for _ in work:
                break
        self.assertEqual(work.counts.done, 0)
        for error in (SystemExit(3), KeyboardInterrupt()):
            with self.assertRaises(type(error)):
                with self.store.work("mails", **slow) as work:
                    for _ in work:
                        raise error
        for _ in self.store.work("mails", **slow):
            break
        until(lambda: self.store.stats("mails").retried == 4)
        item, = self.store.items("mails")
        self.assertEqual((item.state, item.last_error), ("ready", None))
        self.assertGreaterEqual(self.store.stats("mails").oldest_ready, 0)

    def test_a_cancellation_of_a_worker_that_is_not_stopped_is_a_failure(self):
        for error in (lockkeeper.Cancelled(), asyncio.CancelledError()):
            self.store.push("mails", "1")
            seen = []

            def send(item):
                seen.append(item.attempt)
                if len(seen) <= 10:  # else it would go on for ever
                    raise error

            counts = self.store.run_workers("mails", send, drain=True, max_attempts=2, **FAST)
            self.assertEqual((seen, counts.parked), ([1, 2], 1))
            self.store.drop("mails", "1")
            self.store.push("mails", "1")
            for stop, wanted in ((False, ("delayed", 1)), (True, ("ready", 0))):
                with self.assertRaises(type(error)):
                    with self.store.work("mails", retry_min=60) as work:
                        for _ in work:
                            if stop:
                                work.stop()
                            raise error
                item, = self.store.items("mails")
                self.assertEqual((item.state, item.attempts), wanted)
                self.store.drop("mails", "1")
                self.store.push("mails", "1")
            self.store.drop("mails", "1")

    def test_a_loop_that_is_stopped_decides_on_its_item(self):
        self.store.push_many("mails", [("1", None), ("2", None)])
        with self.store.work("mails") as work:
            for _ in work:
                work.stop()
                self.assertEqual(self.states(), [("1", "claimed"), ("2", "ready")])
        self.assertEqual((self.states(), work.counts.done), ([("2", "ready")], 1))
        work = self.store.work("mails")
        work.stop()
        self.assertEqual(list(work), [])
        idle = self.store.work("nothing")
        waiting = Background(list, idle)
        until(lambda: self.store._gate._cancels)
        idle.stop()
        self.assertEqual(waiting.result(), [])

    def test_a_handler_is_told_when_its_work_is_closed(self):
        self.store.push("mails", "1")
        told = []
        for end in ("work", "store"):
            other = self.open()
            work = other.work("mails")
            item = next(work)
            item.on_lost(told.append)
            (work if end == "work" else other).close()
            self.assertTrue(item.lost and item.lost_event.is_set())
            with self.assertRaises(lockkeeper.LeaseLost):
                item.check()
            self.assertEqual(self.states(), [("1", "ready")])
            other.close()
        until(lambda: len(told) == 2)

    def test_a_function_that_stops_the_program_ends_the_pool(self):
        self.store.push_many("mails", [("1", None), ("2", None)])
        begun, seen = threading.Barrier(2), []

        def send(item):
            begun.wait(support.PATIENCE_S)
            if item.id == "1":
                raise SystemExit(3)
            seen.append(item.id)

        with self.assertRaises(SystemExit) as caught:
            self.store.run_workers("mails", send, workers=2)
        self.assertEqual((caught.exception.code, seen), (3, ["2"]))
        item, = self.store.items("mails")
        self.assertEqual((item.id, item.state, item.last_error), ("1", "ready", None))

    def test_closing_the_store_waits_for_a_function(self):
        self.store.push("mails", "1")
        other = self.open()
        begun, end, seen = threading.Event(), threading.Event(), []

        def send(_):
            begun.set()
            end.wait(support.PATIENCE_S)
            try:
                other.put("v", b"")
            except ValueError as error:
                seen.append(error)
                raise

        pool = Background(other.run_workers, "mails", send)
        self.assertTrue(begun.wait(support.PATIENCE_S))
        closing = Background(other.close)
        until(lambda: other.closed)
        self.assertEqual(self.states(), [("1", "claimed")])
        end.set()
        closing.result()
        with self.assertRaises(lockkeeper.Cancelled):
            pool.result()
        item, = self.store.items("mails")
        self.assertEqual((len(seen), item.state, item.last_error), (1, "ready", None))

    def test_a_loop_without_a_block(self):
        self.store.push("mails", "1")
        with self.assertRaises(KeyError):
            for item in self.store.work("mails", **FAST):
                raise KeyError("no address")
        until(lambda: self.store.stats("mails").retried == 1)
        for item in self.store.work("mails"):
            break
        del item
        until(lambda: self.store.stats("mails").retried == 2)
        self.assertEqual(self.store.stats("mails").done, 0)

    def test_an_item_that_fails_is_parked(self):
        self.store.push("mails", "1")
        with self.store.work("mails", drain=True, max_attempts=2, **FAST) as work:
            for item in work:
                item.retry()
        self.assertEqual((self.states(), work.counts.parked), ([("1", "parked")], 1))

    def test_an_item_that_cannot_succeed_is_parked(self):
        self.store.push_many("mails", [("1", None), ("2", None)])
        with self.store.work("mails", max_attempts=9) as work:
            item = next(work)
            with self.assertRaises(TypeError):
                item.park(1)
            item.park("no address", 4)
            kept = self.store.items("mails")[0]
            self.assertEqual((kept.state, kept.attempts, kept.last_error, kept.last_exit),
                             ("parked", 1, b"no address", 4))
            with self.assertRaisesRegex(ValueError, "decided"):
                item.park()
            self.assertEqual((work.counts.parked, work.counts.retried), (1, 1))

        def send(item):
            item.park(OSError("no address"))
            with self.assertRaisesRegex(ValueError, "decided"):
                item.give_back()

        counts = self.store.run_workers("mails", send, drain=True)
        self.assertEqual((counts.parked, self.store.items("mails")[1].last_error),
                         (1, b"OSError: no address"))
        self.assertEqual(self.store.unpark("mails"), 2)
        claim = self.store.claim("mails", max_attempts=9)
        with self.assertRaises(lockkeeper.Invalid):
            claim.retry(delay=1, park=True)
        with self.assertRaises(TypeError):
            claim.retry(park=1)
        claim.retry(park=True, error="still none")
        self.assertEqual(self.states(), [("1", "parked"), ("2", "ready")])

    def test_an_item_that_is_cancelled(self):
        why = {"reason": "a test", "by": "ana"}
        self.store.push_many("mails", [("1", None), ("2", None)])
        self.assertIs(self.store.cancel("mails", "2", **why), False)
        with self.assertRaises(lockkeeper.LeaseLost):
            self.store.cancel("mails", "2", **why)
        with self.assertRaises(lockkeeper.Invalid):
            self.store.cancel("mails", "1", reason="", by="ana")
        with self.assertRaises(TypeError):
            self.store.cancel("mails", 1, **why)
        told = threading.Event()
        with self.store.work("mails", ttl=STRETCH) as work:
            item = next(work)
            item.on_lost(lambda lost: lost is item and told.set())
            self.assertIs(self.store.cancel("mails", "1", **why), True)
            self.assertIn(self.states(), ([("1", "cancelled")], []))  # []: it was slow
            self.assertTrue(told.wait(support.PATIENCE_S))
            self.assertTrue(item.lost)
        until(lambda: self.states() == [])  # with its claim
        self.store.push("mails", "3")
        claim = self.store.claim("mails")
        self.assertIs(self.store.cancel("mails", "3", at_once=True, **why), True)
        self.assertEqual(self.states(), [])
        with self.assertRaises(lockkeeper.LeaseLost):
            claim.done()

    def test_a_claim_that_is_lost(self):
        self.store.push("mails", "1")
        told = threading.Event()
        with self.store.work("mails", ttl=0.3 * STRETCH) as work:
            item = next(work)
            item.on_lost(lambda lost: lost is item and told.set())
            self.store.break_("mails/1", reason="a test", by="a test", at_once=True)
            self.assertTrue(told.wait(support.PATIENCE_S))
            self.assertTrue(item.lost and item.lost_event.is_set())
            with self.assertRaises(lockkeeper.LeaseLost):
                item.check()
            with self.assertRaises(lockkeeper.LeaseLost):
                item.done()
        self.assertEqual((work.counts.lost, self.states()), (1, [("1", "ready")]))

    def test_the_item_of_a_worker_that_is_killed_is_stolen(self):
        self.store.push("mails", "1")
        worker = self.program(f"""
import lockkeeper, sys
for item in lockkeeper.open(sys.argv[1]).work("mails", ttl={2 * STRETCH}):
    print(item.id, flush=True)
    sys.stdin.readline()
""")
        self.assertEqual(worker.heard(), "1")
        self.assertEqual(self.states(), [("1", "claimed")])
        worker.signal(signal.SIGKILL)
        until(lambda: self.states() == [("1", "ready")])
        with self.store.work("mails") as work:
            item = next(work)
            self.assertEqual((item.id, item.attempt, item.is_stolen), ("1", 2, True))
        self.assertEqual(worker.end()[0], -signal.SIGKILL)

    def test_workers_call_a_function(self):
        self.store.push_many("mails", ((str(i), b"%d" % i) for i in range(40)))
        seen, failed = [], set()

        def send(item):
            if int(item.id) % 10 == 0 and item.id not in failed:
                failed.add(item.id)
                raise OSError("no route")
            if item.id == "7" and item.attempt == 1:
                item.retry("not yet")
            else:
                seen.append(item.id)

        counts = self.store.run_workers("mails", send, workers=4, drain=True, **FAST)
        self.assertEqual(sorted(seen, key=int), [str(i) for i in range(40)])
        self.assertEqual((counts.done, counts.retried), (40, 5))

    def test_a_handler_cannot_close_its_store(self):
        self.store.push("mails", "1")
        caught = []

        def send(_):
            try:
                self.store.close()
            except RuntimeError as error:
                caught.append(error)

        self.store.run_workers("mails", send, drain=True)
        self.assertEqual(len(caught), 1)

    def test_closing_the_store_ends_the_work(self):
        self.store.push_many("mails", [("1", None), ("2", None)])
        other = self.open()
        work = other.work("mails")
        next(work)
        idle = Background(next, other.work("nothing"))
        until(lambda: idle.thread.is_alive())
        other.close()
        with self.assertRaises(lockkeeper.Cancelled):
            idle.result()
        with self.assertRaises(lockkeeper.Cancelled):
            next(work)
        self.assertEqual(self.states(), [("1", "ready"), ("2", "ready")])

    def test_the_interpreter_interrupts_a_loop_and_a_pool(self):
        for work in ("for item in store.work('mails'): print(item.id, flush=True)",
                     "store.run_workers('mails', lambda item: print(item.id, flush=True))"):
            worker = self.program(f"""
import lockkeeper, sys
with lockkeeper.open(sys.argv[1]) as store:
    try:
        {work}
    except KeyboardInterrupt:
        print("interrupted", flush=True)
""")
            self.store.push("mails", "1")
            self.assertEqual(worker.heard(), "1")
            until(lambda: self.states() == [])
            worker.signal(signal.SIGINT)
            self.assertEqual(worker.end(), (0, "interrupted\n", ""))

    def test_exits_and_forks_with_work_in_hand(self):
        self.store.push_many("mails", [("1", None), ("2", None)])
        begin = ("import lockkeeper, os, sys\nstore = lockkeeper.open(sys.argv[1])\n"
                 "work = store.work('mails', ttl=30)\nitem = next(work)\n")
        for end in ("", "work.self = work; del work", "raise SystemExit(0)"):
            self.assertEqual(self.program(begin + end).end(), (0, "", ""))
        program = self.program(begin + """
child = os.fork()
if child == 0:
    code = 1
    try:
        next(work)
    except lockkeeper.Internal:
        code = 0
    os._exit(code)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
work.close()
""")
        self.assertEqual(program.end(), (0, "0\n", ""))
        self.assertEqual(len(self.states()), 2)

    def test_wrong_arguments(self):
        for kind, call in [
                (TypeError, lambda: self.store.push("mails", 1)),
                (TypeError, lambda: self.store.push("mails", "1", "text")),
                (ValueError, lambda: self.store.push("mails", "1\0")),
                (ValueError, lambda: self.store.push("mails", "1", priority=2**40)),
                (lockkeeper.Invalid, lambda: self.store.push("mails", "1", priority=40000)),
                (TypeError, lambda: self.store.push("mails", "1", again=1)),
                (lockkeeper.Invalid, lambda: self.store.push("mails", "1", again=True, replace=True)),
                (lockkeeper.Invalid, lambda: self.store.push_many(
                    "mails", [("1", None)], again=True, replace=True)),
                (lockkeeper.Invalid, lambda: self.store.push("mails", "a/b")),
                (lockkeeper.Invalid, lambda: self.store.push("mails", "1", bytes(65537))),
                (TypeError, lambda: self.store.push("mails", "1", needs="smtp")),
                (ValueError, lambda: self.store.work("mails", retry_min=-1)),
                (TypeError, lambda: self.store.work(b"mails")),
                (ValueError, lambda: self.store.run_workers("mails", print, workers=0)),
                (lockkeeper.Invalid, lambda: self.store.run_workers("mails", print, workers=1000)),
                (lockkeeper.Invalid, lambda: next(self.store.work())),
                (lockkeeper.Invalid, lambda: next(self.store.work("q" * 600)))]:
            with self.assertRaises(kind) as caught:
                call()
            self.assertIs(type(caught.exception), kind)
        self.assertEqual(self.states(), [])


class Claims(support.StoreCase):
    def states(self, queue="mails"):
        return [(item.id, item.state) for item in self.store.items(queue)]

    def test_a_claim_is_kept_and_ended_by_hand(self):
        self.assertIsNone(self.store.claim("mails"))
        self.store.push("mails", "1", b"to: ana")
        claim = self.store.claim("mails", ttl=20, owner="bob", note="a test")
        self.assertEqual((claim.queue, claim.id, claim.value, claim.owner, claim.attempt),
                         ("mails", "1", b"to: ana", "bob", 1))
        self.assertEqual((claim.is_stolen, claim.ttl, claim.row_id), (False, 20, None))
        self.assertTrue(0 < claim.expires_in <= 20)
        entry, = self.store.list("mails")
        self.assertEqual((entry.path, entry.token, entry.note), ("mails/1", claim.token, "a test"))
        self.assertIsNone(self.store.claim("mails", wait=0.01))
        self.assertEqual(claim.renew().ttl, 20)
        self.assertEqual(claim.renew(40).ttl, 40)
        claim.done()
        self.assertEqual(self.states(), [])
        claim.done()  # again: nothing
        with self.assertRaises(lockkeeper.LeaseLost):
            claim.renew()

    def test_an_item_is_given_back_with_a_reason(self):
        self.store.push("mails", "1")
        first = self.store.claim("mails")
        first.retry(error=OSError("no route"), exit_code=3)
        kept, = self.store.items("mails")
        self.assertEqual((kept.last_error, kept.last_exit, kept.state),
                         (b"OSError: no route", 3, "ready"))
        second = self.store.claim("mails")
        self.assertNotEqual((second.owner, second.token), (first.owner, first.token))
        second.retry(delay=60)
        delayed, = self.store.items("mails")
        self.assertEqual(delayed.state, "delayed")
        self.assertTrue(30 < delayed.due_in <= 60)

    def test_a_claim_waits_for_an_item(self):
        waiting = Background(self.store.claim, "mails", wait=support.PATIENCE_S)
        many = Background(self.store.claim_many, "others", 9, wait=support.PATIENCE_S)
        self.store.push("mails", "1")
        self.store.push("others", "2")
        self.assertEqual(waiting.result().id, "1")
        self.assertEqual([claim.id for claim in many.result()], ["2"])

    def test_the_interpreter_interrupts_a_claim(self):
        program = self.program("""
import lockkeeper, sys
with lockkeeper.open(sys.argv[1]) as store:
    try:
        print("waiting", flush=True)
        store.claim("mails", wait=None)
    except KeyboardInterrupt:
        print(store.claim("mails"), flush=True)
""")
        self.assertEqual(program.heard(), "waiting")
        program.signal(signal.SIGINT)
        self.assertEqual(program.end(), (0, "None\n", ""))

    def test_a_claim_that_waits_ends_with_its_store(self):
        waiting = Background(self.store.claim, "mails", wait=None)
        until(lambda: self.store._gate._cancels)
        self.store.close()
        with self.assertRaises(lockkeeper.Cancelled):
            waiting.result()

    def test_what_is_wrong(self):
        claim, done, retry = self.store.claim, self.store.done, self.store.retry
        many, done_many = self.store.claim_many, self.store.done_many
        invalid, lost = lockkeeper.Invalid, lockkeeper.LeaseLost
        for kind, call, arguments, options in (
                (TypeError, claim, (1,), {}), (ValueError, claim, ("a\0",), {}),
                (ValueError, claim, ("a",), {"wait": -1}), (TypeError, claim, ("a",), {"ttl": "1"}),
                (TypeError, claim, ("a",), {"owner": b"o"}),
                (ValueError, claim, ("a",), {"max_attempts": 0}), (invalid, claim, ("",), {}),
                (invalid, claim, (None,), {}), (invalid, claim, ("a" * 600,), {}),
                (invalid, claim, ("a",), {"ttl": 400 * 86400}), (ValueError, many, ("a", 0), {}),
                (ValueError, many, ("a", 257), {}), (TypeError, many, ("a", "1"), {}),
                (TypeError, done, ("a", None), {"owner": "o"}),
                (TypeError, done, ("a", "1"), {"owner": None}),
                (ValueError, done, ("a", "1"), {"owner": "o", "token": 0}),
                (ValueError, done, ("a", "1"), {"owner": "o", "token": 2**64}),
                (TypeError, done_many, ("a", "1"), {"owner": "o"}),
                (invalid, done_many, ("a", []), {"owner": "o"}),
                (ValueError, retry, ("a", "1"), {"owner": "o", "delay": -1}),
                (TypeError, retry, ("a", "1"), {"owner": "o", "error": 1}),
                (ValueError, retry, ("a", "1"), {"owner": "o", "exit_code": 2**31}),
                (invalid, retry, ("a", "1"), {"owner": "o", "error": "x" * 1025}),
                (lost, done, ("a", "1"), {"owner": "o"}),
                (lost, retry, ("a", "1"), {"owner": "o"})):
            with self.subTest(f"{call.__name__} {arguments} {options}"):
                with self.assertRaises(kind) as caught:
                    call(*arguments, **options)
                self.assertIs(type(caught.exception), kind)
                self.assertNotEqual(str(caught.exception), "")
        self.store.push("a", "1")
        held = claim("a")
        self.store.close()
        for call in (lambda: claim("a"), held.done, held.retry, held.renew):
            with self.assertRaises(ValueError):
                call()


class Rows(support.StoreCase):
    def setUp(self):
        super().setUp()
        if self.url.startswith("sqlite:"):
            self.path = os.path.join(support.STORES.place, "orders.db")
            self.addCleanup(os.unlink, self.path)
            with sqlite3.connect(self.path) as rows:
                rows.execute("CREATE TABLE orders (id INTEGER PRIMARY KEY, sent INTEGER)")
                rows.execute("INSERT INTO orders VALUES (1, 0), (2, 1), (3, 0)")
            rows.close()

    def test_rows_of_a_table(self):
        table = lockkeeper.Table("orders", where="sent = 0",
                                 done="UPDATE orders SET sent = 1 WHERE id = :id")
        if not self.url.startswith("sqlite:"):
            with self.assertRaises(lockkeeper.Unsupported):
                next(self.store.work(table=table))
            return
        with lockkeeper.open(f"sqlite:{self.path}?share=yes") as store:
            with store.work(table=table, drain=True) as work:
                item = next(work)
                self.assertEqual(item.row_id, "1")
                item.done()
            claim = store.claim(table=table, ttl=300)
            self.assertEqual(claim.row_id, "3")
            claim.done()
            with store.work(table=table, drain=True) as work:
                self.assertEqual([item.row_id for item in work], [])
            with self.assertRaises(lockkeeper.Invalid):
                next(store.work(table=lockkeeper.Table("absent")))
        rows = sqlite3.connect(self.path)
        self.assertEqual(rows.execute("SELECT sum(sent) FROM orders").fetchone(), (3,))
        rows.close()


class Events(support.StoreCase):
    def test_events_come_in_order_and_can_be_resumed(self):
        with self.store.watch("db") as watch:
            with self.store.lock("db/t?shared", owner="ana", note="a test") as lease:
                self.store.put("db/v", b"x", owner="ana")
            self.store.lock("other").release()
            self.store.push("db/mails", "1")
            granted, written, released, pushed = (next(watch) for _ in range(4))
            position = watch.position
            self.assertIsNone(watch.next(wait=0))
        self.assertEqual([one.kind for one in (granted, written, released, pushed)],
                         ["granted", "value_written", "released", "pushed"])
        self.assertEqual((granted.paths, granted.parts, granted.owner, granted.token, granted.note),
                         (("db/t",), ("db/t?shared",), "ana", lease.token, "a test"))
        self.assertEqual((pushed.queue, pushed.id), ("db/mails", "1"))
        self.assertGreaterEqual(position, pushed.sequence)
        self.assertEqual(next(watch, None), None)
        self.store.delete("db/v")
        with self.store.watch("db", after=granted.sequence) as watch:
            self.assertEqual([next(watch).kind for _ in range(4)],
                             ["value_written", "released", "pushed", "value_written"])

    def test_waiting_for_an_event(self):
        with self.store.watch() as watch:
            self.assertIsNone(watch.next(wait=0.02))
            other = self.open()
            waiting = Background(next, watch)
            other.lock("t").release()
            self.assertEqual(waiting.result().kind, "granted")
            self.assertEqual(next(watch).kind, "released")
            waiting = Background(next, watch, "closed")
            until(lambda: watch._handle._cancel is not None)
            watch.close()
            self.assertEqual(waiting.result(), "closed")

    def test_watches_in_any_order_of_the_ends(self):
        watch = self.store.watch()
        self.store.close()
        with self.assertRaises(ValueError):
            next(watch)
        watch.close()
        for _ in range(10):
            store = lockkeeper.open(self.url)
            watch = store.watch()
            store.cycle = watch
            del store, watch
            gc.collect()

    def test_the_interpreter_interrupts_a_watch(self):
        program = self.program("""
import lockkeeper, sys
with lockkeeper.open(sys.argv[1]) as store:
    watch = store.watch()
    print("watching", flush=True)
    try:
        for event in watch:
            print(event.kind, flush=True)
    except KeyboardInterrupt:
        print(watch.position == event.sequence, flush=True)
""")
        self.assertEqual(program.heard(), "watching")
        self.store.put("v", b"")
        self.assertEqual(program.heard(), "value_written")
        program.signal(signal.SIGINT)
        self.assertEqual(program.end(), (0, "True\n", ""))


if __name__ == "__main__":
    support.main_on_stores()
