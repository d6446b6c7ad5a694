# SPDX-License-Identifier: Apache-2.0
"""The part of a store that is about queues of work (rule R16) and events (R21)."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable, Iterable, List, Optional, Sequence, Tuple, TypeVar

from . import _abi, _arguments, _background, _records
from ._library import LIBRARY
from ._arguments import Bytes, Duration
from ._errors import attempt, exception
from ._records import ItemInfo, Outcome, PushCounts, QueueStats, WorkCounts
from ._watch import Handle, Watch
from ._work import Item, Pool, Table, Work, handling

T = TypeVar("T")


def _push_request(queue: str, id: str, value: Optional[Bytes] = None, *,
                  delay: Optional[Duration] = None, needs: Sequence[str] = (),
                  priority: int = 0) -> _abi.PushRequest:
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
    return request


class Queues:
    if TYPE_CHECKING:  # of the store
        _handle: Optional[int]
        _gate: _background.Gate

        def _call(self, function: Callable[..., int], *arguments: Any) -> None: ...

        def _read(self, kind: Any, free: Callable[[Any], None], copy: Callable[[Any], T],
                  function: Callable[..., int], *arguments: Any) -> T: ...

    def push(self, queue: str, id: str, value: Optional[Bytes] = None, *,
             delay: Optional[Duration] = None, needs: Sequence[str] = (),
             priority: int = 0) -> bool:
        """Adds an item. False: the queue has one with this id, which stays as it is."""
        request = _push_request(queue, id, value, delay=delay, needs=needs, priority=priority)
        added = ctypes.c_bool()
        self._call(LIBRARY.lk_push, request, ctypes.byref(added))
        return added.value

    def push_many(self, queue: str,
                  items: Iterable[Tuple[str, Optional[Bytes]]]) -> PushCounts:
        """Adds items, (id, value) each: up to 1000 in one step, more in several."""
        requests = [_push_request(queue, id, value) for id, value in items]
        added = duplicates = 0
        for first in range(0, len(requests), _abi.LK_MANY_MAX):
            some = requests[first:first + _abi.LK_MANY_MAX]
            counts = _abi.PushCounts()
            self._call(LIBRARY.lk_push_many, (_abi.PushRequest * len(some))(*some), len(some),
                       counts)
            added, duplicates = added + counts.added, duplicates + counts.duplicates
        return PushCounts(added, duplicates)

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

    def stats(self, queue: str) -> QueueStats:
        """The counts of a queue."""
        stats = _abi.QueueStats()
        self._call(LIBRARY.lk_stats, _arguments.text(queue, "queue"), stats)
        counts: QueueStats = _records.counts(QueueStats, stats)
        return counts

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

    def watch(self, prefix: Optional[str] = None, *, after: int = 0) -> Watch:
        """Follows events with a path at or below the prefix. `after`: the sequence of the last event
        seen; 0: from now on; 1: all that is kept."""
        return Watch(self, prefix, after)  # type: ignore[arg-type]  # as above


__all__ = ["Handle", "Queues"]
