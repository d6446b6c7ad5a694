/* SPDX-License-Identifier: Apache-2.0 */
/* Columns of an answer's rows, out of PostgreSQL's text form. */
#ifndef LK_ENGINE_POSTGRESQL_ROWS_H
#define LK_ENGINE_POSTGRESQL_ROWS_H

#include <libpq-fe.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "lockkeeper/terms.h"

/* Borrowed from the result. NULL is the empty text, 0 and false. */
struct lk_slice lk_row_text(const PGresult *result, int row, int column);
int64_t lk_row_integer(const PGresult *result, int row, int column);
bool lk_row_boolean(const PGresult *result, int row, int column);
bool lk_row_is_null(const PGresult *result, int row, int column);

/* A copy of bytea with a 0 behind it, for free(). NULL when memory is exhausted. */
void *lk_row_bytes(const PGresult *result, int row, int column, size_t *ret_size);

/* The outcome of this name in a column; LK_INTERNAL for what is none. */
lk_outcome lk_row_outcome(const PGresult *result, int row, int column);

/*
 * The elements of an array in one dimension. Unescaped into `*ret_text`, for free(), which the
 * elements point into and which is 0 behind each. false: memory is exhausted. Elements behind
 * `max` are left out.
 */
bool lk_row_array(const PGresult *result, int row, int column, struct lk_slice *ret_elements,
                  size_t max, size_t *ret_count, char **ret_text);

#endif
