# SPDX-License-Identifier: Apache-2.0
"""Leases that the library keeps alive."""

from __future__ import annotations

import ctypes
import itertools
import os
import threading
import time
import warnings
import weakref
from types import TracebackType
from typing import (
    TYPE_CHECKING, Any, Callable, Dict, FrozenSet, List, NoReturn, Optional, Sequence, Tuple, Type)

from . import _abi, _arguments, _background, _records, _request, _scope
from ._library import LIBRARY
from ._arguments import Bytes, Duration
from ._errors import Busy, Error, Unavailable, attempt, exception
from ._records import Outcome, Value
from ._request import Put

if TYPE_CHECKING:
    from ._store import Store

# ---- the library's report of a loss ----------------------------------------------------------------

_keys = itertools.count(1)
_watched: "Dict[int, weakref.ref[Held]]" = {}


def _tell(key: int) -> None:
    held = _watched.get(key, lambda: None)()
    if held is not None:
        held._tell_lost(key)


# Called by a thread of the library, which must neither block nor call the library.
_ON_LOST = _abi.LeaseOnLost(lambda key, _: _background.post(_tell, key))


_ENDED = (Outcome.OK, Outcome.LOST)  # of a release: the library has freed the handle


class Held:
    """A lk_lease, as long as it is one; what Lease and Item share.

    Invariant: the handle is used under the lock, and is taken out under it before it is freed.
    """

    def __init__(self, handle: ctypes.c_void_p) -> None:
        self._lock = threading.Lock()
        self._handle: Optional[int] = None
        self._is_lost = False
        self._lost = threading.Event()
        self._callbacks: List[Callable[[Any], None]] = []
        self._key = 0
        self._process = os.getpid()
        self._made_by: _scope.Runner = _scope.runner()
        self._entered_by: Optional[_scope.Runner] = None
        _background.renew_at_fork(self)
        self._hold(handle)

    def renew_lock(self) -> None:
        """In a child of fork()."""
        self._lock = threading.Lock()

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} cannot be copied or pickled")

    def _hold(self, handle: ctypes.c_void_p) -> None:
        """Takes the handle out of the variable: it always has one owner, also if a signal's handler
        raises here."""
        key = next(_keys)
        pop = _watched.pop  # not by its module's name, which is gone at the end of the interpreter

        def forget(_: Any) -> None:
            pop(key, None)

        _watched[key] = weakref.ref(self, forget)
        with self._lock:
            self._key = key
            self._is_lost = self._lost.is_set()  # of this handle nothing is known yet
            self._handle, handle.value = handle.value, None
            LIBRARY.lk_lease_on_lost(self._handle, _ON_LOST, key)

    def _ignore_loss(self) -> int:
        """Until another key is set. Returns the present one."""
        with self._lock:
            key, self._key = self._key, 0
        return key

    def _take(self) -> Optional[int]:
        """The handle, which the caller ends; None: it has been."""
        with self._lock:
            handle, self._handle = self._handle, None
            if handle is not None:
                self._is_lost = self._is_lost or LIBRARY.lk_lease_is_lost(handle)
        return handle

    def _scope_url(self) -> Optional[str]:
        """Of the store in which it is held until it is ended; None: it has ended, or ends by itself."""
        raise NotImplementedError

    def _part(self, path: str) -> Optional[_request.Part]:
        """That which a blocker with its owner and this path may be; None: it is not of it."""
        raise NotImplementedError

    def _set(self) -> FrozenSet[str]:
        """The paths, which with the owner name the lease (rule R3)."""
        raise NotImplementedError

    def _tell_lost(self, key: int,
                   call: Callable[..., Any] = lambda callback, held: callback(held)) -> None:
        """In a thread of its own, or by a `call` that begins one for each. The loss of a former handle
        means nothing: it was converted."""
        with self._lock:
            if key != self._key or self._lost.is_set():
                return
            callbacks = list(self._callbacks)
            self._lost.set()
        for callback in callbacks:
            call(callback, self)

    @property
    def lost(self) -> bool:
        """Whether the lease is lost, or must be taken as lost. Never blocks. Once true it stays true."""
        with self._lock:
            if self._handle is not None and not self._is_lost:
                self._is_lost = LIBRARY.lk_lease_is_lost(self._handle)
            return self._is_lost

    @property
    def lost_event(self) -> threading.Event:
        """Is set when the lease is found lost, until which a thread can wait."""
        return self._lost

    @property
    def remaining(self) -> float:
        """Seconds for which the lease is held for certain; 0 when it is lost or has ended."""
        with self._lock:
            left = 0 if self._handle is None else LIBRARY.lk_lease_remaining_ms(self._handle)
        return int(left) / 1000

    def on_lost(self, callback: Callable[[Any], None]) -> None:
        """Calls it with this object, once, in a thread of the binding's, when the lease is found
        lost; at once if it is."""
        with self._lock:
            is_told = self._lost.is_set()
            if not is_told:
                self._callbacks.append(callback)
        if is_told:
            _background.post(callback, self)

    def check(self) -> None:
        """Raises LeaseLost unless the lease is held."""
        if self.lost:
            raise exception(Outcome.LOST, "the lease is lost")
        if self._handle is None:
            raise exception(Outcome.LOST, "the lease has ended")


