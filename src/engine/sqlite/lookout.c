/* SPDX-License-Identifier: Apache-2.0 */
/* The looking again and again; when it is worth while is in the header. */
#include "engine/sqlite/lookout.h"

#include "base/error.h"
#include "base/least.h"
#include "sql/moved.h"

/* Further back in a line, everybody looks at least so often. */
#define LOOK_MAX_US INT64_C(100000)

/* The longer it has been quiet, the longer the pause: by a part of that time. */
enum { QUIET_PART = 32 };

struct lk_lookout lk_lookout_make(struct lk_sqlite *store, int (*look)(struct lk_lookout *lookout),
                                  int64_t pace_us, int64_t rest_us) {
    return (struct lk_lookout){
        .store = store,
        .look = look,
        .due_us = LK_NEVER,
        .pace_us = pace_us,
        .rest_us = rest_us,
        .changed_us = lk_clock_now_us(),
        .random = {lk_random_draw()},
    };
}

struct lk_lookout lk_lookout_make_from(uint64_t version, struct lk_sqlite *store,
                                       int (*look)(struct lk_lookout *lookout), int64_t pace_us,
                                       int64_t rest_us) {
    struct lk_lookout lookout = lk_lookout_make(store, look, pace_us, rest_us);

    lookout.has_looked = true;
    lookout.version = version;
    return lookout;
}

/* The mutex is held. */
static int look(struct lk_lookout *lookout) {
    struct lk_sqlite *store = lookout->store;
    uint64_t version = 0;
    int code = lk_sqlite_version(store, &version);

    if (lk_sql_is_moved(&store->sql)) {
        lookout->is_over = true; /* the next turn tells */
        return SQLITE_OK;
    }
    if (code != SQLITE_OK || (lookout->has_looked && version == lookout->version)) {
        return code;
    }
    if (lookout->look == NULL) {
        lookout->is_over = true;
    } else {
        code = lk_sql_begin_read(&store->sql);
        if (code == SQLITE_OK) {
            code = lookout->look(lookout);
        }
    }
    if (code == SQLITE_OK) {
        lookout->has_looked = true;
        lookout->version = version;
        lookout->changed_us = lk_clock_now_us();
    }
    return code;
}

lk_outcome lk_lookout_glance(struct lk_lookout *lookout) {
    struct lk_sqlite *store = lookout->store;
    lk_outcome outcome = LK_OK;
    int code;

    if (lk_sqlite_is_forked(store, NULL)) {
        return LK_INTERNAL;
    }
    pthread_mutex_lock(&store->mutex);
    code = look(lookout);
    if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
        outcome = lk_sql_explain(&store->sql, code, NULL);
    }
    lk_sql_rollback(&store->sql);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* Each one further back looks half as often as that place behind: nobody is let in before those
 * in front. */
static int64_t pause_us(struct lk_lookout *lookout) {
    int64_t quiet_us = lk_clock_now_us() - lookout->changed_us;
    int64_t first_us = lk_least(lookout->pace_us + quiet_us / QUIET_PART, lookout->rest_us);
    int64_t ahead = lk_least(lookout->ahead, LOOK_MAX_US / lookout->pace_us);
    int64_t mean_us = lk_least(first_us * (1 + ahead), LOOK_MAX_US);

    return lk_random_between(&lookout->random, mean_us * 3 / 4, mean_us * 5 / 4);
}

static int64_t due_in_us(const struct lk_lookout *lookout) {
    const struct lk_time_source *time = lookout->store->options.time;

    return lookout->due_us > LK_NEVER / 2 ? LK_NEVER
                                          : lookout->due_us - time->now_us(time->context);
}

lk_outcome lk_lookout_keep(struct lk_lookout *lookout, int64_t until_us, struct lk_waker *waker) {
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && !lookout->is_over) {
        int64_t left_us = lk_least(until_us - lk_clock_now_us(), due_in_us(lookout));

        if (left_us <= 0) {
            break;
        }
        if (lk_sqlite_pause(waker, lk_least(pause_us(lookout), left_us))) {
            return LK_CANCELLED;
        }
        outcome = lk_lookout_glance(lookout);
    }
    return outcome;
}
