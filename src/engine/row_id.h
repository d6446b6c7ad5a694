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

#endif
