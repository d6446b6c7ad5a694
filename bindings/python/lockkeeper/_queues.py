# SPDX-License-Identifier: Apache-2.0
"""The part of a store that is about queues of work (rule R16) and events (R21).

Claims by hand are for programs whose handling of an item is no loop: one process claims it, another
one ends it. Nothing renews such a claim but renew(). store.work() and store.run_workers() do all of
it by themselves.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field
from typing import (
    TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Sequence, Tuple, TypeVar, Union)

from . import _abi, _arguments, _background, _records
from ._library import LIBRARY
from ._arguments import Bytes, Duration
from ._errors import ItemParked, NoValue, attempt, exception
from ._records import Answer, ItemInfo, Outcome, PushCounts, PushResult, QueueStats, WorkCounts
from ._watch import Handle, Watch
from ._work import (
    Ending, Failure, Item, Note, Pool, Table, Work, failure, fill, handling, note, source)

if TYPE_CHECKING:
    from ._store import Store

T = TypeVar("T")


def _push_request(queue: str, id: str, value: Optional[Bytes] = None, *,
                  delay: Optional[Duration] = None, needs: Sequence[str] = (), priority: int = 0,
                  again: bool = False, replace: bool = False,
                  keep: Optional[Duration] = None) -> _abi.PushRequest:
    request = _abi.PushRequest()
    request.size = ctypes.sizeof(request)
    request.queue = _arguments.text(queue, "queue")
    request.id = _arguments.text(id, "id")
    if value is not None:
        data = _arguments.payload(value)
        request.value, request.value_size = data, len(data)
    request.delay_ms = 0 if delay is None else _arguments.milliseconds(delay, "delay")
    request.needs = _arguments.texts(needs, "needs")
    request.need_count = len(needs)
    request.priority = _arguments.number(priority, "priority", -2**31, 2**31 - 1)
    request.again = _arguments.flag(again, "again")
    request.replaces = _arguments.flag(replace, "replace")
    request.keep_ms = 0 if keep is None else _arguments.milliseconds(keep, "keep")
    return request


def _only(found: Any) -> ItemInfo:
    return _records.item(found.items[0])


class _Awaiting:
    """One call that waits for a result."""

    def __init__(self, store: Store, queue: str, id: str, wait: Optional[Duration]) -> None:
        self._store = store
        self._item = (_arguments.text(queue, "queue"), _arguments.text(id, "id"))
        self._wait_ms = _arguments.patience(wait)
        self.cancel = _background.Cancel()

    @property
    def waits(self) -> bool:
        return self._wait_ms > 0

    def result(self) -> Optional[bytes]:
        with self._store._gate.waiting(self.cancel):
            item = self._store._read(_abi.ItemList, LIBRARY.lk_item_list_free, _only,
                                     LIBRARY.lk_item_wait, *self._item, self._wait_ms,
                                     self.cancel.handle)
        if item.state == "parked":
            raise ItemParked(item)
        return item.value


class Queues:
    if TYPE_CHECKING:  # of the store
        _handle: Optional[int]
        _gate: _background.Gate

        def _call(self, function: Callable[..., int], *arguments: Any) -> None: ...

        def _read(self, kind: Any, free: Callable[[Any], None], copy: Callable[[Any], T],
                  function: Callable[..., int], *arguments: Any) -> T: ...

    def push(self, queue: str, id: str, value: Optional[Bytes] = None, *,
             delay: Optional[Duration] = None, needs: Sequence[str] = (), priority: int = 0,
             again: bool = False, replace: bool = False,
             keep: Optional[Duration] = None) -> PushResult:
        """Adds an item. The result is true if it is added; false: the queue has one with this id, which
        stays as it is. `again`: that item gets this value, priority, delay and needs, also if it is
        parked; if it is claimed, it is worked on once more when the claim ends. `replace`: only
        while it waits to be claimed. Not both. `keep`: once it is done, it is kept with its result
        for so many seconds, for result()."""
        request = _push_request(queue, id, value, delay=delay, needs=needs, priority=priority,
                                again=again, replace=replace, keep=keep)
        result = _abi.PushResult()
        self._call(LIBRARY.lk_push_item, request, result)
        return _records.push_result(result)

    def push_many(self, queue: str, items: Iterable[Tuple[str, Optional[Bytes]]], *,
                  again: bool = False, replace: bool = False,
                  keep: Optional[Duration] = None) -> PushCounts:
        """Adds items, (id, value) each: up to 1000 in one step, more in several. `again`, `replace` and
        `keep` hold for each of them, as in push()."""
        requests = [_push_request(queue, id, value, again=again, replace=replace, keep=keep)
                    for id, value in items]
        added = duplicates = changed = 0
        for first in range(0, len(requests), _abi.LK_MANY_MAX):
            some = requests[first:first + _abi.LK_MANY_MAX]
            counts = _abi.PushCounts()
            self._call(LIBRARY.lk_push_many, (_abi.PushRequest * len(some))(*some), len(some),
                       counts)
            added, duplicates = added + counts.added, duplicates + counts.duplicates
            changed += counts.changed
        return PushCounts(added, duplicates, changed)

    def work(self, queue: Optional[str] = None, *, table: Optional[Table] = None,
             ttl: Optional[Duration] = None, max_attempts: Optional[int] = None,
             note: Optional[str] = None, retry_min: Optional[Duration] = None,
             retry_max: Optional[Duration] = None, drain: bool = False,
             patience: Optional[Duration] = None) -> Work:
        """Claims items, one after another, and renews the claim of the present one; waits for items
        unless `drain`. The options are those of lk_work_options in work.h."""
        return Work(self, queue, dict(  # type: ignore[arg-type]  # the store is one of these
            table=table, ttl=ttl, max_attempts=max_attempts, note=note, retry_min=retry_min,
            retry_max=retry_max, drain=drain, patience=patience))

    def run_workers(self, queue: Optional[str], handle: Callable[[Item], Any], *, workers: int = 1,
                    table: Optional[Table] = None, ttl: Optional[Duration] = None,
                    max_attempts: Optional[int] = None, note: Optional[str] = None,
                    retry_min: Optional[Duration] = None, retry_max: Optional[Duration] = None,
                    drain: bool = False, patience: Optional[Duration] = None) -> WorkCounts:
        """Calls `handle` with each item, `workers` of them at once in threads of the library. An item
        is done when it returns, and retried when it raises. Returns when drained."""
        pool = Pool(self, handling(handle), queue,  # type: ignore[arg-type]  # as above
                    table=table, workers=workers, ttl=ttl, max_attempts=max_attempts, note=note,
                    retry_min=retry_min, retry_max=retry_max, drain=drain, patience=patience)
        _background.interruptible(pool.run, pool.cancel, lambda _: None).check()
        return pool.counts

    def items(self, queue: str) -> List[ItemInfo]:
        """All items of a queue, in any state, oldest first."""
        return self._read(
            _abi.ItemList, LIBRARY.lk_item_list_free,
            lambda found: [_records.item(found.items[i]) for i in range(found.count)],
            LIBRARY.lk_items, _arguments.text(queue, "queue"))

    def item(self, queue: str, id: str) -> Optional[ItemInfo]:
        """One item; None: there is none, or it was done and is not kept any more."""
        try:
            return self._read(_abi.ItemList, LIBRARY.lk_item_list_free, _only, LIBRARY.lk_item_get,
                              _arguments.text(queue, "queue"), _arguments.text(id, "id"))
        except NoValue:
            return None

    def result(self, queue: str, id: str, *, wait: Optional[Duration] = None) -> Optional[bytes]:
        """Waits until the item is done, and returns its result; None: it was done without one. The push
        or the done must keep it: `keep`. wait: seconds, then Timeout; None: for ever; 0: looks once.
        ItemParked: it is parked. NoValue: there is no such item: it was done and is not kept (any
        more), was dropped or cancelled, or never was."""
        awaiting = _Awaiting(self, queue, id, wait)  # type: ignore[arg-type]  # as above
        if not awaiting.waits:
            return awaiting.result()
        return _background.interruptible(awaiting.result, awaiting.cancel.now, lambda _: None)

    async def aresult(self, queue: str, id: str, *,
                      wait: Optional[Duration] = None) -> Optional[bytes]:
        """result() for asyncio."""
        awaiting = _Awaiting(self, queue, id, wait)  # type: ignore[arg-type]  # as above
        return await _background.awaited(awaiting.result, awaiting.cancel.now, lambda _: None)

    def stats(self, queue: str) -> QueueStats:
        """The counts of a queue."""
        stats = _abi.QueueStats()
        self._call(LIBRARY.lk_stats, _arguments.text(queue, "queue"), stats)
        return _records.queue_stats(stats)

    def unpark(self, queue: str, id: Optional[str] = None) -> int:
        """Makes a parked item ready again (LeaseLost: there is none), or all of the queue. Returns
        their number."""
        if id is not None:
            self._call(LIBRARY.lk_unpark, _arguments.text(queue, "queue"),
                       _arguments.text(id, "id"))
            return 1
        count = ctypes.c_uint64()
        self._call(LIBRARY.lk_unpark_all, _arguments.text(queue, "queue"), ctypes.byref(count))
        return count.value

    def drop(self, queue: str, *ids: str) -> int:
        """Removes items that are not claimed; without ids, all that are parked. Returns how many
        were removed, which may be fewer than were named."""
        name, count = _arguments.text(queue, "queue"), ctypes.c_uint64()
        if not ids:
            self._call(LIBRARY.lk_drop_parked, name, ctypes.byref(count))
            return count.value
        with self._gate:
            outcome, text = attempt(LIBRARY.lk_drop, self._handle, name,
                                    _arguments.texts(ids, "ids"), len(ids), ctypes.byref(count))
        if outcome not in (Outcome.OK, Outcome.LOST):
            raise exception(outcome, text)
        return count.value

    def cancel(self, queue: str, id: str, *, reason: str, by: str, at_once: bool = False) -> bool:
        """Removes an item for good, at once if it is not claimed. A claim is revoked, so its worker
        ends; the item is "cancelled" until then, and goes with the claim. `at_once`: now, which is
        unsafe while its worker may still be at it. Returns whether it was claimed. LeaseLost: there
        is no such item."""
        request = _abi.CancelRequest(
            ctypes.sizeof(_abi.CancelRequest), _arguments.text(queue, "queue"),
            _arguments.text(id, "id"), _arguments.text(reason, "reason"),
            _arguments.text(by, "by"), _arguments.flag(at_once, "at_once"))
        is_claimed = ctypes.c_bool()
        self._call(LIBRARY.lk_cancel_item, request, ctypes.byref(is_claimed))
        return is_claimed.value

    def watch(self, prefix: Optional[str] = None, *, after: int = 0) -> Watch:
        """Follows events with a path at or below the prefix. `after`: the sequence of the last event
        seen; 0: from now on; 1: all that is kept."""
        return Watch(self, prefix, after)  # type: ignore[arg-type]  # as above


# ---- claims by hand


@dataclass(frozen=True)
class Claim:
    """An item that was claimed by hand. `token` is the claim's fencing token. `expires_in` counts from
    the return of the call that claimed it.

    The claim ends at its deadline unless renew() is called; then the item is another worker's."""

    queue: str
    id: str
    owner: str
    value: Optional[bytes]
    token: int
    attempt: int
    is_stolen: bool
    ttl: float
    expires_in: Optional[float]
    row_id: Optional[str]
    _store: Store = field(repr=False, compare=False)
    _table: Optional[Table] = field(repr=False, compare=False)

    def renew(self, ttl: Optional[Duration] = None) -> Answer:
        """Moves the deadline: `ttl` from now on, the claim's own unless it is given. LeaseLost: the
        claim was lost."""
        return self._store.renew(f"{self.queue}/{self.id}", owner=self.owner, token=self.token,
                                 ttl=self.ttl if ttl is None else ttl)

    def done(self, result: Optional[Bytes] = None, *, keep: Optional[Duration] = None) -> None:
        """The item is done and removed, or kept with its result; of a table's row, which has none, the
        table's `done` runs. LeaseLost: the claim was lost, and the item stays."""
        self._store.done(self.queue, self.id, owner=self.owner, token=self.token, table=self._table,
                         result=result, keep=keep)

    def progress(self, text: Optional[Note]) -> None:
        """Says how far the work is, in up to 1024 bytes, which listings show; None: no more."""
        self._store.progress(self.queue, self.id, text, owner=self.owner, token=self.token)

    def retry(self, *, delay: Optional[Duration] = None, error: Optional[Failure] = None,
              exit_code: Optional[int] = None, uncounted: bool = False,
              park: bool = False) -> None:
        """Gives the item back: it can be claimed again after `delay`, at once unless that is given,
        or is parked. `error` and `exit_code` say why it has failed, and are kept with it.
        `uncounted`: the attempt does not count, and the item is not parked by its attempts. `park`:
        it is parked, whatever its attempts, and has no delay."""
        self._store.retry(self.queue, self.id, owner=self.owner, token=self.token, delay=delay,
                          error=error, exit_code=exit_code, uncounted=uncounted, park=park)


