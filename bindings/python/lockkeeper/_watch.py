# SPDX-License-Identifier: Apache-2.0
"""The events of a store, in order (rule R21)."""

from __future__ import annotations

import collections
import ctypes
import threading
from types import TracebackType
from typing import TYPE_CHECKING, Any, Deque, Optional, Type

from . import _abi, _arguments, _background, _records
from ._library import LIBRARY
from ._arguments import Duration
from ._errors import attempt, check, exception
from ._records import Event, Outcome

if TYPE_CHECKING:
    from ._store import Store


class Handle:
    """A lk_watch. The store closes it before itself, whatever the order of the collector is."""

    def __init__(self, store: Store, prefix: Optional[str], after: int) -> None:
        options = _abi.WatchOptions(
            ctypes.sizeof(_abi.WatchOptions), _arguments.optional_text(prefix, "prefix"),
            _arguments.number(after, "after", 0, 2**64 - 1))
        handle = ctypes.c_void_p()
        self._lock = threading.Lock()  # of the thread that waits
        self._cancel: Optional[_background.Cancel] = None
        self._watches, self._gate = store._watches, store._gate
        with self._gate:
            check(LIBRARY.lk_watch_open, store._handle, options, ctypes.byref(handle))
            self._handle = handle.value
            self.position = int(LIBRARY.lk_watch_position(handle))
            self._watches.add(self)
        self.is_closed = False
        _background.renew_at_fork(self)

    def renew_lock(self) -> None:
        self._lock = threading.Lock()

    def next(self, wait_ms: int, cancel: _background.Cancel) -> Optional[Event]:
        """None: not within that time, or closed."""
        with self._lock, self._gate.waiting(cancel):
            if self._handle is None:
                return None
            self._cancel = cancel
            if self.is_closed:
                cancel.now()
            event = ctypes.POINTER(_abi.WatchEvent)()
            try:
                outcome, text = attempt(LIBRARY.lk_watch_next, self._handle, wait_ms,
                                        cancel.handle, ctypes.byref(event))
                if outcome == Outcome.OK:
                    kind = LIBRARY.lk_watch_kind_name(event.contents.kind)
                    return _records.event(event.contents, _records.text(kind))
            finally:
                self.position = int(LIBRARY.lk_watch_position(self._handle))
                self._cancel = None
        if outcome == Outcome.TIMEOUT or (outcome == Outcome.CANCELLED and self.is_closed):
            return None
        raise exception(outcome, text)

    def close(self) -> None:
        self.is_closed = True
        cancel = self._cancel
        if cancel is not None:
            cancel.now()
        with self._lock:  # also while it closes: the store waits for that
            handle, self._handle = self._handle, None
            LIBRARY.lk_watch_close(handle)
        self._watches.discard(self)


class Watch:
    """An iterator over events. It waits for the next one; the interpreter may interrupt that.

    A gap is an event of the kind "gap". More than 20 seconds between two events that are asked for may
    cause one. After Unavailable the iteration can go on, and misses no event.
    """

    def __init__(self, store: Store, prefix: Optional[str], after: int) -> None:
        self._store = store  # is not collected before
        self._handle = Handle(store, prefix, after)
        self._returned: Deque[Event] = collections.deque()  # that an interrupted wait has taken

    def next(self, wait: Optional[Duration] = None) -> Optional[Event]:
        """The next event; None: none within `wait` seconds (None: without limit), or closed."""
        wait_ms = _arguments.patience(wait)
        # An event that is there needs no thread.
        event = self._next(0, _background.Cancel())
        if event is not None or wait_ms == 0 or self._handle.is_closed:
            return event
        cancel = _background.Cancel()
        return _background.interruptible(
            lambda: self._next(wait_ms, cancel), cancel.now, self._put_back)

    def _next(self, wait_ms: int, cancel: _background.Cancel) -> Optional[Event]:
        if self._returned:
            cancel.free()
            return self._returned.popleft()
        return self._handle.next(wait_ms, cancel)

    def _put_back(self, event: Optional[Event]) -> None:
        if event is not None:
            self._returned.append(event)

    @property
    def position(self) -> int:
        """The sequence to continue after, by another watch."""
        if self._returned:
            return self._returned[0].sequence - 1
        return self._handle.position

    def __iter__(self) -> Watch:
        return self

    def __next__(self) -> Event:
        event = self.next()
        if event is None:
            raise StopIteration
        return event

    def close(self) -> None:
        """Ends the iteration, also of another thread that waits."""
        self._handle.close()

    def __enter__(self) -> Watch:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle: Any = getattr(self, "_handle", None)
        if handle is not None and getattr(_background, "is_exiting", None) is False:
            _background.post(handle.close)
