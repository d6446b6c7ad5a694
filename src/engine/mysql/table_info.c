/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the database reports about a source (R17), and whether the owner's SQL can be used. EXPLAIN
 * answers that: it parses, plans and checks rights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/table.h"

/* ---- the table ------------------------------------------------------------------------------- */

/* Columns of SHOW FULL COLUMNS. */
enum { COLUMN, TYPE, COLLATION };

static char *put_quoted(char *end, struct lk_slice name) {
    *end++ = '`';
    for (size_t i = 0; i < name.size; i++) {
        if (name.bytes[i] == '`') {
            *end++ = '`';
        }
        *end++ = name.bytes[i];
    }
    *end++ = '`';
    return end;
}

/* `first`.`second`, or `second` where the first is empty. */
static void quote(char *end, struct lk_slice first, struct lk_slice second) {
    if (first.size > 0) {
        end = put_quoted(end, first);
        *end++ = '.';
    }
    end = put_quoted(end, second);
    *end = '\0';
}

/* Whether the type is one of these; what follows it, such as its size, does not matter. */
static bool is_one_of(struct lk_slice type, const char *const *words) {
    size_t size = strcspn(type.bytes, " (");

    for (; *words != NULL; words++) {
        if (lk_slice_equal((struct lk_slice){type.bytes, size}, lk_slice_of(*words))) {
            return true;
        }
    }
    return false;
}

static lk_outcome read_type(const struct lk_rows *rows, struct lk_mysql_table_info *info,
                            lk_error *error) {
    static const char *const integers[] = {"tinyint", "smallint", "mediumint",
                                           "int",     "bigint",   NULL};
    static const char *const texts[] = {"char", "varchar", "tinytext", "text", "uuid", NULL};
    struct lk_slice type = lk_row_text(rows, 0, TYPE);
    const char *collation = lk_row_text(rows, 0, COLLATION).bytes;

    info->is_integer = is_one_of(type, integers);
    info->is_unsigned = strstr(type.bytes, "unsigned") != NULL;
    if (!info->is_integer && !is_one_of(type, texts)) {
        return lk_error_set(error, LK_INVALID,
                            "R17: the column %s is of type %s; ids are whole numbers or texts",
                            info->column, type.bytes);
    }
    if (collation[0] == '\0') {
        collation = "utf8mb4_bin"; /* for types other than text */
    }
    /* The name of a collation begins with its character set. */
    (void)snprintf(info->charset, sizeof info->charset, "%.*s", (int)strcspn(collation, "_"),
                   collation);
    (void)snprintf(info->collation, sizeof info->collation, "%s", collation);
    return LK_OK;
}

