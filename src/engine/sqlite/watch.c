/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting without a server: every waiter looks at a counter of commits, and at its own row only
 * when that has moved. Looking never writes and never blocks a writer.
 *
 * How often. Whoever is next in line looks every few milliseconds, a little less often the longer
 * nothing has happened; each one further back half as often as that place behind, up to a tenth of
 * a second, for nobody is granted before those in front. A line of fifty costs a few percent of a
 * core, and its head is woken within milliseconds.
 *
 * A deadline in front of the waiter ends the wait too: nobody else may be there to sweep it. Those
 * further back leave that to the head of the line for a moment, so that not all of them write at
 * once what one write can do.
 */
#include "base/error.h"
#include "base/random.h"
#include "engine/sqlite/store.h"
#include "sql/line.h"

#define LOOK_FIRST_US INT64_C(4000)    /* the head of the line, when something just happened */
#define LOOK_QUIET_US INT64_C(25000)   /* the head of the line, when all has long been quiet */
#define LOOK_MAX_US INT64_C(100000)    /* anybody */
#define DUE_PER_PLACE_US INT64_C(5000) /* who is further back gives those in front time to sweep */
enum { DUE_PLACES_MAX = 20 };

struct watch {
    struct lk_sqlite *store;
    uint64_t request;
    struct lk_random random;
    bool has_looked;
    int64_t data_version; /* of other connections, when last looked */
    uint64_t own_commits; /* of this one */
    int64_t changed_us;   /* when the counters were last seen to move, on lk_clock_now_us() */
    struct lk_sql_line line;
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t store_now_us(const struct lk_sqlite *store) {
    return store->options.time->now_us(store->options.time->context);
}

/* Looks at the line if anything was committed since the last look. The mutex is held. */
static int look(struct watch *watch) {
    struct lk_sqlite *store = watch->store;
    int64_t version = 0;
    int code = lk_sql_data_version(&store->sql, &version);

    if (code != SQLITE_OK
        || (watch->has_looked && version == watch->data_version
            && store->own_commits == watch->own_commits)) {
        return code;
    }
    code = lk_sql_begin_read(&store->sql);
    if (code == SQLITE_OK) {
        code = lk_sql_line_load(&store->sql, watch->request, &watch->line);
    }
    if (code == SQLITE_OK) {
        watch->has_looked = true;
        watch->data_version = version;
        watch->own_commits = store->own_commits;
        watch->changed_us = lk_clock_now_us();
    }
    return code;
}

/* A busy file is looked at the next time. */
static lk_outcome look_locked(struct watch *watch) {
    struct lk_sqlite *store = watch->store;
    lk_outcome outcome = LK_OK;
    int code;

    pthread_mutex_lock(&store->mutex);
    code = look(watch);
    if (code != SQLITE_OK && !lk_sql_is_busy(code)) {
        outcome = lk_sql_explain(&store->sql, code, NULL);
    }
    lk_sql_rollback(&store->sql);
    pthread_mutex_unlock(&store->mutex);
    return outcome;
}

/* The instant, on the store's clock, at which a deadline in front is this waiter's to sweep. */
static int64_t due_us(const struct watch *watch) {
    int64_t places = (int64_t)watch->line.ahead;

    if (watch->line.next_due_us > LK_NEVER / 2) {
        return LK_NEVER;
    }
    return watch->line.next_due_us + smaller(places, DUE_PLACES_MAX) * DUE_PER_PLACE_US;
}

static int64_t interval_us(struct watch *watch) {
    int64_t quiet_us = lk_clock_now_us() - watch->changed_us;
    int64_t head_us = smaller(LOOK_FIRST_US + quiet_us / 32, LOOK_QUIET_US);
    int64_t places = smaller((int64_t)watch->line.ahead, LOOK_MAX_US / LOOK_FIRST_US);
    int64_t mean_us = smaller(head_us * (1 + places), LOOK_MAX_US);

    return lk_random_between(&watch->random, mean_us * 3 / 4, mean_us * 5 / 4);
}

lk_outcome lk_sqlite_await(struct lk_engine *engine, const struct lk_stand *stand, int64_t until_us,
                           struct lk_waker *waker) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct watch watch = {
        .store = store,
        .request = stand->id,
        .random = {lk_random_draw()},
        .line = {.is_standing = true, .ahead = stand->in_the_way, .next_due_us = LK_NEVER},
        .changed_us = lk_clock_now_us(),
    };

    for (;;) {
        int64_t left_us;
        int64_t due_in_us;
        lk_outcome outcome;

        if (lk_sqlite_is_forked(store, NULL)) {
            return LK_INTERNAL;
        }
        outcome = look_locked(&watch);
        if (outcome != LK_OK) {
            return outcome;
        }
        left_us = until_us - lk_clock_now_us();
        due_in_us = due_us(&watch) - store_now_us(store);
        if (!watch.line.is_standing || left_us <= 0 || due_in_us <= 0) {
            return LK_OK;
        }
        if (lk_sqlite_pause(waker, smaller(interval_us(&watch), smaller(left_us, due_in_us)))) {
            return LK_CANCELLED;
        }
    }
}
