# SPDX-License-Identifier: Apache-2.0
"""Locks, semaphores and batches with leases, for processes and machines.

    import lockkeeper

    with lockkeeper.open() as store:
        with store.lock("mydatabase/mytest", wait=10) as lease:
            write_somewhere(lease.token)  # the resource refuses smaller tokens

A thin layer over liblockkeeper (include/lockkeeper/lockkeeper.h), whose rules, promises and caveats
are those of this package. README.md beside it has examples.
"""

from ._aio import AsyncItem, AsyncLease, AsyncWatch, AsyncWork
from ._election import Election, Leader
from ._errors import (
    Busy, Cancelled, Deadlock, Denied, Error, Full, Internal, Invalid, ItemParked, LeaseLost, NoValue,
    Timeout, Unavailable, Unsupported)
from ._lease import Lease
from ._library import VERSION as __version__
from ._queues import Claim
from ._records import (
    Answer, Blocker, Entry, Event, ItemInfo, Limits, Outcome, PushCounts, PushResult, QueueStats,
    Report, Value, WorkCounts)
from ._store import Store, aopen, open
from ._watch import Watch
from ._work import Item, Table, Work

__all__ = [
    "Answer", "AsyncItem", "AsyncLease", "AsyncWatch", "AsyncWork", "Blocker", "Busy",
    "Cancelled", "Claim", "Deadlock", "Denied", "Election", "Entry", "Error", "Event", "Full",
    "Internal", "Invalid", "Item", "ItemInfo", "ItemParked", "Leader", "Lease", "LeaseLost", "Limits",
    "NoValue", "Outcome", "PushCounts", "PushResult", "QueueStats", "Report", "Store", "Table",
    "Timeout", "Unavailable", "Unsupported", "Value", "Watch", "Work", "WorkCounts", "__version__",
    "aopen", "open"]
