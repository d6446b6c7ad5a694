/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Bounds (R22): set in the row about the store, and counted by SQL, no further than they reach.
 *
 * A closure has all waiters at the paths that matter (S1). What else the bounds count lives
 * mostly elsewhere: it is counted in the rows, less what the closure has of it, and the model
 * is told. What is overdue counts nowhere, swept or not (R11).
 */
#include "base/error.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/changes.h"
#include "engine/sqlite/closure.h"
#include "sql/counts.h"

/* ---- counting -------------------------------------------------------------------------------- */

/* What the closure has of those that live. */
struct tally {
    struct lk_closure *closure;
    struct lk_slice owner;
    uint64_t live;
    uint64_t owned;
};

static bool tally_one(void *context, lk_ref request) {
    struct tally *tally = context;
    struct lk_record *record = &tally->closure->store->request.record;

    lk_model_record(tally->closure->model, request, record);
    if (record->deadline_us > tally->closure->now_us) {
        tally->live++;
        tally->owned += lk_slice_equal(record->owner, tally->owner);
    }
    return true;
}

static int count_all(struct tally *tally, const struct lk_quotas *quotas) {
    struct lk_closure *closure = tally->closure;
    struct lk_sql *sql = &closure->store->sql;
    uint64_t live = tally->live;
    uint64_t owned = tally->owned;
    int code = SQLITE_OK;

    if (quotas->live_max != 0) {
        code = lk_sql_count_live(sql, closure->now_us, quotas->live_max, &live);
    }
    if (code == SQLITE_OK && quotas->live_per_owner_max != 0) {
        code = lk_sql_count_owned(sql, tally->owner, closure->now_us,
                                  quotas->live_per_owner_max + tally->owned, &owned);
    }
    if (code == SQLITE_OK) {
        /* The count of all is kept in a row: rows are hostile. */
        lk_model_restore_elsewhere(closure->model, live > tally->live ? live - tally->live : 0,
                                   owned - tally->owned);
    }
    return code;
}

static int count_root(struct lk_closure *closure, struct lk_slice root, uint64_t max) {
    struct tally tally = {.closure = closure};
    struct lk_path path;
    uint64_t live = 0;
    int code;

    if (lk_path_parse(root, &path, NULL) != LK_OK) {
        return SQLITE_OK; /* rows are hostile: nothing can be asked for there */
    }
    lk_model_each_below(closure->model, &path, tally_one, &tally);
    code =
        lk_sql_count_rooted(&closure->store->sql, root, closure->now_us, max + tally.live, &live);
    if (code == SQLITE_OK
        && lk_model_restore_root_elsewhere(closure->model, root, live - tally.live) != LK_OK) {
        code = SQLITE_NOMEM;
    }
    return code;
}

int lk_closure_count(struct lk_closure *closure, const struct lk_quotas *quotas,
                     struct lk_slice owner) {
    struct tally tally = {.closure = closure, .owner = owner};
    int code = SQLITE_OK;

    if ((quotas->live_max | quotas->live_per_owner_max) != 0) {
        lk_model_each(closure->model, tally_one, &tally);
        code = count_all(&tally, quotas);
    }
    for (size_t i = 0;
         quotas->live_per_root_max != 0 && i < closure->roots.item_count && code == SQLITE_OK;
         i++) {
        code = count_root(closure, lk_set_at(&closure->roots, i), quotas->live_per_root_max);
    }
    return code;
}

/* ---- setting --------------------------------------------------------------------------------- */

static lk_outcome limits_get(struct lk_engine *engine, const struct lk_patience *patience,
                             lk_limits *ret_limits, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience,
                                                     &transaction, error);

    if (outcome == LK_OK) {
        struct lk_sql_meta meta = transaction.meta;
        outcome = lk_sqlite_transaction_end(&transaction, SQLITE_OK, error);
        if (outcome == LK_OK) {
            lk_limits_from_quotas(&meta.quotas, meta.events_max, ret_limits);
        }
    }
    return outcome;
}

static lk_outcome limits_set(struct lk_engine *engine, const lk_limits *limits,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    struct lk_sql_meta *meta = &transaction.meta;
    int code = SQLITE_OK;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_WRITE,
                                                     patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_limits_into_quotas(limits, &meta->quotas);
    if (limits->events != LK_LIMIT_AS_IS) {
        code = limits->events > 0 ? lk_sqlite_events_begin(&transaction) : SQLITE_OK;
        meta->events_max = limits->events;
    }
    if (code == SQLITE_OK) {
        const struct lk_row row = {.kind = LK_ROW_LIMITS,
                                   .limits = {meta->quotas, meta->events_max}};
        code = lk_sql_row_write(&transaction.store->sql, &row);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}

const struct lk_limit_ops lk_sqlite_limit_ops = {.get = limits_get, .set = limits_set};
