/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of an answer: columns in text form, and what they say. */
#ifndef LK_ENGINE_PROCEDURES_ROWS_H
#define LK_ENGINE_PROCEDURES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "engine/procedures/arguments.h"
#include "lockkeeper/terms.h"

/* Borrows its cells, each with a 0 behind it, from the database's own result. */
struct lk_rows {
    enum lk_list_form lists;
    int count;
    int column_count;
    void *source;
    void (*free_source)(void *source);
    /* Bytes as they are written in a cell, as lk_row_bytes() has them. NULL: as they are. */
    void *(*decode)(struct lk_slice text, size_t *ret_size);
    struct lk_slice cells[]; /* row by row; `bytes` NULL: NULL */
};

/* With empty cells; NULL when memory is exhausted: the source is left alone. */
struct lk_rows *lk_rows_new(int count, int column_count);
void lk_rows_free(struct lk_rows *rows); /* may be NULL */

/* Borrowed from the rows. What is NULL, or not there, is the empty text, 0 and false. */
struct lk_slice lk_row_text(const struct lk_rows *rows, int row, int column);
int64_t lk_row_integer(const struct lk_rows *rows, int row, int column);
bool lk_row_boolean(const struct lk_rows *rows, int row, int column);
bool lk_row_is_null(const struct lk_rows *rows, int row, int column);

/* A copy of bytes with a 0 behind it, for free(). NULL when memory is exhausted. */
void *lk_row_bytes(const struct lk_rows *rows, int row, int column, size_t *ret_size);

/* The outcome of this name in a column; LK_INTERNAL for what is none. */
lk_outcome lk_row_outcome(const struct lk_rows *rows, int row, int column);

/*
 * The elements of a list. Unescaped into `*ret_text`, for free(), which the elements point into and
 * which is 0 behind each. false: memory is exhausted. Elements behind `max` are left out.
 */
bool lk_row_list(const struct lk_rows *rows, int row, int column, struct lk_slice *ret_elements,
                 size_t max, size_t *ret_count, char **ret_text);

#endif
