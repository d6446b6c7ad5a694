/* SPDX-License-Identifier: Apache-2.0 */
/* Builds statements from the owner's SQL (R17). procedures/table.h describes their arguments. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/text.h"
#include "engine/mysql/table.h"

/* The place of the item after which to go on: "0" in the argument is before all. */
#define BEHIND(argument)                                                                           \
    "IF(" argument " = '0', -99999999999999999999999, CAST(" argument " AS DECIMAL(24, 0)))"

/* The pieces of all texts. */
struct making {
    const char *prefix;
    const struct lk_mysql_table_info *info;
    struct lk_slice where;
    struct lk_slice order;
    size_t id_max; /* bytes of a segment */
    char *own;     /* the row's id as a segment */
    char *item;    /* `FROM table WHERE` for the row of lk_item.id, if it matches */
    char *row;     /* locks the row of the current item */
    char *fits;    /* checks whether the row of a claim still matches */
};

/* The row of the current item, by its id in a variable. */
static char *row_text(const struct making *making) {
    static const char row[] = "SELECT 1 INTO @%srow FROM %s WHERE %s = %s AND (\n%.*s\n) LIMIT 1"
                              " FOR UPDATE SKIP LOCKED";
    char variable[LK_MYSQL_PREFIX_MAX + 16];
    char *id;
    char *text = NULL;

    (void)snprintf(variable, sizeof variable, "@%sitem", making->prefix);
    id = lk_mysql_decoded(making->info, variable);
    if (id != NULL) {
        text = lk_text_make(row, making->prefix, making->info->table, making->info->column, id,
                            (int)making->where.size, making->where.bytes);
    }
    free(id);
    return text;
}

static char *fits_text(const struct making *making) {
    return lk_text_make(
        "SELECT COUNT(*) > 0 INTO @%sfits FROM %s WHERE %s = _utf8mb4 \1F AND (\n%.*s\n)",
        making->prefix, making->info->table, making->info->column, (int)making->where.size,
        making->where.bytes);
}

static bool make_parts(struct making *making) {
    const struct lk_mysql_table_info *info = making->info;
    char *id = lk_mysql_decoded(info, "lk_item.id");

    making->own = lk_mysql_encoded(info);
    if (making->own != NULL && id != NULL) {
        making->item = lk_text_make("FROM %s WHERE %s = %s AND %s = lk_item.id AND (\n%.*s\n)",
                                    info->table, info->column, id, making->own,
                                    (int)making->where.size, making->where.bytes);
    }
    free(id);
    making->row = row_text(making);
    making->fits = fits_text(making);
    return making->item != NULL && making->row != NULL && making->fits != NULL;
}

static char *find_text(const struct making *making) {
    static const char find[] = "SELECT %s FROM %s WHERE (\n%.*s\n) AND LENGTH(%s) <= %d"
                               " AND NOT EXISTS (SELECT 1 FROM %sitems AS lk_item"
                               "  WHERE lk_item.queue = \1A AND lk_item.id = %s)"
                               " AND NOT EXISTS (SELECT 1 FROM %sdone_rows AS lk_done"
                               "  WHERE lk_done.queue = \1A AND lk_done.id = %s)"
                               " %s\n%.*s\n LIMIT \1B";

    return lk_text_make(find, making->own, making->info->table, (int)making->where.size,
                        making->where.bytes, making->own, (int)making->id_max, making->prefix,
                        making->own, making->prefix, making->own,
                        making->order.size > 0 ? "ORDER BY" : "", (int)making->order.size,
                        making->order.size > 0 ? making->order.bytes : "");
}

static char *skipped_text(const struct making *making) {
    const char *column = making->info->column;

    return lk_text_make("SELECT LEFT(CONVERT(%s USING utf8mb4), %d),"
                        " LENGTH(CONVERT(%s USING utf8mb4)) FROM %s WHERE (\n%.*s\n)"
                        " AND (LENGTH(%s) <= %d) IS NOT TRUE LIMIT %d",
                        column, LK_SKIPPED_ID_BYTES, column, making->info->table,
                        (int)making->where.size, making->where.bytes, making->own,
                        (int)making->id_max, LK_SKIPPED_MAX);
}

