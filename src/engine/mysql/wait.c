/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Waiting. A client that waits for a grant polls inside one call of the database (server_poll.c).
 * If it cannot, it polls from here: a read that takes no locks checks whether its request has
 * changed. The pause between polls grows, and its first length depends on the number of
 * blockers. The waiter asks again when the earliest deadline of its blockers has passed, and after
 * a second at the latest. That second is also how often a waiter searches for cycles that were not
 * seen before (R13); a sleep ends after it for those that could find one.
 *
 * A worker's poll finds a ready item that a claim would look at, and what is due at the queue's
 * root. So it finds what was behind a head that has gone (R16), too. Where nothing has come for a
 * while it polls less often.
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/minmax.h"
#include "base/random.h"
#include "engine/mysql/store.h"
#include "engine/procedures/polling.h"

#define PAUSE_MIN_US INT64_C(4000) /* for each blocker */
#define PAUSE_MAX_US INT64_C(250000)
#define IDLE_PAUSE_MAX_US INT64_C(1250000)
#define IDLE_SHARE 20 /* an idle worker pauses for this part of the time that it has waited */
#define SERVER_POLL_MAX_US INT64_C(4000000) /* an upgrade waits for the procedures that run */

/* A probe query, whose first column says whether to go on waiting; no row: no. */
struct probe {
    struct lk_procedures *store;
    const char *sql;
    int64_t first_us;   /* the first pause; it grows... */
    int64_t longest_us; /* ...up to this */
};

static int64_t pause_us(const struct probe *probe, uint32_t polls) {
    return probe->first_us < probe->longest_us
               ? lk_backoff_delay(probe->first_us, probe->longest_us, polls)
               : probe->longest_us;
}

static int64_t first_pause_us(const struct lk_wait_cursor *cursor) {
    int64_t count = cursor->in_the_way > 0 ? (int64_t)lk_min(64, (int64_t)cursor->in_the_way) : 1;

    return lk_min(count * PAUSE_MIN_US, PAUSE_MAX_US);
}

/* If the state cannot be read, it may have changed: the next ask finds out. */
static bool has_changed(const struct probe *probe, int64_t until_us, struct lk_waker *waker) {
    const struct lk_patience patience = {.until_us = until_us, .waker = waker};
    struct lk_rows *rows = NULL;
    lk_error error;
    bool is_as_before =
        lk_procedures_ask_sql(probe->store, probe->sql, &patience, &rows, &error) == LK_OK
        && rows->count > 0 && lk_row_boolean(rows, 0, 0);

    lk_rows_free(rows);
    return !is_as_before;
}

/* `probe` NULL: nothing can be polled, only the time ends the wait. */
static lk_outcome watch(const struct probe *probe, int64_t until_us, struct lk_waker *waker) {
    for (uint32_t polls = 0;; polls++) {
        int64_t left_us = until_us - lk_clock_now_us();
        int64_t next_us = probe != NULL ? pause_us(probe, polls) : left_us;

        if (left_us <= 0) {
            return LK_OK;
        }
        if (lk_waker_sleep(waker, lk_min(left_us, next_us))) {
            return LK_CANCELLED;
        }
        if (next_us < left_us && has_changed(probe, until_us, waker)) {
            return lk_waker_is_thrown(waker) ? LK_CANCELLED : LK_OK;
        }
    }
}

static lk_outcome await_grant(struct lk_mysql *store, const struct lk_wait_cursor *cursor,
                              int64_t until_us, struct lk_waker *waker) {
    char sql[160];
    const struct probe probe = {&store->common, sql, first_pause_us(cursor), PAUSE_MAX_US};
    lk_outcome outcome = lk_mysql_server_poll(
        store, cursor->id, lk_min(until_us, lk_procedures_poll_us(cursor, SERVER_POLL_MAX_US)),
        waker);

    if (outcome != LK_UNAVAILABLE) {
        return outcome;
    }
    (void)snprintf(sql, sizeof sql,
                   "SELECT NOT held FROM %srequests WHERE id = %" PRIu64 " AND part = 1",
                   store->address.prefix, cursor->id);
    return watch(&probe, lk_min(until_us, lk_procedures_grant_poll_us(cursor)), waker);
}

