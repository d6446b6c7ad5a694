/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A screen as a grid of cells, so that its contents can be computed and tested without a terminal.
 * Untrusted text is made visible (human.h) and cut between characters; cells outside the grid are
 * dropped.
 */
#ifndef LK_CLI_TOP_CANVAS_H
#define LK_CLI_TOP_CANVAS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The meaning of a cell. The terminal chooses how to show it. */
enum lk_cell_style {
    LK_CELL_PLAIN,
    LK_CELL_STRONG,
    LK_CELL_FAINT,
    LK_CELL_BAR, /* the first line, and titles */
    LK_CELL_HELD,
    LK_CELL_WAITING,
    LK_CELL_REVOKED,
    LK_CELL_ALARM,
    LK_CELL_COUNT
};

enum { LK_CANVAS_SIDE_MAX = 1000 }; /* larger screens are used in part */

struct lk_canvas_cell {
    uint32_t character; /* 0: the right half of a wide one */
    uint32_t mark;      /* a mark put onto it; 0: none */
    uint8_t style;      /* an lk_cell_style */
    bool is_selected;
};

struct lk_canvas {
    int width, height;
    bool drawn; /* may use all characters; else only those of ASCII */
    struct lk_canvas_cell *cells;
};

/* Makes it this large, at least 1 by 1, and blank. False when memory is exhausted: as before. */
bool lk_canvas_resize(struct lk_canvas *canvas, int width, int height);
void lk_canvas_clear(struct lk_canvas *canvas);
void lk_canvas_done(struct lk_canvas *canvas);

/*
 * Puts text into at most `columns` columns; what is too long ends in an ellipsis. Returns how many
 * columns it took.
 */
int lk_canvas_put(struct lk_canvas *canvas, int row, int column, int columns,
                  enum lk_cell_style style, const char *text);

/* The same for a number of bytes of a text. */
int lk_canvas_put_bytes(struct lk_canvas *canvas, int row, int column, int columns,
                        enum lk_cell_style style, const char *bytes, size_t size);

/* Gives the cells of a row a style, or marks them as selected, without changing characters. */
void lk_canvas_bar(struct lk_canvas *canvas, int row, enum lk_cell_style style);
void lk_canvas_select(struct lk_canvas *canvas, int row);

static inline const struct lk_canvas_cell *lk_canvas_at(const struct lk_canvas *canvas, int row,
                                                        int column) {
    return &canvas->cells[(size_t)row * (size_t)canvas->width + (size_t)column];
}

#endif