static char *marks_text(const struct making *making) {
    return lk_text_make("SELECT lk_item.id, (SELECT COUNT(*) %s) > 0, lk_item.id"
                        " FROM (SELECT d.id FROM %sdone_rows AS d"
                        "  WHERE d.queue = \1A AND d.id > \1B ORDER BY d.id LIMIT \1C) AS lk_item"
                        " ORDER BY lk_item.id",
                        making->item, making->prefix);
}

static char *parked_text(const struct making *making) {
    return lk_text_make(
        "SELECT lk_item.id, (SELECT COUNT(*) %s) > 0, lk_item.arrival"
        " FROM (SELECT i.id, i.arrival FROM %sitems AS i FORCE INDEX (items_by_state)"
        "  WHERE i.queue = \1A AND i.state = 'parked' AND i.due_us = 0"
        "   AND i.arrival > CAST(COALESCE(NULLIF(\1B, ''), '0') AS SIGNED)"
        "  ORDER BY i.arrival LIMIT \1C) AS lk_item ORDER BY lk_item.arrival",
        making->item, making->prefix);
}

/*
 * Finds the first item that no other transaction is taking and whose row matches; then that row. A
 * subquery that counts keeps the items in their order. Both are locked by this transaction.
 */
static char *take_text(const struct making *making) {
    static const char take[] =
        "SET @%sfound = NULL, @%sitem = NULL, @%srow = NULL\2"
        "SELECT lk_item.place, lk_item.id INTO @%sfound, @%sitem FROM %sitems AS lk_item"
        " FORCE INDEX (items_by_state) WHERE lk_item.queue = \1A AND lk_item.state = 'ready'"
        " AND lk_item.due_us = 0 AND lk_item.place > " BEHIND(
            "\1H") " AND (SELECT COUNT(*) %s) > 0"
                   " ORDER BY lk_item.place LIMIT 1 FOR UPDATE SKIP LOCKED\2"
                   "%s\2"
                   "CALL %stake_row(\1A, \1B, \1C, \1D, \1E, \1F, \1G, \1H, @%sfound, @%srow)";
    const char *prefix = making->prefix;

    return lk_text_make(take, prefix, prefix, prefix, prefix, prefix, prefix, making->item,
                        making->row, prefix, prefix, prefix);
}

static char *take_short_text(const struct making *making) {
    return lk_text_make("CALL %srow_begin(\1A)\2%s\2"
                        "CALL %srow_take(\1A, \1B, \1C, \1D, \1E, \1F, \1G)",
                        making->prefix, making->row, making->prefix);
}

static char *drop_text(const struct making *making) {
    return lk_text_make(
        "SELECT GROUP_CONCAT(lk_item.place SEPARATOR ' ') INTO @%sdrop"
        " FROM (SELECT i.id, i.place FROM %sitems AS i FORCE INDEX (items_by_state)"
        "  WHERE i.queue = \1A AND i.state = 'ready' AND i.due_us = 0"
        "   AND i.place > " BEHIND("\1C") " ORDER BY i.place LIMIT \1D) AS lk_item"
                                          " WHERE (SELECT COUNT(*) %s) = 0\2"
                                          "CALL %sdrop_items(\1A, \1B, COALESCE(@%sdrop, ''))",
        making->prefix, making->prefix, making->item, making->prefix, making->prefix);
}

static char *end_text(const struct making *making) {
    return lk_text_make("%s\2CALL %sfinish_row(\1A, \1B, \1C, \1D, \1E, @%sfits)", making->fits,
                        making->prefix, making->prefix);
}

static char *end_short_text(const struct making *making) {
    return lk_text_make(
        "%s\2CALL %srow_finish(\1A, \1B, \1C, \1D, \1E, @%sfits, FALSE, 0, 0, 0, '')", making->fits,
        making->prefix, making->prefix);
}

