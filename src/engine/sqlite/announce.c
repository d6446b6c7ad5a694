/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announcing the rows of a table (R17): finding them without a lock, then pushing them in short
 * transactions.
 *
 * The search may take long, but it blocks no writer. Its result may be old when it is pushed, so
 * the transaction that pushes a row checks it again. A row that does not fit any more, or is done,
 * is skipped. A row that another client has pushed is a duplicate, which is counted and harmless.
 */
#include "base/error.h"
#include "engine/sqlite/change_watch.h"
#include "engine/sqlite/decide.h"
#include "engine/sqlite/source.h"
#include "sql/done_rows.h"

enum {
    PUSHED_TOGETHER = 64, /* in one transaction */
    READY_ENOUGH = 4096,  /* ready items: no more rows are searched for */
};
#define PAUSE_US INT64_C(10000)

struct round {
    struct lk_sqlite *store;
    const struct lk_source *text;
    const struct lk_patience *patience;
    struct lk_sqlite_source *source;
    struct lk_set found;
    struct lk_announcement result;
};

static struct lk_slice queue_of(const struct round *round) {
    return (struct lk_slice){round->text->queue.bytes, round->text->queue.size};
}

/* ---- finding --------------------------------------------------------------------------------- */

static int find_rows(struct round *round, size_t max) {
    struct lk_sqlite *store = round->store;
    int64_t ready = 0;
    int code = SQLITE_OK;

    if (max > 0) {
        code = lk_sql_ready_count(&store->sql, queue_of(round), READY_ENOUGH, &ready);
        round->result.has_enough = ready == READY_ENOUGH;
    }
    return code != SQLITE_OK || round->result.has_enough
               ? code
               : lk_sqlite_source_find(store, round->source, max > 0 ? max : 1, &round->found);
}

/* A reading transaction: it blocks no writer. */
static lk_outcome find(struct round *round, size_t max, lk_error *error) {
    struct lk_sqlite *store = round->store;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_LOOK, round->patience, &transaction, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_source_get(store, round->text, &round->source);
    if (code == SQLITE_OK) {
        code = lk_sqlite_transaction_version(&transaction, &round->result.version);
    }
    if (code == SQLITE_OK) {
        code = find_rows(round, max);
    }
    round->result.found = round->found.item_count;
    round->result.is_whole = !round->result.has_enough && round->result.found < max;
    if (code == SQLITE_OK && round->result.is_whole) {
        code = lk_sqlite_source_skipped(store, round->source, &round->result.skipped);
    }
    return lk_sqlite_source_end(&transaction, round->source, code, error);
}

/* ---- pushing --------------------------------------------------------------------------------- */

static int push_row(struct round *round, struct lk_sqlite_transaction *transaction,
                    struct lk_slice id) {
    struct lk_command command = {.kind = LK_COMMAND_PUSH,
                                 .push = {.queue = round->text->queue, .id = id}};
    struct lk_closure closure;
    const struct lk_effects *effects;
    int code = lk_sqlite_step(transaction, &command, &closure, &effects);

    if (code == SQLITE_OK && effects->answer.outcome == LK_OK) {
        round->result.pushed += effects->answer.created;
        round->result.duplicates += !effects->answer.created;
    }
    lk_closure_done(&closure);
    return code;
}

/* Checks the row again, and pushes it. */
static int announce_row(struct round *round, struct lk_sqlite_transaction *transaction,
                        struct lk_slice id) {
    bool fits = false;
    bool is_done = false;
    int code = lk_sqlite_source_fits(round->store, round->source, id, &fits);

    if (code == SQLITE_OK) {
        code = lk_sql_done_row_find(&round->store->sql, queue_of(round), id, &is_done);
    }
    return code == SQLITE_OK && fits && !is_done ? push_row(round, transaction, id) : code;
}

/* Pushes PUSHED_TOGETHER rows from `from` on. */
static lk_outcome push_some(struct round *round, size_t from, lk_error *error) {
    size_t all = round->found.item_count;
    size_t end = all - from < PUSHED_TOGETHER ? all : from + PUSHED_TOGETHER;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = lk_sqlite_transaction_begin(round->store, LK_SQLITE_WRITE, round->patience,
                                                     &transaction, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    /* Another thread may have prepared other tables meanwhile. */
    code = lk_sqlite_source_get(round->store, round->text, &round->source);
    for (size_t i = from; i < end && code == SQLITE_OK; i++) {
        code = announce_row(round, &transaction, lk_set_at(&round->found, i));
    }
    return lk_sqlite_source_end(&transaction, round->source, code, error);
}

static lk_outcome perform(struct round *round, size_t max, lk_error *error) {
    lk_outcome outcome = find(round, max, error);

    for (size_t from = 0; max > 0 && from < round->found.item_count && outcome == LK_OK;
         from += PUSHED_TOGETHER) {
        outcome = push_some(round, from, error);
    }
    return max > 0 && outcome == LK_OK
               ? lk_sqlite_purge_some(round->store, round->text, round->patience, error)
               : outcome;
}

lk_outcome lk_sqlite_table_announce(struct lk_engine *engine, const struct lk_source *source,
                                    size_t max, const struct lk_patience *patience,
                                    struct lk_announcement *ret_announcement, lk_error *error) {
    struct round round = {.store = lk_sqlite_of(engine), .text = source, .patience = patience};
    lk_outcome outcome = perform(&round, max, error);

    if (outcome == LK_OK) {
        *ret_announcement = round.result;
    }
    lk_set_done(&round.found);
    return outcome;
}

/* ---- checking and waiting -------------------------------------------------------------------- */

lk_outcome lk_sqlite_table_check(struct lk_engine *engine, const struct lk_source *text,
                                 const struct lk_patience *patience, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_sqlite_source *source = NULL;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_LOOK, patience, &transaction, error);

    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_source_get(store, text, &source);
    return lk_sqlite_source_end(&transaction, source, code, error);
}

lk_outcome lk_sqlite_table_await(struct lk_engine *engine, uint64_t version, int64_t until_us,
                                 struct lk_waker *waker) {
    struct lk_change_watch waiting =
        lk_change_watch_make_from(version, lk_sqlite_of(engine), NULL, PAUSE_US, PAUSE_US);
    lk_outcome outcome = lk_change_watch_check(&waiting);

    return outcome == LK_OK ? lk_change_watch_wait(&waiting, until_us, waker) : outcome;
}
