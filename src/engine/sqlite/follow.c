/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Following events (R21), and waiting for them: a change watch over the last event's number.
 *
 * A follower also ends overdue requests where no other process does, so that their events are
 * written. It does so a little after the deadline: waiters for the lock go first.
 */
#include <stdio.h>

#include "base/error.h"
#include "engine/sqlite/change_watch.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/decide.h"

#define PAUSE_FIRST_US INT64_C(5000)  /* right after a commit */
#define PAUSE_QUIET_US INT64_C(50000) /* when there was none for long */
#define DUE_US INT64_C(50000)         /* after a deadline */

/* ---- asking for events ----------------------------------------------------------------------- */

/* Whether the call has to write first: the mark, or the end of overdue requests. */
static int must_write(struct lk_sqlite_transaction *transaction, bool *ret_must) {
    uint64_t last_event = 0;
    int64_t due_us = LK_NEVER;
    int code = lk_sql_events_probe(&transaction->store->sql, &last_event, &due_us);

    *ret_must =
        !lk_sqlite_events_are_watched(transaction)
        || transaction->meta.watched_until_us - transaction->times.now_us < LK_WATCHED_LEAST_US
        || due_us <= transaction->times.now_us - DUE_US;
    return code;
}

static int mark(struct lk_sqlite_transaction *transaction) {
    int code = lk_sqlite_events_begin(transaction);

    transaction->meta.watched_until_us = transaction->times.now_us + LK_WATCHED_US;
    return code == SQLITE_OK ? lk_sql_events_set_watched(&transaction->store->sql,
                                                         transaction->meta.watched_until_us)
                             : code;
}

/* Begins the transaction that will answer: a reading one where possible. */
static lk_outcome begin(struct lk_sqlite *store, const struct lk_patience *patience,
                        struct lk_sqlite_transaction *transaction, int *ret_code, lk_error *error) {
    bool must = false;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_code = must_write(transaction, &must);
    if (*ret_code != SQLITE_OK || !must) {
        return LK_OK;
    }
    outcome = lk_sqlite_transaction_end(transaction, SQLITE_OK, error);
    if (outcome == LK_OK) {
        outcome = lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, transaction, error);
    }
    if (outcome == LK_OK) {
        *ret_code = mark(transaction);
        *ret_code = *ret_code == SQLITE_OK ? lk_sqlite_sweep(transaction, NULL) : *ret_code;
    }
    return outcome;
}

struct collecting {
    struct lk_sql *sql;
    const struct lk_event_query *query;
    struct lk_event_page *page;
};

static int collect(void *context, const struct lk_sql_event *row) {
    struct collecting *collecting = context;
    struct lk_part parts[LK_PARTS_MAX];
    struct lk_event step_event;
    lk_watch_event event;

    if (lk_event_page_is_full(collecting->page, collecting->query)) {
        collecting->page->has_more = true;
        return SQLITE_DONE;
    }
    if (!lk_sqlite_event_read(row, parts, &step_event)) {
        (void)snprintf(collecting->sql->complaint, sizeof collecting->sql->complaint,
                       "event %llu: no rule could have made it", (unsigned long long)row->sequence);
        return SQLITE_CORRUPT;
    }
    return lk_watch_event_make(&step_event, row->sequence, row->at_unix_us / 1000, &event)
                   && lk_event_page_add(collecting->page, collecting->query, &event)
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

static int answer(struct lk_sqlite_transaction *transaction, const struct lk_event_query *query,
                  struct lk_event_page *page) {
    struct collecting collecting = {&transaction->store->sql, query, page};
    int code = lk_sql_events_each(&transaction->store->sql, query->after, collect, &collecting);

    if (code == SQLITE_OK && !page->has_more
        && !lk_event_page_end(page, query, transaction->meta.last_event,
                              transaction->times.wall_us / 1000)) {
        code = SQLITE_NOMEM;
    }
    return code;
}

static lk_outcome read_events(struct lk_engine *engine, const struct lk_event_query *query,
                              const struct lk_patience *patience, struct lk_event_page **ret_page,
                              lk_error *error) {
    struct lk_event_page *page = lk_event_page_new(query);
    struct lk_sqlite_transaction transaction;
    int code = SQLITE_OK;
    lk_outcome outcome;

    if (page == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = begin(lk_sqlite_of(engine), patience, &transaction, &code, error);
    if (outcome == LK_OK) {
        code = code == SQLITE_OK ? answer(&transaction, query, page) : code;
        outcome = lk_sqlite_transaction_end(&transaction, code, error);
    }
    if (outcome != LK_OK) {
        lk_event_page_free(page);
        return outcome;
    }
    *ret_page = page;
    return lk_error_clear(error, LK_OK);
}

/* ---- waiting for events ---------------------------------------------------------------------- */

struct event_watch {
    struct lk_change_watch watch;
    uint64_t after;
};

static int query_events(struct lk_change_watch *watch) {
    const struct event_watch *waiting = (const struct event_watch *)watch;
    uint64_t last_event = waiting->after;
    int64_t due_us = LK_NEVER; /* of the earliest request; it may be overdue */
    int code = lk_sql_events_probe(&watch->store->sql, &last_event, &due_us);

    if (code == SQLITE_OK) {
        watch->is_over = last_event != waiting->after;
        watch->due_us = due_us > LK_NEVER / 2 ? LK_NEVER : due_us + DUE_US;
    }
    return code;
}

static lk_outcome await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                               struct lk_waker *waker) {
    struct event_watch waiting = {
        lk_change_watch_make(lk_sqlite_of(engine), query_events, PAUSE_FIRST_US, PAUSE_QUIET_US),
        .after = after,
    };
    lk_outcome outcome = lk_change_watch_check(&waiting.watch);

    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}

const struct lk_event_ops lk_sqlite_event_ops = {.read = read_events, .await = await_events};
