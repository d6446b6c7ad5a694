/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting for work, as watch.c waits for a grant: by looking at a counter of commits, and at the
 * queue only when that has moved.
 *
 * Where the queue was empty, the look says whether it still is, and who finds it so sleeps on: the
 * item that woke many is mostly gone by the time the later ones look. Where there were items that
 * could not be locked, only another take can tell whether they can be now, so every commit ends
 * that wait; but never sooner than after a pause, so that a busy store is not asked all the time.
 */
#include "base/error.h"
#include "engine/sqlite/store.h"
#include "sql/items.h"

#define LOOK_FIRST_US INT64_C(4000)  /* when something just happened */
#define LOOK_QUIET_US INT64_C(25000) /* when all has long been quiet */
#define LOOK_HELD_US INT64_C(8000)   /* there are items, and locks in their way */

struct watch {
    struct lk_sqlite *store;
    struct lk_slice queue;
    struct lk_random random;
    uint64_t version; /* of the store, when last looked */
    int64_t changed_us;
    bool has_ready;
    bool may_take; /* something has come that may be taken */
    int64_t due_us;
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Looks at the queue if anything was committed since the last look. The mutex is held. */
static int look(struct watch *watch) {
    struct lk_sqlite *store = watch->store;
    struct lk_sql_queue_look found = {.has_ready = false};
    uint64_t version = 0;
    int code = lk_sqlite_version(store, &version);

    if (code != SQLITE_OK || version == watch->version) {
        return code;
    }
    code = lk_sql_begin_read(&store->sql);
    if (code == SQLITE_OK) {
        code = lk_sql_queue_look(&store->sql, watch->queue, &found);
    }
    if (code == SQLITE_OK) {
        watch->version = version;
        watch->changed_us = lk_clock_now_us();
        watch->has_ready = found.has_ready;
        watch->may_take = found.has_ready;
        watch->due_us = found.next_due_us;
    }
    return code;
}

/* A busy file is looked at the next time. */
static lk_outcome look_locked(struct watch *watch) {
    struct lk_sqlite *store = watch->store;
    lk_outcome outcome = LK_OK;
    int code;

    if (lk_sqlite_is_forked(store, NULL)) {
        return LK_INTERNAL;
    }
    pthread_mutex_lock(&store->mutex);
    code = look(watch);
    if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
        outcome = lk_sql_explain(&store->sql, code, NULL);
    }
    lk_sql_rollback(&store->sql);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

static int64_t interval_us(struct watch *watch) {
    int64_t quiet_us = lk_clock_now_us() - watch->changed_us;
    int64_t first_us = watch->has_ready ? LOOK_HELD_US : LOOK_FIRST_US;
    int64_t mean_us = smaller(first_us + quiet_us / 32, LOOK_QUIET_US);

    return lk_random_between(&watch->random, mean_us * 3 / 4, mean_us * 5 / 4);
}

/* How long until something becomes due by itself, on the store's clock. */
static int64_t due_in_us(const struct watch *watch) {
    const struct lk_time_source *time = watch->store->options.time;

    return watch->due_us > LK_NEVER / 2 ? LK_NEVER : watch->due_us - time->now_us(time->context);
}

lk_outcome lk_sqlite_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                const struct lk_stand *stand, int64_t until_us,
                                struct lk_waker *waker) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct watch watch = {
        .store = store,
        .queue = {queue->bytes, queue->size},
        .random = {lk_random_draw()},
        .version = stand->version,
        .changed_us = lk_clock_now_us(),
        .has_ready = stand->in_the_way != 0,
        .due_us = stand->due_us,
    };
    /* What came between the take and now is seen at once. */
    lk_outcome outcome = watch.has_ready ? LK_OK : look_locked(&watch);

    while (outcome == LK_OK && !watch.may_take) {
        int64_t left_us = until_us - lk_clock_now_us();
        int64_t due_us = due_in_us(&watch);

        if (left_us <= 0 || due_us <= 0) {
            break;
        }
        if (lk_sqlite_pause(waker, smaller(interval_us(&watch), smaller(left_us, due_us)))) {
            return LK_CANCELLED;
        }
        outcome = look_locked(&watch);
    }
    return outcome;
}
