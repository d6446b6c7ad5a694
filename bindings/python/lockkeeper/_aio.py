# SPDX-License-Identifier: Apache-2.0
"""The same for asyncio. Calls run in threads of the binding's; the loop never waits for a store.

A call that waits has a thread of its own for as long as it waits. Its task's cancellation withdraws the
request before the task ends.
"""

from __future__ import annotations

import asyncio
import functools
from types import TracebackType
from typing import (
    TYPE_CHECKING, Any, AsyncContextManager, Awaitable, Callable, Dict, Generator, Generic, List,
    Optional, Set, Tuple, Type, TypeVar, Union)

from . import _abi, _arguments, _background, _lease, _request
from ._arguments import Bytes, Duration, Instant
from ._background import awaited, short
from ._errors import Busy, Error
from ._lease import Held, Lease
from ._records import Event, Value, WorkCounts
from ._request import Put
from ._watch import Watch
from ._work import Ended, Failure, Feed, Item, Note, Table

if TYPE_CHECKING:
    from ._store import Store

T = TypeVar("T")
A = TypeVar("A", bound=AsyncContextManager[Any])
S = TypeVar("S", bound="AsyncCalls")

# Waits for a loss. The loop keeps its tasks weakly: one that waits for this alone would be collected with
# its lease, which is renewed no more then, and never be told.
_waits: Set[asyncio.Event] = set()


class AsyncHeld:
    """What AsyncLease and AsyncItem share."""

    def __init__(self, held: Held) -> None:
        self._held = held

    @property
    def lost(self) -> bool:
        """Whether the lease is lost, or must be taken as lost. Asks nothing. Once true it stays true."""
        return self._held.lost

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is held for certain; 0 when it is lost or has ended."""
        return self._held.remaining

    def check(self) -> None:
        """Raises LeaseLost unless the lease is held."""
        self._held.check()

    async def wait_lost(self) -> None:
        """Returns when the lease is found lost; not when it is released."""
        loop = asyncio.get_running_loop()
        told = asyncio.Event()

        def tell(_: Any) -> None:
            try:
                loop.call_soon_threadsafe(told.set)
            except RuntimeError:
                pass  # the loop is closed

        self._held.on_lost(tell)
        _waits.add(told)
        try:
            await told.wait()
        finally:
            _waits.discard(told)


class AsyncLease(AsyncHeld):
    """A lease, which the library renews until it is released or lost: lockkeeper.Lease, for asyncio."""

    def __init__(self, lease: Lease) -> None:
        super().__init__(lease)
        self.lease = lease

    def __repr__(self) -> str:
        return repr(self.lease).replace("lockkeeper.Lease", "lockkeeper.AsyncLease")

    @property
    def token(self) -> int:
        """The fencing token."""
        return self.lease.token

    @property
    def tokens(self) -> Tuple[int, ...]:
        return self.lease.tokens

    @property
    def owner(self) -> str:
        return self.lease.owner

    @property
    def paths(self) -> Tuple[str, ...]:
        return self.lease.paths

    @property
    def values(self) -> Tuple[Value, ...]:
        return self.lease.values

    @property
    def value(self) -> Optional[bytes]:
        return self.lease.value

    @property
    def in_doubt(self) -> bool:
        return self.lease.in_doubt

    async def put(self, value: Bytes, path: Optional[str] = None) -> None:
        await short(self.lease.put, value, path)

    async def convert(self, *parts: str, **options: Any) -> None:
        await short(functools.partial(self.lease.convert, *parts, **options))

    async def release(self, put: Optional[Put] = None, now: bool = False) -> None:
        """As Lease.release(). The task's cancellation does not stop it."""
        await short(self.lease.release, put, now)

    async def __aenter__(self) -> AsyncLease:
        self.lease.__enter__()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        try:
            await self.release()
        except Error:
            if kind is None:
                raise  # else what the block has raised says more
        finally:
            self.lease._entered_by = None


