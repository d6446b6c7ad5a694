# SPDX-License-Identifier: Apache-2.0
"""What the store tells, copied from the library's structs. Times are seconds."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Optional, Tuple

from ._abi import Outcome as Outcome


def text(raw: Optional[bytes]) -> str:
    return (raw or b"").decode("utf-8", "replace")


def optional_text(raw: Optional[bytes]) -> Optional[str]:
    return None if raw is None else text(raw)


def octets(address: Optional[int], size: int) -> Optional[bytes]:
    return None if address is None else ctypes.string_at(address, size)


def seconds(milliseconds: int) -> Optional[float]:
    """None where C says -1: does not apply."""
    return None if milliseconds < 0 else milliseconds / 1000


@dataclass(frozen=True)
class Blocker:
    """A request that blocks another (rule R20)."""

    path: str
    owner: str
    note: Optional[str]
    ticket: int
    held: bool
    expires_in: Optional[float]
    user: Optional[str] = None  # of a service with users: whose owner it is


def blockers(first: Any, count: int) -> Tuple[Blocker, ...]:
    return tuple(
        Blocker(text(one.path), text(one.owner), optional_text(one.note), one.ticket, one.held,
                seconds(one.expires_in_ms), optional_text(one.user))
        for one in (first[i] for i in range(count)))


@dataclass(frozen=True)
class Value:
    """A value (rule R15). In doubt: its last holder perished; what it describes may be half done."""

    data: Optional[bytes]
    in_doubt: bool


@dataclass(frozen=True)
class Answer:
    """The answer to a request, renewal or release without keep-alive."""

    outcome: Outcome
    paths: Tuple[str, ...]
    owner: str
    ticket: int
    token: int
    ttl: float
    expires_in: Optional[float]
    in_use: int
    position: int
    created: bool
    fixed: bool
    requeued: bool
    blockers: Tuple[Blocker, ...]
    cycle: Tuple[str, ...]
    tokens: Tuple[int, ...]
    values: Tuple[Value, ...]


def answer(raw: Any) -> Answer:
    return Answer(
        Outcome(raw.outcome), tuple(text(raw.paths[i]) for i in range(raw.path_count)), text(raw.owner),
        raw.ticket, raw.token, raw.ttl_ms / 1000, seconds(raw.expires_in_ms), raw.in_use,
        raw.position, raw.created, raw.fixed, raw.requeued,
        blockers(raw.blockers, raw.blocker_count),
        tuple(text(raw.cycle[i]) for i in range(raw.cycle_count)),
        tuple(raw.tokens[i] for i in range(raw.token_count)),
        tuple(Value(octets(one.value, one.value_size), one.in_doubt)
              for one in (raw.values[i] for i in range(raw.value_count))))


@dataclass(frozen=True)
class Entry:
    """One part of a live request."""

    path: str
    owner: str
    note: Optional[str]
    ticket: int
    token: int
    held: bool
    shared: bool
    revoked: bool
    limit: int
    units: int
    ttl: float
    expires_in: Optional[float]
    age: float
    request_index: int
    blockers: Tuple[Blocker, ...]
    position: int
    user: Optional[str] = None  # of a service with users: whose owner it is


def entry(raw: Any) -> Entry:
    return Entry(
        text(raw.path), text(raw.owner), optional_text(raw.note), raw.ticket, raw.token, raw.held,
        raw.shared, raw.revoked, raw.limit, raw.units, raw.ttl_ms / 1000,
        seconds(raw.expires_in_ms), raw.age_ms / 1000, raw.request_index,
        blockers(raw.blockers, raw.blocker_count), raw.position, optional_text(raw.user))


@dataclass(frozen=True)
class Limits:
    """The bounds that a store keeps (rule R22). 0: none."""

    live: int
    live_per_owner: int
    live_per_root: int
    waiters_per_path: int
    events: int


@dataclass(frozen=True)
class Report:
    """A description of a store, to be read by people."""

    text: str
    warnings: Tuple[str, ...]
    round_trip: float
    clock_offset: float


@dataclass(frozen=True)
class PushResult:
    """What a push has found and done. It is true if the item was added. `changed`: the item that was
    there has what the push said. `was`: the state that it was in, as in ItemInfo; None: added."""

    added: bool
    changed: bool
    was: Optional[str]

    def __bool__(self) -> bool:
        return self.added


def push_result(raw: Any) -> PushResult:
    return PushResult(raw.added, raw.changed, optional_text(raw.was))


@dataclass(frozen=True)
class PushCounts:
    added: int
    duplicates: int
    changed: int  # of these duplicates, by `again` or `replace`


@dataclass(frozen=True)
class ItemInfo:
    """An item of a queue, in any state: "ready", "delayed", "claimed", "parked"; "again": claimed,
    and new work when the claim ends; "cancelled": claimed, and removed when the claim ends; or
    "done": kept with its result, which is its value, until it is forgotten (`due_in`)."""

    id: str
    owner: Optional[str]
    value: Optional[bytes]
    state: str
    attempts: int
    due_in: Optional[float]
    expires_in: Optional[float]
    needs: Tuple[str, ...]
    priority: int
    last_exit: Optional[int]
    last_error: Optional[bytes]
    user: Optional[str] = None  # of a service with users: whose the owner is
    progress: Optional[bytes] = None  # of its last claim


def item(raw: Any) -> ItemInfo:
    return ItemInfo(
        text(raw.id), optional_text(raw.owner), octets(raw.value, raw.value_size), text(raw.state),
        raw.attempts, seconds(raw.due_in_ms), seconds(raw.expires_in_ms),
        tuple(text(raw.needs[i]) for i in range(raw.need_count)), raw.priority,
        raw.last_exit if raw.has_last_exit else None, octets(raw.last_error, raw.last_error_size),
        optional_text(raw.user), octets(raw.progress, raw.progress_size))


@dataclass(frozen=True)
class QueueStats:
    """Counts over the life of the store; those named ..._now are of this moment.

    oldest_ready: for how many seconds the oldest ready item has been; None if none is."""

    pushed: int
    duplicates: int
    claims: int
    steals: int
    done: int
    retried: int
    parked: int
    ready_now: int
    delayed_now: int
    claimed_now: int
    parked_now: int
    done_now: int
    oldest_ready: Optional[float]


def queue_stats(raw: Any) -> QueueStats:
    numbers = {name: getattr(raw, name) for name in QueueStats.__dataclass_fields__ if name != "oldest_ready"}
    return QueueStats(**numbers, oldest_ready=seconds(raw.oldest_ready_ms))


@dataclass(frozen=True)
class WorkCounts:
    """The counts of a pool of workers so far."""

    claims: int
    steals: int
    done: int
    retried: int
    parked: int
    lost: int
    unknown: int
    announced: int
    duplicates: int
    left: int
    skipped: int


@dataclass(frozen=True)
class Event:
    """What a decision did (rule R21). Kinds are "queued", "granted", ..., "gap"."""

    kind: str
    refusal: int
    sequence: int
    at: float
    paths: Tuple[str, ...]
    parts: Tuple[str, ...]
    owner: Optional[str]
    note: Optional[str]
    ticket: int
    token: int
    queue: Optional[str]
    id: Optional[str]
    attempt: int
    is_deletion: bool
    by: Optional[str]
    reason: Optional[str]
    user: Optional[str] = None  # of a service with users: whose the owner is


def event(raw: Any, kind: str) -> Event:
    return Event(
        kind, raw.refusal, raw.sequence, raw.at_unix_ms / 1000,
        tuple(text(raw.paths[i]) for i in range(raw.part_count)),
        tuple(text(raw.parts[i]) for i in range(raw.part_count)), optional_text(raw.owner),
        optional_text(raw.note), raw.ticket, raw.token, optional_text(raw.queue),
        optional_text(raw.id), raw.attempt, raw.is_deletion, optional_text(raw.by),
        optional_text(raw.reason), optional_text(raw.user))


def counts(kind: Any, raw: Any) -> Any:
    """A record whose fields are those of the struct, in order."""
    return kind(*(getattr(raw, name) for name in kind.__dataclass_fields__))
