/* SPDX-License-Identifier: Apache-2.0 */
/* Statements out of the owner's SQL (R17), each as long as it needs to be. */
#include "engine/postgresql/source.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "engine/statement.h"

static char *format(const char *text, ...) __attribute__((format(printf, 1, 2)));

static char *format(const char *text, ...) {
    char *made = NULL;
    va_list arguments;

    va_start(arguments, text);
    if (vasprintf(&made, text, arguments) < 0) {
        made = NULL;
    }
    va_end(arguments);
    return made;
}

static int size_of(struct lk_slice text) {
    return (int)text.size;
}

static struct lk_slice where_of(const struct lk_source *source) {
    return source->where.size > 0 ? source->where : lk_slice_of("true");
}

/* The id of a row as a segment. */
static char *segment_of(const struct lk_postgresql *store,
                        const struct lk_postgresql_shape *shape) {
    return format("%s.row_id(%s::pg_catalog.text)", store->place.schema, shape->column);
}

/* `FROM table WHERE` its row is that of a segment, and fits. `segment` is a column of ours. */
static char *row_of(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                    const struct lk_source *source, const char *segment) {
    const char *schema = store->place.schema;
    struct lk_slice where = where_of(source);
    char *own = segment_of(store, shape);
    char *text = own == NULL ? NULL
                             : format("FROM %s WHERE %s = %s.%s(%s)%s AND %s = %s AND (\n%.*s\n)",
                                      shape->table, shape->column, schema, shape->function, segment,
                                      shape->cast, own, segment, size_of(where), where.bytes);

    free(own);
    return text;
}

char *lk_postgresql_text_find(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source) {
    static const char find[] =
        "SELECT %s FROM %s WHERE (\n%.*s\n) AND %s IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM %s.items AS lk_item"
        "  WHERE lk_item.queue = $1 AND lk_item.id = %s)"
        " AND NOT EXISTS (SELECT FROM %s.done_rows AS lk_done"
        "  WHERE lk_done.queue = $1 AND lk_done.id = %s) %s\n%.*s\n"
        " LIMIT CASE WHEN $3 > 0 AND %s.ready_count($1, $3) >= $3 THEN 0 ELSE $2 END";
    const char *schema = store->place.schema;
    struct lk_slice where = where_of(source);
    bool is_ordered = source->order.size > 0;
    char *own = segment_of(store, shape);
    char *text =
        own == NULL
            ? NULL
            : format(find, own, shape->table, size_of(where), where.bytes, own, schema, own, schema,
                     own, is_ordered ? "ORDER BY" : "", size_of(source->order),
                     is_ordered ? source->order.bytes : "", schema);

    free(own);
    return text;
}

char *lk_postgresql_text_marks(const struct lk_postgresql *store,
                               const struct lk_postgresql_shape *shape,
                               const struct lk_source *source) {
    char *row = row_of(store, shape, source, "lk_mark.id");
    char *text = row == NULL ? NULL
                             : format("SELECT lk_mark.id, EXISTS (SELECT %s)"
                                      " FROM %s.marks_after($1, $2, $3) AS lk_mark",
                                      row, store->place.schema);

    free(row);
    return text;
}

/*
 * Item after item until $11 rows are locked, so one by one (LATERAL). A row that somebody else has
 * locked is passed over: another worker is taking it, or the owner's program is changing it.
 */
char *lk_postgresql_text_take(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source) {
    static const char take[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.take_row($1, $3, $2, $4, $5, $6, $7,"
        " $8, $9, $10, ARRAY("
        "SELECT lk_item.number FROM %s.ready_items($1, $9, $10) AS lk_item"
        " CROSS JOIN LATERAL (SELECT %s LIMIT 1%s) AS lk_row LIMIT $11)) AS t";
    const char *schema = store->place.schema;
    const char *lock = shape->is_lockable ? " FOR NO KEY UPDATE SKIP LOCKED" : "";
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row != NULL ? format(take, schema, schema, row, lock) : NULL;

    free(row);
    return text;
}

char *lk_postgresql_text_drop(const struct lk_postgresql *store,
                              const struct lk_postgresql_shape *shape,
                              const struct lk_source *source) {
    static const char drop[] =
        "SELECT %s.drop_items($2, ARRAY(SELECT lk_item.number"
        " FROM %s.ready_items($1, $3, $4) AS lk_item WHERE NOT EXISTS (SELECT %s)))";
    const char *schema = store->place.schema;
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row != NULL ? format(drop, schema, schema, row) : NULL;

    free(row);
    return text;
}

char *lk_postgresql_text_end(const struct lk_postgresql *store,
                             const struct lk_postgresql_shape *shape,
                             const struct lk_source *source) {
    struct lk_slice where = where_of(source);

    return format("SELECT %s.finish_row($1, $2, $3, $4, $5,"
                  " EXISTS (SELECT FROM %s WHERE %s = $6 AND (\n%.*s\n)))",
                  store->place.schema, shape->table, shape->column, size_of(where), where.bytes);
}

lk_outcome lk_postgresql_text_done(const struct lk_postgresql *store,
                                   const struct lk_source *source, char **ret_text,
                                   lk_error *error) {
    char attempt[LK_POSTGRESQL_SCHEMA_MAX + 80];
    const struct lk_dialect dialect = {
        /* begin_finish() has said which attempt it is; nobody has, when it is only looked at. */
        .replacements = {"$1", "$2", "$3", attempt},
        .has_dollars = true,
        .nests_comments = true,
    };
    struct lk_statement statement;
    lk_outcome outcome;

    (void)snprintf(attempt, sizeof attempt,
                   "nullif(pg_catalog.current_setting('%s.attempt', true), '')::integer",
                   store->place.schema);
    outcome = lk_statement_make(source->done, &dialect, &statement, error);
    if (outcome == LK_OK) {
        *ret_text = statement.text;
    }
    return outcome;
}

/* ---- what went wrong ------------------------------------------------------------------------- */

bool lk_postgresql_has_failed_with(const PGresult *failure, const char *code) {
    const char *found = PQresultErrorField(failure, PG_DIAG_SQLSTATE);

    return found != NULL && strcmp(found, code) == 0;
}

/* Classes of errors that are the server's: of the connection, rollbacks, means, its operators. */
static bool is_of_server(const char *code) {
    static const char *const classes[] = {"08", "40", "53", "58", "XX", "57P"};

    for (size_t i = 0; i < sizeof classes / sizeof classes[0]; i++) {
        if (strncmp(code, classes[i], strlen(classes[i])) == 0) {
            return strcmp(code, "08P01") != 0; /* too few arguments */
        }
    }
    return false;
}

lk_outcome lk_postgresql_blame(const PGresult *failure, const char *what, lk_outcome outcome,
                               lk_error *error) {
    const char *code = failure != NULL ? PQresultErrorField(failure, PG_DIAG_SQLSTATE) : NULL;
    const char *message =
        failure != NULL ? PQresultErrorField(failure, PG_DIAG_MESSAGE_PRIMARY) : NULL;

    if (code == NULL || message == NULL || is_of_server(code)) {
        return outcome;
    }
    if (strcmp(code, "08P01") == 0 || strcmp(code, "42P02") == 0) {
        message = "it has parameters ($1) that nobody gives it";
    }
    return lk_error_set(error, LK_INVALID, "R17: %s: %.400s", what, message);
}
