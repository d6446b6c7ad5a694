/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the database reports about a source (R17), and whether the owner's SQL can be used. EXPLAIN
 * answers that: it parses, plans and checks rights, and runs nothing.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/postgresql/source.h"

enum { TABLE_BYTES_MAX = 2 * LK_POSTGRESQL_NAME_MAX + 1 };

/* ---- the table ------------------------------------------------------------------------------- */

/*
 * The table by its exact name, or with its schema before a dot; or in lower case, as SQL reads a
 * name without quotes. The column likewise. The table's name is looked up by the caller's
 * search_path, in which other roles may have functions and operators that fit better: those here
 * are named.
 */
#define P "pg_catalog."
#define EQUALS " OPERATOR(pg_catalog.=) "
#define JOIN_TEXT " OPERATOR(pg_catalog.||) "
static const char question[] =
    "WITH given (t, c, dot) AS (SELECT $1::" P "text, $2::" P "text, position('.' IN $1::" P "text)"
    "), named (oid, n) AS ("
    " SELECT " P "to_regclass(" P "quote_ident(g.t)), 1 FROM given AS g"
    " UNION ALL SELECT " P "to_regclass(" P "quote_ident(" P "split_part(g.t, '.', 1))" JOIN_TEXT
    "  '.'" JOIN_TEXT P "quote_ident(" P
    "substr(g.t, g.dot OPERATOR(pg_catalog.+) 1))), 2 FROM given AS g"
    "  WHERE g.dot OPERATOR(pg_catalog.>) 0"
    " UNION ALL SELECT " P "to_regclass(" P "quote_ident(" P "lower(g.t))), 3 FROM given AS g"
    " UNION ALL SELECT " P "to_regclass(" P "quote_ident(" P "lower(" P
    "split_part(g.t, '.', 1)))" JOIN_TEXT "'.'" JOIN_TEXT P "quote_ident(" P "lower(" P
    "substr(g.t, g.dot OPERATOR(pg_catalog.+) 1)))), 4"
    "  FROM given AS g WHERE g.dot OPERATOR(pg_catalog.>) 0)"
    " SELECT " P "format('%I.%I', s.nspname, c.relname), c.relname,"
    "  " P "quote_ident(c.relname)" JOIN_TEXT "'.'" JOIN_TEXT P "quote_ident(a.attname), a.attname,"
    "  y.typcategory, " P "format_type(a.atttypid, -1),"
    "  CASE WHEN y.typbasetype" EQUALS "0::" P "oid THEN y.oid ELSE y.typbasetype END"
    " FROM (SELECT n.oid::" P "oid AS oid FROM named AS n WHERE n.oid IS NOT NULL"
    "  ORDER BY n.n LIMIT 1) AS f"
    " JOIN " P "pg_class AS c ON c.oid" EQUALS "f.oid"
    " JOIN " P "pg_namespace AS s ON s.oid" EQUALS "c.relnamespace"
    " CROSS JOIN given AS g"
    " LEFT JOIN LATERAL (SELECT b.attname, b.atttypid FROM " P "pg_attribute AS b"
    "  WHERE b.attrelid" EQUALS "c.oid AND b.attnum OPERATOR(pg_catalog.>) 0 AND NOT b.attisdropped"
    "   AND (b.attname::" P "text" EQUALS "g.c OR b.attname::" P "text" EQUALS P "lower(g.c))"
    "  ORDER BY b.attname::" P "text" EQUALS "g.c DESC LIMIT 1) AS a ON true"
    " LEFT JOIN " P "pg_type AS y ON y.oid" EQUALS "a.atttypid";

enum { TABLE, TABLE_NAME, COLUMN, COLUMN_NAME, CATEGORY, TYPE_NAME, BASE_TYPE };

/*
 * The function that makes an id of this type from a segment. NULL: ids of this type are not
 * supported.
 */
static const char *function_of(char category, int64_t base) {
    enum { INT8 = 20, INT2 = 21, INT4 = 23, UUID = 2950, NUMERIC = 1700 };

    switch (base) {
    case INT2:
    case INT4:
    case INT8:
        return "row_integer";
    case NUMERIC:
        return "row_numeric";
    case UUID:
        return "row_uuid";
    default:
        return category == 'S' ? "row_text" : NULL;
    }
}

