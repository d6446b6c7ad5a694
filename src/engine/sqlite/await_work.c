/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for work: a change watch over the queue.
 *
 * Where the queue was empty, the look says whether it still is, and who finds it so sleeps on: the
 * item that woke many is mostly gone by the time the later ones look. Where there were items that
 * could not be locked, only another take can tell whether they can be now, so every commit ends
 * that wait; but never sooner than after a pause, so that a busy store is not asked all the time.
 */
#include "engine/sqlite/change_watch.h"
#include "sql/items.h"

#define PAUSE_FIRST_US INT64_C(4000)  /* when something just happened */
#define PAUSE_QUIET_US INT64_C(25000) /* when all has long been quiet */
#define PAUSE_HELD_US INT64_C(8000)   /* there are items, and locks in their way */

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
        watch->pace_us = found.has_ready ? PAUSE_HELD_US : PAUSE_FIRST_US;
    }
    return code;
}

lk_outcome lk_sqlite_await_work(struct lk_sqlite *store, const struct lk_wait_cursor *cursor,
                                int64_t until_us, struct lk_waker *waker) {
    const struct lk_path *queue = &cursor->command->take.queue;
    bool has_ready = cursor->in_the_way != 0;
    struct queue_watch waiting = {
        lk_change_watch_make_from(cursor->version, store, query_queue,
                                  has_ready ? PAUSE_HELD_US : PAUSE_FIRST_US, PAUSE_QUIET_US),
        .queue = {queue->bytes, queue->size},
    };
    lk_outcome outcome = LK_OK;

    waiting.watch.due_us = cursor->due_us;
    if (!has_ready) {
        outcome = lk_change_watch_check(&waiting.watch); /* what came between the take and now */
    }
    return outcome == LK_OK ? lk_change_watch_wait(&waiting.watch, until_us, waker) : outcome;
}