class Opening(Generic[A]):
    """Of aopen() and alock(): to be awaited, or entered by `async with`. Each time it is entered, also
    by several tasks at once, it opens or acquires again."""

    def __init__(self, call: Callable[[], Awaitable[A]]) -> None:
        self._call = call
        self._entered: Dict[Any, List[A]] = {}  # by task, the inner ones last

    def __await__(self) -> Generator[Any, None, A]:
        return self._call().__await__()

    async def __aenter__(self) -> A:
        opened = await self._call()
        try:
            await opened.__aenter__()
        except BaseException as error:
            await opened.__aexit__(type(error), error, None)
            raise
        self._entered.setdefault(asyncio.current_task(), []).append(opened)
        return opened

    def _leave(self) -> A:
        """What the block that ends has entered. That of a generator may end in another task."""
        task = asyncio.current_task()
        if task not in self._entered:
            task = next((one for one in self._entered if one is None or one.done()),
                        next(iter(self._entered)))
        opened = self._entered[task].pop()
        if not self._entered[task]:
            del self._entered[task]
        return opened

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self._leave().__aexit__(kind, error, traceback)


class AsyncItem(AsyncHeld):
    """A claimed item: lockkeeper.Item, for asyncio."""

    def __init__(self, item: Item) -> None:
        super().__init__(item)
        self._item = item
        self.queue, self.id, self.value, self.owner = item.queue, item.id, item.value, item.owner
        self.token, self.attempt, self.is_stolen = item.token, item.attempt, item.is_stolen
        self.row_id = item.row_id

    def __repr__(self) -> str:
        return repr(self._item).replace("lockkeeper.Item", "lockkeeper.AsyncItem")

    async def done(self, result: Optional[Bytes] = None, *,
                   keep: Optional[Duration] = None) -> None:
        await short(lambda: self._item.done(result, keep=keep))

    async def progress(self, text: Optional[Note]) -> None:
        await short(self._item.progress, text)

    async def retry(self, error: Optional[Failure] = None, exit_code: Optional[int] = None, *,
                    delay: Optional[Duration] = None, uncounted: bool = False) -> None:
        await short(lambda: self._item.retry(error, exit_code, delay=delay, uncounted=uncounted))

    async def park(self, error: Optional[Failure] = None, exit_code: Optional[int] = None) -> None:
        await short(self._item.park, error, exit_code)

    async def give_back(self) -> None:
        await short(self._item.give_back)


class AsyncWork:
    """An asynchronous iterator over claimed items, for one task: lockkeeper.Work, for asyncio."""

    def __init__(self, store: Store, queue: Optional[str], options: Dict[str, Any]) -> None:
        loop = asyncio.get_running_loop()
        messages: asyncio.Queue[Union[Item, Ended]] = asyncio.Queue()
        self._messages = messages
        self._feed = Feed(store, queue, options, lambda message: void(
            loop.call_soon_threadsafe(messages.put_nowait, message)))
        self._item: Optional[Item] = None
        self._is_over = False

    @property
    def counts(self) -> WorkCounts:
        return self._feed.pool.counts

    def __aiter__(self) -> AsyncWork:
        return self

    async def __anext__(self) -> AsyncItem:
        if self._item is not None:
            self._item._decide(0)
            self._item = None
        if self._is_over:
            raise StopAsyncIteration
        if self._feed.is_stopped and self._feed.is_idle():
            raise StopAsyncIteration
        self._feed.start()
        while True:
            message = await self._messages.get()
            self._item = self._feed.take(message)
            if self._item is not None:
                return AsyncItem(self._item)
            if isinstance(message, Ended):
                break
        self._is_over = True
        message.check(self._feed.is_stopped)
        raise StopAsyncIteration

    def stop(self) -> None:
        """Claims no more: the loop ends with its next turn, and decides on the item that it has."""
        self._feed.is_stopped = True
        self._feed.stop()

    async def aclose(self) -> None:
        """Gives the present item back, and returns when nothing of this iterator is claimed. Where
        a loop still works on the item, its `lost` says so."""
        is_running = self._feed.close()
        while is_running and not self._is_over:
            self._is_over = isinstance(await self._messages.get(), Ended)
        self._is_over = True

    async def __aenter__(self) -> AsyncWork:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        self._feed.leave(self._item, error)
        await self.aclose()

    def __del__(self) -> None:
        if getattr(_background, "is_exiting", None) is False and not getattr(self, "_is_over", True):
            _background.post(self._feed.close)