static lk_outcome read_info(const struct lk_rows *rows, const struct lk_source *source,
                            struct lk_postgresql_table_info *info, lk_error *error) {
    if (rows->count != 1) {
        return lk_error_set(error, LK_INVALID, "R17: no such table: %.*s", (int)source->table.size,
                            source->table.bytes);
    }
    if (lk_row_is_null(rows, 0, COLUMN_NAME)) {
        return lk_error_set(error, LK_INVALID, "R17: no such column: %s.%.*s",
                            lk_row_text(rows, 0, TABLE_NAME).bytes, (int)source->id_column.size,
                            source->id_column.bytes);
    }
    info->function =
        function_of(lk_row_text(rows, 0, CATEGORY).bytes[0], lk_row_integer(rows, 0, BASE_TYPE));
    if (info->function == NULL) {
        return lk_error_set(error, LK_INVALID,
                            "R17: the column %s is of type %s; ids are whole numbers, texts or "
                            "uuids",
                            lk_row_text(rows, 0, COLUMN).bytes,
                            lk_row_text(rows, 0, TYPE_NAME).bytes);
    }
    (void)snprintf(info->table, sizeof info->table, "%s", lk_row_text(rows, 0, TABLE).bytes);
    (void)snprintf(info->column, sizeof info->column, "%s", lk_row_text(rows, 0, COLUMN).bytes);
    (void)snprintf(info->type, sizeof info->type, "%s", lk_row_text(rows, 0, TYPE_NAME).bytes);
    return LK_OK;
}

static lk_outcome ask_info(struct lk_postgresql *store, const struct lk_source *source,
                           const struct lk_patience *patience,
                           struct lk_postgresql_table_info *info, lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{question, 0, 2}}, .step_count = 1, .repeat = LK_READING};
    lk_outcome outcome;

    lk_arguments_init(&transaction.arguments, LK_LISTS_ARRAYS);
    lk_arguments_add_text(&transaction.arguments, source->table);
    lk_arguments_add_text(&transaction.arguments, source->id_column);
    outcome = lk_procedures_transact(&store->common, &transaction, patience, error);
    if (outcome == LK_OK) {
        outcome = read_info(transaction.rows[0], source, info, error);
    }
    lk_transaction_done(&transaction);
    return outcome;
}

/* ---- the owner's SQL ------------------------------------------------------------------------- */

/* Runs EXPLAIN of a statement; `told`: it may refer to an id, a token, an owner. */
static lk_outcome explain(struct lk_postgresql *store, const char *what, const char *sql, bool told,
                          const struct lk_patience *patience, struct lk_rows **ret_plan,
                          lk_error *error) {
    struct lk_transaction transaction = {
        .steps = {{sql, 0, told ? 3 : 0}}, .step_count = 1, .repeat = LK_READING};

    lk_arguments_init(&transaction.arguments, LK_LISTS_ARRAYS);
    lk_arguments_add_null(&transaction.arguments);
    lk_arguments_add_integer(&transaction.arguments, 0);
    lk_arguments_add_null(&transaction.arguments);
    return lk_transaction_read(&store->common, &transaction, what, patience, ret_plan, error);
}

/*
 * Checks the owner's text alone, so that an error is not reported in the middle of the store's SQL.
 */
