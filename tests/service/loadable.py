# SPDX-License-Identifier: Apache-2.0
"""Which libraries lk can load here, found without lk. Where one is missing or too old, or lk is linked
statically, what needs it is UNSUPPORTED, which names the library: then tests want that answer.
"""

import ctypes
import os

UNSUPPORTED = 79
TLS = ("libssl.so.3", "SSL_get1_peer_certificate")
POSTGRESQL = ("libpq.so.5", "PQenterPipelineMode")


def is_loadable(library):
    name, function = library
    try:
        return "LK_TEST_STATIC" not in os.environ and hasattr(ctypes.CDLL(name), function)
    except OSError:
        return False


def is_refused(library, status, err):
    """Whether a call has ended as one that lacks the library."""
    return status == UNSUPPORTED and "UNSUPPORTED: " in err and library[0] in err


def lacked(scheme):
    """The library that a store or a service of this scheme needs, if it cannot be loaded."""
    library = {"lks": TLS, "rediss": TLS, "postgresql": POSTGRESQL}.get(scheme)
    return None if library is None or is_loadable(library) else library
