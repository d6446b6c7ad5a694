/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Looking: lists and audits, from one consistent reading. What is overdue is expired in the model
 * that was loaded, with whatever that lets in; nothing of it is written.
 */
#include "base/error.h"
#include "engine/reply.h"
#include "engine/sqlite/neighbourhood.h"

typedef lk_outcome make_listing(const struct lk_model *model, const struct lk_times *times,
                                const struct lk_path *path, lk_listing **ret_listing);

static lk_outcome look(struct lk_engine *engine, const struct lk_path *path, make_listing *make,
                       const struct lk_patience *patience, lk_listing **ret_listing,
                       struct lk_error *error) {
    struct lk_event event = {.kind = LK_EVENT_TICK};
    struct lk_sqlite_turn turn;
    struct lk_neighbourhood hood;
    lk_listing *listing = NULL;
    int code;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience, &turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    event.times = turn.times;
    code = lk_neighbourhood_load(&hood, &turn, &event, path);
    outcome = lk_sqlite_turn_end(&turn, code, error);
    if (outcome == LK_OK) {
        (void)lk_model_step(hood.model, &event);
        outcome = make(hood.model, &turn.times, path, &listing);
        (void)lk_error_set(error, outcome, "%s", outcome == LK_OK ? "" : "memory is exhausted");
    }
    lk_neighbourhood_done(&hood);
    if (outcome == LK_OK) {
        *ret_listing = listing;
    }
    return outcome;
}

lk_outcome lk_sqlite_list(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error) {
    return look(engine, prefix, lk_listing_from_model, patience, ret_listing, error);
}

lk_outcome lk_sqlite_show(struct lk_engine *engine, const struct lk_path *path,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error) {
    return look(engine, path, lk_listing_from_model_with_blockers, patience, ret_listing, error);
}

int lk_sqlite_audit_add(lk_audit *audit, const struct lk_sql_audit *row) {
    const struct lk_audit_row broken = {
        .at_unix_ms = row->at_unix_us / 1000,
        .by = row->by,
        .reason = row->reason,
        .path = row->path,
        .owner = row->owner,
        .note = row->note,
        .ticket = row->ticket,
        .token = row->token,
    };

    return lk_audit_add(audit, &broken) ? SQLITE_OK : SQLITE_NOMEM;
}

static int add_audit(void *context, const struct lk_sql_audit *audit) {
    return lk_sqlite_audit_add(context, audit);
}

lk_outcome lk_sqlite_audit(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_audit **ret_audit,
                           struct lk_error *error) {
    struct lk_slice path = {NULL, 0};
    struct lk_sqlite_turn turn;
    lk_audit *audit;
    int code = SQLITE_NOMEM;
    lk_outcome outcome =
        lk_sqlite_turn_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience, &turn, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (prefix != NULL) {
        path = (struct lk_slice){prefix->bytes, prefix->size};
    }
    audit = lk_audit_new();
    if (audit != NULL) {
        code = lk_sql_audit_each(&turn.store->sql, path, add_audit, audit);
    }
    outcome = lk_sqlite_turn_end(&turn, code, error);
    if (outcome != LK_OK) {
        lk_audit_free(audit);
        return outcome;
    }
    *ret_audit = audit;
    return LK_OK;
}
