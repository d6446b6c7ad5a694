# SPDX-License-Identifier: Apache-2.0
"""The library, loaded, and its version. Only this module knows how it is found."""

from __future__ import annotations

import ctypes
import os
import pathlib

from ._abi import FUNCTIONS, SONAME

VERSION = "0.1.0"  # of the binding: that of the library it was written for (LK_VERSION)


def _load() -> ctypes.CDLL:
    """$LK_LIBRARY is the path of another library than the one that the wheel brings, or the system's."""
    brought = pathlib.Path(__file__).with_name(SONAME)
    name = os.environ.get("LK_LIBRARY") or (str(brought) if brought.exists() else SONAME)
    try:
        library = ctypes.CDLL(name)
    except OSError as error:
        raise ImportError(
            f"cannot load {name}: {error}; install Lockkeeper's library (make install), let the linker "
            "find it (ldconfig, as root; or LD_LIBRARY_PATH), or name its file by LK_LIBRARY") from None
    for function, (result, arguments) in FUNCTIONS.items():
        try:
            entry = getattr(library, function)
        except AttributeError:
            raise ImportError(f"{name} has no {function}(): it is not liblockkeeper "
                              f"{VERSION}") from None
        entry.restype = result
        entry.argtypes = arguments
    version = library.lk_version().decode()
    # Before 1.0, a minor version may change structs that the library allocates.
    if version.split(".")[:2] != VERSION.split(".")[:2]:
        raise ImportError(f"{name} is version {version}; this binding is for {VERSION}")
    return library


LIBRARY = _load()
