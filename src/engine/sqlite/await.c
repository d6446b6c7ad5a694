/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a grant: a change watch over the line in front of the request. A line of fifty costs
 * a few percent of a core, and its head is woken within milliseconds.
 *
 * A deadline in front of the waiter ends the wait too: no other process may be there to sweep it.
 * Those further back leave that to the head of the line for a moment, so that not all of them write
 * at once what one write can do.
 */
#include "engine/sqlite/change_watch.h"
#include "sql/wait_rows.h"

#define PAUSE_FIRST_US INT64_C(4000)   /* the head of the line, when something just happened */
#define PAUSE_QUIET_US INT64_C(25000)  /* the head of the line, when all has long been quiet */
#define DUE_PER_PLACE_US INT64_C(5000) /* waiters further back leave the sweep to those in front */
enum { DUE_PLACES_MAX = 20 };

struct wait_watch {
    struct lk_change_watch watch;
    uint64_t request;
};

/* The instant at which a deadline in front is this waiter's to sweep. */
static int64_t due_us(const struct lk_sql_wait_rows *rows) {
    int64_t places = rows->ahead < DUE_PLACES_MAX ? (int64_t)rows->ahead : DUE_PLACES_MAX;

    return rows->next_due_us > LK_NEVER / 2 ? LK_NEVER
                                            : rows->next_due_us + places * DUE_PER_PLACE_US;
}

static int query_wait_rows(struct lk_change_watch *watch) {
    struct wait_watch *waiting = (struct wait_watch *)watch;
    struct lk_sql_wait_rows rows;
    int code = lk_sql_wait_rows_load(&watch->store->sql, waiting->request, &rows);

    if (code == SQLITE_OK) {
        watch->is_over = !rows.is_waiting;
        watch->ahead = (int64_t)rows.ahead;
        watch->due_us = due_us(&rows);
    }
    return code;
}

static lk_outcome await_grant(struct lk_sqlite *store, const struct lk_wait_cursor *cursor,
                              int64_t until_us, struct lk_waker *waker) {
    struct wait_watch waiting = {
        lk_change_watch_make(store, query_wait_rows, PAUSE_FIRST_US, PAUSE_QUIET_US),
        .request = cursor->id,
    };
    lk_outcome outcome;

    waiting.watch.ahead = (int64_t)cursor->in_the_way;
    outcome = lk_change_watch_check(&waiting.watch); /* what came between the ask and now */
    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}

lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                           int64_t until_us, struct lk_waker *waker) {
    struct lk_sqlite *store = lk_sqlite_of(engine);

    return cursor->command->kind == LK_COMMAND_TAKE
               ? lk_sqlite_await_work(store, cursor, until_us, waker)
               : await_grant(store, cursor, until_us, waker);
}
