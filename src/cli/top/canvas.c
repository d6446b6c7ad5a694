/* SPDX-License-Identifier: Apache-2.0 */
/* Cells, and text laid into them. */
#include "cli/top/canvas.h"

#include <stdlib.h>
#include <string.h>

#include "base/slice.h"
#include "base/text.h"
#include "cli/print/human.h"
#include "model/utf8.h"

enum { ELLIPSIS = 0x2026, ASCII_MAX = 0x7F };

static int within(int side) {
    if (side < 1) {
        return 1;
    }
    return side < LK_CANVAS_SIDE_MAX ? side : LK_CANVAS_SIDE_MAX;
}

bool lk_canvas_resize(struct lk_canvas *canvas, int width, int height) {
    size_t count = (size_t)within(width) * (size_t)within(height);
    struct lk_canvas_cell *cells = reallocarray(canvas->cells, count, sizeof cells[0]);

    if (cells == NULL) {
        return false;
    }
    canvas->cells = cells;
    canvas->width = within(width);
    canvas->height = within(height);
    lk_canvas_clear(canvas);
    return true;
}

void lk_canvas_clear(struct lk_canvas *canvas) {
    size_t count = (size_t)canvas->width * (size_t)canvas->height;

    for (size_t i = 0; i < count; i++) {
        canvas->cells[i] = (struct lk_canvas_cell){.character = ' '};
    }
}

void lk_canvas_done(struct lk_canvas *canvas) {
    free(canvas->cells);
    canvas->cells = NULL;
}

static struct lk_canvas_cell *cell_at(struct lk_canvas *canvas, int row, int column) {
    return &canvas->cells[(size_t)row * (size_t)canvas->width + (size_t)column];
}

/* Puts one character, which fits. Returns how many columns it took. */
static int put_character(struct lk_canvas *canvas, int row, int column, enum lk_cell_style style,
                         uint32_t character) {
    int width = lk_width_of_character(character);

    if (!canvas->drawn && character > ASCII_MAX) {
        character = character == ELLIPSIS ? '~' : '?';
        width = width > 0 ? 1 : 0;
    }
    if (width == 0) {
        if (column > 0 && canvas->drawn) {
            cell_at(canvas, row, column - 1)->mark = character;
        }
        return 0;
    }
    for (int i = 0; i < width; i++) {
        *cell_at(canvas, row, column + i) =
            (struct lk_canvas_cell){.character = i == 0 ? character : 0, .style = (uint8_t)style};
    }
    return width;
}

/* Puts visible text of which `columns` columns are on the canvas. */
static int put_visible(struct lk_canvas *canvas, int row, int column, int columns,
                       enum lk_cell_style style, const char *text) {
    int used = 0;
    size_t size = strlen(text);
    bool is_cut = lk_width_fit(text, columns, &used) < size;

    if (is_cut) {
        size = lk_width_fit(text, columns - 1, &used);
    }
    used = 0;
    for (size_t at = 0; at < size;) {
        uint32_t character = '?';
        size_t taken = lk_utf8_decode(text + at, size - at, &character);
        at += taken > 0 ? taken : 1;
        used += put_character(canvas, row, column + used, style, character);
    }
    return used + (is_cut ? put_character(canvas, row, column + used, style, ELLIPSIS) : 0);
}

int lk_canvas_put(struct lk_canvas *canvas, int row, int column, int columns,
                  enum lk_cell_style style, const char *text) {
    if (row < 0 || row >= canvas->height || column < 0 || column >= canvas->width || columns < 1) {
        return 0;
    }
    columns = columns < canvas->width - column ? columns : canvas->width - column;
    char *visible = lk_human_visible(text);
    int used = put_visible(canvas, row, column, columns, style, visible != NULL ? visible : "?");
    free(visible);
    return used;
}

int lk_canvas_put_bytes(struct lk_canvas *canvas, int row, int column, int columns,
                        enum lk_cell_style style, const char *bytes, size_t size) {
    char *text = lk_text_copy((struct lk_slice){.bytes = bytes, .size = size});
    int used = lk_canvas_put(canvas, row, column, columns, style, text != NULL ? text : "?");

    free(text);
    return used;
}

void lk_canvas_bar(struct lk_canvas *canvas, int row, enum lk_cell_style style) {
    for (int column = 0; row >= 0 && row < canvas->height && column < canvas->width; column++) {
        cell_at(canvas, row, column)->style = (uint8_t)style;
    }
}

void lk_canvas_select(struct lk_canvas *canvas, int row) {
    for (int column = 0; row >= 0 && row < canvas->height && column < canvas->width; column++) {
        cell_at(canvas, row, column)->is_selected = true;
    }
}
