# SPDX-License-Identifier: Apache-2.0
"""The C interface of liblockkeeper, as ctypes needs it told.

Structs, constants and functions mirror include/lockkeeper/*.h, in its order. tests/bindings compares
every one with what the C compiler says, so that a change of the header fails there. Only this module
knows how the library is found and loaded.
"""

from __future__ import annotations

import ctypes
import os
from ctypes import (
    CFUNCTYPE, POINTER, Structure, c_bool, c_char, c_char_p, c_int, c_int32, c_int64, c_size_t,
    c_uint, c_uint32, c_uint64, c_void_p)
from typing import Any, Dict, List, Tuple

from ._version import VERSION

SONAME = "liblockkeeper.so.0"

# ---- constants ----

CONSTANTS: Dict[str, int] = {
    "LK_TRY": 0, "LK_QUEUE": 1, "LK_WAIT": 2,
    "LK_OK": 0, "LK_GRANTED": 1, "LK_WAITING": 2, "LK_BUSY": 3, "LK_TIMEOUT": 4, "LK_LOST": 5,
    "LK_DEADLOCK": 6, "LK_INVALID": 7, "LK_DENIED": 8, "LK_FULL": 9, "LK_UNSUPPORTED": 10,
    "LK_UNAVAILABLE": 11, "LK_INTERNAL": 12, "LK_NONE": 13, "LK_CANCELLED": 14,
    "LK_OUTCOME_COUNT": 15, "LK_ERROR_TEXT_MAX": 384, "LK_WATCH_KIND_COUNT": 18,
    "LK_FOREVER": 2**63 - 1, "LK_LIMIT_AS_IS": 2**64 - 1, "LK_WORK_GIVE_BACK": -1,
    "LK_MANY_MAX": 1000, "LK_CLAIMS_MAX": 256, "LK_PARTS_MAX": 16, "LK_BLOCKERS_MAX": 1024,
}
TRY, QUEUE, WAIT = 0, 1, 2
FOREVER = CONSTANTS["LK_FOREVER"]
AS_IS = CONSTANTS["LK_LIMIT_AS_IS"]
GIVE_BACK = CONSTANTS["LK_WORK_GIVE_BACK"]
MANY_MAX = CONSTANTS["LK_MANY_MAX"]
CLAIMS_MAX = CONSTANTS["LK_CLAIMS_MAX"]
PARTS_MAX = CONSTANTS.pop("LK_PARTS_MAX")  # of the model's headers, which are not installed
BLOCKERS_MAX = CONSTANTS.pop("LK_BLOCKERS_MAX")

# ---- structs ----


class Error(Structure):
    _fields_ = [("outcome", c_uint), ("text", c_char * CONSTANTS["LK_ERROR_TEXT_MAX"])]


class Request(Structure):
    _fields_ = [
        ("size", c_size_t), ("parts", POINTER(c_char_p)), ("part_count", c_size_t),
        ("owner", c_char_p), ("style", c_uint), ("wait_ms", c_int64), ("ttl_ms", c_int64),
        ("until_unix_ms", c_int64), ("shared", c_bool), ("limit", c_uint32), ("units", c_uint32),
        ("note", c_char_p), ("blockers_max", c_size_t), ("cancel", c_void_p),
        ("patience_ms", c_int64), ("value", c_bool), ("outlives", c_bool), ("bound", c_bool)]


class BlockerInfo(Structure):
    _fields_ = [("path", c_char_p), ("owner", c_char_p), ("note", c_char_p), ("ticket", c_uint64),
                ("held", c_bool), ("expires_in_ms", c_int64), ("user", c_char_p)]


class PartValue(Structure):
    _fields_ = [("value", c_void_p), ("value_size", c_size_t), ("in_doubt", c_bool)]


