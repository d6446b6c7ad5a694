#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: locks.py PATTERN LK: locks, leases, requests without keep-alive, and administration."""

import datetime
import pathlib
import signal
import threading
import time
from unittest import mock

import lockkeeper
import support
from lockkeeper import _lease
from support import STRETCH, Background, move, until

class Leaders(support.StoreCase):
    def test_candidates_lead_one_after_the_other_and_others_see_it(self):
        election = self.store.election("service/leader", ttl=10)
        self.assertIsNone(election.leader())
        seen = []

        def observe():
            for leader in election.observe(poll=0.05):
                seen.append(leader and leader.note)
                if seen[-1] == "cem:3":
                    break

        observer = Background(observe)
        until(lambda: seen == [None])
        first = election.campaign(note="ana:1")
        self.assertEqual(election.leader(), lockkeeper.Leader(first.owner, "ana:1", first.token))
        until(lambda: seen == [None, "ana:1"])
        second = Background(election.campaign, note="ben:2")
        until(lambda: any(not entry.held for entry in self.store.list()))
        with self.assertRaises(lockkeeper.Timeout):
            election.campaign(wait=0.02)
        first.release()
        with second.result() as lease:
            self.assertGreater(lease.token, first.token)
            until(lambda: "ben:2" in seen)
        until(lambda: seen[-1] is None)
        self.assertIsNone(election.leader())
        with election.campaign(note="cem:3"):
            observer.result()
        self.assertEqual(seen[:3] + seen[-1:], [None, "ana:1", "ben:2", "cem:3"])
        with self.assertRaises(ValueError):
            self.store.election("service?shared")

    def test_a_leader_that_has_lost_campaigns_again(self):
        election, tokens = self.store.election("service/leader", ttl=2 * STRETCH), []

        def lead(lease):
            tokens.append(lease.token)
            if len(tokens) == 1:
                self.store.break_(election.path, reason="a test", by="a test", at_once=True)
                until(lambda: lease.lost)
                lease.check()
            return "done"

        self.assertEqual(election.lead(lead), "done")
        self.assertEqual(tokens, sorted(set(tokens)))
        self.assertEqual((len(tokens), self.store.list()), (2, []))
        with self.assertRaisesRegex(RuntimeError, "of the leader"):
            election.lead(mock.Mock(side_effect=RuntimeError("of the leader")))
        self.assertEqual(self.store.list(), [])