def _claim(store: Store, raw: Any, table: Optional[Table]) -> Claim:
    return Claim(
        _records.text(raw.queue), _records.text(raw.id), _records.text(raw.owner),
        _records.octets(raw.value, raw.value_size), int(raw.token), int(raw.attempt),
        bool(raw.is_stolen), raw.ttl_ms / 1000, _records.seconds(raw.expires_in_ms),
        _records.optional_text(raw.row_id), store, table)


class Claiming:
    """One call that claims: what it asks for, and how it ends."""

    def __init__(self, store: Store, queue: Optional[str], owner: Optional[str], wait: Duration,
                 ttl: Optional[Duration], max_attempts: Optional[int], note: Optional[str],
                 patience: Optional[Duration], table: Optional[Table] = None) -> None:
        self._store = store
        self._table = table
        self.cancel = _background.Cancel()
        self._request = _abi.ClaimRequest()
        fill(self._request, queue, table, ttl, max_attempts, note, self.cancel, patience)
        self._request.owner = _arguments.optional_text(owner, "owner")
        self._request.wait_ms = _arguments.patience(wait)

    @property
    def waits(self) -> bool:
        return bool(self._request.wait_ms > 0)

    def _call(self, kind: Any, free: Callable[[Any], None], copy: Callable[[Any], T],
              function: Callable[..., int], *arguments: Any) -> Optional[T]:
        """What the library allocates, copied. None: there was nothing to claim."""
        answer = ctypes.POINTER(kind)()
        try:
            with self._store._gate.waiting(self.cancel):
                outcome, text = attempt(function, self._store._handle, self._request, *arguments,
                                        ctypes.byref(answer))
            if outcome == Outcome.GRANTED:
                return copy(answer.contents)
        finally:
            free(answer)
        if outcome in (Outcome.BUSY, Outcome.TIMEOUT):
            return None
        raise exception(outcome, text)

    def one(self) -> Optional[Claim]:
        return self._call(_abi.ClaimInfo, LIBRARY.lk_claim_free,
                          lambda raw: _claim(self._store, raw, self._table), LIBRARY.lk_claim_next)

    def many(self, most: int) -> List[Claim]:
        return self._call(
            _abi.ClaimList, LIBRARY.lk_claim_list_free,
            lambda raw: [_claim(self._store, raw.claims[i].contents, None) for i in range(raw.count)],
            LIBRARY.lk_claim_many, most) or []

    def give_back(self, claims: Union[None, Claim, List[Claim]]) -> None:
        """The caller's wait was ended by a signal, or its task was cancelled."""
        for claim in [claims] if isinstance(claims, Claim) else claims or []:
            try:
                claim.retry(uncounted=True)
            except Exception:
                pass  # its deadline ends it