class Result(Structure):
    _fields_ = [
        ("outcome", c_uint), ("error", c_char_p), ("paths", POINTER(c_char_p)),
        ("path_count", c_size_t), ("owner", c_char_p), ("ticket", c_uint64), ("token", c_uint64),
        ("ttl_ms", c_int64), ("expires_in_ms", c_int64), ("in_use", c_uint64),
        ("position", c_size_t), ("created", c_bool), ("fixed", c_bool),
        ("blockers", POINTER(BlockerInfo)), ("blocker_count", c_size_t),
        ("cycle", POINTER(c_char_p)), ("cycle_count", c_size_t), ("value", c_void_p),
        ("value_size", c_size_t), ("in_doubt", c_bool), ("tokens", POINTER(c_uint64)),
        ("token_count", c_size_t), ("requeued", c_bool), ("values", POINTER(PartValue)),
        ("value_count", c_size_t)]


class PartPut(Structure):
    _fields_ = [("path", c_char_p), ("value", c_char_p), ("value_size", c_size_t)]


class Value(Structure):
    _fields_ = [("bytes", c_void_p), ("size", c_size_t), ("in_doubt", c_bool)]


class Entry(Structure):
    _fields_ = [
        ("path", c_char_p), ("owner", c_char_p), ("note", c_char_p), ("ticket", c_uint64),
        ("token", c_uint64), ("held", c_bool), ("shared", c_bool), ("revoked", c_bool),
        ("limit", c_uint32), ("units", c_uint32), ("ttl_ms", c_int64), ("expires_in_ms", c_int64),
        ("age_ms", c_int64), ("request_index", c_size_t), ("blockers", POINTER(BlockerInfo)),
        ("blocker_count", c_size_t), ("position", c_size_t), ("user", c_char_p)]


class Listing(Structure):
    _fields_ = [("entries", POINTER(Entry)), ("count", c_size_t)]


class BreakRequest(Structure):
    _fields_ = [("size", c_size_t), ("path", c_char_p), ("reason", c_char_p), ("by", c_char_p),
                ("owner", c_char_p), ("at_once", c_bool)]


class Limits(Structure):
    _fields_ = [("size", c_size_t), ("live", c_uint64), ("live_per_owner", c_uint64),
                ("live_per_root", c_uint64), ("waiters_per_path", c_uint64), ("events", c_uint64)]


class Report(Structure):
    _fields_ = [("text", c_char_p), ("warnings", c_char_p), ("round_trip_us", c_int64),
                ("clock_offset_us", c_int64)]


class PushRequest(Structure):
    _fields_ = [
        ("size", c_size_t), ("queue", c_char_p), ("id", c_char_p), ("value", c_char_p),
        ("value_size", c_size_t), ("delay_ms", c_int64), ("needs", POINTER(c_char_p)),
        ("need_count", c_size_t), ("priority", c_int32)]


class PushCounts(Structure):
    _fields_ = [("added", c_uint64), ("duplicates", c_uint64)]


class ClaimInfo(Structure):
    _fields_ = [
        ("queue", c_char_p), ("id", c_char_p), ("owner", c_char_p), ("value", c_void_p),
        ("value_size", c_size_t), ("token", c_uint64), ("attempt", c_uint32), ("is_stolen", c_bool),
        ("ttl_ms", c_int64), ("expires_in_ms", c_int64), ("row_id", c_char_p)]


class ItemInfo(Structure):
    _fields_ = [
        ("id", c_char_p), ("owner", c_char_p), ("value", c_void_p), ("value_size", c_size_t),
        ("state", c_char_p), ("attempts", c_uint32), ("due_in_ms", c_int64),
        ("expires_in_ms", c_int64), ("needs", POINTER(c_char_p)), ("need_count", c_size_t),
        ("priority", c_int32), ("has_last_exit", c_bool), ("last_exit", c_int32),
        ("last_error", c_void_p), ("last_error_size", c_size_t), ("user", c_char_p)]


class ItemList(Structure):
    _fields_ = [("items", POINTER(ItemInfo)), ("count", c_size_t)]