class AsyncWatch:
    """An asynchronous iterator over events, for one task: lockkeeper.Watch, for asyncio.

    It begins to watch at the begin of its `async with` block; without one, with its first event.
    """

    def __init__(self, begin: Callable[[], Watch]) -> None:
        self._begin = begin
        self._watch: Optional[Watch] = None

    async def _begun(self) -> Watch:
        if self._watch is not None:
            return self._watch
        watch = await awaited(self._begin, lambda: None, Watch.close)
        self._watch = watch
        return watch

    @property
    def position(self) -> int:
        return 0 if self._watch is None else self._watch.position

    async def next(self, wait: Optional[Duration] = None) -> Optional[Event]:
        """The next event; None: none within `wait` seconds, or closed."""
        wait_ms = _arguments.patience(wait)
        watch = await self._begun()
        cancel = _background.Cancel()
        return await awaited(lambda: watch._next(wait_ms, cancel), cancel.now, watch._put_back)

    def __aiter__(self) -> AsyncWatch:
        return self

    async def __anext__(self) -> Event:
        event = await self.next()
        if event is None:
            raise StopAsyncIteration
        return event

    async def aclose(self) -> None:
        if self._watch is not None:
            await short(self._watch.close)

    async def __aenter__(self) -> AsyncWatch:
        await self._begun()
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self.aclose()


def void(_: Any) -> None:
    """The value is of no interest."""


class AsyncCalls:
    """The part of a store for asyncio."""

    if TYPE_CHECKING:  # of the store
        def _acquiring(self, request: _abi.Request,
                       cancel: _background.Cancel) -> Callable[[], Lease]: ...

        def close(self, timeout: Optional[float] = None) -> None: ...

    def alock(self, *parts: str, shared: bool = False, limit: Optional[int] = None,
              units: Optional[int] = None, wait: Optional[Duration] = None,
              ttl: Optional[Duration] = None, until: Optional[Instant] = None,
              owner: Optional[str] = None, note: Optional[str] = None, value: bool = False,
              bound: bool = False, patience: Optional[Duration] = None,
              at_least: Optional[Duration] = None) -> Opening[AsyncLease]:
        """lock(): `async with store.alock(...) as lease`, or `lease = await store.alock(...)`.
        The lease is an AsyncLease."""
        options: Dict[str, Any] = dict(
            shared=shared, limit=limit, units=units, wait=wait, ttl=ttl, until=until, owner=owner,
            note=note, value=value, bound=bound, patience=patience, at_least=at_least)
        _request.make(parts, **options)  # what is wrong is told at once

        async def acquire() -> AsyncLease:
            request = _request.make(parts, **options)
            if request.wait_ms == 0:
                request.style = _abi.LK_TRY
            cancel = _background.Cancel()
            lease = await awaited(self._acquiring(request, cancel), cancel.now,
                                  _lease.release_quietly)
            return AsyncLease(lease)

        return Opening(acquire)

    async def atry_lock(self, *parts: str, **options: Any) -> Optional[AsyncLease]:
        """try_lock(): None if another owner is in the way."""
        try:
            return await self.alock(*parts, wait=0, **options)
        except Busy:
            return None

    def awork(self, queue: Optional[str] = None, *, table: Optional[Table] = None,
              ttl: Optional[Duration] = None, max_attempts: Optional[int] = None,
              note: Optional[str] = None, retry_min: Optional[Duration] = None,
              retry_max: Optional[Duration] = None, drain: bool = False,
              patience: Optional[Duration] = None) -> AsyncWork:
        """work(): `async for item in store.awork(...)`."""
        return AsyncWork(self, queue, dict(  # type: ignore[arg-type]  # the store is one of these
            table=table, ttl=ttl, max_attempts=max_attempts, note=note, retry_min=retry_min,
            retry_max=retry_max, drain=drain, patience=patience))

    def awatch(self, prefix: Optional[str] = None, *, after: int = 0) -> AsyncWatch:
        """watch(): `async for event in store.awatch(...)`."""
        return AsyncWatch(lambda: Watch(self, prefix, after))  # type: ignore[arg-type]  # as above

    async def acall(self, method: Callable[..., T], *arguments: Any, **options: Any) -> T:
        """Any other method that does not wait: `await store.acall(store.put, "path", b"value")`."""
        return await short(functools.partial(method, *arguments, **options))

    async def aclose(self) -> None:
        await awaited(self.close, lambda: None, void)

    async def __aenter__(self: S) -> S:
        return self

    async def __aexit__(self, kind: Optional[Type[BaseException]],
                        error: Optional[BaseException],
                        traceback: Optional[TracebackType]) -> None:
        await self.aclose()
