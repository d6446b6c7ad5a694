/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the database says of a source (R17), and whether the owner's SQL will do: asked for by
 * EXPLAIN, which parses, plans and looks at rights.
 */
#include <stdio.h>
#include <stdlib.h>
#include <strings.h>

#include "base/error.h"
#include "engine/mysql/table.h"

enum { TABLE_BYTES_MAX = 2 * 4 * LK_MYSQL_NAME_MAX + 1 };

/* ---- the table ------------------------------------------------------------------------------- */

/* By its name as it is in this database, or with a database before a dot. */
static const char question[] =
    "SELECT t.TABLE_SCHEMA, t.TABLE_NAME, c.COLUMN_NAME, LOWER(c.DATA_TYPE), c.COLUMN_TYPE,"
    " c.CHARACTER_SET_NAME, c.COLLATION_NAME"
    " FROM information_schema.TABLES AS t LEFT JOIN information_schema.COLUMNS AS c"
    " ON c.TABLE_SCHEMA = t.TABLE_SCHEMA AND c.TABLE_NAME = t.TABLE_NAME"
    " AND c.COLUMN_NAME = _utf8mb4\1B"
    " WHERE (t.TABLE_SCHEMA = DATABASE() AND t.TABLE_NAME = _utf8mb4\1A)"
    " OR (t.TABLE_SCHEMA = SUBSTRING_INDEX(_utf8mb4\1A, '.', 1)"
    "  AND t.TABLE_NAME = SUBSTRING(_utf8mb4\1A, LOCATE('.', _utf8mb4\1A) + 1)"
    "  AND LOCATE('.', _utf8mb4\1A) > 0)"
    " ORDER BY t.TABLE_SCHEMA = DATABASE() DESC LIMIT 1";

enum { SCHEMA, TABLE, COLUMN, TYPE, WHOLE_TYPE, CHARSET, COLLATION };

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

static void quote(char *end, struct lk_slice first, struct lk_slice second) {
    end = put_quoted(end, first);
    *end++ = '.';
    end = put_quoted(end, second);
    *end = '\0';
}

static bool is_one_of(struct lk_slice word, const char *const *words) {
    for (; *words != NULL; words++) {
        if (lk_slice_equal(word, lk_slice_of(*words))) {
            return true;
        }
    }
    return false;
}

static lk_outcome read_type(const struct lk_rows *rows, struct lk_mysql_shape *shape,
                            lk_error *error) {
    static const char *const integers[] = {"tinyint", "smallint", "mediumint",
                                           "int",     "bigint",   NULL};
    static const char *const texts[] = {"char", "varchar", "tinytext", "text", "uuid", NULL};
    struct lk_slice type = lk_row_text(rows, 0, TYPE);
    bool has_charset = !lk_row_is_null(rows, 0, CHARSET);

    shape->is_integer = is_one_of(type, integers);
    shape->is_unsigned = strstr(lk_row_text(rows, 0, WHOLE_TYPE).bytes, "unsigned") != NULL;
    if (!shape->is_integer && !is_one_of(type, texts)) {
        return lk_error_set(error, LK_INVALID,
                            "R17: the column %s is of type %s; ids are whole numbers or texts",
                            shape->column, type.bytes);
    }
    (void)snprintf(shape->charset, sizeof shape->charset, "%s",
                   has_charset ? lk_row_text(rows, 0, CHARSET).bytes : "utf8mb4");
    (void)snprintf(shape->collation, sizeof shape->collation, "%s",
                   has_charset ? lk_row_text(rows, 0, COLLATION).bytes : "utf8mb4_bin");
    return LK_OK;
}

static lk_outcome read_shape(const struct lk_rows *rows, const struct lk_source *source,
                             struct lk_mysql_shape *shape, lk_error *error) {
    if (rows->count != 1) {
        return lk_error_set(error, LK_INVALID, "R17: no such table: %.*s", (int)source->table.size,
                            source->table.bytes);
    }
    if (lk_row_is_null(rows, 0, COLUMN)) {
        return lk_error_set(error, LK_INVALID, "R17: no such column: %s.%.*s",
                            lk_row_text(rows, 0, TABLE).bytes, (int)source->id_column.size,
                            source->id_column.bytes);
    }
    quote(shape->table, lk_row_text(rows, 0, SCHEMA), lk_row_text(rows, 0, TABLE));
    quote(shape->column, lk_row_text(rows, 0, TABLE), lk_row_text(rows, 0, COLUMN));
    return read_type(rows, shape, error);
}

