/* SPDX-License-Identifier: Apache-2.0 */
/* Events that have been kept (R21), and the bounds of a store (R22): rows, read and set. */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/least.h"
#include "engine/happening.h"
#include "engine/procedures/procedures.h"
#include "engine/procedures/rows.h"

/* Columns of lk_events_after(). */
enum {
    EVENT_NOW_US,
    EVENT_LAST,
    EVENT_SEQUENCE,
    EVENT_AT_US,
    EVENT_NAME,
    EVENT_REFUSAL,
    EVENT_PARTS,
    EVENT_OWNER,
    EVENT_NOTE,
    EVENT_TICKET,
    EVENT_TOKEN,
    EVENT_ATTEMPT,
    EVENT_IS_OF_ITEM,
    EVENT_IS_DELETION,
};

/* Columns of lk_events_due(). */
enum { DUE_LAST, DUE_IN_US };

/* Columns of lk_limits(). */
enum { LIMIT_LIVE, LIMIT_OWNER, LIMIT_ROOT, LIMIT_WAITERS, LIMIT_EVENTS };

enum { ROWS_MAX = 256 }; /* asked for at a time: a little more than anybody wants at once */

#define LOOK_PATIENCE_US INT64_C(10000000)
#define LOOK_DUE_US INT64_C(50000) /* who follows leaves deadlines to those who wait for them */

/* ---- events ---------------------------------------------------------------------------------- */

/* false: no rule could have made it. */
static bool decode(const struct lk_rows *rows, int row, struct lk_part parts[LK_PARTS_MAX],
                   struct lk_happening *ret_happening) {
    struct lk_happening happening = {
        .refusal = lk_row_text(rows, row, EVENT_REFUSAL).size > 0
                       ? lk_row_outcome(rows, row, EVENT_REFUSAL)
                       : LK_OK,
        .parts = parts,
        .owner = lk_row_text(rows, row, EVENT_OWNER),
        .note = lk_row_text(rows, row, EVENT_NOTE),
        .ticket = (uint64_t)lk_row_integer(rows, row, EVENT_TICKET),
        .token = (uint64_t)lk_row_integer(rows, row, EVENT_TOKEN),
        .attempt = (uint32_t)lk_row_integer(rows, row, EVENT_ATTEMPT),
        .is_of_item = lk_row_boolean(rows, row, EVENT_IS_OF_ITEM),
        .is_deletion = lk_row_boolean(rows, row, EVENT_IS_DELETION),
    };

    if (!lk_watch_kind_parse(lk_row_text(rows, row, EVENT_NAME), &happening.kind)
        || !lk_parts_read(lk_row_text(rows, row, EVENT_PARTS), parts, LK_PARTS_MAX,
                          &happening.part_count)
        || happening.part_count == 0) {
        return false;
    }
    *ret_happening = happening;
    return true;
}

