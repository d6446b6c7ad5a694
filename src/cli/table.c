/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned columns, two spaces apart; the last one is not padded. */
#include "cli/table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/human.h"

enum { CELLS_FIRST = 64, NUMBER_SIZE = 24 };

void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count) {
    *table = (struct lk_table){.column_count = column_count};
    for (size_t i = 0; i < column_count; i++) {
        lk_table_add(table, titles[i]);
    }
}

void lk_table_close(struct lk_table *table) {
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i]);
    }
    free(table->cells);
    *table = (struct lk_table){.column_count = 0};
}

static bool make_room(struct lk_table *table) {
    if (table->cell_count < table->capacity) {
        return true;
    }
    size_t capacity = table->capacity > 0 ? table->capacity * 2 : CELLS_FIRST;
    char **cells = reallocarray(table->cells, capacity, sizeof cells[0]);
    if (cells == NULL) {
        return false;
    }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

void lk_table_add(struct lk_table *table, const char *text) {
    char *cell = !table->failed && make_room(table) ? lk_human_visible(text) : NULL;

    if (cell == NULL) {
        table->failed = true;
        return;
    }
    table->cells[table->cell_count++] = cell;
}

void lk_table_add_number(struct lk_table *table, uint64_t number) {
    char text[NUMBER_SIZE];

    (void)snprintf(text, sizeof text, "%" PRIu64, number);
    lk_table_add(table, text);
}

void lk_table_add_duration(struct lk_table *table, int64_t duration_ms) {
    char text[LK_HUMAN_DURATION_SIZE];

    lk_human_duration(duration_ms, text);
    lk_table_add(table, text);
}

static int column_width(const struct lk_table *table, size_t column) {
    int widest = 0;

    for (size_t i = column; i < table->cell_count; i += table->column_count) {
        int width = lk_human_width(table->cells[i]);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void write_row(const struct lk_table *table, FILE *out, size_t first, const int *widths) {
    size_t last = table->column_count - 1;

    while (last > 0 && table->cells[first + last][0] == '\0') {
        last--; /* no blanks at the end of a line */
    }
    for (size_t column = 0; column < last; column++) {
        const char *cell = table->cells[first + column];
        (void)fprintf(out, "%s%*s", cell, widths[column] - lk_human_width(cell) + 2, "");
    }
    (void)fputs(table->cells[first + last], out);
}

bool lk_table_write(const struct lk_table *table, FILE *out, bool colour) {
    int *widths = !table->failed ? calloc(table->column_count, sizeof widths[0]) : NULL;

    if (widths == NULL) {
        return false;
    }
    for (size_t column = 0; column < table->column_count; column++) {
        widths[column] = column_width(table, column);
    }
    for (size_t first = 0; first + table->column_count <= table->cell_count;
         first += table->column_count) {
        bool bold = colour && first == 0;
        (void)fputs(bold ? "\x1b[1m" : "", out);
        write_row(table, out, first, widths);
        (void)fputs(bold ? "\x1b[0m\n" : "\n", out);
    }
    free(widths);
    return true;
}
