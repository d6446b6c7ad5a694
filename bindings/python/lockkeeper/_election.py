# SPDX-License-Identifier: Apache-2.0
"""One leader among processes: a lease that candidates wait for, and what others see of it.

There is no rule here beside those of locks: candidates are in the order of their arrival, and the note of
the holder says who leads.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Callable, Iterator, Optional, TypeVar

from . import _arguments
from ._arguments import Duration
from ._errors import LeaseLost, Unsupported
from ._lease import Lease

if TYPE_CHECKING:
    from ._store import Store
    from ._watch import Watch

R = TypeVar("R")


@dataclass(frozen=True)
class Leader:
    """The candidate that leads, as the store shows it."""

    owner: str
    note: Optional[str]  # where it can be reached, if campaign() was told
    token: int  # grows with each leader


class Election:
    """Made by Store.election(). Any thread may use it; each campaign is a candidate of its own."""

    def __init__(self, store: Store, path: str, ttl: Duration) -> None:
        self._store = store
        self._ttl = ttl
        self.path = _arguments.text(path, "path").decode()
        if "?" in self.path:
            raise ValueError("a leader excludes all others: a path without ? is expected")

    def campaign(self, *, note: Optional[str] = None, wait: Optional[Duration] = None,
                 owner: Optional[str] = None,
                 on_lost: Optional[Callable[[Lease], Any]] = None) -> Lease:
        """Returns when this candidate leads; after `wait` seconds Timeout. The lease has the token, and
        says whether the leadership is lost. Its block, or release(), resigns at its end."""
        return self._store.lock(self.path, ttl=self._ttl, note=note, wait=wait, owner=owner,
                                on_lost=on_lost)

    def lead(self, function: Callable[[Lease], R], *, note: Optional[str] = None) -> R:
        """Calls the function each time that this process leads, until it returns: then it resigns, and
        so it does after an exception. When the leadership is lost, it campaigns again. The function
        must end then: it asks lease.lost, or calls lease.check()."""
        while True:
            try:
                with self.campaign(note=note) as lease:
                    return function(lease)
            except LeaseLost:
                pass

    def leader(self) -> Optional[Leader]:
        """None: there is no leader at the moment."""
        for entry in self._store.list(self.path):
            if entry.held and not entry.shared and entry.path == self.path.strip("/"):
                return Leader(entry.owner, entry.note, entry.token)
        return None

    def observe(self, poll: Duration = 1.0) -> Iterator[Optional[Leader]]:
        """The leader now, and then each change of it. A store that has no events (redis:) is asked each
        `poll` seconds. Leaders that follow each other fast may be passed over."""
        seconds = _arguments.milliseconds(poll, "poll") / 1000
        try:
            watch: Optional[Watch] = self._store.watch(self.path)  # before the first look
        except Unsupported:
            watch = None
        try:
            seen = self.leader()
            yield seen
            while True:
                if watch is None:
                    time.sleep(seconds)
                elif watch.next() is None:
                    return  # the store is closed
                now = self.leader()
                if now != seen:
                    seen = now
                    yield now
        finally:
            if watch is not None:
                watch.close()
