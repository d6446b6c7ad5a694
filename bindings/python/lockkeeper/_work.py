# SPDX-License-Identifier: Apache-2.0
"""Pools of workers: lk_work() runs in a thread, and its items are handed to a loop or a function.

The library claims, renews, finishes and retries. What is decided here is only the verdict on an item.
"""

from __future__ import annotations

import asyncio
import ctypes
import os
import queue
import sys
import threading
from dataclasses import dataclass
from types import TracebackType
from typing import TYPE_CHECKING, Any, Callable, Dict, FrozenSet, Optional, Tuple, Type, Union

from . import _abi, _arguments, _background, _records, _request, _scope
from ._library import LIBRARY
from ._arguments import Bytes, Duration
from ._errors import Cancelled, attempt, exception
from ._lease import Held
from ._records import Outcome, WorkCounts

if TYPE_CHECKING:
    from ._store import Store

# Verdicts, as lk_work_handle() returns them. One that has failed may also be parked.
DONE, FAILED, PARKED, GIVE_BACK = 0, 1, 2, _abi.LK_WORK_GIVE_BACK

# Steps of lk_work_step that end an item.
_CLAIMED, _STEP_LOST, _STEP_UNKNOWN = (
    _abi.LK_WORK_CLAIMED, _abi.LK_WORK_LOST, _abi.LK_WORK_UNKNOWN)

_RETRY_MIN_MS = 1000  # as in the library, unless retry_min says otherwise


@dataclass(frozen=True)
class Table:
    """A table or view in the store's database as the source of a queue (rule R17). `where`, `order`
    and `done` are SQL of your own, and run unchanged."""

    name: str
    id: Optional[str] = None
    where: Optional[str] = None
    order: Optional[str] = None
    done: Optional[str] = None


Failure = Union[str, bytes, BaseException]


def failure(error: Optional[Failure]) -> Optional[bytes]:
    """Why an item has failed, as it is kept with it."""
    if isinstance(error, BaseException):
        error = f"{type(error).__name__}: {error}"
    if isinstance(error, str):
        error = error.encode("utf-8", "replace")
    return None if error is None else _arguments.payload(error, "error")


Note = Union[str, bytes]


def note(text: Optional[Note]) -> Optional[bytes]:
    """What is told of the work on an item."""
    if isinstance(text, str):
        return text.encode("utf-8", "replace")
    return None if text is None else _arguments.payload(text, "text")


class Ending:
    """What a done says: a result, and for how long it is kept."""

    def __init__(self, result: Optional[Bytes], keep: Optional[Duration],
                 table: Optional[Table]) -> None:
        self._result = None if result is None else _arguments.payload(result, "result")
        self._keep_ms = 0 if keep is None else _arguments.milliseconds(keep, "keep")
        if len(self._result or b"") > _abi.LK_VALUE_MAX:
            raise ValueError(f"result must have at most {_abi.LK_VALUE_MAX} bytes")
        if table is not None and not self.says_nothing:
            raise ValueError("the row of a table has no result, and must not be kept")

    @property
    def says_nothing(self) -> bool:
        return self._result is None and self._keep_ms == 0

    def request(self, queue: bytes, id: bytes, owner: bytes, token: int) -> _abi.DoneRequest:
        return _abi.DoneRequest(ctypes.sizeof(_abi.DoneRequest), queue, id, owner, token,
                                self._result, len(self._result or b""), self._keep_ms)


def source(table: Table) -> _abi.WorkTable:
    """The table as the library takes it."""
    return _abi.WorkTable(
        ctypes.sizeof(_abi.WorkTable), _arguments.text(table.name, "table.name"),
        _arguments.optional_text(table.id, "table.id"),
        _arguments.optional_text(table.where, "table.where"),
        _arguments.optional_text(table.order, "table.order"),
        _arguments.optional_text(table.done, "table.done"))


def fill(asking: Union[_abi.WorkOptions, _abi.ClaimRequest], queue: Optional[str],
         table: Optional[Table], ttl: Optional[Duration], max_attempts: Optional[int],
         note: Optional[str], cancel: _background.Cancel, patience: Optional[Duration]) -> None:
    """The fields that lk_work_options and lk_claim_request share."""
    asking.size = ctypes.sizeof(asking)
    asking.queue = _arguments.optional_text(queue, "queue")
    asking.ttl_ms = _arguments.duration(ttl, "ttl")
    asking.max_attempts = _arguments.optional_number(max_attempts, "max_attempts")
    asking.note = _arguments.optional_text(note, "note")
    asking.cancel = cancel.handle
    asking.patience_ms = _arguments.duration(patience, "patience")
    if table is not None:
        asking.table = ctypes.pointer(source(table))


