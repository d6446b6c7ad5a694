/* SPDX-License-Identifier: Apache-2.0 */
/* Statements out of the owner's SQL (R17), each as long as it needs to be. */
#include "engine/postgresql/source.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"

static int size_of(struct lk_slice text) {
    return (int)text.size;
}

static struct lk_slice where_of(const struct lk_source *source) {
    return source->where.size > 0 ? source->where : lk_slice_of("true");
}

/* The id of a row as a segment. */
static char *segment_of(const struct lk_postgresql *store,
                        const struct lk_postgresql_shape *shape) {
    return lk_text_make("%s.row_id(%s::pg_catalog.text)", store->place.schema, shape->column);
}

/* `FROM table WHERE` its row is that of a segment, and fits. `segment` is a column of ours. */
static char *row_of(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                    const struct lk_source *source, const char *segment) {
    const char *schema = store->place.schema;
    struct lk_slice where = where_of(source);
    /* Texts are compared as their own type: varchar, citext, ...; so an index will do. */
    bool is_text = strcmp(shape->function, "row_text") == 0;
    char *own = segment_of(store, shape);
    char *text = own == NULL
                     ? NULL
                     : lk_text_make("FROM %s WHERE %s = %s.%s(%s)%s%s AND %s = %s AND (\n%.*s\n)",
                                    shape->table, shape->column, schema, shape->function, segment,
                                    is_text ? "::" : "", is_text ? shape->type : "", own, segment,
                                    size_of(where), where.bytes);

    free(own);
    return text;
}

static const char *lock_of(const struct lk_postgresql_shape *shape) {
    return shape->is_lockable ? " FOR NO KEY UPDATE SKIP LOCKED" : "";
}

static char *find_text(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                       const struct lk_source *source) {
    static const char find[] =
        "SELECT %s FROM %s WHERE (\n%.*s\n) AND %s IS NOT NULL"
        " AND NOT EXISTS (SELECT FROM %s.items AS lk_item"
        "  WHERE lk_item.queue = $1 AND lk_item.id = %s)"
        " AND NOT EXISTS (SELECT FROM %s.done_rows AS lk_done"
        "  WHERE lk_done.queue = $1 AND lk_done.id = %s) %s\n%.*s\n LIMIT $2";
    const char *schema = store->place.schema;
    struct lk_slice where = where_of(source);
    bool is_ordered = source->order.size > 0;
    char *own = segment_of(store, shape);
    char *text = own == NULL
                     ? NULL
                     : lk_text_make(find, own, shape->table, size_of(where), where.bytes, own,
                                    schema, own, schema, own, is_ordered ? "ORDER BY" : "",
                                    size_of(source->order), is_ordered ? source->order.bytes : "");

    free(own);
    return text;
}

static char *marks_text(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                        const struct lk_source *source) {
    char *row = row_of(store, shape, source, "lk_mark.id");
    char *text = row == NULL ? NULL
                             : lk_text_make("SELECT lk_mark.id, EXISTS (SELECT %s)"
                                            " FROM %s.marks_after($1, $2, $3) AS lk_mark",
                                            row, store->place.schema);

    free(row);
    return text;
}

/*
 * Item after item until $11 rows are locked, so one by one (LATERAL). A row that somebody else has
 * locked is passed over: another worker is taking it, or the owner's program is changing it.
 */
