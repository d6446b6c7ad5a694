/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lists and audits, from one consistent reading. What is overdue perishes in the model that was
 * loaded, with the grants that follow. A grant draws a token (R4), and every call must see the same
 * one, so a query that finds such a grant writes it. Any other query writes nothing.
 */
#include "base/clock.h"
#include "base/error.h"
#include "base/minmax.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/decide.h"

#define WRITE_US_MAX INT64_C(1000000) /* how long a query waits for other writers */

typedef lk_outcome make_listing(const struct lk_model *model, const struct lk_times *times,
                                const struct lk_path *path, lk_listing **ret_listing);

struct query {
    struct lk_engine *engine;
    const struct lk_path *path; /* NULL: everything */
    make_listing *make;
};

/* The first entry whose ticket is not smaller; entries are in the order of their tickets. */
static size_t first_entry_at(const lk_listing *listing, uint64_t ticket) {
    size_t low = 0;
    size_t high = listing->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (listing->entries[middle].ticket < ticket) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Takes the tokens of this step's grants off the listing. Returns whether there were any grants. */
static bool hide_new_tokens(const struct lk_closure *closure, const struct lk_effects *effects,
                            lk_listing *listing) {
    struct lk_record *record = &closure->store->request.record;
    bool has_grants = false;

    for (size_t i = 0; i < effects->change_count; i++) {
        if (effects->changes[i].kind != LK_CHANGE_GRANTED) {
            continue;
        }
        has_grants = true;
        lk_model_record_head(closure->model, effects->changes[i].request, record);
        for (size_t at = first_entry_at(listing, record->ticket);
             at < listing->count && listing->entries[at].ticket == record->ticket; at++) {
            if (listing->entries[at].token == record->token) {
                listing->entries[at].token = 0;
            }
        }
    }
    return has_grants;
}

/*
 * Runs a query in one transaction. With LK_SQLITE_WRITE it writes what its step changed. With
 * LK_SQLITE_READ it leaves out the tokens of grants that are not written, and sets *ret_has_grants
 * if there are any.
 */
static lk_outcome query_once(const struct query *query, enum lk_sqlite_access access,
                             const struct lk_patience *patience, lk_listing **ret_listing,
                             bool *ret_has_grants, struct lk_error *error) {
    struct lk_command command = {.kind = LK_COMMAND_TICK};
    struct lk_sqlite_transaction transaction;
    struct lk_closure closure;
    const struct lk_effects *effects = NULL;
    lk_listing *listing = NULL;
    int code;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(query->engine), access, patience,
                                                     &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    command.times = transaction.times;
    code = lk_closure_load(&closure, &transaction, &command, query->path);
    if (code == SQLITE_OK) {
        effects = lk_model_step(closure.model, &command);
        outcome = query->make(closure.model, &transaction.times, query->path, &listing);
        code = outcome == LK_OK ? SQLITE_OK : SQLITE_NOMEM;
    }
    if (code == SQLITE_OK && access == LK_SQLITE_READ) {
        *ret_has_grants = hide_new_tokens(&closure, effects, listing);
    } else if (code == SQLITE_OK) {
        code = lk_sqlite_write(&transaction, &command, &closure, effects);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    lk_closure_done(&closure);
    if (outcome != LK_OK) {
        lk_listing_free(listing);
        return outcome;
    }
    *ret_listing = listing;
    return LK_OK;
}

/*
 * Where the file cannot be written (a service keeps it, it is read-only, another process writes for
 * long), returns the result of the reading, in which the newest leases have no tokens.
 */
static lk_outcome run(const struct query *query, const struct lk_patience *patience,
                      lk_listing **ret_listing, struct lk_error *error) {
    struct lk_patience brief = *patience;
    lk_listing *written = NULL;
    bool has_grants = false;
    struct lk_error ignored;
    lk_outcome outcome =
        query_once(query, LK_SQLITE_READ, patience, ret_listing, &has_grants, error);

    brief.until_us = lk_min(brief.until_us, lk_clock_now_us() + WRITE_US_MAX);
    if (outcome == LK_OK && has_grants
        && query_once(query, LK_SQLITE_WRITE, &brief, &written, &has_grants, &ignored) == LK_OK) {
        lk_listing_free(*ret_listing);
        *ret_listing = written;
    }
    return outcome;
}

lk_outcome lk_sqlite_list(struct lk_engine *engine, const struct lk_path *prefix,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error) {
    const struct query all = {engine, prefix, lk_listing_from_model};

    return run(&all, patience, ret_listing, error);
}

lk_outcome lk_sqlite_show(struct lk_engine *engine, const struct lk_path *path,
                          const struct lk_patience *patience, lk_listing **ret_listing,
                          struct lk_error *error) {
    const struct query near = {engine, path, lk_listing_from_model_with_blockers};

    return run(&near, patience, ret_listing, error);
}

static int add_audit(void *context, const struct lk_audit_row *audit) {
    return lk_audit_add(context, audit) ? SQLITE_OK : SQLITE_NOMEM;
}

lk_outcome lk_sqlite_audit(struct lk_engine *engine, const struct lk_path *prefix,
                           const struct lk_patience *patience, lk_audit **ret_audit,
                           struct lk_error *error) {
    struct lk_slice path = {NULL, 0};
    struct lk_sqlite_transaction transaction;
    lk_audit *audit;
    int code = SQLITE_NOMEM;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience,
                                                     &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (prefix != NULL) {
        path = (struct lk_slice){prefix->bytes, prefix->size};
    }
    audit = lk_audit_new();
    if (audit != NULL) {
        code = lk_sql_audit_each(&transaction.store->sql, path, add_audit, audit);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome != LK_OK) {
        lk_audit_free(audit);
        return outcome;
    }
    *ret_audit = audit;
    return LK_OK;
}
