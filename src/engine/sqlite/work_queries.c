/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values and queues, from one consistent reading. What is overdue takes effect in a model that has
 * as much of the store as it touches; nothing of it is written.
 */
#include <stdlib.h>

#include "base/error.h"
#include "base/minmax.h"
#include "base/text.h"
#include "engine/reply/reply.h"
#include "engine/sqlite/closure.h"
#include "engine/sqlite/decide.h"
#include "sql/values.h"

/* ---- values ---------------------------------------------------------------------------------- */

static int copy_value(void *context, struct lk_slice bytes, bool in_doubt) {
    lk_value **ret_value = context;
    lk_value *value = calloc(1, sizeof *value);

    if (value == NULL) {
        return SQLITE_NOMEM;
    }
    value->bytes = lk_text_copy(bytes);
    value->size = bytes.size;
    value->in_doubt = in_doubt;
    if (value->bytes == NULL) {
        lk_value_free(value);
        return SQLITE_NOMEM;
    }
    *ret_value = value;
    return SQLITE_OK;
}

/* An overdue holder may put the value in doubt (R15): the model decides. */
static int find_doubt(struct lk_sqlite_transaction *transaction, const struct lk_path *path,
                      lk_value **ret_value) {
    const struct lk_command tick = {.kind = LK_COMMAND_TICK, .times = transaction->times};
    struct lk_closure closure;
    int code = lk_closure_load_value(&closure, transaction, &tick, path);

    if (code == SQLITE_OK) {
        (void)lk_model_step(closure.model, &tick);
        switch (lk_value_from_model(closure.model, path, ret_value)) {
        case LK_OK:
            break;
        case LK_NONE:
            code = SQLITE_EMPTY;
            break;
        default:
            code = SQLITE_NOMEM;
            break;
        }
    }
    lk_closure_done(&closure);
    return code;
}

static int read_value(struct lk_sqlite_transaction *transaction, const struct lk_path *path,
                      lk_value **ret_value) {
    struct lk_sql *sql = &transaction->store->sql;
    const struct lk_slice text = {path->bytes, path->size};
    bool may_be_lost = false;
    int code = lk_sql_value_may_be_lost(sql, text, transaction->times.now_us, &may_be_lost);

    if (code != SQLITE_OK) {
        return code;
    }
    return may_be_lost ? find_doubt(transaction, path, ret_value)
                       : lk_sql_value_load(sql, text, copy_value, ret_value);
}

lk_outcome lk_sqlite_value_get(struct lk_engine *engine, const struct lk_path *path,
                               const struct lk_patience *patience, lk_value **ret_value,
                               lk_error *error) {
    struct lk_sqlite_transaction transaction;
    lk_value *value = NULL;
    int code;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience,
                                                     &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    code = read_value(&transaction, path, &value);
    outcome =
        lk_sqlite_transaction_end(&transaction, code == SQLITE_EMPTY ? SQLITE_OK : code, error);
    if (outcome != LK_OK) {
        lk_value_free(value);
        return outcome;
    }
    if (value == NULL) {
        return lk_error_clear(error, LK_NONE);
    }
    *ret_value = value;
    return lk_error_clear(error, LK_OK);
}

struct value_page {
    struct lk_sqlite_transaction *transaction;
    lk_value_list *list;
    size_t max;
};

static int add_value(void *context, struct lk_slice text, size_t size, bool in_doubt) {
    struct value_page *page = context;
    struct lk_sqlite_transaction *transaction = page->transaction;
    lk_value *value = NULL;
    bool may_be_lost = false;
    struct lk_path path;
    int code = SQLITE_OK;

    if (page->list->count == page->max) {
        return lk_value_list_cut(page->list) ? SQLITE_DONE : SQLITE_NOMEM;
    }
    if (lk_path_parse(text, &path, NULL) != LK_OK) {
        return SQLITE_CORRUPT;
    }
    if (!in_doubt) {
        code = lk_sql_value_may_be_lost(&transaction->store->sql, text, transaction->times.now_us,
                                        &may_be_lost);
    }
    if (code == SQLITE_OK && may_be_lost) {
        code = find_doubt(transaction, &path, &value);
        in_doubt = value != NULL && value->in_doubt;
        lk_value_free(value);
    }
    if (code != SQLITE_OK) {
        return code;
    }
    return lk_value_list_add(page->list, text, size, in_doubt) ? SQLITE_OK : SQLITE_NOMEM;
}

