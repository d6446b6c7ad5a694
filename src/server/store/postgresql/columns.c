/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of a batch as columns: one array for each column of a kind of rows. */
#include <inttypes.h>
#include <stdio.h>

#include "server/store/postgresql/store.h"

static struct lk_pg_group *group_of(struct lk_tables *tables, enum lk_tables_kind kind) {
    return &lk_store_pg_of(tables)->groups[kind];
}

void lk_pg_add_row(struct lk_tables *tables, enum lk_tables_kind kind) {
    group_of(tables, kind)->count++;
}

void lk_pg_add_number(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                      int64_t number) {
    lk_array_add_bigint(&group_of(tables, kind)->columns[column], number);
}

void lk_pg_add_truth(struct lk_tables *tables, enum lk_tables_kind kind, int column, bool truth) {
    lk_array_add_boolean(&group_of(tables, kind)->columns[column], truth);
}

void lk_pg_add_bytes(struct lk_tables *tables, enum lk_tables_kind kind, int column,
                     struct lk_slice bytes) {
    lk_array_add_bytes(&group_of(tables, kind)->columns[column], bytes);
}

void lk_pg_clear(struct lk_tables *tables, enum lk_tables_kind kind) {
    struct lk_pg_group *group = group_of(tables, kind);

    for (size_t i = 0; i < LK_TABLES_COLUMNS_MAX; i++) {
        lk_array_clear(&group->columns[i]);
    }
    group->count = 0;
}

bool lk_pg_flush(struct lk_tables *tables, enum lk_tables_kind kind) {
    static const int formats[LK_TABLES_COLUMNS_MAX] = {1, 1, 1, 1, 1, 1, 1, 1, 1,
                                                       1, 1, 1, 1, 1, 1, 1, 1};
    const struct lk_pg_statement *statement = &lk_pg_statements[kind];
    struct lk_pg_group *group = group_of(tables, kind);
    const char *values[LK_TABLES_COLUMNS_MAX];
    int lengths[LK_TABLES_COLUMNS_MAX];
    int count = (int)strlen(statement->columns);
    bool is_sent;

    if (group->count == 0) {
        return true;
    }
    for (int i = 0; i < count; i++) {
        if (!lk_array_close(&group->columns[i], lk_pg_column_kind(statement->columns[i]))) {
            return false;
        }
        values[i] = group->columns[i].bytes;
        lengths[i] = (int)group->columns[i].size;
    }
    is_sent = lk_pg_send(lk_store_pg_of(tables), statement->name, count, values, lengths, formats);
    lk_pg_clear(tables, kind);
    return is_sent;
}

bool lk_pg_sweep(struct lk_tables *tables, enum lk_tables_sweep sweep, uint64_t last) {
    static const char *const names[LK_TABLES_SWEEPS] = {
        [LK_TABLES_FORGET] = "lk_forget",
        [LK_TABLES_ENDED_BOUND] = "lk_ended_bound",
        [LK_TABLES_ENDED_SWEEP] = "lk_ended_sweep",
    };
    char text[LK_PG_NUMBER_BYTES];
    const char *const parameters[] = {text};

    (void)snprintf(text, sizeof text, "%" PRIu64, last);
    return lk_pg_send(lk_store_pg_of(tables), names[sweep], sweep == LK_TABLES_FORGET ? 1 : 0,
                      parameters, NULL, NULL);
}

void lk_pg_columns_done(struct lk_store_pg *store) {
    for (int kind = 0; kind < LK_TABLES_KINDS; kind++) {
        for (size_t i = 0; i < LK_TABLES_COLUMNS_MAX; i++) {
            lk_array_done(&store->groups[kind].columns[i]);
        }
    }
}