static lk_outcome collect(const struct lk_rows *rows, const struct lk_event_query *query,
                          struct lk_happenings *happenings, lk_error *error) {
    int count = rows->count > 0 && lk_row_is_null(rows, 0, EVENT_SEQUENCE) ? 0 : rows->count;

    for (int row = 0; row < count; row++) {
        struct lk_part parts[LK_PARTS_MAX];
        struct lk_happening happening;
        lk_watch_event event;

        if (lk_happenings_is_full(happenings, query)) {
            happenings->has_more = true;
            return LK_OK;
        }
        if (!decode(rows, row, parts, &happening)) {
            return lk_error_set(error, LK_UNAVAILABLE,
                                "the store is damaged: an event that no rule could have made");
        }
        if (!lk_watch_event_make(&happening, (uint64_t)lk_row_integer(rows, row, EVENT_SEQUENCE),
                                 lk_row_integer(rows, row, EVENT_AT_US) / 1000, &event)
            || !lk_happenings_add(happenings, query, &event)) {
            return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    happenings->has_more = count == ROWS_MAX;
    if (!happenings->has_more
        && !lk_happenings_end(happenings, query, (uint64_t)lk_row_integer(rows, 0, EVENT_LAST),
                              lk_row_integer(rows, 0, EVENT_NOW_US) / 1000)) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

/* Who asks from now on wants the last number alone. */
static lk_outcome read_events(struct lk_procedures *store, const struct lk_event_query *query,
                              const struct lk_patience *patience, struct lk_rows **ret_rows,
                              lk_error *error) {
    struct lk_arguments arguments;
    uint64_t after = query->after <= INT64_MAX ? query->after : INT64_MAX;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    lk_arguments_add_integer(&arguments, (int64_t)after);
    lk_arguments_add_integer(&arguments, ROWS_MAX);
    outcome = lk_procedures_call(store, "lk_events_after", LK_READING, &arguments, patience,
                                 ret_rows, error);
    if (outcome == LK_OK && (*ret_rows)->count == 0) {
        lk_rows_free(*ret_rows);
        return lk_error_set(error, LK_UNAVAILABLE, "the store is not whole: restore it");
    }
    return outcome;
}

lk_outcome lk_procedures_events(struct lk_engine *engine, const struct lk_event_query *query,
                                const struct lk_patience *patience,
                                struct lk_happenings **ret_happenings, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_happenings *happenings = lk_happenings_new(query);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    if (happenings == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    lk_arguments_init(&arguments, store->database->lists);
    outcome =
        lk_procedures_call(store, "lk_watch", LK_REPEATABLE, &arguments, patience, &rows, error);
    lk_rows_free(rows);
    rows = NULL;
    if (outcome == LK_OK) {
        outcome = read_events(store, query, patience, &rows, error);
    }
    if (outcome == LK_OK) {
        outcome = collect(rows, query, happenings, error);
        lk_rows_free(rows);
    }
    if (outcome != LK_OK) {
        lk_happenings_free(happenings);
        return outcome;
    }
    *ret_happenings = happenings;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_procedures_events_look(struct lk_procedures *store, int64_t begun_us,
                                     struct lk_waker *waker, uint64_t *ret_last,
                                     int64_t *ret_see_us) {
    const struct lk_patience patience = {lk_clock_now_us() + LOOK_PATIENCE_US, waker};
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_error error;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    outcome = lk_procedures_call(store, "lk_events_due", LK_READING, &arguments, &patience, &rows,
                                 &error);
    if (outcome == LK_OK && rows->count != 1) {
        outcome = LK_UNAVAILABLE;
    }
    if (outcome == LK_OK) {
        *ret_last = (uint64_t)lk_row_integer(rows, 0, DUE_LAST);
        *ret_see_us = LK_NEVER;
        if (!lk_row_is_null(rows, 0, DUE_IN_US)) {
            int64_t due_us = lk_clock_now_us() + lk_row_integer(rows, 0, DUE_IN_US);
            *ret_see_us = lk_greatest(due_us, begun_us) + LOOK_DUE_US;
        }
    }
    lk_rows_free(rows);
    return outcome;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

lk_outcome lk_procedures_limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                                    lk_limits *ret_limits, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    outcome =
        lk_procedures_call(store, "lk_limits", LK_READING, &arguments, patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    ret_limits->live = (uint64_t)lk_row_integer(rows, 0, LIMIT_LIVE);
    ret_limits->live_per_owner = (uint64_t)lk_row_integer(rows, 0, LIMIT_OWNER);
    ret_limits->live_per_root = (uint64_t)lk_row_integer(rows, 0, LIMIT_ROOT);
    ret_limits->waiters_per_path = (uint64_t)lk_row_integer(rows, 0, LIMIT_WAITERS);
    ret_limits->events = (uint64_t)lk_row_integer(rows, 0, LIMIT_EVENTS);
    lk_rows_free(rows);
    return lk_error_clear(error, LK_OK);
}

static void add_limit(struct lk_arguments *arguments, uint64_t limit) {
    if (limit == LK_LIMIT_AS_IS) {
        lk_arguments_add_null(arguments);
    } else {
        lk_arguments_add_integer(arguments, (int64_t)limit);
    }
}

lk_outcome lk_procedures_limits_set(struct lk_engine *engine, const lk_limits *limits,
                                    const struct lk_patience *patience, lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, store->database->lists);
    add_limit(&arguments, limits->live);
    add_limit(&arguments, limits->live_per_owner);
    add_limit(&arguments, limits->live_per_root);
    add_limit(&arguments, limits->waiters_per_path);
    add_limit(&arguments, limits->events);
    outcome = lk_procedures_call(store, "lk_set_limits", LK_REPEATABLE, &arguments, patience, &rows,
                                 error);
    lk_rows_free(rows);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
