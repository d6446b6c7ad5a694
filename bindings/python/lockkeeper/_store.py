# SPDX-License-Identifier: Apache-2.0
"""Stores: locks, values and administration. Queues and events are in modules of their own."""

from __future__ import annotations

import ctypes
import os
import weakref
from types import TracebackType
from typing import (
    Any, Callable, List, NoReturn, Optional, Sequence, Set, Type, TypeVar, Union)

from . import _abi, _arguments, _background, _lease, _records, _request, _scope
from ._library import LIBRARY
from ._aio import AsyncCalls, Opening
from ._arguments import Bytes, Duration, Instant
from ._election import Election
from ._errors import Busy, attempt, check, exception
from ._lease import Lease
from ._queues import Claims, Handle, Queues
from ._records import Answer, Entry, Limits, Outcome, Report, Value
from ._request import Put

T = TypeVar("T")

_STYLES = {"try": _abi.LK_TRY, "queue": _abi.LK_QUEUE, "wait": _abi.LK_WAIT}


def _open(url: Optional[bytes]) -> ctypes.c_void_p:
    handle = ctypes.c_void_p()
    check(LIBRARY.lk_open, url, ctypes.byref(handle))
    return handle


def _close(handle: Optional[int], watches: Set[Handle]) -> None:
    for watch in list(watches):
        watch.close()
    LIBRARY.lk_close(handle)


