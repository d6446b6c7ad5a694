#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""usage: aio.py PATTERN LK: the binding in event loops."""

import asyncio
import gc
import logging
import signal
import time

import lockkeeper
import support
from support import STRETCH, until


logging.getLogger("asyncio").setLevel(logging.CRITICAL)  # of calls that take long on a busy machine


async def until_true(condition):
    end = time.monotonic() + support.PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it has not happened"
        await asyncio.sleep(0.005)


async def within(awaitable):
    return await asyncio.wait_for(awaitable, support.PATIENCE_S)


class AsyncCase(support.StoreCase):
    def run_async(self, main):
        asyncio.run(within(main()), debug=True)


class Locks(AsyncCase):
    def test_a_lease_is_held_in_its_block(self):
        async def main():
            async with lockkeeper.aopen(self.url) as store:
                async with store.alock("t", owner="ana", ttl=20, value=True) as lease:
                    self.assertEqual((lease.owner, lease.paths, lease.lost, lease.value),
                                     ("ana", ("t",), False, None))
                    self.assertTrue(0 < lease.remaining <= 20 and lease.token > 0)
                    self.assertIsNone(await store.atry_lock("t"))
                    await lease.put(b"one")
                    await lease.convert(shared=True)
                    await lease.convert()
                    await lease.release(put=b"two")
                self.assertEqual(await store.acall(store.get, "t"), b"two")
                lease = await store.atry_lock("t")
                await lease.release()
            self.assertTrue(store.closed)
        self.run_async(main)
        self.assertEqual(self.store.list(), [])

    def test_the_loop_goes_on_while_many_wait(self):
        async def main():
            order = []

            async def one(number):
                async with self.store.alock("t", wait=support.PATIENCE_S) as lease:
                    order.append(lease.token)

            held = await self.store.alock("t", owner="ana")
            waiters = [asyncio.create_task(one(number)) for number in range(50)]
            await until_true(lambda: len(self.store.list()) == 51)
            await held.release()
            await asyncio.gather(*waiters)
            self.assertEqual(order, sorted(order))
            self.assertEqual(len(order), 50)
        self.run_async(main)

    def test_cancellation_withdraws_the_request(self):
        async def main():
            async with self.store.alock("t", owner="ana"):
                waiting = asyncio.create_task(within(self.store.alock("t", owner="ben")))
                await until_true(lambda: self.waits("ben"))
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.assertFalse(self.waits("ben"))
                with self.assertRaises(asyncio.TimeoutError):
                    await asyncio.wait_for(self.store.alock("t", owner="cem"), 0.05)
                self.assertFalse(self.waits("cem"))
                with self.assertRaises(lockkeeper.Timeout):
                    await self.store.alock("t", wait=0.02)
        self.run_async(main)

    def test_a_second_cancellation_does_not_cut_the_withdrawal_short(self):
        async def main():
            async with self.store.alock("t", owner="ana"):
                for _ in range(20):
                    waiting = asyncio.create_task(
                        self.store.alock("t", owner="ben").__aenter__())
                    await until_true(lambda: self.waits("ben"))
                    waiting.cancel()
                    await asyncio.sleep(0)
                    waiting.cancel()
                    with self.assertRaises(asyncio.CancelledError):
                        await waiting
                    self.assertFalse(self.waits("ben"))
        self.run_async(main)

    def test_a_grant_that_comes_with_the_cancellation_is_released(self):
        """Whenever the cancellation comes: before, with or after the grant."""
        async def main():
            for delay in range(30):
                async with self.store.alock("t", owner="ana"):
                    waiting = asyncio.ensure_future(within(self.store.alock("t", owner="ben")))
                    await until_true(lambda: self.waits("ben"))
                await asyncio.sleep(delay * 0.0001)
                waiting.cancel()
                try:
                    lease = await waiting
                    await lease.release()
                except asyncio.CancelledError:
                    pass
                await until_true(lambda: self.store.list() == [])
        self.run_async(main)

    def test_a_call_that_is_given_up_leaves_what_its_owner_held_before(self):
        async def main():
            lease = await self.store.alock("t", owner="ana")
            for delay in range(20):
                again = asyncio.ensure_future(within(self.store.alock("t", owner="ana")))
                await asyncio.sleep(delay * 0.0002)
                again.cancel()
                try:
                    (await again).lease.abandon()
                except asyncio.CancelledError:
                    pass
                self.assertEqual([entry.held for entry in self.store.list()], [True])
            await lease.release()
        self.run_async(main)

    def test_a_cancelled_block_releases(self):
        async def main():
            entered = asyncio.Event()

            async def work():
                async with self.store.alock("t"):
                    entered.set()
                    await asyncio.sleep(support.PATIENCE_S)

            task = asyncio.create_task(work())
            await entered.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            self.assertEqual(self.store.list(), [])
        self.run_async(main)

    def test_losses(self):
        async def main():
            with self.assertRaises(lockkeeper.LeaseLost):
                async with self.store.alock("t", ttl=0.3 * STRETCH) as lease:
                    waiting = asyncio.create_task(lease.wait_lost())
                    self.store.break_("t", reason="a test", by="a test", at_once=True)
                    await waiting
                    self.assertTrue(lease.lost)
                    with self.assertRaises(lockkeeper.LeaseLost):
                        lease.check()
            with self.assertRaises(KeyError):
                async with self.store.alock("t"):
                    self.store.break_("t", reason="a test", by="a test", at_once=True)
                    raise KeyError("of the block")
        self.run_async(main)

    def test_a_wait_for_a_loss_is_not_collected(self):
        async def main():
            told = []

            async def watch():
                lease = await self.store.alock("t", ttl=3 * STRETCH)
                await lease.wait_lost()
                told.append(lease.lost)

            asyncio.get_running_loop().create_task(watch())  # to which only the lease leads
            await until_true(self.store.list)
            for _ in range(20):
                gc.collect()
                await asyncio.sleep(0.001)
            self.store.break_("t", reason="a test", by="a test", at_once=True)
            await until_true(lambda: gc.collect() >= 0 and told)
            self.assertEqual(told, [True])
        self.run_async(main)

    def test_wrong_arguments_are_told_at_once(self):
        async def main():
            for wrong in ({"ttl": -1}, {"owner": b"x"}, {"note": "\0"}):
                with self.assertRaises((TypeError, ValueError)):
                    self.store.alock("t", **wrong)
            with self.assertRaises(lockkeeper.Invalid):
                await self.store.alock("a" * 600)
            store = lockkeeper.open(self.url)
            await store.aclose()
            with self.assertRaisesRegex(ValueError, "closed"):
                await store.alock("t")
            with self.assertRaises(TypeError):
                await self.store.acall(self.store.put, "v", "text")
        self.run_async(main)

    def test_each_entry_of_one_call_is_a_lease(self):
        async def main():
            opening = self.store.alock("pool", limit=2)
            inside, most = [], []

            async def work():
                async with opening as lease:
                    inside.append(lease)
                    most.append(len(inside))
                    for _ in range(3):
                        await asyncio.sleep(0)
                        lease.check()
                    inside.remove(lease)

            await asyncio.gather(*(work() for _ in range(6)))
            self.assertEqual((len(most), max(most) <= 2, self.store.list()), (6, True, []))
            lease = await self.store.alock("t")
            async with lease:
                with self.assertRaises(RuntimeError):
                    async with lease:
                        self.fail("entered")
                lease.check()
            with self.assertRaises(lockkeeper.LeaseLost):
                async with lease:
                    self.fail("entered")
        self.run_async(main)

    def test_a_task_that_would_wait_for_itself_is_told(self):
        async def main():
            async with self.store.alock("t") as lease:
                with self.assertRaises(lockkeeper.Deadlock) as caught:
                    async with self.store.alock("t/below"):
                        self.fail("entered")
                self.assertEqual(caught.exception.cycle, (lease.owner,))
                with self.assertRaises(lockkeeper.Timeout):
                    await self.store.alock("t", wait=0.01)
                waiting = asyncio.create_task(within(self.store.alock("t", owner="ben")))
                await until_true(lambda: self.waits("ben"))  # another task
            await (await waiting).release()
        self.run_async(main)

    def test_a_loop_that_ends_with_waits_in_progress(self):
        async def main():
            waiting = asyncio.create_task(within(self.store.alock("t", owner="ben")))
            await until_true(lambda: self.waits("ben"))
            return waiting

        with self.store.lock("t", owner="ana"):
            asyncio.run(main())  # cancels what is left
            self.assertFalse(self.waits("ben"))
            loop = asyncio.new_event_loop()
            waiting = loop.run_until_complete(main())
            loop.close()  # leaves it
            self.assertTrue(self.waits("ben"))
        until(lambda: not self.waits("ben"))
        until(lambda: self.store.list() == [])  # granted to a loop that is gone, and released
        waiting._log_destroy_pending = False

    def test_the_interpreter_interrupts(self):
        program = self.program("""
import asyncio, lockkeeper, sys
store = lockkeeper.open(sys.argv[1])
async def main():
    print("open", flush=True)
    async with store.alock("t", owner="ben"):
        pass
try:
    asyncio.run(main())
except KeyboardInterrupt:
    print([entry.owner for entry in store.list()], flush=True)
""")
        with self.store.lock("t", owner="ana"):
            self.assertEqual(program.heard(), "open")
            until(lambda: self.waits("ben"))
            program.signal(signal.SIGINT)
            self.assertEqual(program.end(), (0, "['ana']\n", ""))