class Item(Held):
    """A claimed item. Its claim is a lease, which the library renews until the item is decided on.

    `token` is the claim's fencing token. Properties of a lease (lost, lost_event, remaining, on_lost,
    check) are those of the claim.
    """

    def __init__(self, pool: Pool, claim: Any, handle: ctypes.c_void_p) -> None:
        self._pool = pool
        self.queue = _records.text(claim.queue)
        self.id = _records.text(claim.id)
        self.value = _records.octets(claim.value, claim.value_size)
        self.owner = _records.text(claim.owner)
        self.token = int(claim.token)
        self.attempt = int(claim.attempt)
        self.is_stolen = bool(claim.is_stolen)
        self.row_id = _records.optional_text(claim.row_id)
        self._verdicts: "queue.SimpleQueue[int]" = queue.SimpleQueue()
        self._steps: "queue.SimpleQueue[int]" = queue.SimpleQueue()
        self._is_decided = False
        self._is_unknown = False  # whether the decision has taken effect
        self._worker = threading.get_ident()  # the claim ends when its handler has returned
        self._error: Optional[bytes] = None
        self._exit_code: Optional[int] = None
        self._delay_ms: Optional[int] = None
        self._is_uncounted = False
        self._parks = False  # by the decision that counts
        self._ending = Ending(None, None, None)  # if it is done
        self._refusal: Optional[Tuple[int, str]] = None  # of that
        super().__init__(handle)

    def __repr__(self) -> str:
        return f"<lockkeeper.Item {self.queue}/{self.id} attempt={self.attempt} token={self.token}>"

    def _decide(self, verdict: int) -> bool:
        """Whether this call has decided; the first one counts."""
        with self._lock:
            if self._is_decided:
                return False
            self._is_decided = True
            self._parks = verdict == PARKED
        self._verdicts.put(verdict)
        return True

    def _scope_url(self) -> Optional[str]:
        return None if self._is_decided else self._pool._store.url

    def _part(self, path: str) -> Optional[_request.Part]:
        # Its owner has this claim alone, which is exclusive.
        return _request.Part(path, shared=False, limit=0, units=0)

    def _set(self) -> FrozenSet[str]:
        return frozenset((f"{self.queue}/{self.id}",))

    def _leave_behind(self) -> None:
        """Gives it back while its handler may still run, which is told."""
        with self._lock:
            if self._is_decided:
                return
            self._is_lost, key = True, self._key
        self._tell_lost(key, _background.post)
        self._decide(GIVE_BACK)

    def _decide_and_wait(self, verdict: int) -> None:
        if self._is_unknown:
            self._pool._decide_again(self, verdict)
            self._is_unknown = False
            return
        if not self._decide(verdict):
            raise ValueError("the item has been decided on")
        if threading.get_ident() == self._worker:
            return
        step = _background.take(self._steps)
        if step == _STEP_UNKNOWN or self._is_end_unknown():
            self._is_unknown = True
            raise exception(Outcome.UNAVAILABLE, "unknown whether the claim has been ended")
        if self._refusal is not None:
            raise exception(*self._refusal)
        if step == _STEP_LOST:
            raise exception(Outcome.LOST, "the claim was lost; the item is left to its next claim")

    def _is_end_unknown(self) -> bool:
        return self._refusal is not None and self._refusal[0] == Outcome.UNAVAILABLE

    def progress(self, text: Optional[Note]) -> None:
        """Says how far the work is, in up to 1024 bytes, which listings show; None: no more. It asks
        the store. LeaseLost: the claim was lost."""
        self._pool._store.progress(self.queue, self.id, text, owner=self.owner, token=self.token)

    def done(self, result: Optional[Bytes] = None, *, keep: Optional[Duration] = None) -> None:
        """The item is done and removed; or kept with its result, for `keep` seconds or as long as its
        push says, if that is longer. LeaseLost: the claim was lost, and the item stays. Unavailable,
        of this and the next three: unknown; to call one again asks again. If the store refuses the
        result, that is raised, and the item has failed.

        In a function of run_workers() this and the next three only decide: the item ends when the
        function returns."""
        ending = Ending(result, keep, self._pool._table)
        if self._is_unknown or not self._is_decided:
            self._ending = ending
        self._decide_and_wait(DONE)

    def retry(self, error: Optional[Failure] = None, exit_code: Optional[int] = None, *,
              delay: Optional[Duration] = None, uncounted: bool = False) -> None:
        """The item has failed: it is claimed again after `delay`, or one that grows with its attempts,
        or parked. `error` and `exit_code` are kept with it. `uncounted`: not now; the attempt does not
        count, and the item is not parked."""
        delay_ms = None if delay is None else _arguments.milliseconds(delay, "delay")
        is_uncounted = _arguments.flag(uncounted, "uncounted")
        self._explain(error, exit_code)
        self._delay_ms, self._is_uncounted = delay_ms, is_uncounted
        self._decide_and_wait(FAILED)

    def park(self, error: Optional[Failure] = None, exit_code: Optional[int] = None) -> None:
        """The item cannot succeed: it is parked, whatever its attempts, until it is unparked. `error`
        and `exit_code` are kept with it."""
        self._explain(error, exit_code)
        self._delay_ms, self._is_uncounted = None, False
        self._decide_and_wait(PARKED)

    def give_back(self) -> None:
        """The item has not failed: it can be claimed again at once, and the attempt does not count."""
        self._decide_and_wait(GIVE_BACK)

    def _explain(self, error: Optional[Failure], exit_code: Optional[int]) -> None:
        self._error = failure(error)
        if exit_code is not None:
            self._exit_code = _arguments.number(exit_code, "exit_code", -2**31, 2**31 - 1)

    def _leave(self, failure: Optional[BaseException]) -> None:
        """Its block or its function has ended without a decision. None: it has not failed."""
        if failure is not None:
            self._explain(failure, None)
            self._decide(FAILED)
        else:
            self._decide(GIVE_BACK)