/* LK_NONE: there is no such table. */
static lk_outcome ask_info(struct lk_mysql *store, struct lk_slice schema, struct lk_slice table,
                           struct lk_slice column, const struct lk_patience *patience,
                           struct lk_mysql_table_info *info, lk_error *error) {
    char sql[sizeof info->table + 64];
    struct lk_transaction transaction = {
        .steps = {{sql, 0, 1}}, .step_count = 1, .repeat = LK_READING};
    lk_outcome outcome;

    quote(info->table, schema, table);
    (void)snprintf(sql, sizeof sql, "SHOW FULL COLUMNS FROM %s WHERE Field = _utf8mb4 \1A",
                   info->table);
    lk_arguments_init(&transaction.arguments, LK_LISTS_WORDS);
    lk_arguments_add_text(&transaction.arguments, column);
    outcome = lk_procedures_transact(&store->common, &transaction, patience, error);
    if (outcome == LK_OK && transaction.rows[0]->count != 1) {
        outcome = lk_error_set(error, LK_INVALID, "R17: no such column: %.*s.%.*s", (int)table.size,
                               table.bytes, (int)column.size, column.bytes);
    } else if (outcome == LK_OK) {
        quote(info->column, table, lk_row_text(transaction.rows[0], 0, COLUMN));
        outcome = read_type(transaction.rows[0], info, error);
    } else if (transaction.failure == LK_FAILURE_WRONG) {
        outcome = LK_NONE;
    } else {
        outcome = lk_transaction_blame(&transaction, "the table", outcome, error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/* The table by its exact name in this database, or with a database before a dot. */
static lk_outcome query_table(struct lk_mysql *store, const struct lk_source *source,
                              const struct lk_patience *patience, struct lk_mysql_table_info *info,
                              lk_error *error) {
    struct lk_slice whole = source->table;
    const char *dot = memchr(whole.bytes, '.', whole.size);
    lk_outcome outcome =
        ask_info(store, (struct lk_slice){"", 0}, whole, source->id_column, patience, info, error);

    if (outcome == LK_NONE && dot != NULL && dot > whole.bytes) {
        size_t size = (size_t)(dot - whole.bytes);
        outcome = ask_info(store, (struct lk_slice){whole.bytes, size},
                           (struct lk_slice){dot + 1, whole.size - size - 1}, source->id_column,
                           patience, info, error);
    }
    if (outcome == LK_NONE) {
        return lk_error_set(error, LK_INVALID, "R17: no such table: %.*s", (int)whole.size,
                            whole.bytes);
    }
    return outcome;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static bool recall(struct lk_mysql *store, const struct lk_source *source,
                   struct lk_mysql_table_info *ret_info) {
    const struct lk_mysql_known *known;
    bool is_known;

    pthread_mutex_lock(&store->common.mutex);
    known = store->known;
    is_known = known != NULL && lk_slice_equal(lk_slice_of(known->table), source->table)
               && lk_slice_equal(lk_slice_of(known->id_column), source->id_column);
    if (is_known) {
        *ret_info = known->info;
    }
    pthread_mutex_unlock(&store->common.mutex);
    return is_known;
}

/* Remembers one table, the last, because most programs use only one. */
static void remember(struct lk_mysql *store, const struct lk_source *source,
                     const struct lk_mysql_table_info *info) {
    struct lk_mysql_known *known = malloc(sizeof *known);

    if (known == NULL) {
        return; /* not remembered: the next call queries it again */
    }
    known->info = *info;
    (void)snprintf(known->table, sizeof known->table, "%.*s", (int)source->table.size,
                   source->table.bytes);
    (void)snprintf(known->id_column, sizeof known->id_column, "%.*s", (int)source->id_column.size,
                   source->id_column.bytes);
    pthread_mutex_lock(&store->common.mutex);
    free(store->known);
    store->known = known;
    pthread_mutex_unlock(&store->common.mutex);
}

/* Whether the text contains bytes with a special meaning in the store's statements. */
static bool has_marks(struct lk_slice text) {
    return text.size > 0
           && (memchr(text.bytes, LK_MYSQL_ARGUMENT, text.size) != NULL
               || memchr(text.bytes, LK_MYSQL_NEXT, text.size) != NULL);
}

lk_outcome lk_mysql_table_info_get(struct lk_mysql *store, const struct lk_source *source,
                                   const struct lk_patience *patience,
                                   struct lk_mysql_table_info *ret_info, lk_error *error) {
    struct lk_mysql_table_info info = {.is_integer = false};
    lk_outcome outcome = LK_OK;

    if (source->table.size > LK_MYSQL_TABLE_MAX || source->id_column.size > LK_MYSQL_COLUMN_MAX) {
        return lk_error_set(error, LK_INVALID, "R17: MySQL's names have at most %d letters",
                            LK_MYSQL_NAME_MAX);
    }
    if (has_marks(source->where) || has_marks(source->order) || has_marks(source->done)) {
        return lk_error_set(error, LK_INVALID, "R17: there are control characters in the SQL");
    }
    if (!recall(store, source, &info)) {
        outcome = query_table(store, source, patience, &info, error);
        if (outcome != LK_OK) {
            return outcome;
        }
        remember(store, source, &info);
    }
    *ret_info = info;
    return LK_OK;
}

/* ---- the owner's SQL ------------------------------------------------------------------------- */

/* Runs EXPLAIN of a statement, for an owner '', a token 0 and an id '0'. */
static lk_outcome explain(struct lk_mysql *store, const char *what, const char *sql,
                          const struct lk_patience *patience, struct lk_rows **ret_plan,
                          lk_error *error) {
    struct lk_transaction transaction = {.steps = {{sql, 0, 6}},
                                         .step_count = 1,
                                         .repeat = LK_REPEATABLE}; /* READ ONLY refuses it */

    lk_arguments_init(&transaction.arguments, LK_LISTS_WORDS);
    for (int i = 0; i < 4; i++) {
        lk_arguments_add_text(&transaction.arguments, (struct lk_slice){"", 0});
    }
    lk_arguments_add_integer(&transaction.arguments, 0);
    lk_arguments_add_text(&transaction.arguments, lk_slice_of("0"));
    return lk_transaction_read(&store->common, &transaction, what, patience, ret_plan, error);
}

static lk_outcome check_query(struct lk_mysql *store, const struct lk_source *source,
                              const struct lk_mysql_table_info *info,
                              const struct lk_patience *patience, lk_error *error) {
    bool is_ordered = source->order.size > 0;
    bool has_where = source->where.size > 0;
    struct lk_rows *plan = NULL;
    char *sql = lk_text_make("EXPLAIN SELECT %s FROM %s WHERE (\n%.*s\n) %s\n%.*s\n LIMIT 1",
                             info->column, info->table, has_where ? (int)source->where.size : 4,
                             has_where ? source->where.bytes : "TRUE", is_ordered ? "ORDER BY" : "",
                             (int)source->order.size, is_ordered ? source->order.bytes : "");
    lk_outcome outcome;

    if (sql == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = explain(store, "the table, its id, --where or --order", sql, patience, &plan, error);
    lk_rows_free(plan);
    free(sql);
    return outcome;
}

/*
 * Whether the text names one of the store's tables, as SQL or in quotes. The plan is not enough:
 * that of a DELETE of all rows does not name the table.
 */
static bool touches_store(const struct lk_mysql *store, const char *sql) {
    static const char *const tables[] = {
        "meta",  "roots",  "requests",    "values",  "queues", "items", "done_rows",
        "ended", "audits", "item_values", "numbers", "groups", "heads", "kept"};
    char name[LK_MYSQL_PREFIX_MAX + 16];
    bool touches = false;

    for (size_t i = 0; i < sizeof tables / sizeof tables[0]; i++) {
        (void)snprintf(name, sizeof name, "%s%s", store->address.prefix, tables[i]);
        touches = touches || strcasestr(sql, name) != NULL;
    }
    return touches;
}

static lk_outcome check_done(struct lk_mysql *store, const struct lk_source *source,
                             const struct lk_patience *patience, lk_error *error) {
    static const char what[] = "the --done statement";
    struct lk_statement done = {.text = NULL};
    struct lk_rows *plan = NULL;
    char *sql = NULL;
    lk_outcome outcome = lk_mysql_done_make(store, source, &done, error);

    if (outcome != LK_OK || done.text == NULL || lk_statement_is_call(&done)) {
        free(done.text);
        return outcome;
    }
    sql = lk_text_make("EXPLAIN %s", done.text);
    if (sql == NULL) {
        free(done.text);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = explain(store, what, sql, patience, &plan, error);
    if (outcome == LK_OK && touches_store(store, done.text)) {
        outcome = lk_error_set(error, LK_INVALID,
                               "R17: %s: it must not touch the store's own tables", what);
    }
    lk_rows_free(plan);
    free(sql);
    free(done.text);
    return outcome;
}

lk_outcome lk_mysql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                const struct lk_patience *patience, lk_error *error) {
    struct lk_mysql *store = lk_mysql_of(engine);
    struct lk_mysql_table_info info;
    lk_outcome outcome = lk_mysql_table_info_get(store, source, patience, &info, error);

    if (outcome == LK_OK) {
        outcome = check_query(store, source, &info, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = check_done(store, source, patience, error);
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