static char *end_and_take_text(const struct making *making) {
    const char *prefix = making->prefix;

    return lk_text_make("%s\2CALL %srow_pick(\1A)\2%s\2"
                        "CALL %srow_finish(\1A, \1B, \1C, \1D, \1E, @%sfits, TRUE, \1G, \1H,"
                        " \1I, \1J)",
                        making->fits, prefix, making->row, prefix, prefix);
}

lk_outcome lk_mysql_done_make(const struct lk_mysql *store, const struct lk_source *source,
                              struct lk_statement *ret_done, lk_error *error) {
    char attempt[LK_MYSQL_PREFIX_MAX + 16];
    const struct lk_dialect dialect = {
        .replacements = {"_utf8mb4 \1F", "\1E", "_utf8mb4 \1D", attempt},
        .has_backslashes = true,
        .has_backticks = true,
    };
    lk_outcome outcome;

    if (source->done.size == 0) {
        return LK_OK;
    }
    (void)snprintf(attempt, sizeof attempt, "@%sattempt", store->address.prefix);
    outcome = lk_statement_make(source->done, &dialect, ret_done, error);
    if (outcome == LK_OK) {
        ret_done->count = 0; /* its parameters are among the arguments already */
    }
    return outcome;
}

static void make_texts(const struct making *making, struct lk_source_sql *table) {
    table->texts[LK_TABLE_FIND] = find_text(making);
    table->texts[LK_TABLE_SKIPPED] = skipped_text(making);
    table->texts[LK_TABLE_MARKS] = marks_text(making);
    table->texts[LK_TABLE_PARKED] = parked_text(making);
    table->texts[LK_TABLE_RIPEN] = lk_text_make("CALL %stable_ripen(\1A, \1B)", making->prefix);
    table->texts[LK_TABLE_TAKE] = take_text(making);
    table->texts[LK_TABLE_DROP] = drop_text(making);
    table->texts[LK_TABLE_BEGIN] =
        lk_text_make("CALL %sbegin_finish(\1A, \1B, \1C, \1D, \1E)", making->prefix);
    table->texts[LK_TABLE_END] = end_text(making);
    table->texts[LK_TABLE_TAKE_SHORT] = take_short_text(making);
    table->texts[LK_TABLE_BEGIN_SHORT] =
        lk_text_make("CALL %srow_begin_finish(\1A, \1B, \1C, \1D, \1E)", making->prefix);
    table->texts[LK_TABLE_END_SHORT] = end_short_text(making);
    table->texts[LK_TABLE_END_AND_TAKE_SHORT] = end_and_take_text(making);
}

lk_outcome lk_mysql_table_open(struct lk_procedures *common, const struct lk_source *source,
                               const struct lk_patience *patience, struct lk_source_sql *ret_table,
                               lk_error *error) {
    struct lk_mysql *store = lk_mysql_of(&common->engine);
    struct lk_source_sql table = {.done = {.text = NULL}};
    struct lk_mysql_table_info info;
    struct making making = {
        .prefix = store->address.prefix,
        .info = &info,
        .where = source->where.size > 0 ? source->where : lk_slice_of("TRUE"),
        .order = source->order,
        .id_max = lk_source_id_max(source),
    };
    lk_outcome outcome = lk_mysql_table_info_get(store, source, patience, &info, error);

    if (outcome == LK_OK) {
        outcome = lk_mysql_done_make(store, source, &table.done, error);
    }
    if (outcome == LK_OK && make_parts(&making)) {
        make_texts(&making, &table);
    }
    if (outcome == LK_OK && !lk_source_sql_is_whole(&table)) {
        outcome = lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    free(making.own);
    free(making.item);
    free(making.row);
    free(making.fits);
    if (outcome != LK_OK) {
        lk_source_sql_done(&table);
        return outcome;
    }
    *ret_table = table;
    return LK_OK;
}