class QueueStats(Structure):
    _fields_ = [(name, c_uint64) for name in (
        "pushed", "duplicates", "claims", "steals", "done", "retried", "parked", "ready_now",
        "delayed_now", "claimed_now", "parked_now")]


class WorkTable(Structure):
    _fields_ = [("size", c_size_t), ("name", c_char_p), ("id", c_char_p), ("where", c_char_p),
                ("order", c_char_p), ("done", c_char_p)]


class ClaimRequest(Structure):
    _fields_ = [
        ("size", c_size_t), ("queue", c_char_p), ("owner", c_char_p), ("wait_ms", c_int64),
        ("ttl_ms", c_int64), ("max_attempts", c_uint32), ("note", c_char_p), ("cancel", c_void_p),
        ("patience_ms", c_int64), ("table", POINTER(WorkTable))]


class ClaimList(Structure):
    _fields_ = [("claims", POINTER(POINTER(ClaimInfo))), ("count", c_size_t)]


class RetryRequest(Structure):
    _fields_ = [
        ("size", c_size_t), ("queue", c_char_p), ("id", c_char_p), ("owner", c_char_p),
        ("token", c_uint64), ("delay_ms", c_int64), ("has_exit", c_bool), ("exit_code", c_int32),
        ("error", c_char_p), ("error_size", c_size_t)]


class WorkCounts(Structure):
    _fields_ = [(name, c_uint64) for name in (
        "claims", "steals", "done", "retried", "parked", "lost", "unknown", "announced",
        "duplicates", "left", "skipped")]


class WorkProgress(Structure):
    _fields_ = [("step", c_uint), ("claim", POINTER(ClaimInfo)), ("delay_ms", c_int64),
                ("counts", WorkCounts), ("text", c_char_p)]


class WorkFailure(Structure):
    _fields_ = [("size", c_size_t), ("has_exit", c_bool), ("exit_code", c_int32),
                ("text", c_char_p), ("text_size", c_size_t)]


HANDLE = CFUNCTYPE(c_int, c_void_p, POINTER(ClaimInfo), c_void_p)
PROGRESS = CFUNCTYPE(None, c_void_p, POINTER(WorkProgress))
EXPLAIN = CFUNCTYPE(None, c_void_p, POINTER(ClaimInfo), POINTER(WorkFailure))
ON_LOST = CFUNCTYPE(None, c_void_p, c_void_p)


class WorkOptions(Structure):
    _fields_ = [
        ("size", c_size_t), ("queue", c_char_p), ("handle", HANDLE), ("progress", PROGRESS),
        ("context", c_void_p), ("workers", c_size_t), ("ttl_ms", c_int64),
        ("max_attempts", c_uint32), ("note", c_char_p), ("retry_min_ms", c_int64),
        ("retry_max_ms", c_int64), ("drain", c_bool), ("cancel", c_void_p),
        ("patience_ms", c_int64), ("table", POINTER(WorkTable)), ("loops", c_uint),
        ("explain", EXPLAIN), ("batch", c_size_t), ("handle_batch", c_void_p)]


class WatchEvent(Structure):
    _fields_ = [
        ("kind", c_uint), ("refusal", c_uint), ("sequence", c_uint64), ("at_unix_ms", c_int64),
        ("paths", POINTER(c_char_p)), ("parts", POINTER(c_char_p)), ("part_count", c_size_t),
        ("owner", c_char_p), ("note", c_char_p), ("ticket", c_uint64), ("token", c_uint64),
        ("queue", c_char_p), ("id", c_char_p), ("attempt", c_uint32), ("is_deletion", c_bool),
        ("by", c_char_p), ("reason", c_char_p), ("user", c_char_p)]


class WatchOptions(Structure):
    _fields_ = [("size", c_size_t), ("prefix", c_char_p), ("after", c_uint64)]


