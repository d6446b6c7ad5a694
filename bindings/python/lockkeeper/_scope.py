# SPDX-License-Identifier: Apache-2.0
"""What the running code holds itself: so that a wait without limit for that is told, and not made.

A lease counts as held by a thread, or a task of asyncio, while that is in its block. Without a block the
lease may have been handed to another thread, which ends it; so it counts only while there is no other.
"""

from __future__ import annotations

import asyncio
import threading
from typing import Any, Iterable, List, Sequence, Tuple

from ._records import Blocker

Runner = Tuple[str, int]  # a thread or a task


def runner() -> Runner:
    """That which runs."""
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop
        task = None
    return ("thread", threading.get_ident()) if task is None else ("task", id(task))


def _is_alone() -> bool:
    return all(thread is threading.current_thread() or thread.name.startswith("lockkeeper")
               for thread in threading.enumerate())


def own(all_held: Iterable[Any], url: str) -> List[Any]:
    """Of these leases and items: what the caller holds in that store, and nothing else ends."""
    caller = runner()
    return [held for held in all_held
            if held._scope_url() == url
            and (held._entered_by == caller
                 or (held._entered_by is None and held._made_by == caller
                     and caller[0] == "thread" and _is_alone()))]


def blocking(held: Sequence[Any], blockers: Sequence[Blocker]) -> Any:
    """The first of them that blocks; None: none does."""
    for one in held:
        if any(blocker.owner == one.owner and one._covers(blocker.path) for blocker in blockers):
            return one
    return None