static lk_outcome await_work(struct lk_mysql *store, const struct lk_wait_cursor *cursor,
                             int64_t until_us, struct lk_waker *waker) {
    const struct lk_path *queue = &cursor->command->take.queue;
    char queue_text[LK_MYSQL_LITERAL_MAX(LK_PATH_BYTES_MAX)];
    char root_text[LK_MYSQL_LITERAL_MAX(LK_SEGMENT_BYTES_MAX)];
    char sql[sizeof queue_text + sizeof root_text + 320];
    int64_t idle_us = lk_min(cursor->waited_us / IDLE_SHARE, IDLE_PAUSE_MAX_US);
    const struct probe probe = {&store->common, sql, lk_max(idle_us, PAUSE_MIN_US),
                                lk_max(idle_us, PAUSE_MAX_US)};

    if (cursor->in_the_way != 0) {
        return watch(NULL, lk_min(until_us, lk_procedures_claim_poll_us(cursor)), waker);
    }
    *lk_mysql_put_literal(queue_text, (struct lk_slice){queue->bytes, queue->size}) = '\0';
    *lk_mysql_put_literal(root_text, lk_path_root(queue)) = '\0';
    (void)snprintf(
        sql, sizeof sql,
        "SELECT NOT EXISTS (SELECT * FROM %sitems WHERE queue = %s AND state = 'ready'"
        " AND due_us = 0) AND NOT EXISTS (SELECT * FROM %sroots WHERE root = %s AND due_us"
        " <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))",
        store->address.prefix, queue_text, store->address.prefix, root_text);
    return watch(&probe, lk_procedures_poll_us(cursor, until_us - lk_clock_now_us()), waker);
}

lk_outcome lk_mysql_await(struct lk_engine *engine, const struct lk_wait_cursor *cursor,
                          int64_t until_us, struct lk_waker *waker) {
    struct lk_mysql *store = lk_mysql_of(engine);

    if (lk_procedures_is_forked(&store->common, NULL)) {
        return LK_INTERNAL;
    }
    return cursor->command->kind == LK_COMMAND_TAKE ? await_work(store, cursor, until_us, waker)
                                                    : await_grant(store, cursor, until_us, waker);
}

/* A follower of events polls, too, and applies what is overdue, so that a perish is an event. */
lk_outcome lk_mysql_await_events(struct lk_engine *engine, uint64_t after, int64_t until_us,
                                 struct lk_waker *waker) {
    struct lk_procedures *store = lk_procedures_of(engine);
    int64_t begun_us = lk_clock_now_us();

    for (uint32_t polls = 0;; polls++) {
        uint64_t last = 0;
        int64_t next_us = LK_NEVER;
        int64_t left_us;
        lk_outcome outcome = lk_procedures_events_poll(store, begun_us, waker, &last, &next_us);

        left_us = lk_min(until_us, next_us) - lk_clock_now_us();
        if (outcome != LK_OK || last != after || left_us <= 0) {
            return outcome;
        }
        left_us = lk_min(left_us, lk_backoff_delay(PAUSE_MIN_US, PAUSE_MAX_US, polls));
        if (lk_waker_sleep(waker, left_us)) {
            return LK_CANCELLED;
        }
    }
}

/* Nothing wakes a holder whose lease is revoked (R12): one look a second is for all its leases. */
lk_outcome lk_mysql_await_revoked(struct lk_engine *engine, struct lk_revoked *revoked,
                                  int64_t until_us, struct lk_waker *waker) {
    struct lk_mysql *store = lk_mysql_of(engine);
    char table[LK_MYSQL_PREFIX_MAX + sizeof "audits"];
    int64_t left_us = LK_PROCEDURES_REVOKED_US;

    (void)snprintf(table, sizeof table, "%saudits", store->address.prefix);
    while (left_us > 0) {
        lk_outcome outcome = lk_procedures_poll_revoked(&store->common, table, revoked, waker);

        if (outcome != LK_OK || revoked->count > 0) {
            return outcome;
        }
        left_us = lk_min(until_us - lk_clock_now_us(), LK_PROCEDURES_REVOKED_US);
        if (left_us > 0 && lk_waker_sleep(waker, left_us)) {
            return LK_CANCELLED;
        }
    }
    return LK_OK;
}