class Locks(support.StoreCase):
    def test_a_lease_is_held_in_its_block_and_released_behind_it(self):
        with self.store.lock("db/t1", owner="ana", note="a test", ttl=20) as lease:
            self.assertEqual((lease.owner, lease.paths, lease.lost), ("ana", ("db/t1",), False))
            self.assertGreater(lease.token, 0)
            self.assertTrue(0 < lease.remaining <= 20)
            lease.check()
            entry, = self.store.list("db")
            self.assertEqual((entry.path, entry.owner, entry.note, entry.held, entry.token),
                             ("db/t1", "ana", "a test", True, lease.token))
        self.assertEqual(self.store.list(), [])
        self.assertEqual((lease.lost, lease.remaining), (False, 0))
        lease.release()  # again: nothing
        with self.assertRaisesRegex(lockkeeper.LeaseLost, "ended"):
            lease.check()

    def test_waits_in_order_and_gives_up_by_its_time(self):
        holder = self.store.lock("t", owner="ana")
        second = Background(self.store.lock, "t", owner="ben")
        until(lambda: self.waits("ben"))
        third = Background(self.store.lock, "t", owner="cem")
        until(lambda: self.waits("cem"))
        with self.assertRaises(lockkeeper.Timeout) as caught:
            self.store.lock("t", wait=datetime.timedelta(milliseconds=30))
        self.assertIsInstance(caught.exception, TimeoutError)
        self.assertIn("ana", [one.owner for one in caught.exception.blockers])
        holder.release()
        lease = second.result()
        self.assertGreater(lease.token, holder.token)
        self.assertTrue(self.waits("cem"))
        lease.release()
        third.result().release()

    def left(self):
        entry, = self.store.list()
        return entry.expires_in

    def test_a_lease_that_was_quick_stays_for_its_least_time(self):
        with self.store.lock("t", ttl=10, at_least=3600):
            pass
        self.assertTrue(600 < self.left() <= 3600)
        self.assertIsNone(self.store.try_lock("t"))
        self.store.break_("t", reason="a test", by="a test", at_once=True)
        self.store.lock("t", at_least=3600).release(now=True)
        self.assertEqual(self.store.list(), [])
        with self.store.lock("t", at_least=0.05):
            time.sleep(0.06)
        self.assertEqual(self.store.list(), [])
        with self.store.lock("t", at_least=3600) as lease:
            lease.convert(shared=True)
            with self.assertRaises(lockkeeper.Invalid):
                lease.release(put=b"1")
            lease.check()
        self.assertGreater(self.left(), 600)
        with self.assertRaises(lockkeeper.Invalid):
            self.store.lock("u", at_least=0.01)
        with self.assertRaises(lockkeeper.Invalid):
            self.store.lock("u", at_least=1, value=True)

    def test_a_last_renewal_whose_answer_was_lost_is_repeated(self):
        lease = self.store.lock("t", ttl=20, at_least=3600)
        with mock.patch.object(_lease, "attempt", return_value=(lockkeeper.Outcome.UNAVAILABLE, "away")):
            with self.assertRaises(lockkeeper.Unavailable):
                lease.release()
        self.assertLessEqual(self.left(), 20)
        lease.release()
        self.assertGreater(self.left(), 600)
        lease.release()  # it is known now
        again = self.store.lock("u", ttl=20, at_least=3600)
        with mock.patch.object(_lease, "attempt", return_value=(lockkeeper.Outcome.UNAVAILABLE, "away")):
            with self.assertRaises(lockkeeper.Unavailable):
                again.release()
        again.release(now=True)
        self.assertEqual([entry.path for entry in self.store.list()], ["t"])

    def test_a_lease_is_entered_once(self):
        lease = self.store.lock("t")
        with lease:
            for enter in (lambda: lease.__enter__(), Background(lease.__enter__).result):
                with self.assertRaises(RuntimeError):
                    enter()
            lease.check()
        with self.assertRaises(lockkeeper.LeaseLost):
            with lease:
                self.fail("entered")
        with self.store.lock("t") as lease:
            lease.release()  # within its block
        self.assertEqual(self.store.list(), [])
        lost = self.store.lock("t", ttl=0.3 * STRETCH)
        self.store.break_("t", reason="a test", by="a test", at_once=True)
        until(lambda: lost.lost)
        with self.assertRaises(lockkeeper.LeaseLost):
            with lost:
                self.fail("entered")
        with self.assertRaises(lockkeeper.LeaseLost):
            lost.release()

    def test_a_release_that_is_not_answered_is_asked_for_again(self):
        if not self.url.startswith("sqlite:"):
            return  # there it takes the ten seconds for which an unreachable store is asked
        store, path = self.open(), pathlib.Path(self.url[len("sqlite:"):])
        plain, putting = store.lock("t"), store.lock("u", "v")
        values = {"u": b"one", "v": b"two"}

        move(path, f"{path}.away")
        for _ in range(2):
            for release in (plain.release, lambda: putting.release(put=values)):
                with self.assertRaises(lockkeeper.Unavailable):
                    release()
        self.assertIn("unknown", repr(plain))
        move(f"{path}.away", path)
        with self.open() as other:
            self.assertEqual(len(other.list()), 3)
            for lease, put in ((plain, b"x"), (putting, {"u": b"one", "v": b"three"}),
                               (putting, bytes(65537))):
                with self.assertRaises(lockkeeper.Invalid):
                    lease.release(put=put)  # that would not be the same release
            plain.release()
            putting.release(put=values)
            self.assertEqual((other.list(), other.get("v")), ([], b"two"))
            plain.release()  # again: nothing
            with self.assertRaises(lockkeeper.LeaseLost):
                putting.release(put=b"x")

    def test_a_thread_that_would_wait_for_itself_is_told(self):
        with self.store.lock("t", "u?shared") as lease:
            for parts in (("t",), ("t/below",), ("free", "u")):
                with self.assertRaises(lockkeeper.Deadlock) as caught:
                    self.store.lock(*parts)
                self.assertEqual(caught.exception.cycle, (lease.owner,))
                self.assertEqual(caught.exception.blockers[0].owner, lease.owner)
            with self.assertRaises(lockkeeper.Timeout):
                self.store.lock("t", wait=0.01)
            self.store.lock("free").release()
            self.store.lock("t/below", owner=lease.owner).release()  # covered (R8)
            waiting = Background(self.store.lock, "t", owner="ben")  # another thread
            until(lambda: self.waits("ben"))
        waiting.result().release()
        first = self.store.lock("t")
        with self.assertRaises(lockkeeper.Deadlock):
            self.store.lock("t")  # no other thread could release it
        go = threading.Event()

        def finish(lease):
            go.wait(support.PATIENCE_S)
            lease.release()

        handed = Background(finish, first)
        threading.Thread(target=lambda: until(lambda: self.waits("ben")) or go.set()).start()
        self.store.lock("t", owner="ben").release()  # the other thread releases it
        handed.result()

    def test_a_wait_that_others_can_end_is_made(self):
        other = self.open()
        for own, asked in ((("sem?limit=2",), ("sem?limit=2",)), (("sem?shared",), ("sem?limit=2",)),
                           (("sem?limit=2", "free"), ("/sem/?limit=3&units=2",))):
            theirs = other.lock("sem?limit=2")

            def release_then(lease):
                until(lambda: self.waits("ben"))
                lease.release()

            with self.store.lock(*own):
                releasing = Background(release_then, theirs)
                self.store.lock(*asked, owner="ben").release()
                releasing.result()

    def test_units_of_ones_own_are_waited_for_in_vain(self):
        theirs = Background(self.open().lock, "sem?limit=4").result()  # of another thread
        with self.store.lock("sem", limit=4, units=2) as lease:
            for parts, options in ((("sem?limit=2",), {}), (("sem",), {"limit": 4, "units": 3}),
                                   (("free", "sem?units=3&limit=4"), {}), (("sem",), {}),
                                   (("sem/below",), {})):
                with self.assertRaises(lockkeeper.Deadlock) as caught:
                    self.store.lock(*parts, **options)
                self.assertEqual(caught.exception.cycle, (lease.owner,))
            with self.store.lock("sem?limit=4"):
                with self.assertRaises(lockkeeper.Deadlock):
                    self.store.lock("sem?limit=4&units=2")  # three are its own, by two leases
        theirs.release()

    def test_a_lease_that_ends_by_itself_is_waited_for(self):
        with self.assertRaises(lockkeeper.LeaseLost):  # of the block
            with self.store.lock("t", until=time.time() + 2 * STRETCH):
                self.store.lock("t").release()

    def test_a_deadlock_names_its_cycle(self):
        with self.store.lock("a", owner="ana"):
            second = self.store.lock("b", owner="ben")
            waiting = Background(self.store.lock, "b", owner="ana")
            until(lambda: self.waits("ana"))
            with self.assertRaises(lockkeeper.Deadlock) as caught:
                self.store.lock("a", owner="ben")
            self.assertEqual(caught.exception.cycle, ("ben", "ana"))
            second.release()
            waiting.result().release()

    def test_the_library_renews(self):
        with self.store.lock("t", ttl=4 * STRETCH) as lease:
            deadline = time.monotonic() + 4 * STRETCH
            until(lambda: time.monotonic() > deadline)
            self.assertFalse(lease.lost)
            self.assertTrue(self.holds(lease.owner))

    def test_a_lease_with_a_fixed_end_is_lost_there(self):
        lease = self.store.lock("t", until=time.time() + STRETCH)
        self.assertTrue(lease.lost_event.wait(support.PATIENCE_S))
        until(lambda: not self.holds(lease.owner))  # the library's clock is ahead of the store's
        with self.assertRaises(lockkeeper.LeaseLost):
            lease.release()
        soon = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(minutes=1)
        with self.store.lock("t", until=soon) as lease:
            self.assertTrue(0 < lease.remaining <= 60)

    def test_conversion_keeps_or_draws_the_token(self):
        with self.store.lock("t", ttl=30) as lease:
            first = lease.token
            lease.convert(shared=True)
            self.assertEqual(lease.token, first)
            with self.store.lock("t", shared=True):
                with self.assertRaises(lockkeeper.Busy):
                    lease.convert()
                self.assertEqual((lease.lost, lease.token), (False, first))
            lease.convert("t")
            self.assertGreater(lease.token, first)
            self.assertFalse(lease.lost)
            entry, = self.store.list()
            self.assertEqual((entry.shared, entry.token, entry.ttl), (False, lease.token, 30))
        self.assertEqual(self.store.list(), [])

    def test_a_renewal_during_a_conversion_loses_nothing(self):
        acquire = _lease.acquire

        def acquire_slowly(*arguments):
            other = acquire(*arguments)
            until(lambda: lease.lost)  # the new token has ended the former handle
            return other

        with self.store.lock("t", shared=True, ttl=9 * STRETCH) as lease:
            with mock.patch.object(_lease, "acquire", acquire_slowly):
                lease.convert()
            self.assertEqual((lease.lost, lease.lost_event.is_set()), (False, False))
            lease.check()

    def test_a_conversion_leaves_nothing_behind(self):
        with self.store.lock("t", shared=True) as lease:
            before = len(_lease._watched)
            lease.convert()
            self.assertLessEqual(len(_lease._watched), before)

    def test_a_lease_that_has_ended_is_not_converted_into_another(self):
        told = threading.Event()
        lease = self.store.lock("t", owner="ana", shared=True, on_lost=lambda _: told.set())
        self.store.release("t", owner="ana")  # by another handle
        with self.assertRaises(lockkeeper.LeaseLost):
            lease.convert()
        self.assertEqual((self.store.list(), lease.lost), ([], True))

    def test_what_the_store_says_of_itself(self):
        self.assertEqual(self.store.url.split(":")[0], self.url.split(":")[0])
        self.assertIn("round trip", self.store.examine().text + " round trip")
        self.assertGreater(len(self.store.examine().text), 0)
        self.assertEqual(self.store.away, 0)


