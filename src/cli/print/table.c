/* SPDX-License-Identifier: Apache-2.0 */
/* Aligned columns, two spaces apart; the last one is not padded. */
#include "cli/print/table.h"

#include <inttypes.h>
#include <stdlib.h>

#include "cli/print/human.h"
#include "cli/print/width.h"

enum { CELLS_FIRST = 64, NUMBER_SIZE = 24 };

void lk_table_open(struct lk_table *table, const char *const *titles, size_t column_count) {
    *table = (struct lk_table){.column_count = column_count};
    for (size_t i = 0; i < column_count; i++) {
        lk_table_add(table, titles[i]);
    }
}

void lk_table_close(struct lk_table *table) {
    for (size_t i = 0; i < table->cell_count; i++) {
        free(table->cells[i].text);
        free(table->cells[i].below);
    }
    free(table->cells);
    *table = (struct lk_table){.column_count = 0};
}

static bool make_room(struct lk_table *table) {
    if (table->cell_count < table->capacity) {
        return true;
    }
    size_t capacity = table->capacity > 0 ? table->capacity * 2 : CELLS_FIRST;
    struct lk_table_cell *cells = reallocarray(table->cells, capacity, sizeof cells[0]);
    if (cells == NULL) {
        return false;
    }
    table->cells = cells;
    table->capacity = capacity;
    return true;
}

/* Takes over the text, which may be NULL: memory is exhausted. */
static void add_visible(struct lk_table *table, char *visible, const char *colour) {
    if (visible == NULL || table->failed || !make_room(table)) {
        table->failed = true;
        free(visible);
        return;
    }
    table->cells[table->cell_count++] = (struct lk_table_cell){.text = visible, .colour = colour};
}

void lk_table_add_coloured(struct lk_table *table, const char *text, const char *colour) {
    add_visible(table, lk_human_visible(text), colour);
}

void lk_table_add_owner(struct lk_table *table, const char *owner, const char *user) {
    add_visible(table, lk_human_owner_of(owner, user), NULL);
}

void lk_table_add(struct lk_table *table, const char *text) {
    lk_table_add_coloured(table, text, NULL);
}

void lk_table_add_below(struct lk_table *table, char *lines) {
    if (lines == NULL || table->failed) {
        table->failed = true;
        free(lines);
        return;
    }
    struct lk_table_cell *last = &table->cells[table->cell_count - 1];
    free(last->below);
    last->below = lines;
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
        int width = lk_width_of(table->cells[i].text);
        widest = width > widest ? width : widest;
    }
    return widest;
}

static void write_cell(FILE *out, const struct lk_table_cell *cell, bool colour) {
    bool coloured = colour && cell->colour != NULL && cell->text[0] != '\0';

    (void)fprintf(out, "%s%s%s", coloured ? cell->colour : "", cell->text,
                  coloured ? "\x1b[0m" : "");
}

static void write_row(const struct lk_table *table, FILE *out, size_t first, const int *widths,
                      bool colour) {
    size_t last = table->column_count - 1;

    while (last > 0 && table->cells[first + last].text[0] == '\0') {
        last--; /* no blanks at the end of a line */
    }
    for (size_t column = 0; column < last; column++) {
        const struct lk_table_cell *cell = &table->cells[first + column];
        write_cell(out, cell, colour);
        (void)fprintf(out, "%*s", widths[column] - lk_width_of(cell->text) + 2, "");
    }
    write_cell(out, &table->cells[first + last], colour);
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
        const char *below = table->cells[first + table->column_count - 1].below;
        bool bold = colour && first == 0;
        (void)fputs(bold ? "\x1b[1m" : "", out);
        write_row(table, out, first, widths, colour);
        (void)fprintf(out, "%s\n%s", bold ? "\x1b[0m" : "", below != NULL ? below : "");
    }
    free(widths);
    return true;
}
