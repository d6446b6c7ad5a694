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
enum lk_look {
    LK_LOOK_PLAIN,
    LK_LOOK_STRONG,
    LK_LOOK_FAINT,
    LK_LOOK_BAR, /* the first line, and titles */
    LK_LOOK_HELD,
    LK_LOOK_WAITING,
    LK_LOOK_REVOKED,
    LK_LOOK_ALARM,
    LK_LOOK_COUNT
};

enum { LK_CANVAS_SIDE_MAX = 1000 }; /* larger screens are used in part */

struct lk_canvas_cell {
    uint32_t character; /* 0: the right half of a wide one */
    uint32_t mark;      /* a mark put onto it; 0: none */
    uint8_t look;       /* an lk_look */
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
int lk_canvas_put(struct lk_canvas *canvas, int row, int column, int columns, enum lk_look look,
                  const char *text);

/* The same for a number of bytes of a text. */
int lk_canvas_put_bytes(struct lk_canvas *canvas, int row, int column, int columns,
                        enum lk_look look, const char *bytes, size_t size);

/* Gives the cells of a row a look, or marks them as selected, without changing characters. */
void lk_canvas_bar(struct lk_canvas *canvas, int row, enum lk_look look);
void lk_canvas_select(struct lk_canvas *canvas, int row);

static inline const struct lk_canvas_cell *lk_canvas_at(const struct lk_canvas *canvas, int row,
                                                        int column) {
    return &canvas->cells[(size_t)row * (size_t)canvas->width + (size_t)column];
}

#endif
