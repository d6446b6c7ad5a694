/* SPDX-License-Identifier: Apache-2.0 */
/* R17: rows of a table that fit the query, but cannot be items: their ids make no path (R1). */
#ifndef LK_ENGINE_SKIPPED_ROW_H
#define LK_ENGINE_SKIPPED_ROW_H

#include <stdint.h>

#include "base/slice.h"

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
