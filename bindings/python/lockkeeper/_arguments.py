# SPDX-License-Identifier: Apache-2.0
"""Arguments as C takes them.

What C would cut silently is refused here: a text at its first NUL, a number at the width of its
type. Everything else is the library's to judge.
"""

from __future__ import annotations

import ctypes
import datetime
import math
import operator
from typing import Any, Optional, Sequence, Union

from ._abi import LK_FOREVER

Duration = Union[float, datetime.timedelta]  # seconds
Instant = Union[float, datetime.datetime]  # seconds since 1970, or a time with a zone
Bytes = Union[bytes, bytearray, memoryview]


def text(value: Any, name: str) -> bytes:
    if not isinstance(value, str):
        raise TypeError(f"{name} must be str, not {type(value).__name__}")
    if "\0" in value:
        raise ValueError(f"{name} must not contain a NUL character")
    return value.encode("utf-8")  # a lone surrogate is a UnicodeEncodeError, which is a ValueError


def optional_text(value: Any, name: str) -> Optional[bytes]:
    return None if value is None else text(value, name)


def texts(values: Sequence[Any], name: str) -> Any:
    """An array of `const char *`."""
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{name} must be several texts, not one {type(values).__name__}")
    encoded = [text(value, name) for value in values]
    return (ctypes.c_char_p * len(encoded))(*encoded)


def payload(value: Any, name: str = "value") -> bytes:
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"{name} must be bytes, not {type(value).__name__}")
    return bytes(value)


def number(value: Any, name: str, least: int, most: int) -> int:
    if isinstance(value, bool):
        raise TypeError(f"{name} must be a number, not bool")
    try:
        whole = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be int, not {type(value).__name__}") from None
    if not least <= whole <= most:
        raise ValueError(f"{name} must be {least} to {most}, not {whole}")
    return whole


def optional_number(value: Any, name: str) -> int:
    """A number of 32 bits that is not 0, which in C stands for one that is not given."""
    return 0 if value is None else number(value, name, 1, 2**32 - 1)


def token(value: Any) -> int:
    return 0 if value is None else number(value, "token", 1, 2**64 - 1)


def flag(value: Any, name: str) -> bool:
    if not isinstance(value, bool):
        raise TypeError(f"{name} must be bool, not {type(value).__name__}")
    return value


def _seconds(value: Any, name: str) -> float:
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if isinstance(value, bool) or not hasattr(value, "__float__"):
        raise TypeError(f"{name} must be seconds or a timedelta, not {type(value).__name__}")
    try:
        seconds = float(value)
    except OverflowError:
        raise ValueError(f"{name} is too long") from None
    if math.isnan(seconds):
        raise ValueError(f"{name} must be a number of seconds, not nan")
    return seconds


def milliseconds(value: Any, name: str) -> int:
    """A duration that may be 0, rounded up."""
    seconds = _seconds(value, name)
    if seconds < 0:
        raise ValueError(f"{name} must not be negative")
    if seconds * 1000 >= LK_FOREVER:
        raise ValueError(f"{name} is too long")
    return math.ceil(seconds * 1000)


def duration(value: Any, name: str) -> int:
    """A duration that is longer than 0, which in C stands for the default; None: the default."""
    if value is None:
        return 0
    wanted = milliseconds(value, name)
    if wanted == 0:
        raise ValueError(f"{name} must be longer than 0")
    return wanted


def patience(value: Any, name: str = "wait") -> int:
    """How long to wait; None: for ever."""
    if value is None or (isinstance(value, float) and value == math.inf):
        return LK_FOREVER
    return milliseconds(value, name)


def instant(value: Any, name: str) -> int:
    """Milliseconds since 1970; None: 0."""
    if value is None:
        return 0
    if isinstance(value, datetime.datetime):
        if value.tzinfo is None:
            raise ValueError(f"{name} must have a time zone")
        value = value.timestamp()
    return duration(value, name)
