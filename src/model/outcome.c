/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of outcomes (R23): all names, texts and codes of an outcome are here. And the
 * names of events (R21).
 */
#include "lockkeeper/terms.h"
#include "model/exit_codes.h"

struct outcome_form {
    const char *name;
    int exit_code;
    const char *text;
};

static const struct outcome_form forms[] = {
    [LK_OK] = {"ok", LK_EXIT_DONE, "done"},
    [LK_GRANTED] = {"granted", LK_EXIT_DONE, "the lease is held"},
    [LK_WAITING] = {"waiting", LK_EXIT_NOT_GRANTED,
                    "in the queue; ask again before the ttl is over to keep the place"},
    [LK_BUSY] = {"busy", LK_EXIT_NOT_GRANTED, "not granted: another request blocks it"},
    [LK_TIMEOUT] = {"timeout", LK_EXIT_NOT_GRANTED, "not granted within the time given"},
    [LK_LOST] = {"lost", LK_EXIT_LOST, "not held (any more)"},
    [LK_DEADLOCK] = {"deadlock", LK_EXIT_DEADLOCK,
                     "waiting would close a cycle of owners that wait for each other"},
    [LK_INVALID] = {"invalid", LK_EXIT_INVALID, "the request is not valid"},
    [LK_DENIED] = {"denied", LK_EXIT_DENIED, "not allowed"},
    [LK_FULL] = {"full", LK_EXIT_FULL, "a configured bound is reached"},
    [LK_UNSUPPORTED] = {"unsupported", LK_EXIT_UNSUPPORTED, "this store cannot do that"},
    [LK_UNAVAILABLE] = {"unavailable", LK_EXIT_UNAVAILABLE,
                        "the store cannot be reached; ask again"},
    [LK_INTERNAL] = {"internal", LK_EXIT_INTERNAL,
                     "a defect in Lockkeeper, or memory is exhausted"},
    [LK_NONE] = {"none", LK_EXIT_NONE, "nothing there"},
    [LK_CANCELLED] = {"cancelled", LK_EXIT_NOT_GRANTED, "the wait was cancelled"},
};

_Static_assert(sizeof forms / sizeof forms[0] == LK_OUTCOME_COUNT, "every outcome has its form");

static const struct outcome_form *form_of(lk_outcome outcome) {
    unsigned index = (unsigned)outcome;
    return &forms[index < LK_OUTCOME_COUNT ? index : LK_INTERNAL];
}

const char *lk_outcome_name(lk_outcome outcome) {
    return form_of(outcome)->name;
}

const char *lk_outcome_text(lk_outcome outcome) {
    return form_of(outcome)->text;
}

int lk_outcome_exit_code(lk_outcome outcome) {
    return form_of(outcome)->exit_code;
}

static const char *const watch_kinds[LK_WATCH_KIND_COUNT] = {
    [LK_WATCH_QUEUED] = "queued",
    [LK_WATCH_GRANTED] = "granted",
    [LK_WATCH_CONVERTED] = "converted",
    [LK_WATCH_RELEASED] = "released",
    [LK_WATCH_WITHDRAWN] = "withdrawn",
    [LK_WATCH_PERISHED] = "perished",
    [LK_WATCH_BROKEN] = "broken",
    [LK_WATCH_REFUSED] = "refused",
    [LK_WATCH_VALUE_WRITTEN] = "value_written",
    [LK_WATCH_PUSHED] = "pushed",
    [LK_WATCH_CLAIMED] = "claimed",
    [LK_WATCH_STOLEN] = "stolen",
    [LK_WATCH_DONE] = "done",
    [LK_WATCH_RETRIED] = "retried",
    [LK_WATCH_PARKED] = "parked",
    [LK_WATCH_UNPARKED] = "unparked",
    [LK_WATCH_GAP] = "gap",
    [LK_WATCH_DROPPED] = "dropped",
};

const char *lk_watch_kind_name(lk_watch_kind kind) {
    return (unsigned)kind < LK_WATCH_KIND_COUNT ? watch_kinds[kind] : "unknown";
}
