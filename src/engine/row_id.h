/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ids of a table's rows as segments of a path (R17): bytes that R1 would refuse are
 * percent-encoded, and so is '%' itself, so that every id has one segment and the other way round.
 */
#ifndef LK_ENGINE_ROW_ID_H
#define LK_ENGINE_ROW_ID_H

#include <stdbool.h>
#include <stdint.h>

#include "base/slice.h"
#include "model/path.h"

struct lk_row_id {
    size_t size;
    char bytes[LK_SEGMENT_BYTES_MAX + 1]; /* terminated */
};

/* false: it has no byte, a byte 0, or too many bytes. */
bool lk_row_id_encode(struct lk_slice id, struct lk_row_id *ret_segment);

/* false: no encoding makes this segment. */
bool lk_row_id_decode(struct lk_slice segment, struct lk_row_id *ret_id);

/* Whether it is the decimal form of a whole number that 64 bits hold, as a database prints it. */
bool lk_row_id_is_integer(const struct lk_row_id *id, int64_t *ret_number);

/*
 * ---- rows that cannot be items -----------------------------------------------------------------
 *
 * Rows of a table that fit the query, but whose ids make no path (R1).
 */

enum {
    LK_SKIPPED_MAX = 1000, /* counted */
    LK_SKIPPED_ROWS_MAX = 16,
    LK_SKIPPED_ID_BYTES = 64,
    LK_SKIPPED_TEXT_MAX = LK_SKIPPED_ID_BYTES + 96,
};

struct lk_skipped_row {
    char id[LK_SKIPPED_ID_BYTES]; /* its beginning */
    size_t shown;                 /* bytes of it */
    int64_t size;                 /* of the whole id, in bytes; -1: it is NULL */
};

/* All zero: none. */
struct lk_skipped_rows {
    size_t count;                                     /* up to LK_SKIPPED_MAX */
    struct lk_skipped_row first[LK_SKIPPED_ROWS_MAX]; /* of them */
};

/* `id`: how it begins. */
void lk_skipped_rows_add(struct lk_skipped_rows *rows, struct lk_slice id, int64_t size);

/* Which row it is and why it is skipped, in whole characters that a terminal can be given. */
void lk_skipped_row_describe(const struct lk_skipped_row *row, char text[LK_SKIPPED_TEXT_MAX]);

#endif
