/* SPDX-License-Identifier: Apache-2.0 */
/* Builds statements from the owner's SQL (R17), each as long as it needs to be. */
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
                        const struct lk_postgresql_table_info *info) {
    return lk_text_make("%s.row_id(%s::pg_catalog.text)", store->address.schema, info->column);
}

/*
 * `FROM table WHERE` for the row of a segment, if it matches. `segment` is a column of the store's.
 */
static char *row_of(const struct lk_postgresql *store, const struct lk_postgresql_table_info *info,
                    const struct lk_source *source, const char *segment) {
    const char *schema = store->address.schema;
    struct lk_slice where = where_of(source);
    /* Texts are compared in their own type (varchar, citext, ...), so that an index can be used. */
    bool is_text = strcmp(info->function, "row_text") == 0;
    char *own = segment_of(store, info);
    char *text = own == NULL
                     ? NULL
                     : lk_text_make("FROM %s WHERE %s = %s.%s(%s)%s%s AND %s = %s AND (\n%.*s\n)",
                                    info->table, info->column, schema, info->function, segment,
                                    is_text ? "::" : "", is_text ? info->type : "", own, segment,
                                    size_of(where), where.bytes);

    free(own);
    return text;
}

static const char *lock_of(const struct lk_postgresql_table_info *info) {
    return info->is_lockable ? " FOR NO KEY UPDATE SKIP LOCKED" : "";
}

static char *find_text(const struct lk_postgresql *store,
                       const struct lk_postgresql_table_info *info,
                       const struct lk_source *source) {
    static const char find[] =
        "SELECT %s FROM %s WHERE (\n%.*s\n) AND pg_catalog.octet_length(%s) <= %d"
        " AND NOT EXISTS (SELECT FROM %s.items AS lk_item"
        "  WHERE lk_item.queue = $1 AND lk_item.id = %s)"
        " AND NOT EXISTS (SELECT FROM %s.done_rows AS lk_done"
        "  WHERE lk_done.queue = $1 AND lk_done.id = %s) %s\n%.*s\n LIMIT $2";
    const char *schema = store->address.schema;
    struct lk_slice where = where_of(source);
    bool is_ordered = source->order.size > 0;
    char *own = segment_of(store, info);
    char *text = own == NULL
                     ? NULL
                     : lk_text_make(find, own, info->table, size_of(where), where.bytes, own,
                                    (int)lk_source_id_max(source), schema, own, schema, own,
                                    is_ordered ? "ORDER BY" : "", size_of(source->order),
                                    is_ordered ? source->order.bytes : "");

    free(own);
    return text;
}

static char *skipped_text(const struct lk_postgresql *store,
                          const struct lk_postgresql_table_info *info,
                          const struct lk_source *source) {
    static const char skipped[] =
        "SELECT pg_catalog.\"left\"(t.id, %d), pg_catalog.octet_length(t.id)"
        " FROM (SELECT %s::pg_catalog.text AS id, %s AS own FROM %s WHERE (\n%.*s\n) OFFSET 0) AS t"
        " WHERE (pg_catalog.octet_length(t.own) <= %d) IS NOT TRUE LIMIT %d";
    struct lk_slice where = where_of(source);
    char *own = segment_of(store, info);
    char *text = own == NULL ? NULL
                             : lk_text_make(skipped, LK_SKIPPED_ID_BYTES, info->column, own,
                                            info->table, size_of(where), where.bytes,
                                            (int)lk_source_id_max(source), LK_SKIPPED_MAX);

    free(own);
    return text;
}

/* `function`: marks_after or parked_after; `position`: its column. */
static char *purged_text(const struct lk_postgresql *store,
                         const struct lk_postgresql_table_info *info,
                         const struct lk_source *source, const char *function,
                         const char *position) {
    char *row = row_of(store, info, source, "lk_known.id");
    char *text = row == NULL ? NULL
                             : lk_text_make("SELECT lk_known.id, EXISTS (SELECT %s), lk_known.%s"
                                            " FROM %s.%s($1, $2, $3) AS lk_known",
                                            row, position, store->address.schema, function);

    free(row);
    return text;
}