class Loss(support.StoreCase):
    def break_now(self, path="t"):
        self.store.break_(path, reason="a test", by="a test", at_once=True)

    def test_leaving_the_block_raises(self):
        with self.assertRaises(lockkeeper.LeaseLost) as caught:
            with self.store.lock("t") as lease:
                self.break_now()
        self.assertEqual(caught.exception.outcome, lockkeeper.Outcome.LOST)
        self.assertTrue(lease.lost)
        self.assertTrue(lease.lost_event.is_set())

    def test_an_exception_of_the_block_is_not_hidden(self):
        with self.assertRaises(KeyError):
            with self.store.lock("t"):
                self.break_now()
                raise KeyError("of the block")

    def test_the_loss_is_told_once_to_each(self):
        told = []
        with self.assertRaises(lockkeeper.LeaseLost):
            with self.store.lock("t", ttl=0.2 * STRETCH, on_lost=told.append) as lease:
                self.break_now()
                self.assertTrue(lease.lost_event.wait(support.PATIENCE_S))
                until(lambda: told)
                self.assertTrue(lease.lost)
                with self.assertRaises(lockkeeper.LeaseLost):
                    lease.check()
                late = threading.Event()
                lease.on_lost(lambda _: late.set())
                self.assertTrue(late.wait(support.PATIENCE_S))
        self.assertEqual(told, [lease])

    def test_a_callback_may_release_and_raise(self):
        released = threading.Event()

        def stop(lease):
            try:
                lease.release()
            except lockkeeper.LeaseLost:
                released.set()

        first = self.store.lock("t", ttl=0.2 * STRETCH, on_lost=stop)
        self.break_now()
        self.assertTrue(released.wait(support.PATIENCE_S))
        self.assertTrue(first.lost)

    def test_a_holder_that_is_killed_blocks_for_its_ttl(self):
        holder = self.program(f"""
import lockkeeper, sys
lease = lockkeeper.open(sys.argv[1]).lock("t", ttl={4 * STRETCH}, owner="killed")
print(lease.token, flush=True)
sys.stdin.readline()
""")
        token = int(holder.heard())
        self.assertIsNone(self.store.try_lock("t"))
        holder.signal(signal.SIGKILL)
        with self.store.lock("t", wait=support.PATIENCE_S) as lease:
            self.assertGreater(lease.token, token)
        self.assertEqual(holder.end()[0], -signal.SIGKILL)

    def test_a_holder_that_is_stopped_finds_its_lease_lost(self):
        holder = self.program(f"""
import lockkeeper, sys
with lockkeeper.open(sys.argv[1]) as store:
    try:
        with store.lock("t", ttl={2 * STRETCH}) as lease:
            print("held", flush=True)
            sys.stdin.readline()
            print("lost" if lease.lost else "held", flush=True)
    except lockkeeper.LeaseLost as error:
        print(type(error).__name__, flush=True)
""")
        self.assertEqual(holder.heard(), "held")
        holder.signal(signal.SIGSTOP)
        with self.store.lock("t", wait=support.PATIENCE_S):
            holder.say("go on")
            holder.signal(signal.SIGCONT)
            self.assertEqual(holder.heard(), "lost")
            self.assertEqual(holder.end(), (0, "LeaseLost\n", ""))