static lk_outcome check_query(struct lk_postgresql *store, const struct lk_source *source,
                              const struct lk_postgresql_table_info *info,
                              const struct lk_patience *patience, const char *lock,
                              lk_error *error) {
    bool is_ordered = source->order.size > 0;
    bool has_where = source->where.size > 0;
    struct lk_rows *plan = NULL;
    char *sql = lk_text_make("EXPLAIN SELECT %s FROM %s WHERE (\n%.*s\n) %s\n%.*s\n LIMIT 1 %s",
                             info->column, info->table, has_where ? (int)source->where.size : 4,
                             has_where ? source->where.bytes : "true", is_ordered ? "ORDER BY" : "",
                             (int)source->order.size, is_ordered ? source->order.bytes : "", lock);
    lk_outcome outcome;

    if (sql == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome =
        explain(store, "the table, its id, --where or --order", sql, false, patience, &plan, error);
    lk_rows_free(plan);
    free(sql);
    return outcome;
}

/* The plan names the schema of every table that it uses. */
static bool touches_store(const struct lk_postgresql *store, const struct lk_rows *plan) {
    char sign[LK_POSTGRESQL_SCHEMA_MAX + 16];
    bool touches = false;

    (void)snprintf(sign, sizeof sign, "\"Schema\": \"%s\"", store->address.schema);
    for (int row = 0; row < plan->count && !touches; row++) {
        touches = strstr(lk_row_text(plan, row, 0).bytes, sign) != NULL;
    }
    return touches;
}

static lk_outcome check_plan(struct lk_postgresql *store, const char *done,
                             const struct lk_patience *patience, lk_error *error) {
    static const char what[] = "the --done statement";
    struct lk_rows *plan = NULL;
    char *sql = lk_text_make("EXPLAIN (VERBOSE, COSTS OFF, FORMAT JSON) %s", done);
    lk_outcome outcome;

    if (sql == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    outcome = explain(store, what, sql, true, patience, &plan, error);
    if (outcome == LK_OK && touches_store(store, plan)) {
        outcome = lk_error_set(error, LK_INVALID,
                               "R17: %s: it must not touch the store's own tables", what);
    }
    lk_rows_free(plan);
    free(sql);
    return outcome;
}

static lk_outcome check_done(struct lk_postgresql *store, const struct lk_source *source,
                             const struct lk_postgresql_table_info *info,
                             const struct lk_patience *patience, lk_error *error) {
    struct lk_statement done = {.text = NULL};
    lk_outcome outcome = lk_postgresql_done_make(store, info, source, &done, error);

    if (outcome == LK_OK && done.text != NULL && !lk_statement_is_call(&done)) {
        outcome = check_plan(store, done.text, patience, error);
    }
    free(done.text);
    return outcome;
}

/* ---- what is remembered ---------------------------------------------------------------------- */

static bool is_same(const struct lk_postgresql_known *known, const struct lk_source *source) {
    return lk_slice_equal(lk_slice_of(known->table), source->table)
           && lk_slice_equal(lk_slice_of(known->id_column), source->id_column);
}

/* The mutex is held. NULL: it is not remembered. */
static struct lk_postgresql_known *find_known(struct lk_postgresql *store,
                                              const struct lk_source *source) {
    for (size_t i = 0; i < LK_POSTGRESQL_KNOWN_MAX; i++) {
        if (store->known[i].info != NULL && is_same(&store->known[i], source)) {
            return &store->known[i];
        }
    }
    return NULL;
}

static bool recall(struct lk_postgresql *store, const struct lk_source *source,
                   struct lk_postgresql_table_info *ret_info) {
    const struct lk_postgresql_known *known;

    pthread_mutex_lock(&store->common.mutex);
    known = find_known(store, source);
    if (known != NULL) {
        *ret_info = *known->info;
    }
    pthread_mutex_unlock(&store->common.mutex);
    return known != NULL;
}

static void remember(struct lk_postgresql *store, const struct lk_source *source,
                     const struct lk_postgresql_table_info *info) {
    struct lk_postgresql_table_info *copy = malloc(sizeof *copy);
    struct lk_postgresql_known *known;

    if (copy == NULL) {
        return; /* not remembered: the next call queries it again */
    }
    *copy = *info;
    pthread_mutex_lock(&store->common.mutex);
    known = find_known(store, source);
    if (known == NULL) {
        known = &store->known[store->known_next];
        store->known_next = (store->known_next + 1) % LK_POSTGRESQL_KNOWN_MAX;
    }
    free(known->info);
    known->info = copy;
    (void)snprintf(known->table, sizeof known->table, "%.*s", (int)source->table.size,
                   source->table.bytes);
    (void)snprintf(known->id_column, sizeof known->id_column, "%.*s", (int)source->id_column.size,
                   source->id_column.bytes);
    pthread_mutex_unlock(&store->common.mutex);
}

void lk_postgresql_table_infos_done(struct lk_postgresql *store) {
    for (size_t i = 0; i < LK_POSTGRESQL_KNOWN_MAX; i++) {
        free(store->known[i].info);
    }
}

/* ---- all together ---------------------------------------------------------------------------- */

static lk_outcome query_table(struct lk_postgresql *store, const struct lk_source *source,
                              const struct lk_patience *patience,
                              struct lk_postgresql_table_info *info, lk_error *error) {
    lk_outcome outcome;

    if (source->table.size > TABLE_BYTES_MAX || source->id_column.size > LK_POSTGRESQL_NAME_MAX) {
        return lk_error_set(error, LK_INVALID, "R17: PostgreSQL's names have at most %d bytes",
                            LK_POSTGRESQL_NAME_MAX);
    }
    outcome = ask_info(store, source, patience, info, error);
    if (outcome == LK_OK) {
        outcome = check_query(store, source, info, patience, "", error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = check_query(store, source, info, patience, "FOR NO KEY UPDATE SKIP LOCKED", error);
    info->is_lockable = outcome == LK_OK;
    return outcome == LK_INVALID || outcome == LK_DENIED ? LK_OK : outcome;
}

lk_outcome lk_postgresql_table_info_get(struct lk_postgresql *store, const struct lk_source *source,
                                        const struct lk_patience *patience,
                                        struct lk_postgresql_table_info *ret_info,
                                        lk_error *error) {
    struct lk_postgresql_table_info info = {.function = NULL};
    lk_outcome outcome = LK_OK;

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

lk_outcome lk_postgresql_table_check(struct lk_engine *engine, const struct lk_source *source,
                                     const struct lk_patience *patience, lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(engine);
    struct lk_postgresql_table_info info = {.function = NULL};
    lk_outcome outcome = query_table(store, source, patience, &info, error);

    if (outcome == LK_OK) {
        remember(store, source, &info);
    }
    if (outcome == LK_OK) {
        outcome = check_done(store, source, &info, patience, error);
    }
    return outcome == LK_OK ? lk_error_clear(error, LK_OK) : outcome;
}
