# SPDX-License-Identifier: Apache-2.0
"""Threads, and the ends of a process.

- Calls that wait run in a thread of their own: a C call in the main thread could not be interrupted,
  and one in the thread of an event loop would stop it.
- What the library's threads report, and what the garbage collector finds, is left to other threads:
  neither may run code that blocks or that calls the library.
- fork() leaves locks in any state: a child gets new ones. What C says of the parent's handles then
  stands. Before the interpreter ends, all stores are closed, so that no thread of the library calls
  into it any more.
"""

from __future__ import annotations

import asyncio
import atexit
import concurrent.futures
import contextlib
import os
import queue
import sys
import threading
import time
import weakref
from typing import Any, Callable, Generic, Iterator, Optional, Set, Tuple, TypeVar

from ._library import LIBRARY

T = TypeVar("T")

SHORT_CALLS_MAX = 8  # of event loops, at once; others wait for a thread
SIGNAL_SECONDS = 1
EXIT_SECONDS = 10  # how long the end of the interpreter waits for calls of daemon threads


class Cancel:
    """A lk_cancel. now() may come at any time, also after free()."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self.handle: Optional[int] = LIBRARY.lk_cancel_new()
        if self.handle is None:
            raise MemoryError("no memory for a cancellation")

    def now(self) -> None:
        with self._lock:
            if self.handle is not None:
                LIBRARY.lk_cancel_now(self.handle)

    def free(self) -> None:
        """No wait is using it any more."""
        with self._lock:
            handle, self.handle = self.handle, None
        LIBRARY.lk_cancel_free(handle)

    def __del__(self) -> None:
        if LIBRARY is not None and getattr(self, "handle", None) is not None:
            self.free()


handled = threading.local()  # .gate: of the store for which a handler runs in this thread


class Closed(ValueError):
    """A call on a closed store."""


class Gate:
    """Counts the calls inside a store. Closing it ends waits, and returns when no call is inside."""

    def __init__(self) -> None:
        self.renew()
        _gates.add(self)

    def renew(self) -> None:
        """No call is inside: a child of fork() has none of its parent's threads."""
        self._changed = threading.Condition()
        self._inside = 0
        self._cancels: Set[Cancel] = set()
        self.is_closed = False

    def __enter__(self) -> None:
        with self._changed:
            if self.is_closed:
                raise Closed("the store is closed")
            self._inside += 1

    def __exit__(self, *_: Any) -> None:
        with self._changed:
            self._inside -= 1
            self._changed.notify_all()

    @contextlib.contextmanager
    def waiting(self, cancel: Cancel) -> Iterator[None]:
        """A call that is inside and may wait, until `cancel`, which ends with it."""
        with self:
            with self._changed:
                self._cancels.add(cancel)
                if self.is_closed:
                    cancel.now()
            try:
                yield
            finally:
                with self._changed:
                    self._cancels.discard(cancel)
                cancel.free()

    def check_may_close(self) -> None:
        if getattr(handled, "gate", None) is self:
            raise RuntimeError("a handler cannot close the store that it works for")

    def close(self, timeout: Optional[float] = None) -> bool:
        """Whether this call has closed it, and no call is inside any more."""
        with self._changed:
            is_first, self.is_closed = not self.is_closed, True
            for cancel in self._cancels:
                cancel.now()
            # Less than 0: a thread that was inside has forked.
            return self._changed.wait_for(lambda: self._inside <= 0, timeout) and is_first


class Job(Generic[T]):
    """A call in a thread of its own. One that is abandoned is not begun, or undone when it has ended."""

    def __init__(self, call: Callable[[], T], done: Callable[[], None] = lambda: None) -> None:
        self.ended = threading.Event()
        self._call, self._done = call, done
        self._lock = threading.Lock()
        self._has_begun = self._is_over = False
        self._undo: Optional[Callable[[T], None]] = None
        self._value: Optional[T] = None
        self._error: Optional[BaseException] = None

    def start(self) -> None:
        start_dispatcher()  # a child of fork() has none
        post(self._run)

    def _run(self) -> None:
        with self._lock:
            if self._undo is not None:
                return
            self._has_begun = True
        try:
            self._value = self._call()
        except BaseException as error:  # goes to the caller, whatever it is
            self._error = error
        with self._lock:
            self._is_over = True
            undo = self._undo
        if undo is not None and self._error is None:
            undo(self._value)
        self.ended.set()
        self._done()

    def abandon(self, undo: Callable[[T], None]) -> bool:
        """Whether the call has begun, so that `ended` will be set."""
        with self._lock:
            if not self._is_over:
                self._undo = undo
                return self._has_begun
        if self._error is None:
            value = self._value
            Job(lambda: undo(value)).start()  # type: ignore[arg-type]  # as above
        return True

    def result(self) -> T:
        if self._error is not None:
            try:
                raise self._error
            finally:
                self._error = None  # no cycle of the exception and this frame
        return self._value  # type: ignore[return-value]  # T may be None


def wait_for(ended: threading.Event) -> None:
    """A signal that comes just before a thread sleeps does not wake it: it looks once a second."""
    while not ended.wait(SIGNAL_SECONDS):
        pass


