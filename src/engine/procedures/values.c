/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Queries about values (R15). A list of them is a plain statement and not a procedure: a store
 * whose procedures are of an older program can answer it as well.
 */
#include <stdlib.h>

#include "base/error.h"
#include "engine/procedures/rows.h"
#include "engine/procedures/table.h"
#include "engine/reply/reply.h"

lk_outcome lk_procedures_value_get(struct lk_engine *engine, const struct lk_path *path,
                                   const struct lk_patience *patience, lk_value **ret_value,
                                   lk_error *error) {
    struct lk_arguments arguments;
    struct lk_rows *rows = NULL;
    lk_value *value = NULL;
    lk_outcome outcome;

    lk_arguments_init(&arguments, lk_procedures_lists(engine));
    lk_arguments_add_path(&arguments, path);
    outcome = lk_procedures_call(lk_procedures_of(engine), "lk_value", LK_READING, &arguments,
                                 patience, &rows, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    if (rows->count == 0 || lk_row_is_null(rows, 0, 0)) {
        lk_rows_free(rows);
        return lk_error_clear(error, LK_NONE);
    }
    value = calloc(1, sizeof *value);
    if (value != NULL) {
        value->bytes = lk_row_bytes(rows, 0, 0, &value->size);
        value->in_doubt = lk_row_boolean(rows, 0, 1);
    }
    lk_rows_free(rows);
    if (value == NULL || value->bytes == NULL) {
        lk_value_free(value);
        return lk_error_set(error, LK_INTERNAL, "no memory for a value");
    }
    *ret_value = value;
    return lk_error_clear(error, LK_OK);
}

/* ---- lists ----------------------------------------------------------------------------------- */

enum { PATH, SIZE, IN_DOUBT }; /* the columns of a page */

/* Behind the path at the prefix itself: everything between a slash and what follows a slash. */
static void add_range(struct lk_arguments *arguments, const struct lk_value_query *query) {
    const struct lk_path *prefix = query->prefix;
    char bound[LK_PATH_BYTES_MAX + 1];
    struct lk_slice low = query->behind;

    if (prefix == NULL) {
        lk_arguments_add_text(arguments, low);
        lk_arguments_add_null(arguments);
        return;
    }
    memcpy(bound, prefix->bytes, prefix->size);
    bound[prefix->size] = '/';
    if (lk_slice_compare(low, (struct lk_slice){bound, prefix->size + (size_t)1}) < 0) {
        low = (struct lk_slice){bound, prefix->size + (size_t)1};
    }
    lk_arguments_add_text(arguments, low);
    bound[prefix->size] = '/' + 1;
    lk_arguments_add_text(arguments, (struct lk_slice){bound, prefix->size + (size_t)1});
}

/* One row more than the page shows, which tells whether another page follows. */
static lk_outcome read_page(struct lk_procedures *store, const struct lk_value_query *query,
                            const struct lk_patience *patience, struct lk_transaction *transaction,
                            lk_error *error) {
    const struct lk_database *database = store->database;
    struct lk_arguments *arguments = &transaction->arguments;
    char *sql = database->values_sql(store);
    lk_outcome outcome;

    if (sql == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a statement");
    }
    lk_arguments_init(arguments, database->lists);
    if (query->prefix != NULL) {
        lk_arguments_add_path(arguments, query->prefix);
    } else {
        lk_arguments_add_null(arguments);
    }
    lk_arguments_add_text(arguments, query->behind);
    add_range(arguments, query);
    lk_arguments_add_integer(arguments, (int64_t)query->max + 1);
    if (database->plan_sql != NULL) {
        transaction->steps[transaction->step_count++] = (struct lk_step){.sql = database->plan_sql};
    }
    transaction->steps[transaction->step_count++] =
        (struct lk_step){.sql = sql, .count = arguments->count};
    outcome = lk_procedures_transact(store, transaction, patience, error);
    free(sql);
    return outcome;
}

static bool add_values(lk_value_list *list, const struct lk_rows *rows, size_t max) {
    bool is_whole = list != NULL;

    for (int row = 0; row < rows->count && (size_t)row < max && is_whole; row++) {
        is_whole = lk_value_list_add(list, lk_row_text(rows, row, PATH),
                                     (size_t)lk_row_integer(rows, row, SIZE),
                                     lk_row_boolean(rows, row, IN_DOUBT));
    }
    return is_whole && ((size_t)rows->count <= max || lk_value_list_cut(list));
}

lk_outcome lk_procedures_values(struct lk_engine *engine, const struct lk_value_query *query,
                                const struct lk_patience *patience, lk_value_list **ret_list,
                                lk_error *error) {
    struct lk_transaction transaction = {.repeat = LK_READING};
    lk_value_list *list;
    bool is_whole;
    lk_outcome outcome = read_page(lk_procedures_of(engine), query, patience, &transaction, error);

    if (outcome != LK_OK) {
        lk_transaction_done(&transaction);
        return outcome;
    }
    list = lk_value_list_new();
    is_whole = add_values(list, transaction.rows[transaction.step_count - 1], query->max);
    lk_transaction_done(&transaction);
    if (!is_whole) {
        lk_value_list_free(list);
        return lk_error_set(error, LK_INTERNAL, "no memory for the values");
    }
    *ret_list = list;
    return lk_error_clear(error, LK_OK);
}
