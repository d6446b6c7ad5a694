/* SPDX-License-Identifier: Apache-2.0 */
/* Rows that cannot be items. */
#include "engine/skipped_row.h"

#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>

#include "model/utf8.h"

void lk_skipped_rows_add(struct lk_skipped_rows *rows, struct lk_slice id, int64_t size) {
    if (rows->count < LK_SKIPPED_ROWS_MAX) {
        struct lk_skipped_row *row = &rows->first[rows->count];

        row->size = size;
        row->shown = id.size < sizeof row->id ? id.size : sizeof row->id;
        if (row->shown > 0) {
            memcpy(row->id, id.bytes, row->shown);
        }
    }
    rows->count++;
}

static bool is_cut(const struct lk_skipped_row *row) {
    return row->size > (int64_t)row->shown;
}

static void show_id(const struct lk_skipped_row *row, char text[LK_SKIPPED_ID_BYTES + 1]) {
    enum { LETTER_MAX = 4 };
    size_t used = 0;

    for (size_t at = 0; at < row->shown;) {
        uint32_t character = 0;
        size_t length = lk_utf8_decode(row->id + at, row->shown - at, &character);

        if (length == 0 && is_cut(row) && row->shown - at < LETTER_MAX) {
            break; /* in the middle of a character */
        }
        if (length == 0 || lk_character_is_control(character)) {
            text[used++] = '?';
        } else {
            memcpy(text + used, row->id + at, length);
            used += length;
        }
        at += length > 0 ? length : 1;
    }
    text[used] = '\0';
}

void lk_skipped_row_describe(const struct lk_skipped_row *row, char text[LK_SKIPPED_TEXT_MAX]) {
    char id[LK_SKIPPED_ID_BYTES + 1];

    if (row->size <= 0) {
        (void)snprintf(text, LK_SKIPPED_TEXT_MAX, "an id is %s", row->size < 0 ? "NULL" : "empty");
        return;
    }
    show_id(row, id);
    (void)snprintf(text, LK_SKIPPED_TEXT_MAX,
                   "the id '%s%s' of %" PRId64 " bytes cannot be an item's (R17)", id,
                   is_cut(row) ? "..." : "", row->size);
}
