/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tables with aligned columns. Cells are added from left to right and row by row, made visible
 * (human.h) and copied; widths are known when all are there, so writing comes last. Below a row
 * there may be lines that keep to no column.
 */
#ifndef LK_CLI_PRINT_TABLE_H
#define LK_CLI_PRINT_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

struct lk_table_cell {
    char *text;
    const char *colour; /* an escape sequence; NULL: none */
    char *below;        /* of the last cell of a row: lines below it; NULL: none */
};

struct lk_table {
    size_t column_count;
    struct lk_table_cell *cells;
    size_t cell_count;
    size_t capacity;
    bool failed; /* memory was exhausted */
};

/* An empty table with its first row. `titles` has column_count texts. */
void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count);
void lk_table_close(struct lk_table *table);

void lk_table_add(struct lk_table *table, const char *text);
/* As lk_human_owner_of(). */
void lk_table_add_owner(struct lk_table *table, const char *owner, const char *user);

/* The same; `colour` is an escape sequence with static storage, or NULL. */
void lk_table_add_coloured(struct lk_table *table, const char *text, const char *colour);
void lk_table_add_number(struct lk_table *table, uint64_t number);
void lk_table_add_duration(struct lk_table *table, int64_t duration_ms);

/* Lines to be printed unchanged below the row that was completed last. Takes over `lines`; NULL:
 * memory was exhausted. */
void lk_table_add_below(struct lk_table *table, char *lines);

/* Writes all rows, in colour if so wanted, the first one bold. False when memory was exhausted: no
 * row. */
bool lk_table_write(const struct lk_table *table, FILE *out, bool colour);

#endif