static lk_outcome ask_shape(struct lk_mysql *store, const struct lk_source *source,
                            const struct lk_patience *patience, struct lk_mysql_shape *shape,
                            lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{question, 0, 2}}, .step_count = 1, .repeat = LK_READING};
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments, LK_LISTS_WORDS);
    lk_arguments_add_text(&transaction.arguments, source->table);
    lk_arguments_add_text(&transaction.arguments, source->id_column);
    outcome = lk_procedures_transact(&store->common, &transaction, patience, error);
    if (outcome == LK_OK) {
        outcome = read_shape(transaction.rows[0], source, shape, error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/* What cannot be in a statement of ours, for it has a meaning there. */
static bool has_marks(struct lk_slice text) {
    return text.size > 0
           && (memchr(text.bytes, LK_MYSQL_ARGUMENT, text.size) != NULL
               || memchr(text.bytes, LK_MYSQL_NEXT, text.size) != NULL);
}

lk_outcome lk_mysql_shape_get(struct lk_mysql *store, const struct lk_source *source,
                              const struct lk_patience *patience, struct lk_mysql_shape *ret_shape,
                              lk_error *error) {
    struct lk_mysql_shape shape = {.is_integer = false};
    lk_outcome outcome;

    if (source->table.size > TABLE_BYTES_MAX || source->id_column.size > 4 * LK_MYSQL_NAME_MAX) {
        return lk_error_set(error, LK_INVALID, "R17: MySQL's names have at most %d letters",
                            LK_MYSQL_NAME_MAX);
    }
    if (has_marks(source->where) || has_marks(source->order) || has_marks(source->done)) {
        return lk_error_set(error, LK_INVALID, "R17: there are control characters in the SQL");
    }
    outcome = ask_shape(store, source, patience, &shape, error);
    if (outcome == LK_OK) {
        *ret_shape = shape;
    }
    return outcome;
}

/* ---- the owner's SQL ------------------------------------------------------------------------- */

/* EXPLAIN of a statement, for an owner '', a token 0 and an id '0'. */
static lk_outcome explain(struct lk_mysql *store, const char *what, const char *sql,
                          const struct lk_patience *patience, struct lk_rows **ret_plan,
                          lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{sql, 0, 6}}, .step_count = 1, .repeat = LK_READING};
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments, LK_LISTS_WORDS);
    for (int i = 0; i < 4; i++) {
        lk_arguments_add_text(&transaction.arguments, (struct lk_slice){"", 0});
    }
    lk_arguments_add_integer(&transaction.arguments, 0);
    lk_arguments_add_text(&transaction.arguments, lk_slice_of("0"));
    outcome = lk_procedures_transact(&store->common, &transaction, patience, error);
    if (outcome == LK_OK) {
        *ret_plan = transaction.rows[0];
        transaction.rows[0] = NULL;
    } else {
        outcome = lk_transaction_blame(&transaction, what, outcome, error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

static lk_outcome check_query(struct lk_mysql *store, const struct lk_source *source,
                              const struct lk_mysql_shape *shape,
                              const struct lk_patience *patience, lk_error *error) {
    bool is_ordered = source->order.size > 0;
    bool has_where = source->where.size > 0;
    struct lk_rows *plan = NULL;
    char *sql = NULL;
    lk_outcome outcome;

    if (asprintf(&sql, "EXPLAIN SELECT %s FROM %s WHERE (\n%.*s\n) %s\n%.*s\n LIMIT 1",
                 shape->column, shape->table, has_where ? (int)source->where.size : 4,
                 has_where ? source->where.bytes : "TRUE", is_ordered ? "ORDER BY" : "",
                 (int)source->order.size, is_ordered ? source->order.bytes : "")
        < 0) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = explain(store, "the table, its id, --where or --order", sql, patience, &plan, error);
    lk_rows_free(plan);
    free(sql);
    return outcome;
}

/* The third column of a plan is the table. */
static bool touches_store(const struct lk_mysql *store, const struct lk_rows *plan) {
    const char *prefix = store->place.prefix;
    bool touches = false;

    for (int row = 0; row < plan->count && !touches; row++) {
        touches = strncmp(lk_row_text(plan, row, 2).bytes, prefix, strlen(prefix)) == 0;
    }
    return touches;
}

/* A CALL cannot be explained: what is wrong with it is found when it runs. */
static bool is_call(const char *sql) {
    return strncasecmp(sql + strspn(sql, " \t\r\n("), "call", 4) == 0;
}

static lk_outcome check_done(struct lk_mysql *store, const struct lk_source *source,
                             const struct lk_patience *patience, lk_error *error) {
    static const char what[] = "the statement for what is done";
    struct lk_statement done = {.text = NULL};
    struct lk_rows *plan = NULL;
    char *sql = NULL;
    lk_outcome outcome = lk_mysql_done_make(store, source, &done, error);

    if (outcome != LK_OK || done.text == NULL || is_call(done.text)) {
        free(done.text);
        return outcome;
    }
    if (asprintf(&sql, "EXPLAIN %s", done.text) < 0) {
        free(done.text);
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = explain(store, what, sql, patience, &plan, error);
    if (outcome == LK_OK && touches_store(store, plan)) {
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
    struct lk_mysql_shape shape;
    lk_outcome outcome = lk_mysql_shape_get(store, source, patience, &shape, error);

    if (outcome == LK_OK) {
        outcome = check_query(store, source, &shape, patience, error);
    }
    if (outcome == LK_OK) {
        outcome = check_done(store, source, patience, error);
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
