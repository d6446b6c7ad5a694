/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for a grant, for work, and for leases that are revoked.
 *
 * For a grant: a change watch over the requests ahead. The commit of a grant wakes the
 * waiter. Where no wake-up comes, the first waiter notices a release within milliseconds.
 *
 * A deadline ahead of the waiter ends the wait, too: no other process may be there to end the
 * request that is overdue. The first waiter goes first. Each of the others adds a delay by its
 * position, so that they do not all write what one write can do.
 */
#include "engine/sqlite/change_watch.h"
#include "sql/items.h"
#include "sql/meta.h"
#include "sql/wait_rows.h"

#define PAUSE_FIRST_US INT64_C(1000)  /* of the first waiter, right after a commit ahead of it */
#define PAUSE_QUIET_US INT64_C(25000) /* of the first waiter, when there was none for long */
#define WOKEN_FIRST_US INT64_C(8000)  /* the same of a waiter that is woken when it is granted */
#define WOKEN_QUIET_US INT64_C(250000)
#define DUE_PER_PLACE_US INT64_C(5000) /* a later waiter leaves the sweep to earlier ones */
enum { DUE_PLACES_MAX = 20 };

struct wait_watch {
    struct lk_change_watch watch;
    struct lk_sql_wait_rows rows; /* at the last query */
};

/* When this waiter ends what is overdue ahead of it, unless an earlier waiter has. */
static int64_t due_us(const struct lk_sql_wait_rows *rows) {
    int64_t places = rows->ahead < DUE_PLACES_MAX ? (int64_t)rows->ahead : DUE_PLACES_MAX;

    return rows->next_due_us > LK_NEVER / 2 ? LK_NEVER
                                            : rows->next_due_us + places * DUE_PER_PLACE_US;
}

static int query_wait_rows(struct lk_change_watch *watch) {
    struct wait_watch *waiting = (struct wait_watch *)watch;
    struct lk_sql_wait_rows rows;
    int code = lk_sql_wait_rows_load(&watch->store->sql, watch->request, &rows);

    if (code == SQLITE_OK) {
        watch->is_over = !rows.is_waiting;
        watch->is_unmoved = watch->has_checked && rows.ahead == waiting->rows.ahead
                            && rows.next_due_us == waiting->rows.next_due_us;
        waiting->rows = rows;
        watch->ahead = (int64_t)rows.ahead;
        watch->due_us = due_us(&rows);
    }
    return code;
}

static lk_outcome await_grant(struct lk_sqlite *store, const struct lk_wait_cursor *cursor,
                              int64_t until_us, struct lk_waker *waker) {
    struct wait_watch waiting = {
        lk_change_watch_make(store, query_wait_rows, PAUSE_FIRST_US, PAUSE_QUIET_US),
    };
    int64_t pause_us = store->options.pause_us;
    lk_outcome outcome;

    waiting.watch.request = cursor->id;
    waiting.watch.woken_pace_us = pause_us != 0 ? pause_us : WOKEN_FIRST_US;
    waiting.watch.woken_rest_us = pause_us != 0 ? pause_us : WOKEN_QUIET_US;
    waiting.watch.ahead = (int64_t)cursor->in_the_way;
    outcome = lk_change_watch_check(&waiting.watch); /* for commits since the ask */
    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}

/* ---- work ------------------------------------------------------------------------------------ */

/*
 * A change watch over the queue. The wait ends when the query finds a ready item. Mostly an item is
 * gone when later waiters query the queue; then they keep waiting. Where ready items exist that
 * could not be locked, only another take can find out whether they can be locked now. So any commit
 * ends that wait, but not before a pause, so that takes do not load a busy store.
 */
#define WORK_FIRST_US INT64_C(4000)  /* right after a commit */
#define WORK_QUIET_US INT64_C(25000) /* when there was none for long */
#define WORK_HELD_US INT64_C(8000)   /* there are items, but locks are in their way */

struct queue_watch {
    struct lk_change_watch watch;
    struct lk_slice queue;
};

static int query_queue(struct lk_change_watch *watch) {
    struct queue_watch *waiting = (struct queue_watch *)watch;
    struct lk_sql_queue_probe found = {.has_ready = false};
    int code = lk_sql_queue_probe(&watch->store->sql, waiting->queue, &found);

    if (code == SQLITE_OK) {
        watch->is_over = found.has_ready;
        watch->due_us = found.next_due_us;
        watch->pace_us = found.has_ready ? WORK_HELD_US : WORK_FIRST_US;
    }
    return code;
}

static lk_outcome await_work(struct lk_sqlite *store, const struct lk_wait_cursor *cursor,
                             int64_t until_us, struct lk_waker *waker) {
    const struct lk_path *queue = &cursor->command->take.queue;
    bool has_ready = cursor->in_the_way != 0;
    struct queue_watch waiting = {
        lk_change_watch_make_from(cursor->version, store, query_queue,
                                  has_ready ? WORK_HELD_US : WORK_FIRST_US, WORK_QUIET_US),
        .queue = {queue->bytes, queue->size},
    };
    lk_outcome outcome = LK_OK;

    waiting.watch.due_us = cursor->due_us;
    if (!has_ready) {
        outcome = lk_change_watch_check(&waiting.watch); /* for commits since the take */
    }
    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}

/* ---- leases that are revoked (R12) ----------------------------------------------------------- */

/*
 * A change watch over the record of breaks, for all leases of this process. The commit of a break
 * wakes it. Where no wake-up comes, it looks at the counter of commits each second.
 */
#define REVOKED_LOOK_US INT64_C(1000000)
#define REVOKED_WOKEN_US INT64_C(5000000) /* a wake-up may be lost */

struct revoked_watch {
    struct lk_change_watch watch;
    struct lk_revoked *revoked;
};

static int query_revoked(struct lk_change_watch *watch) {
    struct lk_revoked *revoked = ((struct revoked_watch *)watch)->revoked;
    int code = lk_sql_audit_news(&watch->store->sql, !revoked->has_position, &revoked->position,
                                 LK_REVOKED_MAX, revoked->tokens, &revoked->count);

    if (code == SQLITE_OK) {
        revoked->has_position = true;
        watch->is_over = revoked->count > 0;
    }
    return code;
}

static lk_outcome await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                int64_t until_us, struct lk_waker *waker) {
    struct revoked_watch waiting = {
        .watch = lk_change_watch_make(lk_sqlite_of(engine), query_revoked, REVOKED_LOOK_US,
                                      REVOKED_LOOK_US),
        .revoked = revoked,
    };
    lk_outcome outcome;

    waiting.watch.request = LK_SQLITE_WAKE_REVOKED;
    waiting.watch.woken_pace_us = REVOKED_WOKEN_US;
    waiting.watch.woken_rest_us = REVOKED_WOKEN_US;
    outcome = lk_change_watch_check(&waiting.watch); /* for breaks since the last call */
    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}

const struct lk_revoked_ops lk_sqlite_revoked_ops = {.await = await_revoked};

/* ---- grants and work ------------------------------------------------------------------------- */

lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                           int64_t until_us, struct lk_waker *waker) {
    struct lk_sqlite *store = lk_sqlite_of(engine);

    return cursor->command->kind == LK_COMMAND_TAKE ? await_work(store, cursor, until_us, waker)
                                                    : await_grant(store, cursor, until_us, waker);
}