def acquire(store: Store, request: _abi.Request, cancel: Optional[_background.Cancel]) -> Lease:
    """lk_acquire(). The caller's request may wait until `cancel` ends that."""
    handle, result = ctypes.c_void_p(), ctypes.POINTER(_abi.Result)()
    error = _abi.Error()
    if cancel is not None:
        request.cancel = cancel.handle
    try:
        outcome = LIBRARY.lk_acquire(store._handle, request, ctypes.byref(handle),
                                     ctypes.byref(result), error)
        answer = _records.answer(result.contents) if result else None
        if outcome == Outcome.GRANTED and answer is not None:
            return Lease(store, request, handle, answer)
    finally:
        LIBRARY.lk_result_free(result)
        if handle.value is not None:  # no Lease has taken it
            LIBRARY.lk_lease_abandon(handle)
    raise exception(outcome, _records.text(error.text), answer.blockers if answer else (),
                    answer.cycle if answer else ())


def own(url: str) -> List[Any]:
    """What the caller holds in that store, as far as that is known."""
    all_held = [reference() for reference in list(_watched.values())]
    return _scope.own([held for held in all_held if held is not None], url)


def acquire_beside(own_held: List[Any], store: Store, request: _abi.Request,
                   cancel: _background.Cancel) -> Lease:
    """acquire() without limit, by what holds these itself: Deadlock, if one of them would keep it waiting
    whatever others do."""
    waits_as = request.style, request.blockers_max
    request.style, request.blockers_max = _abi.LK_TRY, _abi.LK_BLOCKERS_MAX
    try:
        return acquire(store, request, cancel)
    except Unavailable:
        pass  # the wait has its own patience
    except Busy as error:
        owner = _records.optional_text(request.owner)
        held = _scope.blocking(own_held, error.blockers, _request.parts(request), owner)
        if held is not None:
            asker = () if owner is None else (owner,)
            raise exception(
                Outcome.DEADLOCK,
                f"to wait would be for ever: the caller itself holds {held!r} as {held.owner}; give "
                "both one owner, or release it before", error.blockers,
                (*asker, held.owner)) from None
    finally:
        request.style, request.blockers_max = waits_as
    return acquire(store, request, cancel)


