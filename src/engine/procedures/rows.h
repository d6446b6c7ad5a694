/* SPDX-License-Identifier: Apache-2.0 */
/* The rows of an answer: columns in text form, and functions to read them. */
#ifndef LK_ENGINE_PROCEDURES_ROWS_H
#define LK_ENGINE_PROCEDURES_ROWS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "engine/procedures/arguments.h"
#include "lockkeeper/terms.h"

/* Borrows its cells, each terminated by a 0, from the database's own result. */
struct lk_rows {
    enum lk_list_form lists;
    int count;
    int column_count;
    void *source;
    void (*free_source)(void *source);
    /* Decodes the text of a cell with bytes, for lk_row_bytes(). NULL: they are not encoded. */
    void *(*decode)(struct lk_slice text, size_t *ret_size);
    struct lk_slice cells[]; /* row by row; `bytes` NULL: NULL */
};

/* Makes rows with empty cells. NULL when memory is exhausted; the source is left unchanged. */
struct lk_rows *lk_rows_new(int count, int column_count);
void lk_rows_free(struct lk_rows *rows); /* may be NULL */

/* Borrowed from the rows. A cell that is NULL or missing reads as the empty text, 0 or false. */
struct lk_slice lk_row_text(const struct lk_rows *rows, int row, int column);
int64_t lk_row_integer(const struct lk_rows *rows, int row, int column);
bool lk_row_boolean(const struct lk_rows *rows, int row, int column);
bool lk_row_is_null(const struct lk_rows *rows, int row, int column);

/* A copy of bytes, terminated by a 0, for free(). NULL when memory is exhausted. */
void *lk_row_bytes(const struct lk_rows *rows, int row, int column, size_t *ret_size);

/* The outcome that a column names; LK_INTERNAL if the name is unknown. */
lk_outcome lk_row_outcome(const struct lk_rows *rows, int row, int column);

/*
 * The elements of a list, unescaped into `*ret_text`, for free(). The elements point into it and
 * are each terminated by a 0. Elements after the first `max` are left out. Returns false when
 * memory is exhausted.
 */
bool lk_row_list(const struct lk_rows *rows, int row, int column, struct lk_slice *ret_elements,
                 size_t max, size_t *ret_count, char **ret_text);

#endif
