/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After a restart of the machine (R11): the rows' deadlines are on a clock that is gone.
 *
 * What is known of the time in between is the wall clock, at which each deadline was written down
 * too. So an `until` stays what it was; anything else that lived when the machine went down lives
 * at least until now + the smaller of its ttl and 60 s (once: a second restart before its next
 * renewal gives nothing more), and as long as it was promised if that is longer.
 *
 * What was dead by then stays dead, swept or not. The last moment at which the store is known to
 * have worked is the latest ask or renewal that its rows show.
 */
#include "engine/sqlite/store.h"

#define GRACE_US INT64_C(60000000)

struct restart {
    struct lk_sqlite *store;
    const struct lk_times *times;
    int64_t last_known_us; /* on the clock of the former boot */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

static int64_t greater(int64_t a, int64_t b) {
    return a > b ? a : b;
}

static int find_last_known(void *context, uint64_t id) {
    struct restart *restart = context;
    struct lk_sql_request *request = &restart->store->request;
    const struct lk_record *record = &request->record;
    int code = lk_sql_request_load(&restart->store->sql, id, request);

    if (code == SQLITE_OK && !record->fixed) {
        restart->last_known_us =
            greater(restart->last_known_us, record->deadline_us - record->ttl_ms * 1000);
    }
    return code;
}

/* How long the request lives from now on; not above 0: it is dead. */
static int64_t left_us(const struct restart *restart, const struct lk_sql_request *request) {
    const struct lk_record *record = &request->record;
    int64_t ttl_us = record->ttl_ms * 1000;
    int64_t promised_us = request->expires_unix_us - restart->times->wall_us;

    if (record->fixed) {
        return promised_us;
    }
    if (record->deadline_us <= restart->last_known_us) {
        return smaller(promised_us, 0);
    }
    /* A wall clock that was set back must not make a lease last for years. */
    promised_us = smaller(promised_us, ttl_us);
    return request->graced ? promised_us : greater(promised_us, smaller(ttl_us, GRACE_US));
}

static int move(void *context, uint64_t id) {
    struct restart *restart = context;
    struct lk_sql_request *request = &restart->store->request;
    int64_t left;
    int code = lk_sql_request_load(&restart->store->sql, id, request);

    if (code != SQLITE_OK) {
        return code;
    }
    left = left_us(restart, request);
    request->record.deadline_us = restart->times->now_us + left;
    return lk_sql_request_save(&restart->store->sql, &request->record,
                               restart->times->wall_us + left, true);
}

int lk_sqlite_rebase(struct lk_sqlite *store, const struct lk_times *times) {
    struct restart restart = {.store = store, .times = times, .last_known_us = INT64_MIN};
    struct lk_sql *sql = &store->sql;
    int code = lk_sql_each(sql, find_last_known, &restart);

    if (code == SQLITE_OK) {
        code = lk_sql_each(sql, move, &restart);
    }
    /* A delayed item keeps the instant at which it is due (R16). No boot clock was ever below 0. */
    if (code == SQLITE_OK) {
        code = lk_sql_items_move(sql, times, greater(restart.last_known_us, 0));
    }
    /* Whoever lost an answer before the restart is gone with it (R3). */
    if (code == SQLITE_OK) {
        code = lk_sql_ended_clear(sql);
    }
    return code == SQLITE_OK ? lk_sql_meta_set_boot(sql, store->boot_id) : code;
}
