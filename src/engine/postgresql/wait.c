/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting. A waiter sleeps until the listener receives a wake-up for its request, or for
 * something below the queue's root or below one where what its items need is taken. It sleeps no
 * longer than until the earliest deadline of its blockers, and never more than a second. That
 * second is also how often a waiter searches for cycles that were not seen before (R13), and the
 * polling interval where there is no listener.
 */
#include <inttypes.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "engine/postgresql/store.h"
#include "engine/procedures/polling.h"

static const struct lk_slice all = {.bytes = "", .size = 0}; /* the channel */

static lk_outcome await_grant(struct lk_postgresql *store, const struct lk_wait_cursor *cursor,
                              int64_t until_us, struct lk_waker *waker) {
    char text[24];

    (void)snprintf(text, sizeof text, "%" PRIu64, cursor->id);
    return lk_postgresql_listener_sleep(
        store->listener, cursor->command->ask.owner, lk_slice_of(text), cursor->version,
        lk_min(until_us, lk_procedures_grant_poll_us(cursor)), waker);
}

static lk_outcome await_work(struct lk_postgresql *store, const struct lk_wait_cursor *cursor,
                             int64_t until_us, struct lk_waker *waker) {
    struct lk_slice root = lk_path_root(&cursor->command->take.queue);
    char text[LK_SEGMENT_BYTES_MAX + 2];
    /* Also what blocks the items, in whatever root, wakes, if wake-ups arrive. */
    int64_t poll_us = cursor->version != 0
                          ? lk_procedures_poll_us(cursor, LK_PROCEDURES_POLL_MAX_US)
                          : lk_procedures_claim_poll_us(cursor);

    (void)snprintf(text, sizeof text, "/%.*s", (int)root.size, root.bytes);
    return lk_postgresql_listener_sleep(store->listener, all, lk_slice_of(text), cursor->version,
                                        lk_min(until_us, poll_us), waker);
}

lk_outcome lk_postgresql_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                               int64_t until_us, struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);

    if (lk_procedures_is_forked(&store->common, NULL)) {
        return LK_INTERNAL;
    }
    return cursor->command->kind == LK_COMMAND_TAKE ? await_work(store, cursor, until_us, waker)
                                                    : await_grant(store, cursor, until_us, waker);
}

/*
 * A follower is woken for every event, and applies what is overdue, so that a perish is an event.
 */
lk_outcome lk_postgresql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                      struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    int64_t begun_us = lk_clock_now_us();

    for (;;) {
        uint64_t version = lk_postgresql_listener_version(store->listener);
        uint64_t last = 0;
        int64_t next_us = LK_NEVER;
        int64_t now_us;
        lk_outcome outcome =
            lk_procedures_events_poll(&store->common, begun_us, waker, &last, &next_us);

        now_us = lk_clock_now_us();
        if (outcome != LK_OK || last != after || next_us <= now_us || until_us <= now_us) {
            return outcome;
        }
        outcome = lk_postgresql_listener_sleep(
            store->listener, all, lk_slice_of("!"), version,
            lk_min(lk_min(until_us, next_us), now_us + LK_PROCEDURES_POLL_MAX_US), waker);
        if (outcome != LK_OK) {
            return outcome;
        }
    }
}

#define REVOKED_WOKEN_US                                                                           \
    INT64_C(5000000) /* between looks, where wake-ups arrive; one may be lost */

/* Until there may be another break. A holder does not make the listener begin, only uses it. */
static lk_outcome sleep_on_breaks(struct lk_postgresql *store, uint64_t version, int64_t until_us,
                                  struct lk_waker *waker) {
    int64_t now_us = lk_clock_now_us();
    int64_t look_us = lk_min(until_us, now_us + LK_PROCEDURES_REVOKED_US);

    if (version != 0) {
        return lk_postgresql_listener_sleep(store->listener, all, lk_slice_of("*"), version,
                                            lk_min(until_us, now_us + REVOKED_WOKEN_US), waker);
    }
    return lk_waker_sleep(waker, look_us - now_us) ? LK_CANCELLED : LK_OK;
}

/* A holder whose process waits for nothing has no listener, and looks for all its leases. */
lk_outcome lk_postgresql_await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                       int64_t until_us, struct lk_waker *waker) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    char table[LK_POSTGRESQL_SCHEMA_MAX + sizeof ".audit"];
    lk_outcome outcome = LK_OK;

    (void)snprintf(table, sizeof table, "%s.audit", store->address.schema);
    while (outcome == LK_OK && lk_clock_now_us() < until_us) {
        uint64_t version = lk_postgresql_listener_version(store->listener);

        outcome = lk_procedures_poll_revoked(&store->common, table, revoked, waker);
        if (outcome != LK_OK || revoked->count > 0) {
            return outcome;
        }
        outcome = sleep_on_breaks(store, version, until_us, waker);
    }
    return outcome;
}