def take(messages: "queue.SimpleQueue[T]") -> T:
    """The next message; the same for it."""
    while True:
        try:
            return messages.get(timeout=SIGNAL_SECONDS)
        except queue.Empty:
            pass


def interruptible(call: Callable[[], T], cancel: Callable[[], None],
                  undo: Callable[[T], None]) -> T:
    """A call that may wait. In the main thread, where signal handlers run, they can end it."""
    if threading.current_thread() is not threading.main_thread():
        return call()
    job = Job(call)
    try:
        job.start()
        wait_for(job.ended)
    except BaseException:
        cancel()
        if job.abandon(undo):
            wait_for(job.ended)  # what it had queued is withdrawn then
        raise
    return job.result()


async def _to_the_end(ended: "asyncio.Future[None]") -> None:
    """In a task that is cancelled, and may be cancelled again: asyncio.run() does so when it ends."""
    while not ended.done():
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.shield(ended)


async def awaited(call: Callable[[], T], cancel: Callable[[], None],
                  undo: Callable[[T], None]) -> T:
    """The same for an event loop, where the cancellation of a task can end it."""
    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def wake() -> None:
        if not ended.done():
            ended.set_result(None)

    def done() -> None:
        try:
            loop.call_soon_threadsafe(wake)
        except RuntimeError:  # the loop is closed: its tasks are gone
            job.abandon(undo)

    job = Job(call, done)
    try:
        job.start()
        await asyncio.shield(ended)
    except asyncio.CancelledError:
        cancel()
        if job.abandon(undo):
            await _to_the_end(ended)
        raise
    except BaseException:  # the coroutine is thrown away
        cancel()
        job.abandon(undo)
        raise
    return job.result()


_executor: Optional[concurrent.futures.ThreadPoolExecutor] = None


async def short(call: Callable[..., T], *arguments: Any) -> T:
    """A call that does not wait, in a thread of the binding's. It runs to its end in every case."""
    global _executor
    if _executor is None:
        _executor = concurrent.futures.ThreadPoolExecutor(SHORT_CALLS_MAX, "lockkeeper")
    loop = asyncio.get_running_loop()
    return await asyncio.shield(loop.run_in_executor(_executor, lambda: call(*arguments)))


# ---- the dispatcher --------------------------------------------------------------------------------

# Starts threads, and nothing else, so it is always ready. A thread that starts another one itself could
# be interrupted by a signal's handler, with the new one in an unknown state; and an interpreter that
# ends while a thread is at its very begin may crash.

_Message = Optional[Tuple[Callable[..., Any], Tuple[Any, ...]]]  # None: the end
_messages: "queue.SimpleQueue[_Message]" = queue.SimpleQueue()
_dispatcher: Optional[threading.Thread] = None
_starting = threading.Lock()
_threads: Set[threading.Thread] = set()  # that it has started, and that still run
is_exiting = False


def post(function: Callable[..., Any], *arguments: Any) -> None:
    """Has the function called by a thread of its own. Neither blocks nor fails, whatever is
    interrupted."""
    _messages.put((function, arguments))


def _apart(function: Callable[..., Any], arguments: Tuple[Any, ...]) -> None:
    try:
        function(*arguments)
    except BaseException:  # of a callback of the user's
        sys.excepthook(*sys.exc_info())
    finally:
        _threads.discard(threading.current_thread())


def _dispatch() -> None:
    while True:
        message = _messages.get()
        if message is None:
            return
        thread = threading.Thread(target=_apart, args=message, name="lockkeeper", daemon=True)
        _threads.add(thread)
        try:
            thread.start()
        except RuntimeError:  # the system has no more threads
            _threads.discard(thread)
            _apart(*message)
        del thread, message


def start_dispatcher() -> None:
    global _dispatcher
    with _starting:
        if _dispatcher is None:
            dispatcher = threading.Thread(target=_dispatch, name="lockkeeper starter", daemon=True)
            dispatcher.start()
            _dispatcher = dispatcher


# ---- fork() and the end of the interpreter ---------------------------------------------------------

_gates: "weakref.WeakSet[Gate]" = weakref.WeakSet()
_open: "weakref.WeakSet[Any]" = weakref.WeakSet()  # of what is closed at the end of the interpreter
_locks: "weakref.WeakSet[Any]" = weakref.WeakSet()  # of what has a renew_lock()


def close_at_exit(closable: Any) -> None:
    _open.add(closable)


def renew_at_fork(holder: Any) -> None:
    _locks.add(holder)


def _after_fork() -> None:
    global _messages, _dispatcher, _starting, _executor
    _messages, _dispatcher, _starting = queue.SimpleQueue(), None, threading.Lock()
    _executor = None
    _threads.clear()
    for gate in list(_gates):
        gate.renew()
    for holder in list(_locks):
        holder.renew_lock()


def _at_exit() -> None:
    global is_exiting
    end = time.monotonic() + EXIT_SECONDS
    for closable in list(_open):
        closable.close(EXIT_SECONDS)
    is_exiting = True
    _messages.put(None)
    if _dispatcher is not None:
        _dispatcher.join(max(0.0, end - time.monotonic()))
    for thread in list(_threads):
        thread.join(max(0.0, end - time.monotonic()))


os.register_at_fork(after_in_child=_after_fork)
atexit.register(_at_exit)
