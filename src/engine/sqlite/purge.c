/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Purging what is known of rows that do not fit their query any more (R17): marks of done rows, and
 * parked items. A row that has left the query and fits it again is new work.
 *
 * A portion is read in a transaction that blocks no writer. What it finds is checked again and
 * deleted in a second one, which most portions do not need.
 */
#include "engine/sqlite/decide.h"
#include "engine/sqlite/source.h"
#include "sql/done_rows.h"

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

static struct lk_slice queue_of(const struct purge *purge) {
    return (struct lk_slice){purge->text->queue.bytes, purge->text->queue.size};
}

/* ---- reading --------------------------------------------------------------------------------- */

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
        code = each(&purge->store->sql, queue_of(purge), before, PORTION, check_row, purge);
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

/* ---- deleting -------------------------------------------------------------------------------- */

static int forget_mark(struct purge *purge, struct lk_slice id) {
    return lk_sql_done_row_delete(&purge->store->sql, queue_of(purge), id);
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

/* ---- all together ---------------------------------------------------------------------------- */

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