/*
 * Works through items one by one (LATERAL), until $11 rows are locked. A row that another
 * transaction has locked is skipped: another worker is taking it, or the owner's program is
 * changing it.
 */
static char *take_text(const struct lk_postgresql *store,
                       const struct lk_postgresql_table_info *info,
                       const struct lk_source *source) {
    static const char take[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.take_row($1, $3::text[], $2, $4, $5,"
        " $6::integer, $7,"
        " $8, $9, $10, ARRAY("
        "SELECT lk_item.number FROM %s.ready_items($1, $9, $10) AS lk_item"
        " CROSS JOIN LATERAL (SELECT %s LIMIT 1%s) AS lk_row LIMIT $11)) AS t";
    const char *schema = store->address.schema;
    char *row = row_of(store, info, source, "lk_item.id");
    char *text = row != NULL ? lk_text_make(take, schema, schema, row, lock_of(info)) : NULL;

    free(row);
    return text;
}

static char *drop_text(const struct lk_postgresql *store,
                       const struct lk_postgresql_table_info *info,
                       const struct lk_source *source) {
    static const char drop[] =
        "SELECT %s.drop_items($2, ARRAY(SELECT lk_item.number"
        " FROM %s.ready_items($1, $3, $4) AS lk_item WHERE NOT EXISTS (SELECT %s)))";
    const char *schema = store->address.schema;
    char *row = row_of(store, info, source, "lk_item.id");
    char *text = row != NULL ? lk_text_make(drop, schema, schema, row) : NULL;

    free(row);
    return text;
}

/* `function`: finish_row or finish_row_shared. */
static char *end_text(const struct lk_postgresql *store,
                      const struct lk_postgresql_table_info *info, const struct lk_source *source,
                      const char *function) {
    struct lk_slice where = where_of(source);

    return lk_text_make("SELECT %s.%s($1, $2, $3, $4, $5,"
                        " EXISTS (SELECT FROM %s WHERE %s = $6::%s AND (\n%.*s\n)))",
                        store->address.schema, function, info->table, info->column, info->type,
                        size_of(where), where.bytes);
}

/* ---- short ways ------------------------------------------------------------------------------ */

/* One item, named by the store: its row is checked and locked, then the store claims it. */
static char *take_short_text(const struct lk_postgresql *store,
                             const struct lk_postgresql_table_info *info,
                             const struct lk_source *source) {
    static const char take[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.next_item($1) AS lk_item"
        " CROSS JOIN LATERAL %s.take_row_shared($1, $3::text[], $2, $4, $5, $6::integer, $7, $8,"
        "  lk_item.number, EXISTS (SELECT %s%s)) AS t";
    const char *schema = store->address.schema;
    char *row = row_of(store, info, source, "lk_item.id");
    char *text = row == NULL ? NULL : lk_text_make(take, schema, schema, row, lock_of(info));

    free(row);
    return text;
}

static char *end_and_take_text(const struct lk_postgresql *store,
                               const struct lk_postgresql_table_info *info,
                               const struct lk_source *source) {
    static const char end[] =
        "SELECT (t.taken).*, t.looked, t.portion_end FROM %s.next_item($1) AS lk_item"
        " CROSS JOIN LATERAL %s.finish_and_take_row($1, $2, $3, $4, $5,"
        "  EXISTS (SELECT FROM %s WHERE %s = $6::%s AND (\n%.*s\n)),"
        "  $7::text[], $8, $9::integer, $10, $11, lk_item.number, EXISTS (SELECT %s%s)) AS t";
    const char *schema = store->address.schema;
    struct lk_slice where = where_of(source);
    char *row = row_of(store, info, source, "lk_item.id");
    char *text = row == NULL
                     ? NULL
                     : lk_text_make(end, schema, schema, info->table, info->column, info->type,
                                    size_of(where), where.bytes, row, lock_of(info));

    free(row);
    return text;
}

/* The statements of the store itself, before and after the owner's. */
static char *plain_text(const struct lk_postgresql *store, const char *call) {
    return lk_text_make("SELECT %s.%s", store->address.schema, call);
}

lk_outcome lk_postgresql_done_make(const struct lk_postgresql *store,
                                   const struct lk_postgresql_table_info *info,
                                   const struct lk_source *source, struct lk_statement *ret_done,
                                   lk_error *error) {
    char attempt[LK_POSTGRESQL_SCHEMA_MAX + 80];
    char id[sizeof info->type + 16];
    const struct lk_dialect dialect = {
        /* begin_finish() sets the attempt; when the statement is only checked, it is not set */
        .replacements = {id, "$2", "$3", attempt},
        .has_dollars = true,
        .nests_comments = true,
    };
    lk_outcome outcome;

    if (source->done.size == 0) {
        return LK_OK;
    }
    (void)snprintf(id, sizeof id, "$1::%s", info->type);
    (void)snprintf(attempt, sizeof attempt,
                   "nullif(pg_catalog.current_setting('%s.attempt', true), '')::integer",
                   store->address.schema);
    outcome = lk_statement_make(source->done, &dialect, ret_done, error);
    if (outcome == LK_OK) {
        ret_done->count = 3; /* all three by their numbers, used or not */
        ret_done->parameters[0] = LK_PARAMETER_ID;
        ret_done->parameters[1] = LK_PARAMETER_TOKEN;
        ret_done->parameters[2] = LK_PARAMETER_OWNER;
    }
    return outcome;
}

lk_outcome lk_postgresql_table_open(struct lk_procedures *common, const struct lk_source *source,
                                    const struct lk_patience *patience,
                                    struct lk_source_sql *ret_table, lk_error *error) {
    struct lk_postgresql *store = lk_postgresql_of(&common->engine);
    struct lk_source_sql table = {.done = {.text = NULL}};
    struct lk_postgresql_table_info info;
    lk_outcome outcome = lk_postgresql_table_info_get(store, source, patience, &info, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    outcome = lk_postgresql_done_make(store, &info, source, &table.done, error);
    table.texts[LK_TABLE_FIND] = find_text(store, &info, source);
    table.texts[LK_TABLE_SKIPPED] = skipped_text(store, &info, source);
    table.texts[LK_TABLE_MARKS] = purged_text(store, &info, source, "marks_after", "id");
    table.texts[LK_TABLE_PARKED] = purged_text(store, &info, source, "parked_after", "sequence");
    table.texts[LK_TABLE_RIPEN] = plain_text(store, "table_ripen($1, $2)");
    table.texts[LK_TABLE_TAKE] = take_text(store, &info, source);
    table.texts[LK_TABLE_DROP] = drop_text(store, &info, source);
    table.texts[LK_TABLE_BEGIN] = plain_text(store, "begin_finish($1, $2, $4, $5)");
    table.texts[LK_TABLE_END] = end_text(store, &info, source, "finish_row");
    table.texts[LK_TABLE_TAKE_SHORT] = take_short_text(store, &info, source);
    table.texts[LK_TABLE_BEGIN_SHORT] =
        plain_text(store, "begin_finish_shared($1, $2, $3, $4, $5)");
    table.texts[LK_TABLE_END_SHORT] = end_text(store, &info, source, "finish_row_shared");
    table.texts[LK_TABLE_END_AND_TAKE_SHORT] = end_and_take_text(store, &info, source);
    if (outcome == LK_OK && !lk_source_sql_is_whole(&table)) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    if (outcome != LK_OK) {
        lk_source_sql_done(&table);
        return outcome;
    }
    *ret_table = table;
    return LK_OK;
}