class Lease(Held):
    """A held request, which the library renews until it is released or lost.

    As a context manager it is released at the end of the block, where LeaseLost says that it was not
    held all the time. It is entered once: with a lease that has ended, or that is entered already, the
    block does not begin. A lease that is thrown away without a release is renewed no more, and ends at
    its deadline.
    """

    def __init__(self, store: Store, request: _abi.Request, handle: ctypes.c_void_p,
                 answer: _records.Answer) -> None:
        self._store = store  # the store is not collected before its leases
        self._request = request
        self._answer = answer
        self._ending = threading.RLock()  # of one release at a time
        self._is_unknown = False  # whether a release has ended it
        self._said: Optional[_request.Named] = None  # the values of that release
        self._granted_at = time.clock_gettime(time.CLOCK_BOOTTIME)
        super().__init__(handle)

    def renew_lock(self) -> None:
        super().renew_lock()
        self._ending = threading.RLock()

    def _scope_url(self) -> Optional[str]:
        ends_itself = self._request.until_unix_ms != 0 or self._answer.fixed
        return None if self._handle is None or ends_itself else self._store.url

    def _part(self, path: str) -> Optional[_request.Part]:
        return next((part for part in _request.parts(self._request) if part.path == path), None)

    def _set(self) -> FrozenSet[str]:
        return frozenset(self.paths)

    def __repr__(self) -> str:
        state = ("lost" if self.lost else "held" if self._handle is not None
                 else "unknown" if self._is_unknown else "ended")
        return f"<lockkeeper.Lease {' '.join(self.paths)} token={self.token} {state}>"

    def __del__(self) -> None:
        # At the end of the interpreter the names of modules are gone.
        if getattr(_background, "is_exiting", None) is not False:
            return
        handle = getattr(self, "_handle", None)
        _watched.pop(getattr(self, "_key", 0), None)
        if handle is not None:
            self._handle = None
            # It may wait for the library; not where the garbage collector has interrupted.
            _background.post(LIBRARY.lk_lease_abandon, handle)
            warnings.warn(f"lease of {' '.join(self.paths)} was not released", ResourceWarning,
                          source=self)

    @property
    def token(self) -> int:
        """The fencing token. Pass it to the resource, and let that refuse smaller ones."""
        return self._answer.token

    @property
    def tokens(self) -> Tuple[int, ...]:
        """A token for each part, where they lie on several nodes (rule R14); else one for all."""
        return self._answer.tokens or (self.token,)

    @property
    def owner(self) -> str:
        return self._answer.owner

    @property
    def paths(self) -> Tuple[str, ...]:
        return self._answer.paths

    @property
    def values(self) -> Tuple[Value, ...]:
        """The values of all parts at the grant, if they were asked for (value=True)."""
        return self._answer.values

    @property
    def value(self) -> Optional[bytes]:
        """The first part's value at the grant, if it was asked for; None: there was none."""
        return self._answer.values[0].data if self._answer.values else None

    @property
    def in_doubt(self) -> bool:
        """Whether the last holder perished after `value` was written."""
        return bool(self._answer.values) and self._answer.values[0].in_doubt

    def put(self, value: Bytes, path: Optional[str] = None) -> None:
        """Writes a value at a path that the lease covers (the first part's), only while it is held."""
        self.check()
        self._store._put(self.paths[0] if path is None else path, _arguments.payload(value),
                         self.owner, self.token)

    def convert(self, *parts: str, shared: bool = False, limit: Optional[int] = None,
                units: Optional[int] = None, ttl: Optional[Duration] = None) -> None:
        """Changes modes, limits or units in place (rule R9); parts default to the lease's paths.

        Does not wait: raises Busy if another owner is in the way, and the lease stays as it was. What
        is stronger draws a new token.
        """
        self.check()
        former = self._request
        request = _request.make(
            parts or self.paths, style=_abi.LK_TRY, shared=shared, limit=limit, units=units, ttl=ttl,
            owner=self.owner, value=former.value, bound=former.bound)
        if ttl is None:
            request.ttl_ms, request.until_unix_ms = former.ttl_ms, former.until_unix_ms
        request.at_least_ms = former.at_least_ms
        key = self._ignore_loss()  # the new token ends the former handle
        try:
            with self._store._gate:
                other = acquire(self._store, request, None)
        except BaseException as error:
            self._key = key
            if self.lost:
                _background.post(_tell, key)
                if isinstance(error, Busy):
                    raise exception(Outcome.LOST, "the lease is lost") from None
            raise
        _watched.pop(key, None)
        self._become(other)

    def _become(self, other: Lease) -> None:
        """Takes the place of this lease's handle, which ends."""
        handle = ctypes.c_void_p(other._take())
        former = ctypes.c_void_p(self._take())
        if former.value is None or other._answer.created:
            # The lease had ended before it was converted, so the other one is not it.
            LIBRARY.lk_lease_abandon(former)
            if attempt(LIBRARY.lk_lease_release_now, handle)[0] not in _ENDED:
                LIBRARY.lk_lease_abandon(handle)
            self._is_lost = True
            self._lost.set()
            raise exception(Outcome.LOST, "the lease had ended before it was converted")
        self._request, self._answer = other._request, other._answer
        self._granted_at = other._granted_at
        self._hold(handle)
        LIBRARY.lk_lease_abandon(former)

    def release(self, put: Optional[Put] = None, now: bool = False) -> None:
        """Ends the lease; `put` is written in the same step: bytes to the first path, or a dict of
        paths. Raises LeaseLost if it was not held any more, and nothing was written then. Unavailable:
        unknown; to call it again asks again, until it is known. Then a further release does
        nothing. A lease with at_least stays until that is over, unless `now`."""
        said = None if put is None else _request.named(put)
        array, count = (None, 0) if said is None else _request.puts(said)
        with self._ending:
            if self._is_unknown and said is not None and said != self._said:
                raise exception(Outcome.INVALID, "a release of this lease has been sent with other "
                                "values, or with none: only that can be repeated")
            if not self._is_unknown:
                self._said = said
            outcome, text = (self._release_again if self._is_unknown else self._release)(
                array, count, now)
            if self._handle is None:
                self._is_unknown = outcome not in _ENDED
        if outcome == Outcome.LOST:
            self._is_lost = True
            self._lost.set()
        if outcome != Outcome.OK:
            raise exception(outcome, text)

    def _release(self, array: Any, count: int, now: bool) -> Tuple[int, str]:
        handle = self._take()
        if handle is None:
            if array is not None:
                raise exception(Outcome.LOST, "the lease has ended")
            return Outcome.OK, ""
        self._is_unknown = True  # also where a signal's handler raises before the answer is read
        if array is None:
            ended = attempt(LIBRARY.lk_lease_release_now if now else LIBRARY.lk_lease_release, handle)
        else:
            ended = attempt(LIBRARY.lk_lease_release_put_all, handle, array, count)
            if ended[0] in (Outcome.INVALID, Outcome.UNSUPPORTED):  # nothing is done
                with self._lock:
                    self._handle = handle
                self._is_unknown = False
                return ended
        if ended[0] not in _ENDED:
            LIBRARY.lk_lease_abandon(handle)
        _watched.pop(self._key, None)
        return ended

    def _stay(self) -> float:
        """For how many seconds it has to stay; 0: it may end. At least what a ttl can be."""
        at_least = int(self._request.at_least_ms) / 1000
        left = self._granted_at + at_least - time.clock_gettime(time.CLOCK_BOOTTIME)
        return max(left, 0.05) if at_least > 0 and left > 0 else 0

    def _release_again(self, array: Any, count: int, now: bool) -> Tuple[int, str]:
        """The handle has gone with the first release, or with the signal that interrupted it. The
        lease is named by its owner and token."""
        request = _request.make(self.paths, owner=self.owner)
        stay = 0 if now else self._stay()
        with self._store._gate:
            if stay > 0:
                last = _request.make(self.paths, owner=self.owner, ttl=stay)
                ended = attempt(LIBRARY.lk_renew, self._store._handle, last, self.token, None)
                if ended[0] != Outcome.LOST:  # one that is revoked can still be released
                    return ended
            if array is None:
                return attempt(LIBRARY.lk_release, self._store._handle, request, self.token, None)
            return attempt(LIBRARY.lk_release_put_all, self._store._handle, request, self.token,
                           array, count, None)

    def abandon(self) -> None:
        """Stops the renewals. The lease stays held until its deadline."""
        handle = self._take()
        self._is_unknown = False
        if handle is not None:
            LIBRARY.lk_lease_abandon(handle)

    def __enter__(self) -> Lease:
        self.check()
        with self._lock:
            if self._entered_by is not None:
                raise RuntimeError("the lease has been entered: the end of one block would end it "
                                   "for the other")
            self._entered_by = _scope.runner()
        return self

    def __exit__(self, kind: Optional[Type[BaseException]], error: Optional[BaseException],
                 traceback: Optional[TracebackType]) -> None:
        try:
            self.release()
        except Error:
            if kind is None:
                raise  # else what the block has raised says more
        finally:
            self._entered_by = None


def release_quietly(lease: Lease) -> None:
    """Of a grant that nothing waits for any more. What its owner held before the call stays."""
    if not lease._answer.created:
        lease.abandon()
        return
    try:
        lease.release(now=True)
    except Error:
        lease.abandon()
