/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for work: a lookout over the queue.
 *
 * Where the queue was empty, the look says whether it still is, and who finds it so sleeps on: the
 * item that woke many is mostly gone by the time the later ones look. Where there were items that
 * could not be locked, only another take can tell whether they can be now, so every commit ends
 * that wait; but never sooner than after a pause, so that a busy store is not asked all the time.
 */
#include "engine/sqlite/lookout.h"
#include "sql/items.h"

#define LOOK_FIRST_US INT64_C(4000)  /* when something just happened */
#define LOOK_QUIET_US INT64_C(25000) /* when all has long been quiet */
#define LOOK_HELD_US INT64_C(8000)   /* there are items, and locks in their way */

struct queue_lookout {
    struct lk_lookout lookout;
    struct lk_slice queue;
};

static int look_at_queue(struct lk_lookout *lookout) {
    struct queue_lookout *waiting = (struct queue_lookout *)lookout;
    struct lk_sql_queue_look found = {.has_ready = false};
    int code = lk_sql_queue_look(&lookout->store->sql, waiting->queue, &found);

    if (code == SQLITE_OK) {
        lookout->is_over = found.has_ready;
        lookout->due_us = found.next_due_us;
        lookout->pace_us = found.has_ready ? LOOK_HELD_US : LOOK_FIRST_US;
    }
    return code;
}

lk_outcome lk_sqlite_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                const struct lk_stand *stand, int64_t until_us,
                                struct lk_waker *waker) {
    bool has_ready = stand->in_the_way != 0;
    struct queue_lookout waiting = {
        lk_lookout_make_from(stand->version, lk_sqlite_of(engine), look_at_queue,
                             has_ready ? LOOK_HELD_US : LOOK_FIRST_US, LOOK_QUIET_US),
        .queue = {queue->bytes, queue->size},
    };
    lk_outcome outcome = LK_OK;

    waiting.lookout.due_us = stand->due_us;
    if (!has_ready) {
        outcome = lk_lookout_glance(&waiting.lookout); /* what came between the take and now */
    }
    return outcome == LK_OK ? lk_lookout_keep(&waiting.lookout, until_us, waker) : outcome;
}
