/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting: asleep until the listener hears that this very request, or something below the queue's
 * root, has changed; and for no longer than until the first of those in the way is due, nor for
 * more than a second. That is also how often a waiter looks for cycles that came to be unseen
 * (R13), and what remains where nobody listens.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/least.h"
#include "engine/postgresql/store.h"

#define LOOK_MAX_US INT64_C(1000000)
#define LOOK_MIN_US INT64_C(2000)    /* behind a deadline, so that it is over for the server too */
#define LOOK_HELD_US INT64_C(100000) /* items are there, and locks in their way: these may end */

static lk_outcome sleep_for(struct lk_postgresql *store, struct lk_slice text, uint64_t version,
                            int64_t until_us, struct lk_waker *waker) {
    int64_t left_us = until_us - lk_clock_now_us();
    struct lk_waker own;
    struct lk_waker *borrowed;
    bool is_thrown;

    if (left_us <= 0) {
        return LK_OK;
    }
    borrowed = lk_waker_borrow(waker, &own);
    if (borrowed == NULL) {
        return LK_INTERNAL;
    }
    is_thrown =
        lk_listener_sleep(&store->listener, lk_listener_key(text), version, left_us, borrowed);
    lk_waker_give_back(borrowed, &own);
    return is_thrown ? LK_CANCELLED : LK_OK;
}

static int64_t look_at_us(const struct lk_stand *stand, int64_t longest_us) {
    int64_t look_us = lk_clock_now_us() + longest_us;

    return stand->due_us > LK_NEVER / 2 ? look_us : lk_least(look_us, stand->due_us + LOOK_MIN_US);
}

lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_stand *stand,
                               int64_t until_us, struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    char text[24];

    if (lk_procedures_is_forked(&store->common, NULL)) {
        return LK_INTERNAL;
    }
    (void)snprintf(text, sizeof text, "%" PRIu64, stand->id);
    return sleep_for(store, lk_slice_of(text), stand->version,
                     lk_least(until_us, look_at_us(stand, LOOK_MAX_US)), waker);
}

lk_outcome lk_postgresql_await_work(struct lk_engine *engine, const struct lk_path *queue,
                                    const struct lk_stand *stand, int64_t until_us,
                                    struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    struct lk_slice root = lk_path_root(queue);
    char text[LK_SEGMENT_BYTES_MAX + 2];

    if (lk_procedures_is_forked(&store->common, NULL)) {
        return LK_INTERNAL;
    }
    (void)snprintf(text, sizeof text, "/%.*s", (int)root.size, root.bytes);
    return sleep_for(
        store, lk_slice_of(text), stand->version,
        lk_least(until_us, look_at_us(stand, stand->in_the_way != 0 ? LOOK_HELD_US : LOOK_MAX_US)),
        waker);
}

/* Whoever follows events is told of each, and sees to it that what perishes is one. */
lk_outcome lk_postgresql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                      struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    int64_t begun_us = lk_clock_now_us();

    for (;;) {
        uint64_t version = lk_listener_version(&store->listener);
        uint64_t last = 0;
        int64_t see_us = LK_NEVER;
        int64_t now_us;
        lk_outcome outcome =
            lk_procedures_events_look(&store->common, begun_us, waker, &last, &see_us);

        now_us = lk_clock_now_us();
        if (outcome != LK_OK || last != after || see_us <= now_us || until_us <= now_us) {
            return outcome;
        }
        outcome = sleep_for(store, lk_slice_of("!"), version,
                            lk_least(lk_least(until_us, see_us), now_us + LOOK_MAX_US), waker);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
}
