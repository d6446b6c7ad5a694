/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rows of a user's table (R17): announcing them, and purging what is known of them.
 *
 * Announcing is finding them without a lock, then pushing them in short transactions.
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

/* ---- announcing: finding --------------------------------------------------------------------- */

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

/* ---- announcing: pushing --------------------------------------------------------------------- */

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

/* ---- purging --------------------------------------------------------------------------------- */

/*
 * What is known of rows that do not fit their query any more: marks of done rows, and parked items.
 * A row that has left the query and fits it again is new work.
 *
 * A portion is read in a transaction that blocks no writer. What it finds is checked again and
 * deleted in a second one, which most portions do not need.
 */

enum { PORTION = 256 }; /* marks and items each */

/* One of the two lists of rows: where its next portion begins, and what the last one has found. */
struct list {
    int64_t after;
    bool is_over; /* there are none behind `after` */
    struct lk_set unfit;
};

struct purge {
    struct lk_sqlite *store;
    const struct lk_source *text;
    const struct lk_patience *patience;
    struct lk_sqlite_source *source;
    struct list marks;
    struct list parked;
    struct list *read;                         /* the one that is being read */
    struct lk_sqlite_transaction *transaction; /* that deletes */
};

static struct lk_slice queue_purged(const struct purge *purge) {
    return (struct lk_slice){purge->text->queue.bytes, purge->text->queue.size};
}

/* ---- purging: reading ------------------------------------------------------------------------ */

static int check_row(void *context, int64_t number, struct lk_slice id) {
    struct purge *purge = context;
    bool fits = false;
    bool is_new;
    int code = lk_sqlite_source_fits(purge->store, purge->source, id, &fits);

    purge->read->after = number;
    if (code == SQLITE_OK && !fits && !lk_set_add(&purge->read->unfit, id, &is_new)) {
        code = SQLITE_NOMEM;
    }
    return code;
}

typedef int each_row(struct lk_sql *sql, struct lk_slice queue, int64_t after, int max,
                     lk_sql_visit_row *visit, void *context);

static int read_list(struct purge *purge, struct list *list, each_row *each) {
    int64_t before = list->after;
    int code = SQLITE_OK;

    if (!list->is_over) {
        purge->read = list;
        code = each(&purge->store->sql, queue_purged(purge), before, PORTION, check_row, purge);
        list->is_over = list->after == before;
    }
    return code;
}

static lk_outcome read_portion(struct purge *purge, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = lk_sqlite_transaction_begin(purge->store, LK_SQLITE_LOOK, purge->patience,
                                                     &transaction, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    code = lk_sqlite_source_get(purge->store, purge->text, &purge->source);
    if (code == SQLITE_OK) {
        code = read_list(purge, &purge->marks, lk_sql_done_rows_each);
    }
    if (code == SQLITE_OK) {
        code = read_list(purge, &purge->parked, lk_sql_parked_each);
    }
    return lk_sqlite_source_end(&transaction, purge->source, code, error);
}

/* ---- purging: deleting ----------------------------------------------------------------------- */

static int forget_mark(struct purge *purge, struct lk_slice id) {
    return lk_sql_done_row_delete(&purge->store->sql, queue_purged(purge), id);
}

/* An item that is not parked any more is left alone. */
static int drop_parked(struct purge *purge, struct lk_slice id) {
    struct lk_command command = {
        .kind = LK_COMMAND_DROP,
        .drop = {.queue = purge->text->queue, .id = id, .only_parked = true}};
    struct lk_closure closure;
    const struct lk_effects *effects;
    int code = lk_sqlite_step(purge->transaction, &command, &closure, &effects);

    lk_closure_done(&closure);
    return code;
}

/* Checks the rows again, and deletes what is known of those that still do not fit. */
static int delete_unfit(struct purge *purge, const struct list *list,
                        int (*delete_row)(struct purge *purge, struct lk_slice id)) {
    int code = SQLITE_OK;

    for (size_t i = 0; i < list->unfit.item_count && code == SQLITE_OK; i++) {
        struct lk_slice id = lk_set_at(&list->unfit, i);
        bool fits = false;

        code = lk_sqlite_source_fits(purge->store, purge->source, id, &fits);
        if (code == SQLITE_OK && !fits) {
            code = delete_row(purge, id);
        }
    }
    return code;
}

static lk_outcome delete_portion(struct purge *purge, lk_error *error) {
    struct lk_sqlite_transaction transaction;
    lk_outcome outcome = lk_sqlite_transaction_begin(purge->store, LK_SQLITE_WRITE, purge->patience,
                                                     &transaction, error);
    int code;

    if (outcome != LK_OK) {
        return outcome;
    }
    purge->transaction = &transaction;
    /* Another thread may have prepared other tables meanwhile. */
    code = lk_sqlite_source_get(purge->store, purge->text, &purge->source);
    if (code == SQLITE_OK) {
        code = delete_unfit(purge, &purge->marks, forget_mark);
    }
    if (code == SQLITE_OK) {
        code = delete_unfit(purge, &purge->parked, drop_parked);
    }
    return lk_sqlite_source_end(&transaction, purge->source, code, error);
}

/* ---- purging: all together ------------------------------------------------------------------- */

static lk_outcome purge_portion(struct purge *purge, lk_error *error) {
    lk_outcome outcome = read_portion(purge, error);

    if (outcome == LK_OK && purge->marks.unfit.item_count + purge->parked.unfit.item_count > 0) {
        outcome = delete_portion(purge, error);
    }
    lk_set_done(&purge->marks.unfit);
    lk_set_done(&purge->parked.unfit);
    return outcome;
}

lk_outcome lk_sqlite_purge_some(struct lk_sqlite *store, const struct lk_source *source,
                                const struct lk_patience *patience, lk_error *error) {
    struct purge purge = {.store = store,
                          .text = source,
                          .patience = patience,
                          .marks.after = atomic_load(&store->purged.mark),
                          .parked.after = atomic_load(&store->purged.parked)};
    lk_outcome outcome = purge_portion(&purge, error);

    if (outcome == LK_OK) { /* at the end: from the beginning, next time */
        atomic_store(&store->purged.mark, purge.marks.is_over ? 0 : purge.marks.after);
        atomic_store(&store->purged.parked, purge.parked.is_over ? 0 : purge.parked.after);
    }
    return outcome;
}

lk_outcome lk_sqlite_table_purge(struct lk_engine *engine, const struct lk_source *source,
                                 const struct lk_patience *patience, lk_error *error) {
    struct purge purge = {.store = lk_sqlite_of(engine), .text = source, .patience = patience};
    lk_outcome outcome = LK_OK;

    while (outcome == LK_OK && !(purge.marks.is_over && purge.parked.is_over)) {
        outcome = purge_portion(&purge, error);
    }
    return outcome;
}
