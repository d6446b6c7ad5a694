/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Aligned columns for people. Cells are added from left to right and row by row, made visible
 * (human.h) and copied; widths are known when all are there, so writing comes last.
 */
#ifndef LK_CLI_TABLE_H
#define LK_CLI_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lk_table {
    size_t column_count;
    char **cells;
    size_t cell_count;
    size_t capacity;
    bool failed; /* memory was exhausted */
};

/* An empty table with its first row. `titles` has column_count texts. */
void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count);
void lk_table_close(struct lk_table *table);

void lk_table_add(struct lk_table *table, const char *text);
void lk_table_add_number(struct lk_table *table, uint64_t number);
void lk_table_add_duration(struct lk_table *table, int64_t duration_ms);

/* Writes all rows, the first one bold if `colour`. False when memory was exhausted: no row. */
bool lk_table_write(const struct lk_table *table, FILE *out, bool colour);

#endif
