/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Announcing the rows of a table (R17): looking without a lock, then pushing in short transactions.
 *
 * The look may be long, but it blocks no writer. What it found may be old by the time that
 * it is pushed, so each row is looked at again under the lock of the transaction that pushes it:
 * one that does not fit any more, or is done, is left alone, and one that another client has pushed
 * is a duplicate, counted and harmless.
 */
#include "base/error.h"
#include "engine/sqlite/change_watch.h"
#include "engine/sqlite/decide.h"
#include "engine/sqlite/source.h"
#include "sql/done_rows.h"

enum {
    PUSHED_TOGETHER = 64, /* in one transaction */
    READY_ENOUGH = 4096,  /* ready items: no more are looked for */
    MARKS_CHECKED = 256,  /* marks looked at in a round */
};
#define PAUSE_US INT64_C(10000)

struct round {
    struct lk_sqlite *store;
    const struct lk_source *text;
    const struct lk_patience *patience;
    struct lk_sqlite_source *source;
    struct lk_set found;
    struct lk_set unfit; /* of the marks */
    struct lk_announcement result;
};

static struct lk_slice queue_of(const struct round *round) {
    return (struct lk_slice){round->text->queue.bytes, round->text->queue.size};
}

/* ---- finding --------------------------------------------------------------------------------- */

static int check_mark(void *context, int64_t number, struct lk_slice id) {
    struct round *round = context;
    bool fits = false;
    bool is_new;
    int code = lk_sqlite_source_fits(round->store, round->source, id, &fits);

    round->store->done_checked = number;
    if (code == SQLITE_OK && !fits && !lk_set_add(&round->unfit, id, &is_new)) {
        code = SQLITE_NOMEM;
    }
    return code;
}

/* Some marks in each round, all of them in time. */
static int check_marks(struct round *round) {
    struct lk_sqlite *store = round->store;
    int64_t before = store->done_checked;
    int code = lk_sql_done_rows_each(&store->sql, queue_of(round), before, MARKS_CHECKED,
                                     check_mark, round);

    if (code == SQLITE_OK && store->done_checked == before) {
        store->done_checked = 0; /* from the beginning, next time */
    }
    return code;
}

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

/* A transaction that writes nothing, and so blocks no other. */
static lk_outcome find(struct round *round, size_t max, lk_error *error) {
    struct lk_sqlite *store = round->store;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, round->patience, &transaction, error);
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
    if (code == SQLITE_OK && max > 0) {
        code = check_marks(round);
    }
    round->result.found = round->found.item_count;
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

/* The second look, and the push. */
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

static int forget_mark(struct round *round, struct lk_slice id) {
    bool fits = false;
    int code = lk_sqlite_source_fits(round->store, round->source, id, &fits);

    if (code == SQLITE_OK && !fits) {
        code = lk_sql_done_row_delete(&round->store->sql, queue_of(round), id);
        round->result.forgotten++;
    }
    return code;
}

/* Rows and marks from `from` on, as many as go together; the rows come first. */
static lk_outcome write_some(struct round *round, size_t from, lk_error *error) {
    size_t rows = round->found.item_count;
    size_t all = rows + round->unfit.item_count;
    size_t end = all - from < PUSHED_TOGETHER ? all : from + PUSHED_TOGETHER;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = lk_sqlite_transaction_begin(round->store, LK_SQLITE_WRITE, round->patience,
                                                     &transaction, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    /* Another thread may have used the store meanwhile, for other tables. */
    code = lk_sqlite_source_get(round->store, round->text, &round->source);
    for (size_t i = from; i < end && code == SQLITE_OK; i++) {
        code = i < rows ? announce_row(round, &transaction, lk_set_at(&round->found, i))
                        : forget_mark(round, lk_set_at(&round->unfit, i - rows));
    }
    return lk_sqlite_source_end(&transaction, round->source, code, error);
}

static lk_outcome perform(struct round *round, size_t max, lk_error *error) {
    lk_outcome outcome = find(round, max, error);
    size_t all = round->found.item_count + round->unfit.item_count;

    for (size_t from = 0; max > 0 && from < all && outcome == LK_OK; from += PUSHED_TOGETHER) {
        outcome = write_some(round, from, error);
    }
    return outcome;
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
    lk_set_done(&round.unfit);
    return outcome;
}

/* ---- before and between ---------------------------------------------------------------------- */

lk_outcome lk_sqlite_table_check(struct lk_engine *engine, const struct lk_source *text,
                                 const struct lk_patience *patience, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_sqlite_source *source = NULL;
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);

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
