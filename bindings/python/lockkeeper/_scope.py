# SPDX-License-Identifier: Apache-2.0
"""What the running code holds itself: so that a wait without limit for that is told, and not made.

A lease counts as held by a thread, or a task of asyncio, while that is in its block. Without a block the
lease may have been handed to another thread, which ends it; so it counts only while there is no other.
"""

from __future__ import annotations

import asyncio
import os
import threading
from typing import Any, Dict, Iterable, List, Optional, Sequence, Tuple

from ._records import Blocker
from ._request import Part

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
            if held._process == os.getpid()  # a child of fork() has no lease of its parent's
            and held._scope_url() == url
            and (held._entered_by == caller
                 or (held._entered_by is None and held._made_by == caller
                     and caller[0] == "thread" and _is_alone()))]


def _are_related(a: str, b: str) -> bool:
    """Rule R5."""
    return f"{a}/".startswith(f"{b}/") or f"{b}/".startswith(f"{a}/")


def _held_parts(held: Sequence[Any], blockers: Sequence[Blocker]) -> List[Tuple[Any, Part]]:
    """Of what the store names as held: which of these it is, with the part in question."""
    found: Dict[Any, Tuple[Any, Part]] = {}
    for blocker in blockers:
        for one in held:
            part: Optional[Part] = one._part(blocker.path)
            if blocker.held and blocker.owner == one.owner and part is not None:
                # Several handles of one lease (rule R3) are counted once.
                found.setdefault((one.owner, one._set(), part.path), (one, part))
    return list(found.values())


def blocking(held: Sequence[Any], blockers: Sequence[Blocker], asked: Sequence[Part],
             asker: Optional[str]) -> Any:
    """The first of them that keeps the asked parts out also when no other owner has any; None:
    none does, so the wait ends when others release."""
    own_parts = _held_parts(held, blockers)
    for one, part in own_parts:
        for wanted in asked:
            if (one.owner != asker and not (part.shared and wanted.shared)
                    and _are_related(part.path, wanted.path)):
                return one  # rule R6
            if wanted.limit and part.units and part.path == wanted.path:
                units = sum(other.units for _, other in own_parts if other.path == part.path)
                if units + wanted.units > wanted.limit:
                    return one  # rule R7c
    return None
