# SPDX-License-Identifier: Apache-2.0
"""An exception class for each outcome that is not a success (rule R23 of docs/rules.md)."""

from __future__ import annotations

from typing import Any, Callable, Dict, Optional, Sequence, Tuple, Type

from . import _abi
from ._library import LIBRARY
from ._records import Blocker, ItemInfo, Outcome


class Error(Exception):
    """The base of all exceptions of this package. The text is the library's.

    `outcome` says what has happened. `blockers` and `cycle` (owners of a deadlock, the caller first)
    are those of the answer, where it has any.
    """

    outcome: Outcome = Outcome.INTERNAL
    blockers: Tuple[Blocker, ...] = ()
    cycle: Tuple[str, ...] = ()


class Busy(Error):
    """Not granted, and nothing new stays in the queue."""

    outcome = Outcome.BUSY


class Timeout(Error, TimeoutError):
    """Not granted within the time given."""

    outcome = Outcome.TIMEOUT


class LeaseLost(Error):
    """Not held (any more); nothing was changed."""

    outcome = Outcome.LOST


class Deadlock(Error):
    """Waiting would close a cycle of owners; nothing stays in the queue."""

    outcome = Outcome.DEADLOCK


class Invalid(Error, ValueError):
    """The arguments are wrong; the text says what and where."""

    outcome = Outcome.INVALID


class Denied(Error):
    """Not allowed."""

    outcome = Outcome.DENIED


class Full(Error):
    """A configured bound is reached."""

    outcome = Outcome.FULL


class Unsupported(Error):
    """This store cannot do that."""

    outcome = Outcome.UNSUPPORTED


class Unavailable(Error):
    """The store cannot be reached; unknown whether the call took effect."""

    outcome = Outcome.UNAVAILABLE


class Internal(Error):
    """A defect, exhausted memory, or a store that was opened before fork()."""

    outcome = Outcome.INTERNAL


class NoValue(Error, LookupError):
    """There is no value at the path, where Store.get() returns None instead; or no item whose result
    could come."""

    outcome = Outcome.NONE


class ItemParked(Error):
    """The item whose result was awaited is parked: it comes to nothing unless it is unparked. The text
    says why, and `item` has more."""

    outcome = Outcome.NONE

    def __init__(self, item: ItemInfo) -> None:
        self.item = item
        why = "" if item.last_exit is None else f" exit {item.last_exit}"
        if item.last_error is not None:
            why += f"{',' if why else ''} {item.last_error.decode('utf-8', 'replace')}"
        super().__init__(f"the item is parked{':' if why else ''}{why}")

    def __reduce__(self) -> Tuple[Any, ...]:
        return ItemParked, (self.item,)


class Cancelled(Error):
    """The wait was ended; what it had queued is withdrawn. Another thread closed the store."""

    outcome = Outcome.CANCELLED


CLASSES: Dict[int, Type[Error]] = {
    int(kind.outcome): kind
    for kind in (Busy, Timeout, LeaseLost, Deadlock, Invalid, Denied, Full, Unsupported,
                 Unavailable, Internal, NoValue, Cancelled)}


def exception(outcome: int, text: str, blockers: Sequence[Blocker] = (),
              cycle: Sequence[str] = ()) -> Error:
    """The exception for an outcome; its text is never empty."""
    general: Optional[bytes] = LIBRARY.lk_outcome_text(outcome)
    error = CLASSES.get(outcome, Error)(text or (general or b"").decode("utf-8", "replace"))
    error.blockers, error.cycle = tuple(blockers), tuple(cycle)
    return error


def attempt(function: Callable[..., int], *arguments: Any) -> Tuple[int, str]:
    """The outcome of a call whose last argument is a lk_error, and its text."""
    error = _abi.Error()
    outcome = function(*arguments, error)
    return outcome, error.text.decode("utf-8", "replace")


def check(function: Callable[..., int], *arguments: Any) -> None:
    """Makes the call; raises unless it is done."""
    outcome, text = attempt(function, *arguments)
    if outcome not in (Outcome.OK, Outcome.GRANTED):
        raise exception(outcome, text)