def _is_task_cancelled() -> bool:
    """Whether the present task is being cancelled. Before Python 3.11 it cannot tell."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        return False
    cancelling: Callable[[], int] = getattr(task, "cancelling", lambda: 1)
    return task is not None and cancelling() > 0


class Ended:
    """The last message of a pool."""

    def __init__(self, outcome: int, text: str) -> None:
        self.outcome, self.text = outcome, text

    def check(self, is_stopped: bool = False) -> None:
        if self.outcome != Outcome.OK and not (is_stopped and self.outcome == Outcome.CANCELLED):
            raise exception(self.outcome, self.text)


class Pool:
    """One lk_work(). Each item goes to `work_on`, in the thread of its worker, which decides on it."""

    def __init__(self, store: Store, work_on: Callable[[Item], None], queue: Optional[str], *,
                 table: Optional[Table] = None, workers: int = 1, ttl: Optional[Duration] = None,
                 max_attempts: Optional[int] = None, note: Optional[str] = None,
                 retry_min: Optional[Duration] = None, retry_max: Optional[Duration] = None,
                 drain: bool = False, patience: Optional[Duration] = None) -> None:
        self.counts = WorkCounts(*[0] * len(WorkCounts.__dataclass_fields__))
        self._store, self._work_on = store, work_on
        self._table, self._retry_min = table, retry_min
        self._ended_by: Optional[BaseException] = None  # what a function has raised to stop it
        self._cancel = _background.Cancel()
        self._is_cancelled = False
        self._items: Dict[int, Item] = {}  # by the address of the claim
        self._options = _abi.WorkOptions()
        options = self._options
        fill(options, queue, table, ttl, max_attempts, note, self._cancel, patience)
        options.handle = _abi.Handle(self._handle)
        options.progress = _abi.Progress(self._progress)
        options.explain = _abi.Explain(self._explain)
        options.workers = _arguments.number(workers, "workers", 1, 2**31)
        options.retry_min_ms = _arguments.duration(retry_min, "retry_min")
        options.retry_max_ms = _arguments.duration(retry_max, "retry_max")
        options.drain = _arguments.flag(drain, "drain")

    def cancel(self) -> None:
        self._is_cancelled = True
        self._cancel.now()

    def failure(self, error: Optional[BaseException]) -> Optional[BaseException]:
        """The error, unless it stops the worker, or says that the worker is being stopped. A
        cancellation that comes from the work itself is a failure: given back at once and uncounted,
        its item would be claimed again for ever (R16)."""
        is_stopping = self._is_cancelled or self._store._gate.is_closed
        if isinstance(error, (Cancelled, _background.Closed)):
            return None if is_stopping else error
        if isinstance(error, asyncio.CancelledError):
            return None if is_stopping or _is_task_cancelled() else error
        return error if isinstance(error, Exception) else None

    def run(self) -> Ended:
        counts = _abi.WorkCounts()
        try:
            with self._store._gate.waiting(self._cancel):
                outcome, text = attempt(LIBRARY.lk_work, self._store._handle, self._options, counts)
            self.counts = _records.counts(WorkCounts, counts)
            if self._ended_by is not None:
                raise self._ended_by
            return Ended(outcome, text)
        finally:
            self._options = _abi.WorkOptions()  # its callbacks refer to this object

    def _decide_again(self, item: Item, verdict: int) -> None:
        """The claim has gone with the first decision. It is named by its owner and token."""
        end: Dict[str, Any] = dict(owner=item.owner, token=item.token)
        if verdict == DONE:
            self._store.done(item.queue, item.id, table=self._table, result=item._ending._result,
                             keep=item._ending._keep_ms / 1000, **end)
        elif verdict == FAILED:
            delay = _RETRY_MIN_MS / 1000 if self._retry_min is None else self._retry_min
            if item._delay_ms is not None:
                delay = item._delay_ms / 1000
            self._store.retry(item.queue, item.id, delay=delay, error=item._error,
                              exit_code=item._exit_code, uncounted=item._is_uncounted, **end)
        elif verdict == PARKED:
            self._store.retry(item.queue, item.id, error=item._error, exit_code=item._exit_code,
                              park=True, **end)
        else:
            self._store.retry(item.queue, item.id, uncounted=True, **end)

    # Called by the library. An exception here would count as "done".

    def _handle(self, _: Any, claim: Any, lease: int) -> int:
        try:
            item = Item(self, claim.contents, ctypes.c_void_p(lease))
            self._items[ctypes.addressof(claim.contents)] = item
            _background.handled.gate = self._store._gate
            try:
                self._work_on(item)
            except BaseException as error:
                if not isinstance(error, (Exception, asyncio.CancelledError)):
                    self._ended_by = error  # SystemExit, KeyboardInterrupt
                    self.cancel()
                item._leave(self.failure(error))
            finally:
                _background.handled.gate = None
            verdict = item._verdicts.get()
            if verdict == DONE and not item._ending.says_nothing:
                item._ignore_loss()
                verdict = self._end_with_result(item, lease)
            item._take()
            return verdict
        except BaseException:
            sys.excepthook(*sys.exc_info())
            return FAILED

    def _end_with_result(self, item: Item, lease: int) -> int:
        """Ends the claim. Returns what the library, which knows of no result, has to end: a done that
        is repeated changes nothing (R16)."""
        request = item._ending.request(item.queue.encode(), item.id.encode(), item.owner.encode(),
                                       item.token)
        while True:
            is_last = self._is_cancelled or LIBRARY.lk_lease_is_lost(lease)
            outcome, text = attempt(LIBRARY.lk_done_item, self._store._handle, request)
            if outcome != Outcome.UNAVAILABLE or is_last:
                break
        if outcome in (Outcome.OK, Outcome.LOST):
            return DONE
        item._refusal = outcome, text
        if outcome == Outcome.UNAVAILABLE:
            return GIVE_BACK  # if it is not done: it would lose its result
        item._error = text.encode("utf-8", "replace")[:_abi.LK_FAILURE_BYTES_MAX]
        return FAILED

    def _explain(self, _: Any, claim: Any, failure: Any) -> None:
        item = self._items.get(ctypes.addressof(claim.contents))
        if item is not None and item._error is not None:
            failure.contents.text = item._error
            failure.contents.text_size = len(item._error)
        if item is not None and item._exit_code is not None:
            failure.contents.has_exit = True
            failure.contents.exit_code = item._exit_code
        if item is not None:
            failure.contents.has_delay = item._delay_ms is not None
            failure.contents.delay_ms = item._delay_ms or 0
            failure.contents.uncounted = item._is_uncounted
            failure.contents.parks = item._parks

    def _progress(self, _: Any, progress: Any) -> None:
        step = progress.contents
        self.counts = _records.counts(WorkCounts, step.counts)
        if step.claim and step.step != _CLAIMED:
            item = self._items.pop(ctypes.addressof(step.claim.contents), None)
            if item is not None:
                item._steps.put(step.step)


class Feed:
    """Hands the items of a pool to one consumer by `deliver`; behind them, an Ended."""

    def __init__(self, store: Store, queue: Optional[str], options: Dict[str, Any],
                 deliver: Callable[[Union[Item, Ended]], None]) -> None:
        self._deliver = deliver
        self._process = os.getpid()
        self.pool = Pool(store, self._work_on, queue, **options)
        self._started = threading.Lock()
        self._item: Optional[Item] = None  # the last one, whether the consumer has it or not
        self._is_closing = False
        self.is_stopped = False  # by the consumer: its end is no error then
        store._parts.add(self)

    def _work_on(self, item: Item) -> None:
        self._item = item
        if self._is_closing:
            item._decide(GIVE_BACK)
            return
        try:
            self._deliver(item)
        except RuntimeError:  # the event loop is closed: nothing takes this one, nor another
            self.stop()
            item._decide(GIVE_BACK)

    def is_idle(self) -> bool:
        """Whether it has not begun."""
        return not self._started.locked()

    def start(self) -> None:
        if os.getpid() != self._process:
            raise exception(Outcome.INTERNAL,
                            "the work began before fork(): a child begins its own")
        if self._started.acquire(blocking=False):
            _background.post(self._run)

    def _run(self) -> None:
        try:
            ended = self.pool.run()
        except ValueError as error:  # the store is closed
            ended = Ended(Outcome.CANCELLED, str(error))
        except BaseException as error:
            ended = Ended(Outcome.INTERNAL, str(error))
        try:
            self._deliver(ended)
        except RuntimeError:
            pass  # the event loop is closed: nothing takes it

    def stop(self) -> None:
        """Claims no more. Before an item is decided on for the last time: else the pool could claim
        the next one, or that one again, before it is closed."""
        self._is_closing = True
        self.pool.cancel()

    def leave(self, item: Optional[Item], error: Optional[BaseException]) -> None:
        """The block of the consumer has ended. Claims no more before its item is decided on."""
        failure = self.pool.failure(error)
        self.stop()
        if item is not None:
            item._leave(failure)

    def take(self, message: Union[Item, Ended]) -> Optional[Item]:
        """The item that the consumer goes on with. None: an Ended, or an item that came too late, and
        goes back."""
        if not isinstance(message, Item):
            return None
        if self._is_closing:
            message._decide(GIVE_BACK)
            return None
        message._made_by = _scope.runner()
        return message

    def close(self) -> bool:
        """Claims no more, and gives back what is not decided on. Whether an Ended comes."""
        self.stop()
        item = self._item
        if item is not None:
            item._leave_behind()
        return not self._started.acquire(blocking=False)

    def _end(self) -> None:
        """The store is being closed."""
        self.close()


class Work:
    """An iterator over claimed items, for one thread.

    To ask for the next item says that the present one is done. A loop that is left in another way, by
    `break` or `return`, gives the present item back. As a context manager it also tells an exception
    in the block from that: the item has failed then. SystemExit and KeyboardInterrupt are no failures
    of the item: they give it back. So do asyncio.CancelledError if the task is being cancelled, and
    Cancelled if the work is stopped or the store closed.
    """

    def __init__(self, store: Store, queue_: Optional[str], options: Dict[str, Any]) -> None:
        self._messages: "queue.SimpleQueue[Union[Item, Ended]]" = queue.SimpleQueue()
        self._feed = Feed(store, queue_, options, self._messages.put)
        self._item: Optional[Item] = None  # the present one
        self._is_over = False

    @property
    def counts(self) -> WorkCounts:
        """What has become of the items so far."""
        return self._feed.pool.counts

    def __iter__(self) -> Work:
        return self

    def __next__(self) -> Item:
        if self._item is not None:
            self._item._decide(DONE)
            self._item = None
        if self._is_over:
            raise StopIteration
        if self._feed.is_stopped and self._feed.is_idle():
            raise StopIteration
        self._feed.start()
        while True:
            message = _background.take(self._messages)
            self._item = self._feed.take(message)
            if self._item is not None:
                return self._item
            if isinstance(message, Ended):
                break
        self._is_over = True
        message.check(self._feed.is_stopped)
        raise StopIteration

    def stop(self) -> None:
        """Claims no more: the loop ends with its next turn, and decides on the item that it has. May
        be called by any thread, and by the handler of a signal."""
        self._feed.is_stopped = True
        self._feed.stop()

    def close(self) -> None:
        """Gives the present item back, and returns when nothing of this iterator is claimed. Where
        a loop still works on the item, its `lost` says so."""
        is_running = self._feed.close()
        while is_running and not self._is_over:
            self._is_over = isinstance(_background.take(self._messages), Ended)
        self._is_over = True

    def __enter__(self) -> Work:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self._feed.leave(self._item, error)
        self.close()

    def __del__(self) -> None:
        if getattr(_background, "is_exiting", None) is False and not getattr(self, "_is_over", True):
            _background.post(self._feed.close)  # by what the loop was left is not known


def handling(handle: Callable[[Item], Any]) -> Callable[[Item], None]:
    """What a function decides by returning."""
    def work_on(item: Item) -> None:
        handle(item)
        item._decide(DONE)  # unless it has decided itself
    return work_on