lk_outcome lk_sqlite_values(struct lk_engine *engine, const struct lk_value_query *query,
                            const struct lk_patience *patience, lk_value_list **ret_list,
                            lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    struct lk_slice prefix = lk_slice_of("");
    struct lk_sqlite_transaction transaction;
    struct value_page page = {.transaction = &transaction, .max = query->max};
    int code = SQLITE_NOMEM;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (query->prefix != NULL) {
        prefix = (struct lk_slice){query->prefix->bytes, query->prefix->size};
    }
    page.list = lk_value_list_new();
    if (page.list != NULL) {
        code = lk_sql_values_each_from(&store->sql, prefix, query->behind, add_value, &page);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome != LK_OK) {
        lk_value_list_free(page.list);
        return outcome;
    }
    *ret_list = page.list;
    return lk_error_clear(error, LK_OK);
}

/* ---- queues ---------------------------------------------------------------------------------- */

lk_outcome lk_sqlite_items(struct lk_engine *engine, const struct lk_item_query *query,
                           const struct lk_patience *patience, lk_item_list **ret_list,
                           lk_error *error) {
    struct lk_command tick = {.kind = LK_COMMAND_TICK};
    struct lk_sqlite_transaction transaction;
    struct lk_closure closure;
    lk_item_list *list = NULL;
    int code;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience,
                                                     &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    tick.times = transaction.times;
    code = query->id.size > 0
               ? lk_closure_load_item(&closure, &transaction, &tick, query->queue, query->id)
               : lk_closure_load_queue(&closure, &transaction, &tick, query->queue);
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome == LK_OK) {
        (void)lk_model_step(closure.model, &tick);
        outcome = lk_items_from_model(closure.model, &transaction.times, query, &list);
        (void)lk_error_set(error, outcome, "%s", outcome == LK_OK ? "" : "memory is exhausted");
    }
    lk_closure_done(&closure);
    if (outcome == LK_OK) {
        *ret_list = list;
    }
    return outcome;
}

/*
 * The rows, and what the model makes of those claims that are overdue. Items that it has for other
 * reasons it has before and after, so that only the difference counts.
 */
static int count(struct lk_sqlite_transaction *transaction, const struct lk_path *queue,
                 struct lk_queue_counts *counts) {
    const struct lk_command tick = {.kind = LK_COMMAND_TICK, .times = transaction->times};
    struct lk_sql *sql = &transaction->store->sql;
    const struct lk_slice text = {queue->bytes, queue->size};
    struct lk_queue_counts before;
    struct lk_queue_counts after;
    struct lk_closure closure;
    int code = lk_sql_queue_load(sql, text, counts);

    if (code != SQLITE_OK) {
        return code == SQLITE_EMPTY ? SQLITE_OK : code;
    }
    code = lk_sql_queue_count(sql, text, &transaction->times, counts);
    if (code != SQLITE_OK) {
        return code;
    }
    code = lk_closure_load_overdue(&closure, transaction, &tick, queue, 0);
    if (code == SQLITE_OK) {
        lk_model_queue_counts(closure.model, queue, &before);
        (void)lk_model_step(closure.model, &tick);
        lk_model_queue_counts(closure.model, queue, &after);
        counts->parked += after.parked - before.parked;
        counts->ready += after.ready - before.ready;
        counts->delayed += after.delayed - before.delayed;
        counts->claimed += after.claimed - before.claimed;
        counts->parked_now += after.parked_now - before.parked_now;
        counts->oldest_ready_us = lk_min(counts->oldest_ready_us, after.oldest_ready_us);
    }
    lk_closure_done(&closure);
    return code;
}