class Values(support.StoreCase):
    def test_values_are_bytes_of_any_kind(self):
        self.assertIsNone(self.store.get("v"))
        for value in (b"a\0b\xff", bytearray(b"two"), memoryview(b"three")):
            self.store.put("v", value)
            self.assertEqual(self.store.get("v"), bytes(value))
        self.assertEqual(self.store.read("v"), lockkeeper.Value(b"three", False))

    def test_a_value_comes_with_the_grant_and_goes_with_the_release(self):
        with self.store.lock("v", value=True) as lease:
            self.assertIsNone(lease.value)
            lease.release(put=b"first")
        with self.store.lock("v", "w", value=True) as lease:
            self.assertEqual((lease.value, lease.in_doubt), (b"first", False))
            self.assertEqual([one.data for one in lease.values], [b"first", None])
            lease.release(put={"w": b"second", "v": b"\0"})
        self.assertEqual((self.store.get("v"), self.store.get("w")), (b"\0", b"second"))
        with self.assertRaises(lockkeeper.LeaseLost):
            lease.release(put=b"too late")

    def test_a_lease_writes_only_while_it_is_held(self):
        with self.store.lock("v") as lease:
            with self.assertRaises(lockkeeper.Busy):
                self.store.put("v", b"of another")
            lease.put(b"one")
            lease.put(b"two", "v/below")
            self.assertEqual((self.store.get("v"), self.store.get("v/below")), (b"one", b"two"))
            self.store.break_("v", reason="a test", by="a test", at_once=True)
            with self.assertRaises(lockkeeper.LeaseLost):
                lease.put(b"late")
            with self.assertRaises(lockkeeper.LeaseLost):
                lease.release(put=b"late")
        self.assertEqual(self.store.get("v"), b"one")

    def test_a_put_that_is_refused_leaves_the_lease(self):
        with self.store.lock("v", shared=True) as lease:
            with self.assertRaises(lockkeeper.Invalid):
                lease.release(put=b"of a reader")
            self.assertFalse(lease.lost)
            lease.check()
        with self.store.lock("v") as lease:
            with self.assertRaises(lockkeeper.Invalid):
                lease.release(put=bytes(65537))
            with self.assertRaises(lockkeeper.Invalid):
                lease.release(put={"other": b""})
            lease.check()

    def test_the_value_of_a_dead_holder_is_in_doubt(self):
        self.store.put("v", b"before")
        holder = self.program(f"""
import lockkeeper, sys
lease = lockkeeper.open(sys.argv[1]).lock("v", ttl={0.3 * STRETCH}, value=True)
print("held", flush=True)
sys.stdin.readline()
""")
        self.assertEqual(holder.heard(), "held")
        holder.signal(signal.SIGKILL)
        with self.store.lock("v", value=True) as lease:
            self.assertEqual((lease.value, lease.in_doubt), (b"before", True))
        holder.end()


if __name__ == "__main__":
    support.main_on_stores()