# The struct in C of each class, for the comparison.
STRUCTS: Dict[str, Any] = {
    "lk_error": Error, "lk_request": Request, "lk_blocker_info": BlockerInfo,
    "lk_part_value": PartValue, "lk_result": Result, "lk_part_put": PartPut, "lk_value": Value,
    "lk_entry": Entry, "lk_listing": Listing, "lk_break_request": BreakRequest,
    "lk_limits": Limits, "lk_report": Report, "lk_push_request": PushRequest,
    "lk_push_counts": PushCounts, "lk_claim_info": ClaimInfo, "lk_claim_request": ClaimRequest,
    "lk_claim_list": ClaimList, "lk_retry_request": RetryRequest, "lk_item_info": ItemInfo,
    "lk_item_list": ItemList, "lk_queue_stats": QueueStats, "lk_work_table": WorkTable,
    "lk_work_counts": WorkCounts, "lk_work_progress": WorkProgress,
    "lk_work_failure": WorkFailure, "lk_work_options": WorkOptions, "lk_watch_event": WatchEvent,
    "lk_watch_options": WatchOptions}

# ---- functions ----

_ERROR = POINTER(Error)
_RESULT = POINTER(POINTER(Result))
_HANDLE = POINTER(c_void_p)

# The result and the arguments of each function that is called. An outcome is unsigned.
FUNCTIONS: Dict[str, Tuple[Any, List[Any]]] = {
    "lk_watch_kind_name": (c_char_p, [c_uint]),
    "lk_outcome_name": (c_char_p, [c_uint]),
    "lk_outcome_text": (c_char_p, [c_uint]),
    "lk_outcome_exit_code": (c_int, [c_uint]),
    "lk_version": (c_char_p, []),
    "lk_open": (c_uint, [c_char_p, _HANDLE, _ERROR]),
    "lk_close": (None, [c_void_p]),
    "lk_store_url": (c_char_p, [c_void_p]),
    "lk_away_ms": (c_int64, [c_void_p, _ERROR]),
    "lk_result_free": (None, [POINTER(Result)]),
    "lk_ask": (c_uint, [c_void_p, POINTER(Request), _RESULT, _ERROR]),
    "lk_renew": (c_uint, [c_void_p, POINTER(Request), c_uint64, _RESULT, _ERROR]),
    "lk_release_put_all": (c_uint, [c_void_p, POINTER(Request), c_uint64, POINTER(PartPut),
                                    c_size_t, _RESULT, _ERROR]),
    "lk_release": (c_uint, [c_void_p, POINTER(Request), c_uint64, _RESULT, _ERROR]),
    "lk_value_free": (None, [POINTER(Value)]),
    "lk_value_get": (c_uint, [c_void_p, c_char_p, POINTER(POINTER(Value)), _ERROR]),
    "lk_value_put": (c_uint, [c_void_p, c_char_p, c_char_p, c_uint64, c_char_p, c_size_t, _ERROR]),
    "lk_acquire": (c_uint, [c_void_p, POINTER(Request), _HANDLE, _RESULT, _ERROR]),
    "lk_lease_release": (c_uint, [c_void_p, _ERROR]),
    "lk_lease_release_put_all": (c_uint, [c_void_p, POINTER(PartPut), c_size_t, _ERROR]),
    "lk_lease_abandon": (None, [c_void_p]),
    "lk_lease_token": (c_uint64, [c_void_p]),
    "lk_lease_owner": (c_char_p, [c_void_p]),
    "lk_lease_is_lost": (c_bool, [c_void_p]),
    "lk_lease_remaining_ms": (c_int64, [c_void_p]),
    "lk_lease_on_lost": (None, [c_void_p, ON_LOST, c_void_p]),
    "lk_cancel_new": (c_void_p, []),
    "lk_cancel_free": (None, [c_void_p]),
    "lk_cancel_now": (None, [c_void_p]),
    "lk_listing_free": (None, [POINTER(Listing)]),
    "lk_list": (c_uint, [c_void_p, c_char_p, POINTER(POINTER(Listing)), _ERROR]),
    "lk_show": (c_uint, [c_void_p, c_char_p, POINTER(POINTER(Listing)), _ERROR]),
    "lk_break": (c_uint, [c_void_p, POINTER(BreakRequest), POINTER(c_size_t), _ERROR]),
    "lk_limits_get": (c_uint, [c_void_p, POINTER(Limits), _ERROR]),
    "lk_limits_set": (c_uint, [c_void_p, POINTER(Limits), _ERROR]),
    "lk_report_free": (None, [POINTER(Report)]),
    "lk_examine": (c_uint, [c_void_p, POINTER(POINTER(Report)), _ERROR]),
    "lk_backup": (c_uint, [c_void_p, c_char_p, _ERROR]),
    "lk_push": (c_uint, [c_void_p, POINTER(PushRequest), POINTER(c_bool), _ERROR]),
    "lk_push_many": (c_uint, [c_void_p, POINTER(PushRequest), c_size_t, POINTER(PushCounts),
                              _ERROR]),
    "lk_claim_free": (None, [POINTER(ClaimInfo)]),
    "lk_claim_next": (c_uint, [c_void_p, POINTER(ClaimRequest), POINTER(POINTER(ClaimInfo)),
                               _ERROR]),
    "lk_claim_list_free": (None, [POINTER(ClaimList)]),
    "lk_claim_many": (c_uint, [c_void_p, POINTER(ClaimRequest), c_size_t,
                               POINTER(POINTER(ClaimList)), _ERROR]),
    "lk_done": (c_uint, [c_void_p, c_char_p, c_char_p, c_char_p, c_uint64, _ERROR]),
    "lk_done_row": (c_uint, [c_void_p, c_char_p, POINTER(WorkTable), c_char_p, c_char_p, c_uint64,
                             _ERROR]),
    "lk_done_many": (c_uint, [c_void_p, c_char_p, POINTER(c_char_p), c_size_t, c_char_p, c_uint64,
                              POINTER(c_uint64), _ERROR]),
    "lk_retry": (c_uint, [c_void_p, c_char_p, c_char_p, c_char_p, c_uint64, c_int64, _ERROR]),
    "lk_retry_failed": (c_uint, [c_void_p, POINTER(RetryRequest), _ERROR]),
    "lk_unpark": (c_uint, [c_void_p, c_char_p, c_char_p, _ERROR]),
    "lk_unpark_all": (c_uint, [c_void_p, c_char_p, POINTER(c_uint64), _ERROR]),
    "lk_drop": (c_uint, [c_void_p, c_char_p, POINTER(c_char_p), c_size_t, POINTER(c_uint64),
                         _ERROR]),
    "lk_drop_parked": (c_uint, [c_void_p, c_char_p, POINTER(c_uint64), _ERROR]),
    "lk_item_list_free": (None, [POINTER(ItemList)]),
    "lk_items": (c_uint, [c_void_p, c_char_p, POINTER(POINTER(ItemList)), _ERROR]),
    "lk_stats": (c_uint, [c_void_p, c_char_p, POINTER(QueueStats), _ERROR]),
    "lk_work": (c_uint, [c_void_p, POINTER(WorkOptions), POINTER(WorkCounts), _ERROR]),
    "lk_watch_open": (c_uint, [c_void_p, POINTER(WatchOptions), _HANDLE, _ERROR]),
    "lk_watch_next": (c_uint, [c_void_p, c_int64, c_void_p, POINTER(POINTER(WatchEvent)), _ERROR]),
    "lk_watch_position": (c_uint64, [c_void_p]),
    "lk_watch_close": (None, [c_void_p]),
}


def _load() -> ctypes.CDLL:
    """$LK_LIBRARY is the path of another library than the system's."""
    name = os.environ.get("LK_LIBRARY") or SONAME
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