class Claims:
    """The part of a store that is about claims by hand."""

    if TYPE_CHECKING:  # of the store
        _handle: Optional[int]
        _gate: _background.Gate

        def _call(self, function: Callable[..., int], *arguments: Any) -> None: ...

    def claim(self, queue: Optional[str] = None, *, wait: Duration = 0,
              owner: Optional[str] = None, ttl: Optional[Duration] = None,
              max_attempts: Optional[int] = None, note: Optional[str] = None,
              patience: Optional[Duration] = None, table: Optional[Table] = None) -> Optional[Claim]:
        """Claims the first item that is due; None: there was none within `wait` seconds. The options
        are those of lk_claim_request in work.h. Without an owner each claim has one of its own."""
        claiming = Claiming(self, queue, owner, wait, ttl,  # type: ignore[arg-type]  # the store
                            max_attempts, note, patience, table)
        if not claiming.waits:
            return claiming.one()
        return _background.interruptible(claiming.one, claiming.cancel.now, claiming.give_back)

    def claim_many(self, queue: str, most: int, *, wait: Duration = 0, owner: Optional[str] = None,
                   ttl: Optional[Duration] = None, max_attempts: Optional[int] = None,
                   note: Optional[str] = None, patience: Optional[Duration] = None) -> List[Claim]:
        """Claims up to `most` items, 256 at most, in one step, as soon as there is one. They have one
        owner and one token, and each is a claim of its own."""
        claiming = Claiming(self, queue, owner, wait, ttl,  # type: ignore[arg-type]  # the store
                            max_attempts, note, patience)
        number = _arguments.number(most, "most", 1, _abi.LK_CLAIMS_MAX)
        if not claiming.waits:
            return claiming.many(number)
        return _background.interruptible(lambda: claiming.many(number), claiming.cancel.now,
                                         claiming.give_back)

    async def aclaim(self, queue: Optional[str] = None, *, wait: Duration = 0,
                     owner: Optional[str] = None, ttl: Optional[Duration] = None,
                     max_attempts: Optional[int] = None, note: Optional[str] = None,
                     patience: Optional[Duration] = None,
                     table: Optional[Table] = None) -> Optional[Claim]:
        """claim() for asyncio. Its methods are called by `await store.acall(claim.done)`."""
        claiming = Claiming(self, queue, owner, wait, ttl,  # type: ignore[arg-type]  # the store
                            max_attempts, note, patience, table)
        return await _background.awaited(claiming.one, claiming.cancel.now, claiming.give_back)

    def done(self, queue: str, id: str, *, owner: str, token: Optional[int] = None,
             table: Optional[Table] = None, result: Optional[Bytes] = None,
             keep: Optional[Duration] = None) -> None:
        """Ends a claim and removes the item, or keeps it with its result: for `keep` seconds, or for as
        long as its push says, if that is longer. LeaseLost: it is not claimed by this owner any more,
        or with another token. A call that is repeated within five minutes changes nothing. `table`:
        that of the claim, whose `done` runs in the same transaction; then the token is needed, and
        there is no result."""
        ending = Ending(result, keep, table)
        end = (_arguments.text(id, "id"), _arguments.text(owner, "owner"), _arguments.token(token))
        if table is not None:
            self._call(LIBRARY.lk_done_row, _arguments.text(queue, "queue"), source(table), *end)
        elif ending.says_nothing:
            self._call(LIBRARY.lk_done, _arguments.text(queue, "queue"), *end)
        else:
            self._call(LIBRARY.lk_done_item, ending.request(_arguments.text(queue, "queue"), *end))

    def progress(self, queue: str, id: str, text: Optional[Note], *, owner: str,
                 token: Optional[int] = None) -> None:
        """Says how far the work on a claimed item is, as Claim.progress() does."""
        told = note(text)
        self._call(LIBRARY.lk_progress, _arguments.text(queue, "queue"), _arguments.text(id, "id"),
                   _arguments.text(owner, "owner"), _arguments.token(token), told, len(told or b""))

    def done_many(self, queue: str, ids: Sequence[str], *, owner: str,
                  token: Optional[int] = None) -> int:
        """Ends claims of one owner, up to 1000, in one step. Returns how many are done, which are
        fewer than were named if some were lost."""
        count = ctypes.c_uint64()
        with self._gate:
            outcome, text = attempt(
                LIBRARY.lk_done_many, self._handle, _arguments.text(queue, "queue"),
                _arguments.texts(ids, "ids"), len(ids), _arguments.text(owner, "owner"),
                _arguments.token(token), ctypes.byref(count))
        if outcome not in (Outcome.OK, Outcome.LOST):
            raise exception(outcome, text)
        return count.value

    def retry(self, queue: str, id: str, *, owner: str, token: Optional[int] = None,
              delay: Optional[Duration] = None, error: Optional[Failure] = None,
              exit_code: Optional[int] = None, uncounted: bool = False,
              park: bool = False) -> None:
        """Gives an item back, as Claim.retry() does."""
        delay_ms = 0 if delay is None else _arguments.milliseconds(delay, "delay")
        why = failure(error)
        code = 0 if exit_code is None else _arguments.number(exit_code, "exit_code", -2**31,
                                                             2**31 - 1)
        request = _abi.RetryRequest(
            ctypes.sizeof(_abi.RetryRequest), _arguments.text(queue, "queue"),
            _arguments.text(id, "id"), _arguments.text(owner, "owner"), _arguments.token(token),
            delay_ms, exit_code is not None, code, why, len(why or b""),
            _arguments.flag(uncounted, "uncounted"), _arguments.flag(park, "park"))
        self._call(LIBRARY.lk_retry_failed, request)


__all__ = ["Claim", "Claims", "Handle", "Queues"]