lk_outcome lk_sqlite_stats(struct lk_engine *engine, const struct lk_path *queue,
                           enum lk_stats_depth depth, const struct lk_patience *patience,
                           lk_queue_stats *ret_stats, lk_error *error) {
    struct lk_queue_counts counts = {.oldest_ready_us = LK_NEVER};
    struct lk_sqlite_transaction transaction;
    int code;
    lk_outcome outcome = lk_sqlite_transaction_begin(lk_sqlite_of(engine), LK_SQLITE_READ, patience,
                                                     &transaction, error);

    (void)depth; /* to count costs as little */
    if (outcome != LK_OK) {
        return outcome;
    }
    code = count(&transaction, queue, &counts);
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome == LK_OK) {
        lk_stats_from_counts(&counts, transaction.times.now_us, ret_stats);
        (void)lk_error_clear(error, LK_OK);
    }
    return outcome;
}

/* A page of a list: what fits in it, and whether there is more. */
struct page {
    struct lk_sqlite_transaction *transaction;
    lk_queue_list *queues;
    lk_item_list *items;
    size_t max;
    uint64_t reached; /* the sequence of the last item */
    bool has_more;
};

static int add_queue(void *context, struct lk_slice text, const struct lk_queue_counts *row) {
    struct page *page = context;
    struct lk_queue_counts counts = *row;
    struct lk_path path;
    lk_queue_stats stats;
    int code;

    page->has_more = page->queues->count == page->max;
    if (page->has_more) {
        return SQLITE_DONE;
    }
    if (lk_path_parse(text, &path, NULL) != LK_OK) {
        return SQLITE_CORRUPT;
    }
    code = count(page->transaction, &path, &counts);
    if (code != SQLITE_OK) {
        return code;
    }
    lk_stats_from_counts(&counts, page->transaction->times.now_us, &stats);
    return lk_queue_list_add(page->queues, text, &stats) ? SQLITE_OK : SQLITE_NOMEM;
}

lk_outcome lk_sqlite_queues(struct lk_engine *engine, const struct lk_queue_query *query,
                            const struct lk_patience *patience, lk_queue_list **ret_list,
                            bool *ret_has_more, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    const struct lk_path *prefix = query->prefix;
    struct lk_sqlite_transaction transaction;
    struct page page = {.transaction = &transaction, .max = query->max};
    int code = SQLITE_NOMEM;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_READ, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    page.queues = lk_queue_list_new();
    if (page.queues != NULL) {
        code = lk_sql_queues_each_from(
            &store->sql,
            prefix != NULL ? (struct lk_slice){prefix->bytes, prefix->size} : lk_slice_of(""),
            query->behind, add_queue, &page);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome != LK_OK) {
        lk_queue_list_free(page.queues);
        return outcome;
    }
    *ret_list = page.queues;
    *ret_has_more = page.has_more;
    return lk_error_clear(error, LK_OK);
}

static int add_parked(void *context, const struct lk_sql_item *item) {
    struct page *page = context;

    page->has_more = page->items->count == page->max;
    if (page->has_more) {
        return SQLITE_DONE;
    }
    page->reached = item->record.sequence;
    return lk_item_list_add(page->items, &item->record, NULL, &page->transaction->times)
               ? SQLITE_OK
               : SQLITE_NOMEM;
}

/* Claims that are overdue may be parked by it, so that the list has them. */
lk_outcome lk_sqlite_parked(struct lk_engine *engine, const struct lk_parked_query *query,
                            const struct lk_patience *patience, lk_item_list **ret_list,
                            uint64_t *ret_reached, lk_error *error) {
    struct lk_sqlite *store = lk_sqlite_of(engine);
    const struct lk_slice queue = {query->queue->bytes, query->queue->size};
    struct lk_sqlite_transaction transaction;
    struct page page = {.transaction = &transaction, .max = query->max};
    int code;
    lk_outcome outcome =
        lk_sqlite_transaction_begin(store, LK_SQLITE_WRITE, patience, &transaction, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    page.items = lk_item_list_new();
    code = page.items != NULL ? lk_sqlite_sweep(&transaction, query->queue) : SQLITE_NOMEM;
    if (code == SQLITE_OK) {
        code = lk_sql_items_each_parked(&store->sql, queue, query->behind, &store->item, add_parked,
                                        &page);
    }
    outcome = lk_sqlite_transaction_end(&transaction, code, error);
    if (outcome != LK_OK) {
        lk_item_list_free(page.items);
        return outcome;
    }
    *ret_list = page.items;
    *ret_reached = page.has_more ? page.reached : 0;
    return lk_error_clear(error, LK_OK);
}
