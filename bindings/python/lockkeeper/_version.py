# SPDX-License-Identifier: Apache-2.0
"""The version of the binding, which is that of the library it was written for (LK_VERSION)."""

VERSION = "0.1.0"
