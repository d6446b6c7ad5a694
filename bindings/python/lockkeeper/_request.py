# SPDX-License-Identifier: Apache-2.0
"""Requests as C takes them, and the exceptions of their results."""

from __future__ import annotations

import ctypes
from typing import Any, Callable, List, Mapping, NamedTuple, Optional, Sequence, Tuple, Union

from . import _abi, _arguments, _records
from ._library import LIBRARY
from ._arguments import Bytes
from ._errors import exception
from ._records import Outcome

Put = Union[Bytes, Mapping[str, Bytes]]  # of the first path, or by path

BLOCKERS_MAX = 16  # of an exception; the header's default


def make(parts: Sequence[str], *, style: int = _abi.LK_WAIT, wait: Any = None, ttl: Any = None,
         until: Any = None, shared: bool = False, limit: Optional[int] = None,
         units: Optional[int] = None, owner: Optional[str] = None, note: Optional[str] = None,
         value: bool = False, bound: bool = False, outlives: bool = False,
         patience: Any = None, at_least: Any = None) -> _abi.Request:
    """A lk_request. It keeps what it points to; `cancel` is set by what waits."""
    request = _abi.Request()
    request.size = ctypes.sizeof(request)
    request.parts = _arguments.texts(parts, "parts")
    request.part_count = len(parts)
    request.owner = _arguments.optional_text(owner, "owner")
    request.style = style
    request.wait_ms = _arguments.patience(wait)
    request.ttl_ms = _arguments.duration(ttl, "ttl")
    request.until_unix_ms = _arguments.instant(until, "until")
    request.shared = _arguments.flag(shared, "shared")
    request.limit = _arguments.optional_number(limit, "limit")
    request.units = _arguments.optional_number(units, "units")
    request.note = _arguments.optional_text(note, "note")
    request.blockers_max = BLOCKERS_MAX
    request.patience_ms = _arguments.duration(patience, "patience")
    request.value = _arguments.flag(value, "value")
    request.bound = _arguments.flag(bound, "bound")
    request.outlives = _arguments.flag(outlives, "outlives")
    request.at_least_ms = _arguments.duration(at_least, "at_least")
    return request


class Part(NamedTuple):
    """A part as the library understands it (rule R2)."""

    path: str
    shared: bool
    limit: int  # 0: none
    units: int  # 0: exclusive


def _part(said: str, request: _abi.Request) -> Part:
    path, _, behind = said.partition("?")
    words = behind.replace("?", "&").split("&")
    numbers = dict(word.split("=", 1) for word in words if "=" in word)
    limit = int(numbers.get("limit", request.limit))
    units = int(numbers.get("units", request.units))
    shared = "shared" in words or request.shared or limit != 0
    return Part(path[path.startswith("/"):len(path) - path.endswith("/")], shared, limit,
                (units or 1) if shared else 0)


def parts(request: _abi.Request) -> List[Part]:
    """Of a request that the library has taken, so that its parts are well formed."""
    return [_part(_records.text(request.parts[i]), request) for i in range(request.part_count)]


Named = Mapping[Optional[str], bytes]


def named(put: Put) -> Named:
    """A copy of the values by their paths; None: the first path."""
    if isinstance(put, Mapping):
        return {path: _arguments.payload(value) for path, value in put.items()}
    return {None: _arguments.payload(put)}


def puts(values: Named) -> Tuple[Any, int]:
    """An array of lk_part_put, which keeps what it points to, and its length."""
    array = (_abi.PartPut * len(values))()
    for one, (path, data) in zip(array, values.items()):
        one.path = _arguments.optional_text(path, "path")
        one.value, one.value_size = data, len(data)
    return array, len(values)


def answered(function: Callable[..., int], *arguments: Any) -> _records.Answer:
    """Calls what gives a lk_result; raises unless it is done, granted or waiting."""
    result = ctypes.POINTER(_abi.Result)()
    error = _abi.Error()
    outcome = function(*arguments, ctypes.byref(result), error)
    try:
        answer = _records.answer(result.contents) if result else None
    finally:
        LIBRARY.lk_result_free(result)
    if outcome in (Outcome.OK, Outcome.GRANTED, Outcome.WAITING) and answer is not None:
        return answer
    raise exception(outcome, _records.text(error.text), answer.blockers if answer else (),
                    answer.cycle if answer else ())
