/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the events that are kept (R21); reads and sets the limits of a store (R22). */
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/event.h"
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
    EVENT_BROKEN_BY,
    EVENT_REASON,
};

/* Columns of lk_events_due(). */
enum { DUE_LAST, DUE_IN_US };

/* Columns of lk_limits(). */
enum { LIMIT_LIVE, LIMIT_OWNER, LIMIT_ROOT, LIMIT_WAITERS, LIMIT_EVENTS };

enum { ROWS_MAX = 256 }; /* rows per query: slightly more than callers usually want at once */

#define POLL_PATIENCE_US INT64_C(10000000)
#define POLL_DUE_US INT64_C(50000) /* a follower leaves deadlines to the waiters first */

/* ---- events ---------------------------------------------------------------------------------- */

/* Returns false for a row that no rule could have produced. */
static bool decode(const struct lk_rows *rows, int row, struct lk_part parts[LK_PARTS_MAX],
                   struct lk_event *ret_event) {
    struct lk_event step_event = {
        .refusal = lk_row_text(rows, row, EVENT_REFUSAL).size > 0
                       ? lk_row_outcome(rows, row, EVENT_REFUSAL)
                       : LK_OK,
        .parts = parts,
        .owner = lk_row_text(rows, row, EVENT_OWNER),
        .note = lk_row_text(rows, row, EVENT_NOTE),
        .by = lk_row_text(rows, row, EVENT_BROKEN_BY),
        .reason = lk_row_text(rows, row, EVENT_REASON),
        .ticket = (uint64_t)lk_row_integer(rows, row, EVENT_TICKET),
        .token = (uint64_t)lk_row_integer(rows, row, EVENT_TOKEN),
        .attempt = (uint32_t)lk_row_integer(rows, row, EVENT_ATTEMPT),
        .is_of_item = lk_row_boolean(rows, row, EVENT_IS_OF_ITEM),
        .is_deletion = lk_row_boolean(rows, row, EVENT_IS_DELETION),
    };

    if (!lk_watch_kind_parse(lk_row_text(rows, row, EVENT_NAME), &step_event.kind)
        || !lk_parts_read(lk_row_text(rows, row, EVENT_PARTS), parts, LK_PARTS_MAX,
                          &step_event.part_count)
        || step_event.part_count == 0) {
        return false;
    }
    *ret_event = step_event;
    return true;
}

static lk_outcome collect(const struct lk_rows *rows, const struct lk_event_query *query,
                          struct lk_event_page *page, lk_error *error) {
    int count = rows->count > 0 && lk_row_is_null(rows, 0, EVENT_SEQUENCE) ? 0 : rows->count;

    for (int row = 0; row < count; row++) {
        struct lk_part parts[LK_PARTS_MAX];
        struct lk_event step_event;
        lk_watch_event event;

        if (lk_event_page_is_full(page, query)) {
            page->has_more = true;
            return LK_OK;
        }
        if (!decode(rows, row, parts, &step_event)) {
            return lk_error_set(error, LK_UNAVAILABLE,
                                "the store is damaged: an event that no rule could have made");
        }
        if (!lk_watch_event_make(&step_event, (uint64_t)lk_row_integer(rows, row, EVENT_SEQUENCE),
                                 lk_row_integer(rows, row, EVENT_AT_US) / 1000, &event)
            || !lk_event_page_add(page, query, &event)) {
            return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
        }
    }
    page->has_more = count == ROWS_MAX;
    if (!page->has_more
        && !lk_event_page_end(page, query, (uint64_t)lk_row_integer(rows, 0, EVENT_LAST),
                              lk_row_integer(rows, 0, EVENT_NOW_US) / 1000)) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    return LK_OK;
}

/* A caller that follows from now on needs only the last number. */
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
        return lk_error_set(error, LK_UNAVAILABLE, "the store is not whole: its row is missing");
    }
    return outcome;
}

lk_outcome lk_procedures_events(struct lk_engine *engine, const struct lk_event_query *query,
                                const struct lk_patience *patience, struct lk_event_page **ret_page,
                                lk_error *error) {
    struct lk_procedures *store = lk_procedures_of(engine);
    struct lk_event_page *page = lk_event_page_new(query);
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_outcome outcome;

    if (page == NULL) {
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
        outcome = collect(rows, query, page, error);
        lk_rows_free(rows);
    }
    if (outcome != LK_OK) {
        lk_event_page_free(page);
        return outcome;
    }
    *ret_page = page;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_procedures_events_poll(struct lk_procedures *store, int64_t begun_us,
                                     struct lk_waker *waker, uint64_t *ret_last,
                                     int64_t *ret_next_us) {
    const struct lk_patience patience = {lk_clock_now_us() + POLL_PATIENCE_US, waker};
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
        *ret_next_us = LK_NEVER;
        if (!lk_row_is_null(rows, 0, DUE_IN_US)) {
            int64_t due_us = lk_clock_now_us() + lk_row_integer(rows, 0, DUE_IN_US);
            *ret_next_us = lk_max(due_us, begun_us) + POLL_DUE_US;
        }
    }
    lk_rows_free(rows);
    return outcome;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

static lk_outcome limits_get(struct lk_engine *engine, const struct lk_patience *patience,
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

static lk_outcome limits_set(struct lk_engine *engine, const lk_limits *limits,
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

const struct lk_limit_ops lk_procedures_limit_ops = {.get = limits_get, .set = limits_set};