static char *take_text(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                       const struct lk_source *source) {
    static const char take[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.take_row($1, $3::text[], $2, $4, $5,"
        " $6::integer, $7,"
        " $8, $9, $10, ARRAY("
        "SELECT lk_item.number FROM %s.ready_items($1, $9, $10) AS lk_item"
        " CROSS JOIN LATERAL (SELECT %s LIMIT 1%s) AS lk_row LIMIT $11)) AS t";
    const char *schema = store->place.schema;
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row != NULL ? lk_text_make(take, schema, schema, row, lock_of(shape)) : NULL;

    free(row);
    return text;
}

static char *drop_text(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                       const struct lk_source *source) {
    static const char drop[] =
        "SELECT %s.drop_items($2, ARRAY(SELECT lk_item.number"
        " FROM %s.ready_items($1, $3, $4) AS lk_item WHERE NOT EXISTS (SELECT %s)))";
    const char *schema = store->place.schema;
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row != NULL ? lk_text_make(drop, schema, schema, row) : NULL;

    free(row);
    return text;
}

/* `function`: finish_row or finish_row_shared. */
static char *end_text(const struct lk_postgresql *store, const struct lk_postgresql_shape *shape,
                      const struct lk_source *source, const char *function) {
    struct lk_slice where = where_of(source);

    return lk_text_make("SELECT %s.%s($1, $2, $3, $4, $5,"
                        " EXISTS (SELECT FROM %s WHERE %s = $6::%s AND (\n%.*s\n)))",
                        store->place.schema, function, shape->table, shape->column, shape->type,
                        size_of(where), where.bytes);
}

/* ---- short ways ------------------------------------------------------------------------------ */

/* One item, named by the store: its row is looked at and locked, then the store claims it. */
static char *take_short_text(const struct lk_postgresql *store,
                             const struct lk_postgresql_shape *shape,
                             const struct lk_source *source) {
    static const char take[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.next_item($1) AS lk_item"
        " CROSS JOIN LATERAL %s.take_row_shared($1, $3::text[], $2, $4, $5, $6::integer, $7, $8,"
        "  lk_item.number, EXISTS (SELECT %s%s)) AS t";
    const char *schema = store->place.schema;
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row == NULL ? NULL : lk_text_make(take, schema, schema, row, lock_of(shape));

    free(row);
    return text;
}

static char *end_and_take_text(const struct lk_postgresql *store,
                               const struct lk_postgresql_shape *shape,
                               const struct lk_source *source) {
    static const char end[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.next_item($1) AS lk_item"
        " CROSS JOIN LATERAL %s.finish_and_take_row($1, $2, $3, $4, $5,"
        "  EXISTS (SELECT FROM %s WHERE %s = $6::%s AND (\n%.*s\n)),"
        "  $7::text[], $8, $9::integer, $10, $11, lk_item.number, EXISTS (SELECT %s%s)) AS t";
    const char *schema = store->place.schema;
    struct lk_slice where = where_of(source);
    char *row = row_of(store, shape, source, "lk_item.id");
    char *text = row == NULL
                     ? NULL
                     : lk_text_make(end, schema, schema, shape->table, shape->column, shape->type,
                                    size_of(where), where.bytes, row, lock_of(shape));

    free(row);
    return text;
}

/* The store's own, around them. */
static char *plain_text(const struct lk_postgresql *store, const char *call) {
    return lk_text_make("SELECT %s.%s", store->place.schema, call);
}

lk_outcome lk_postgresql_done_make(const struct lk_postgresql *store,
                                   const struct lk_postgresql_shape *shape,
                                   const struct lk_source *source, struct lk_statement *ret_done,
                                   lk_error *error) {
    char attempt[LK_POSTGRESQL_SCHEMA_MAX + 80];
    char id[sizeof shape->type + 16];
    const struct lk_dialect dialect = {
        /* begin_finish() has said which attempt it is; nobody has, when it is only looked at. */
        .replacements = {id, "$2", "$3", attempt},
        .has_dollars = true,
        .nests_comments = true,
    };
    lk_outcome outcome;

    if (source->done.size == 0) {
        return LK_OK;
    }
    (void)snprintf(id, sizeof id, "$1::%s", shape->type);
    (void)snprintf(attempt, sizeof attempt,
                   "nullif(pg_catalog.current_setting('%s.attempt', true), '')::integer",
                   store->place.schema);
    outcome = lk_statement_make(source->done, &dialect, ret_done, error);
    if (outcome == LK_OK) {
        ret_done->count = 3; /* each by its number, used or not */
        ret_done->parameters[0] = LK_PARAMETER_ID;
        ret_done->parameters[1] = LK_PARAMETER_TOKEN;
        ret_done->parameters[2] = LK_PARAMETER_OWNER;
    }
    return outcome;
}

lk_outcome lk_postgresql_table_open(struct lk_procedures *common, const struct lk_source *source,
                                    const struct lk_patience *patience, struct lk_table *ret_table,
                                    lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(&common->engine);
    struct lk_table table = {.done = {.text = NULL}};
    struct lk_postgresql_shape shape;
    lk_outcome outcome = lk_postgresql_shape_get(store, source, patience, &shape, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_postgresql_done_make(store, &shape, source, &table.done, error);
    table.texts[LK_TABLE_FIND] = find_text(store, &shape, source);
    table.texts[LK_TABLE_MARKS] = marks_text(store, &shape, source);
    table.texts[LK_TABLE_RIPEN] = plain_text(store, "table_ripen($1, $2)");
    table.texts[LK_TABLE_TAKE] = take_text(store, &shape, source);
    table.texts[LK_TABLE_DROP] = drop_text(store, &shape, source);
    table.texts[LK_TABLE_BEGIN] = plain_text(store, "begin_finish($1, $2, $4, $5)");
    table.texts[LK_TABLE_END] = end_text(store, &shape, source, "finish_row");
    table.texts[LK_TABLE_TAKE_SHORT] = take_short_text(store, &shape, source);
    table.texts[LK_TABLE_BEGIN_SHORT] =
        plain_text(store, "begin_finish_shared($1, $2, $3, $4, $5)");
    table.texts[LK_TABLE_END_SHORT] = end_text(store, &shape, source, "finish_row_shared");
    table.texts[LK_TABLE_END_AND_TAKE_SHORT] = end_and_take_text(store, &shape, source);
    if (outcome == LK_OK && !lk_table_is_whole(&table)) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (outcome != LK_OK) {
        lk_table_done(&table);
        return outcome;
    }
    *ret_table = table;
    return LK_OK;
}