class Store(Queues, Claims, AsyncCalls):
    """An open store. Every method may be called from any thread at any time.

    close() ends waits of other threads (they raise Cancelled), and returns when no call is inside
    any more; handlers of run_workers() end first. An item that a loop has in hand is given back, and
    its `lost` says so. Leases that are still held are renewed no more, and end at their deadline.
    """

    def __init__(self, url: Optional[str] = None) -> None:
        """The store that the URL names; None: the store that the program lk uses."""
        wanted = _arguments.optional_text(url, "url")
        _background.start_dispatcher()
        self._handle: Optional[int] = _background.interruptible(
            lambda: _open(wanted), lambda: None, LIBRARY.lk_close).value
        self._gate = _background.Gate()
        self._parts: "weakref.WeakSet[Any]" = weakref.WeakSet()  # feeds of work, to be ended first
        self._watches: Set[Handle] = set()
        self._url = _records.text(LIBRARY.lk_store_url(self._handle))
        _background.close_at_exit(self)

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError("a Store cannot be copied or pickled; open it again")

    def __repr__(self) -> str:
        return f"<lockkeeper.Store {self._url}{' closed' if self.closed else ''}>"

    def __enter__(self) -> Store:
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        self.close()

    def __del__(self) -> None:
        handle = getattr(self, "_handle", None)
        if handle is not None and getattr(_background, "is_exiting", None) is False:
            _background.post(_close, handle, self._watches)  # it may wait

    def close(self, timeout: Optional[float] = None) -> None:
        """`timeout`: seconds after which it gives up waiting for calls of other threads."""
        self._gate.check_may_close()
        for part in list(self._parts):
            part._end()
        if self._gate.close(timeout):
            handle, self._handle = self._handle, None
            _close(handle, self._watches)

    @property
    def closed(self) -> bool:
        """Whether close() has been called."""
        return self._gate.is_closed

    @property
    def url(self) -> str:
        """The URL, without any password."""
        return self._url

    @property
    def away(self) -> float:
        """Seconds for which the store has not answered; 0 while it does."""
        with self._gate:
            return int(LIBRARY.lk_away_ms(self._handle, None)) / 1000

    def _call(self, function: Callable[..., int], *arguments: Any) -> None:
        with self._gate:
            check(function, self._handle, *arguments)

    def _read(self, kind: Any, free: Callable[[Any], None], copy: Callable[[Any], T],
              function: Callable[..., int], *arguments: Any) -> T:
        """Calls what allocates its answer, and copies that."""
        answer = ctypes.POINTER(kind)()
        try:
            self._call(function, *arguments, ctypes.byref(answer))
            return copy(answer.contents)
        finally:
            free(answer)

    # ---- locks -------------------------------------------------------------------------------------

    def lock(self, *parts: str, shared: bool = False, limit: Optional[int] = None,
             units: Optional[int] = None, wait: Optional[Duration] = None,
             ttl: Optional[Duration] = None, until: Optional[Instant] = None,
             owner: Optional[str] = None, note: Optional[str] = None, value: bool = False,
             bound: bool = False, patience: Optional[Duration] = None,
             at_least: Optional[Duration] = None,
             on_lost: Optional[Callable[[Lease], Any]] = None) -> Lease:
        """Waits until all parts, PATH[?shared][?limit=N[&units=U]], are granted together.

        wait: seconds, then Timeout; None: for ever, but Deadlock if the caller itself holds what it
        would wait for; 0: Busy unless it is granted now. at_least: seconds; a release before leaves the
        lease held until that long after the grant. The other options are those of lk_request in
        lockkeeper.h.
        """
        request = _request.make(
            parts, shared=shared, limit=limit, units=units, wait=wait, ttl=ttl, until=until,
            owner=owner, note=note, value=value, bound=bound, patience=patience, at_least=at_least)
        if request.wait_ms == 0:
            request.style = _abi.LK_TRY
        cancel = _background.Cancel()
        call = self._acquiring(request, cancel)
        if request.style == _abi.LK_TRY:
            lease = call()
        else:
            lease = _background.interruptible(call, cancel.now, _lease.release_quietly)
        lease._made_by = _scope.runner()  # the call may have run in another thread
        if on_lost is not None:
            lease.on_lost(on_lost)
        return lease

    def _acquiring(self, request: _abi.Request,
                   cancel: _background.Cancel) -> Callable[[], Lease]:
        own = (_lease.own(self._url)
               if request.style == _abi.LK_WAIT and request.wait_ms == _abi.LK_FOREVER else [])

        def call() -> Lease:
            with self._gate.waiting(cancel):
                if own:
                    return _lease.acquire_beside(own, self, request, cancel)
                return _lease.acquire(self, request, cancel)
        return call

    def try_lock(self, *parts: str, **options: Any) -> Optional[Lease]:
        """lock() without waiting. None: another owner is in the way."""
        try:
            return self.lock(*parts, wait=0, **options)
        except Busy:
            return None

    def election(self, path: str, ttl: Duration = 5.0) -> Election:
        """One leader among processes. A leader that dies is followed within the ttl."""
        return Election(self, path, ttl)

    # ---- requests without keep-alive ---------------------------------------------------------------

    def ask(self, *parts: str, style: str = "try", shared: bool = False,
            limit: Optional[int] = None, units: Optional[int] = None,
            wait: Optional[Duration] = None, ttl: Optional[Duration] = None,
            until: Optional[Instant] = None, owner: Optional[str] = None,
            note: Optional[str] = None, value: bool = False,
            patience: Optional[Duration] = None) -> Answer:
        """lk_ask(): a lease that another process may renew or release. It ends at its deadline
        unless renew() is called. style "queue": the answer may be WAITING, and keeps its place in
        the queue until its deadline; ask again to stay."""
        if style not in _STYLES:
            raise ValueError(f"style must be one of {', '.join(_STYLES)}")
        request = _request.make(
            parts, style=_STYLES[style], shared=shared, limit=limit, units=units, wait=wait,
            ttl=ttl, until=until, owner=owner, note=note, value=value, patience=patience,
            outlives=True)
        cancel = _background.Cancel()
        request.cancel = cancel.handle

        def call() -> Answer:
            with self._gate.waiting(cancel):
                return _request.answered(LIBRARY.lk_ask, self._handle, request)

        if style != "wait":
            return call()
        return _background.interruptible(
            call, cancel.now, lambda answer: self._forget(answer, parts))

    def _forget(self, answer: Answer, parts: Sequence[str]) -> None:
        if not answer.created:  # its owner had it before the call
            return
        request = _request.make(parts, owner=answer.owner)
        with self._gate:
            attempt(LIBRARY.lk_release, self._handle, request, answer.token, None)

    def renew(self, *parts: str, owner: Optional[str] = None, token: Optional[int] = None,
              ttl: Optional[Duration] = None) -> Answer:
        """Renews a lease of ask(), named by its owner, its token or both; else LeaseLost."""
        request = _request.make(parts, owner=owner, ttl=ttl)
        with self._gate:
            return _request.answered(LIBRARY.lk_renew, self._handle, request,
                                     _arguments.token(token))

    def release(self, *parts: str, owner: Optional[str] = None, token: Optional[int] = None,
                put: Optional[Put] = None) -> Answer:
        """Ends a lease of ask(), or withdraws its request; `put` as in Lease.release()."""
        request = _request.make(parts, owner=owner)
        with self._gate:
            if put is None:
                return _request.answered(LIBRARY.lk_release, self._handle, request,
                                         _arguments.token(token))
            return _request.answered(LIBRARY.lk_release_put_all, self._handle, request,
                                     _arguments.token(token), *_request.puts(_request.named(put)))

    # ---- values ------------------------------------------------------------------------------------

    def read(self, path: str) -> Optional[Value]:
        """The value at a path, and whether it is in doubt; None: there is none."""
        value = ctypes.POINTER(_abi.Value)()
        try:
            with self._gate:
                outcome, text = attempt(LIBRARY.lk_value_get, self._handle,
                                        _arguments.text(path, "path"), ctypes.byref(value))
            if outcome == Outcome.NONE:
                return None
            if outcome != Outcome.OK:
                raise exception(outcome, text)
            found = value.contents
            return Value(_records.octets(found.bytes, found.size), found.in_doubt)
        finally:
            LIBRARY.lk_value_free(value)

    def get(self, path: str) -> Optional[bytes]:
        """The value at a path; None: there is none."""
        value = self.read(path)
        return None if value is None else value.data

    def put(self, path: str, value: Bytes, *, owner: Optional[str] = None,
            token: Optional[int] = None) -> None:
        """Writes a value; Busy if another owner has an exclusive lease that covers the path. With a
        token, only while that lease of the owner covers the path, else LeaseLost."""
        self._put(path, _arguments.payload(value), owner, token)

    def delete(self, path: str, *, owner: Optional[str] = None,
               token: Optional[int] = None) -> None:
        """Deletes a value, if there is one; otherwise as put()."""
        self._put(path, None, owner, token)

    def _put(self, path: str, value: Optional[bytes], owner: Optional[str],
             token: Optional[int]) -> None:
        self._call(LIBRARY.lk_value_put, _arguments.text(path, "path"),
                   _arguments.optional_text(owner, "owner"), _arguments.token(token), value,
                   len(value or b""))

    # ---- listing and administration ----------------------------------------------------------------

    def _listed(self, function: Callable[..., int], path: Optional[bytes]) -> List[Entry]:
        return self._read(
            _abi.Listing, LIBRARY.lk_listing_free,
            lambda listing: [_records.entry(listing.entries[i]) for i in range(listing.count)],
            function, path)

    def list(self, prefix: Optional[str] = None) -> List[Entry]:
        """Every part at or below the prefix (None: everywhere) of every live request."""
        return self._listed(LIBRARY.lk_list, _arguments.optional_text(prefix, "prefix"))

    def show(self, path: str) -> List[Entry]:
        """All parts of every live request with a part related to the path, with blockers."""
        return self._listed(LIBRARY.lk_show, _arguments.text(path, "path"))

    def break_(self, path: str, *, reason: str, by: str, owner: Optional[str] = None,
               at_once: bool = False) -> int:
        """Ends requests with a part at exactly this path (rule R12). Returns their number."""
        request = _abi.BreakRequest(
            ctypes.sizeof(_abi.BreakRequest), _arguments.text(path, "path"),
            _arguments.text(reason, "reason"), _arguments.text(by, "by"),
            _arguments.optional_text(owner, "owner"), _arguments.flag(at_once, "at_once"))
        count = ctypes.c_size_t()
        self._call(LIBRARY.lk_break, request, ctypes.byref(count))
        return count.value

    def limits(self) -> Limits:
        """The bounds that the store keeps (rule R22)."""
        limits = _abi.Limits(ctypes.sizeof(_abi.Limits))
        self._call(LIBRARY.lk_limits_get, limits)
        return Limits(limits.live, limits.live_per_owner, limits.live_per_root,
                      limits.waiters_per_path, limits.events)

    def set_limits(self, **bounds: int) -> None:
        """Sets bounds by the names of Limits; 0: none. Those that are not named stay."""
        limits = _abi.Limits(ctypes.sizeof(_abi.Limits), *[_abi.LK_LIMIT_AS_IS] * 5)
        for name, bound in bounds.items():
            if name not in Limits.__dataclass_fields__:
                raise TypeError(f"there is no bound named {name}")
            setattr(limits, name, _arguments.number(bound, name, 0, 2**64 - 2))
        self._call(LIBRARY.lk_limits_set, limits)

    def examine(self) -> Report:
        """What `lk doctor` prints."""
        return self._read(
            _abi.Report, LIBRARY.lk_report_free,
            lambda report: Report(
                _records.text(report.text), tuple(_records.text(report.warnings).splitlines()),
                report.round_trip_us / 1e6, report.clock_offset_us / 1e6),
            LIBRARY.lk_examine)

    def backup(self, path: Union[str, "os.PathLike[str]"]) -> None:
        """Copies the whole store to a new file (lk_backup())."""
        self._call(LIBRARY.lk_backup, _arguments.text(os.fspath(path), "path"))


def open(url: Optional[str] = None) -> Store:  # the module's name for it: lockkeeper.open()
    """Opens a store: sqlite:PATH, lk://HOST, postgresql://HOST/DATABASE, ... (lockkeeper.h lists
    them). None: the store that the program lk uses."""
    return Store(url)


def aopen(url: Optional[str] = None) -> Opening[Store]:
    """open() for asyncio: `async with lockkeeper.aopen(...) as store`."""
    async def opening() -> Store:
        return await _background.awaited(lambda: Store(url), lambda: None, Store.close)

    return Opening(opening)