class Work(AsyncCase):
    def test_a_loop_over_items(self):
        self.store.push_many("mails", [("1", b"one"), ("2", b"two"), ("3", None)])

        async def main():
            seen = []
            async with self.store.awork("mails", drain=True, retry_min=0.001) as work:
                async for item in work:
                    seen.append((item.id, item.value, item.attempt))
                    if item.id == "2" and item.attempt == 1:
                        await item.retry("no route")
                        with self.assertRaises(ValueError):
                            await item.done()
                    elif item.id == "3":
                        await item.done()
            self.assertEqual(sorted(seen), [("1", b"one", 1), ("2", b"two", 1), ("2", b"two", 2),
                                            ("3", None, 1)])
            self.assertEqual((work.counts.done, work.counts.retried), (3, 1))
        self.run_async(main)
        self.assertEqual(self.store.items("mails"), [])

    def test_items_are_parked_and_cancelled(self):
        async def main():
            async with self.store.awork("mails", ttl=STRETCH) as work:
                async for item in work:
                    if item.id == "1":
                        await item.park("no address", 4)
                        with self.assertRaises(ValueError):
                            await item.park()
                        continue
                    self.assertIs(await self.store.acall(
                        self.store.cancel, "mails", "2", reason="a test", by="ana"), True)
                    await item.wait_lost()
                    break
            await until_true(lambda: len(self.store.items("mails")) == 1)
        self.store.push_many("mails", [("1", None), ("2", None)])
        self.run_async(main)
        kept, = self.store.items("mails")
        self.assertEqual((kept.state, kept.last_error, kept.last_exit), ("parked", b"no address", 4))

    def test_exceptions_and_losses_give_items_back(self):
        async def main():
            with self.assertRaises(KeyError):
                async with self.store.awork("mails", retry_min=0.001) as work:
                    async for item in work:
                        raise KeyError("no address")
            kept, = self.store.items("mails")
            self.assertEqual(kept.last_error, b"KeyError: 'no address'")
            with self.assertRaises(KeyError):
                async for item in self.store.awork("mails", retry_min=0.001):
                    raise KeyError("no address")
            await until_true(lambda: self.store.stats("mails").retried == 2)
            async with self.store.awork("mails", ttl=0.3 * STRETCH) as work:
                async for item in work:
                    self.store.break_("mails/1", reason="a test", by="a test", at_once=True)
                    await item.wait_lost()
                    with self.assertRaises(lockkeeper.LeaseLost):
                        await item.done()
                    break
            self.assertEqual(work.counts.lost, 1)

        self.store.push("mails", "1")
        self.run_async(main)

    def test_a_cancellation_of_another_task_is_a_failure(self):
        async def main():
            async def loop(cancel):
                async with self.store.awork("mails", retry_min=60) as work:
                    async for _ in work:
                        cancel()
                        await other

            other = asyncio.get_running_loop().create_future()
            for own, wanted in ((True, ("ready", 0)), (False, ("delayed", 1))):
                task = asyncio.ensure_future(loop(lambda: (task if own else other).cancel()))
                with self.assertRaises(asyncio.CancelledError):
                    await within(task)
                other = asyncio.get_running_loop().create_future()
                item, = self.store.items("mails")
                self.assertEqual((item.state, item.attempts), wanted)

        self.store.push("mails", "1")
        self.run_async(main)

    def test_cancellation_while_it_waits_for_an_item(self):
        async def main():
            async with self.store.awork("mails") as work:
                waiting = asyncio.ensure_future(work.__anext__())
                await asyncio.sleep(0)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                self.store.push("mails", "1")
                self.assertEqual((await within(work.__anext__())).id, "1")
                idle = self.store.awork("nothing")
                waiting = asyncio.ensure_future(idle.__anext__())
                await asyncio.sleep(0)
                waiting.cancel()
                await idle.aclose()
            self.assertEqual([item.state for item in self.store.items("mails")], ["ready"])
        self.run_async(main)

    def test_a_loop_that_is_left_gives_back(self):
        async def main():
            async with self.store.awork("mails") as work:
                async for _ in work:
                    break
            begun = asyncio.Event()

            async def handle():
                async with self.store.awork("mails", retry_min=support.PATIENCE_S) as work:
                    async for _ in work:
                        begun.set()
                        await asyncio.sleep(support.PATIENCE_S)

            task = asyncio.create_task(handle())
            await begun.wait()
            task.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await task
            item, = self.store.items("mails")
            self.assertEqual((item.state, item.last_error), ("ready", None))
            async with self.store.awork("mails") as work:
                async for _ in work:
                    work.stop()
                    self.assertEqual(self.store.items("mails")[0].state, "claimed")
            self.assertEqual((self.store.items("mails"), work.counts.done), ([], 1))

        self.store.push("mails", "1")
        self.run_async(main)

    def test_a_loop_that_is_closed_gives_back_what_comes(self):
        async def main():
            work = self.store.awork("mails", retry_min=support.PATIENCE_S)
            async for item in work:
                return work, item._item

        for name in ("1", "2", "3"):
            self.store.push("mails", name)
        work, item = asyncio.run(main())  # `work` lives on
        item.done()
        until(lambda: self.store.stats("mails").claims == 2)
        until(lambda: all(item.state != "claimed" for item in self.store.items("mails")))
        self.assertEqual([(item.id, item.state, item.last_error) for item in self.store.items("mails")],
                         [("2", "ready", None), ("3", "ready", None)])
        self.assertEqual(work.counts.done, 1)

    def test_a_handler_is_told_when_its_store_is_closed(self):
        async def main():
            store = lockkeeper.open(self.url)
            work = store.awork("mails")
            item = await work.__anext__()
            self.assertFalse(item.lost)
            await store.aclose()
            self.assertTrue(item.lost)
            self.assertEqual(self.store.items("mails")[0].state, "ready")

        self.store.push("mails", "1")
        self.run_async(main)

    def test_claims_by_hand(self):
        async def main():
            self.assertIsNone(await self.store.aclaim("mails"))
            waiting = asyncio.ensure_future(self.store.aclaim("mails", wait=None))
            await until_true(lambda: self.store._gate._cancels)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.store.push("mails", "1")
            claim = await within(self.store.aclaim("mails", wait=None))
            self.assertEqual((claim.id, claim.attempt), ("1", 1))
            await self.store.acall(claim.done)
        self.run_async(main)
        self.assertEqual(self.store.items("mails"), [])

    def test_a_result_is_awaited(self):
        async def main():
            self.store.push("sums", "1", b"in", keep=60)
            waiting = asyncio.ensure_future(self.store.aresult("sums", "1"))
            await until_true(lambda: self.store._gate._cancels)
            waiting.cancel()
            with self.assertRaises(asyncio.CancelledError):
                await waiting
            self.assertEqual(len(self.store._gate._cancels), 0)
            waiting = asyncio.ensure_future(self.store.aresult("sums", "1"))
            async with self.store.awork("sums", drain=True) as work:
                async for item in work:
                    await item.progress("half")
                    self.assertEqual(self.store.item("sums", "1").progress, b"half")
                    await item.done(b"out", keep=1)
            self.assertEqual(await waiting, b"out")
            with self.assertRaises(lockkeeper.NoValue):
                await self.store.aresult("sums", "2")
        self.run_async(main)


