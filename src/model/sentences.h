/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sentences of refusals that the model, and the rules in SQL and in Lua, all say. They are told
 * here alone: constants.py puts them into the SQL and the Lua, where their names stand between two
 * @, and makes of each conversion %1$s, %2$s and so on.
 */
#ifndef LK_MODEL_SENTENCES_H
#define LK_MODEL_SENTENCES_H

#include "model/command.h"

/* What is wrong with a path: stands in LK_TEXT_PATH. */
#define LK_TEXT_PATH "R1: %s, at byte %zu of the path%s"
#define LK_TEXT_PATH_EMPTY "a path has at least one segment"
#define LK_TEXT_PATH_LONG "a path has at most 512 bytes"
#define LK_TEXT_PATH_DEEP "a path has at most 32 segments"
#define LK_TEXT_PATH_QUESTION "'?' is not allowed in a path"
#define LK_TEXT_PATH_BRACES "'{' and '}' are not allowed in a path"
#define LK_TEXT_PATH_SPACE "white space is not allowed in a path"
#define LK_TEXT_PATH_SPACE_ADVICE "; write a blank as %20"
#define LK_TEXT_PATH_CONTROL "control characters are not allowed in a path"
#define LK_TEXT_SEGMENT_EMPTY "a segment has at least one byte"
#define LK_TEXT_SEGMENT_LONG "a segment has at most 255 bytes"
#define LK_TEXT_SEGMENT_DOTS "'.' and '..' are no segments"

/* What is wrong with the words of a part: stands in LK_TEXT_PART. */
#define LK_TEXT_PART "R2: %s, at byte %zu of the part"
#define LK_TEXT_SHARED_TWICE "'shared' is said once"
#define LK_TEXT_STRICT_TWICE "'strict' is said once"
#define LK_TEXT_NUMBER_TWICE "'limit' and 'units' are said once"
#define LK_TEXT_NUMBER "a number from 1 to 2147483647 is needed"
#define LK_TEXT_PART_WORDS "behind '?' only shared, strict, limit=N and units=N can stand"
#define LK_TEXT_UNITS_ALONE "units need a limit"
#define LK_TEXT_STRICT_NEED                                                                        \
    "R16: only what an item needs can be strict: lk push --needs 'PATH?strict'"
#define LK_TEXT_STRICT_EXCLUSIVE "R16: a strict need is exclusive: neither shared nor with a limit"

#define LK_TEXT_UNITS_NEED_LIMIT "R2: " LK_TEXT_UNITS_ALONE
#define LK_TEXT_UNITS_FIT "R2: %u units can never fit into a limit of %u"
#define LK_TEXT_PARTS "R2: a request has 1 to %d parts, not %zu"
#define LK_TEXT_PART_TWICE "R2: part %zu: %.*s is named twice"
#define LK_TEXT_OWNER "R3: an owner has 1 to %d bytes, not %zu"
#define LK_TEXT_FIXED_END "R11: a fixed end lies in the future and within 366 days"
#define LK_TEXT_FIXED_END_BAD "R11: a fixed end is a moment within 366 days"
#define LK_TEXT_TTL_OR_END "R11: a request has a ttl or a fixed end, not both"
#define LK_TEXT_BROKEN "R12: an administrator has broken this lease"
#define LK_TEXT_BROKEN_HELD LK_TEXT_BROKEN "; it ends at its deadline"
#define LK_TEXT_BOUND "R22: the store's bound on %s is reached"

#define LK_TEXT_VALUE "R15: a value has at most %d bytes, not %zu"
#define LK_TEXT_PUT_NEEDS_LEASE "R15: only an exclusive lease that is held can put a value"
#define LK_TEXT_PUT_UNCOVERED "R15: the lease with this token does not cover the path (any more)"
#define LK_TEXT_PUT_COVERED "R15: another owner holds a lease that covers the value"

#define LK_TEXT_ITEM_PATH "R16: the item's path: %.300s"
#define LK_TEXT_ITEM_ID "an item's id is one segment of a path, 1 to 255 bytes without '/'"
#define LK_TEXT_NEEDS "R16: work needs at most %d parts, not %zu"
#define LK_TEXT_NEEDS_CAUSE "R16: what the work needs: %.300s"
#define LK_TEXT_DELAY "R16: a delay is 0 to 366 days"
#define LK_TEXT_KEEP "R16: a result is kept for 0 to 366 days"
#define LK_TEXT_PRIORITY "R16: a priority is %d to %d, not %ld"
#define LK_TEXT_ATTEMPTS "R16: at most %d attempts, R19: a note of at most %d bytes"
#define LK_TEXT_FAILURE "R16: the text of a failure has at most %d bytes, not %zu"
#define LK_TEXT_PROGRESS "R16: a progress has at most %d bytes, not %zu"
#define LK_TEXT_TOKEN_TAKEN "R4: the next item needs a token of its own"
#define LK_TEXT_QUEUE_EMPTY "R16: there is no item in this queue"
#define LK_TEXT_QUEUE_PAUSED "R16: a lock on the queue, held or waiting, pauses all claiming"
#define LK_TEXT_NOTHING_DUE "R16: there is nothing to claim now"
#define LK_TEXT_NOT_CLAIMED "R16: the item is not claimed by this owner (any more)"
#define LK_TEXT_NOT_PARKED "R16: there is no such parked item"
#define LK_TEXT_NO_ITEM "R16: there is no such item, or it is claimed"
#define LK_TEXT_PARKS_DELAYED "R16: an item that is parked has no delay"
#define LK_TEXT_AGAIN_OR_REPLACE "R16: a push is again or replaces, not both"
#define LK_TEXT_NOT_THERE "R16: there is no such item"

/* Why an item was parked whose last claim perished or was broken (R16). */
#define LK_TEXT_CLAIM_LOST                                                                         \
    "the claim ended without a result: its worker died, or did not renew it in time"

/* Numbers inside the sentences. */
_Static_assert(LK_PATH_BYTES_MAX == 512 && LK_PATH_DEPTH_MAX == 32 && LK_SEGMENT_BYTES_MAX == 255,
               "as LK_TEXT_PATH_LONG, _DEEP, LK_TEXT_SEGMENT_LONG and LK_TEXT_ITEM_ID say");
_Static_assert(LK_LIMIT_MAX == 2147483647, "as LK_TEXT_NUMBER says");
_Static_assert(LK_TTL_MAX_DAYS == 366, "as LK_TEXT_FIXED_END, _DELAY and _KEEP say");

#endif
