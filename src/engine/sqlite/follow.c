/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following events (R21), and waiting for them: a lookout over the last event's number.
 *
 * Who follows also sees to it that what perishes is told when nobody else comes by: a little after
 * the deadline, so that those who wait for the lock, and are in more of a hurry, have had their
 * turn.
 */
#include <stdio.h>

#include "base/error.h"
#include "engine/sqlite/decide.h"
#include "engine/sqlite/events.h"
#include "engine/sqlite/lookout.h"

#define LOOK_FIRST_US INT64_C(5000)  /* when something just happened */
#define LOOK_QUIET_US INT64_C(50000) /* when all has long been quiet */
#define DUE_US INT64_C(50000)        /* behind a deadline */

/* ---- asking for events ----------------------------------------------------------------------- */

/* Whether an answer to the query has to write first: the mark, or what is overdue. */
static int must_write(struct lk_sqlite_turn *turn, bool *ret_must) {
    uint64_t last_event = 0;
    int64_t due_us = LK_NEVER;
    int code = lk_sql_events_look(&turn->store->sql, &last_event, &due_us);

    *ret_must = !lk_sqlite_events_are_watched(turn)
                || turn->meta.watched_until_us - turn->times.now_us < LK_WATCHED_LEAST_US
                || due_us <= turn->times.now_us - DUE_US;
    return code;
}

static int mark(struct lk_sqlite_turn *turn) {
    int code = lk_sqlite_events_begin(turn);

    turn->meta.watched_until_us = turn->times.now_us + LK_WATCHED_US;
    return code == SQLITE_OK
               ? lk_sql_events_set_watched(&turn->store->sql, turn->meta.watched_until_us)
               : code;
}

/* Begins the turn that will answer: a reading one, where nothing need be written. */
static lk_outcome begin(struct lk_sqlite *store, const struct lk_patience *patience,
                        struct lk_sqlite_turn *turn, int *ret_code, lk_error *error) {
    bool must = false;
    lk_outcome outcome = lk_sqlite_turn_begin(store, LK_SQLITE_READ, patience, turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_code = must_write(turn, &must);
    if (*ret_code != SQLITE_OK || !must) {
        return LK_OK;
    }
    outcome = lk_sqlite_turn_end(turn, SQLITE_OK, error);
    if (outcome == LK_OK) {
        outcome = lk_sqlite_turn_begin(store, LK_SQLITE_WRITE, patience, turn, error);
    }
    if (outcome == LK_OK) {
        *ret_code = mark(turn);
        *ret_code = *ret_code == SQLITE_OK ? lk_sqlite_sweep(turn, NULL) : *ret_code;
    }
    return outcome;
}

struct collecting {
    struct lk_sql *sql;
    const struct lk_event_query *query;
    struct lk_happenings *happenings;
};

static int collect(void *context, const struct lk_sql_event *row) {
    struct collecting *collecting = context;
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_happening happening;
    lk_watch_event event;

    if (lk_happenings_is_full(collecting->happenings, collecting->query)) {
        collecting->happenings->has_more = true;
        return SQLITE_DONE;
    }
    if (!lk_sqlite_event_read(row, parts, &happening)) {
        (void)snprintf(collecting->sql->complaint, sizeof collecting->sql->complaint,
                       "event %llu: no rule could have made it", (unsigned long long)row->sequence);
        return SQLITE_CORRUPT;
    }
    return lk_watch_event_make(&happening, row->sequence, row->at_unix_us / 1000, &event)
                   && lk_happenings_add(collecting->happenings, collecting->query, &event)
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

static int answer(struct lk_sqlite_turn *turn, const struct lk_event_query *query,
                  struct lk_happenings *happenings) {
    struct collecting collecting = {&turn->store->sql, query, happenings};
    int code = lk_sql_events_each(&turn->store->sql, query->after, collect, &collecting);

    if (code == SQLITE_OK && !happenings->has_more
        && !lk_happenings_end(happenings, query, turn->meta.last_event,
                              turn->times.wall_us / 1000)) {
        code = SQLITE_NOMEM;
    }
    return code;
}

lk_outcome lk_sqlite_events(struct lk_engine *engine, const struct lk_event_query *query,
                            const struct lk_patience *patience,
                            struct lk_happenings **ret_happenings, lk_error *error) {
    struct lk_happenings *happenings = lk_happenings_new(query);
    struct lk_sqlite_turn turn;
    int code = SQLITE_OK;
    lk_outcome outcome;

    if (happenings == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = begin(lk_sqlite_of(engine), patience, &turn, &code, error);
    if (outcome == LK_OK) {
        code = code == SQLITE_OK ? answer(&turn, query, happenings) : code;
        outcome = lk_sqlite_turn_end(&turn, code, error);
    }
    if (outcome != LK_OK) {
        lk_happenings_free(happenings);
        return outcome;
    }
    *ret_happenings = happenings;
    return lk_error_clear(error, LK_OK);
}

/* ---- waiting for events ---------------------------------------------------------------------- */

struct event_lookout {
    struct lk_lookout lookout;
    uint64_t after;
};

static int look_at_events(struct lk_lookout *lookout) {
    const struct event_lookout *waiting = (const struct event_lookout *)lookout;
    uint64_t last_event = waiting->after;
    int64_t due_us = LK_NEVER; /* something perishes that nobody else has swept */
    int code = lk_sql_events_look(&lookout->store->sql, &last_event, &due_us);

    if (code == SQLITE_OK) {
        lookout->is_over = last_event != waiting->after;
        lookout->due_us = due_us > LK_NEVER / 2 ? LK_NEVER : due_us + DUE_US;
    }
    return code;
}

lk_outcome lk_sqlite_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                  struct lk_waker *waker) {
    struct event_lookout waiting = {
        lk_lookout_make(lk_sqlite_of(engine), look_at_events, LOOK_FIRST_US, LOOK_QUIET_US),
        .after = after,
    };
    lk_outcome outcome = lk_lookout_glance(&waiting.lookout);

    return outcome == LK_OK ? lk_lookout_keep(&waiting.lookout, until_us, waker) : outcome;
}