class Events(AsyncCase):
    def test_a_loop_over_events(self):
        async def main():
            async with self.store.awatch("db") as watch:
                await self.store.acall(self.store.put, "db/v", b"")
                self.assertEqual((await watch.__anext__()).kind, "value_written")
                self.assertIsNone(await watch.next(wait=0.02))
                waiting = asyncio.ensure_future(watch.__anext__())
                await until_true(lambda: watch._watch._handle._cancel is not None)
                waiting.cancel()
                with self.assertRaises(asyncio.CancelledError):
                    await waiting
                async with self.store.alock("db"):
                    pass
                kinds = []
                async for event in watch:
                    kinds.append(event.kind)
                    if event.kind == "released":
                        break
                self.assertEqual(kinds, ["granted", "released"])
                self.assertEqual(watch.position, event.sequence)
            with self.assertRaises(StopAsyncIteration):
                await watch.__anext__()
        self.run_async(main)

    def test_no_event_is_lost_by_cancellations(self):
        async def main():
            async with self.store.awatch() as watch:
                for number in range(40):
                    self.store.put(f"v{number}", b"")
                seen = []
                while len(seen) < 40:
                    try:
                        event = await asyncio.wait_for(watch.__anext__(), 0.0003 * (len(seen) % 4))
                        seen.append(event.paths[0])
                    except asyncio.TimeoutError:
                        event = await watch.__anext__()
                        seen.append(event.paths[0])
                self.assertEqual(seen, [f"v{number}" for number in range(40)])
        self.run_async(main)
        gc.collect()


if __name__ == "__main__":
    support.main_on_stores()
