/* SPDX-License-Identifier: Apache-2.0 */
/* Ids of rows as segments of a path, and back; rows whose ids make none. */
#include "engine/row_id.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "model/utf8.h"

static bool is_plain(uint32_t character) {
    return character != '/' && character != '?' && character != '{' && character != '}'
           && character != '%' && !lk_character_is_space(character)
           && !lk_character_is_control(character);
}

static bool add(struct lk_row_id *segment, const char *bytes, size_t size) {
    if (segment->size + size > LK_SEGMENT_BYTES_MAX) {
        return false;
    }
    memcpy(segment->bytes + segment->size, bytes, size);
    segment->size += size;
    return true;
}

static bool add_encoded(struct lk_row_id *segment, const char *bytes, size_t size) {
    static const char digits[] = "0123456789ABCDEF";

    for (size_t i = 0; i < size; i++) {
        const unsigned char byte = (unsigned char)bytes[i];
        const char code[3] = {'%', digits[byte >> 4], digits[byte & 15]};

        if (!add(segment, code, sizeof code)) {
            return false;
        }
    }
    return true;
}

/* '.' and '..' are no segments. */
static bool is_dots(struct lk_slice id) {
    return lk_slice_equal(id, lk_slice_of(".")) || lk_slice_equal(id, lk_slice_of(".."));
}

bool lk_row_id_encode(struct lk_slice id, struct lk_row_id *ret_segment) {
    struct lk_row_id segment = {.size = 0};
    bool is_added = id.size > 0;

    if (is_dots(id)) {
        is_added = add_encoded(&segment, id.bytes, id.size);
        id.size = 0;
    }
    for (size_t at = 0; at < id.size && is_added;) {
        uint32_t character = 0;
        size_t length = lk_utf8_decode(id.bytes + at, id.size - at, &character);

        if (id.bytes[at] == '\0') {
            is_added = false; /* no program could be given it */
        } else if (length > 0 && is_plain(character)) {
            is_added = add(&segment, id.bytes + at, length);
        } else {
            length = length > 0 ? length : 1;
            is_added = add_encoded(&segment, id.bytes + at, length);
        }
        at += length;
    }
    if (is_added) {
        segment.bytes[segment.size] = '\0';
        *ret_segment = segment;
    }
    return is_added;
}

static int digit_of(char byte) {
    if (byte >= '0' && byte <= '9') {
        return byte - '0';
    }
    return byte >= 'A' && byte <= 'F' ? byte - 'A' + 10 : -1;
}

bool lk_row_id_decode(struct lk_slice segment, struct lk_row_id *ret_id) {
    struct lk_row_id id = {.size = 0};
    struct lk_row_id again;

    if (segment.size > LK_SEGMENT_BYTES_MAX) {
        return false;
    }
    for (size_t at = 0; at < segment.size; at++) {
        char byte = segment.bytes[at];

        if (byte == '%') {
            int high = at + 2 < segment.size ? digit_of(segment.bytes[at + 1]) : -1;
            int low = high >= 0 ? digit_of(segment.bytes[at + 2]) : -1;

            if (low < 0) {
                return false;
            }
            byte = (char)(high * 16 + low);
            at += 2;
        }
        id.bytes[id.size++] = byte;
    }
    id.bytes[id.size] = '\0';
    if (!lk_row_id_encode((struct lk_slice){id.bytes, id.size}, &again)
        || !lk_slice_equal((struct lk_slice){again.bytes, again.size}, segment)) {
        return false;
    }
    *ret_id = id;
    return true;
}

bool lk_row_id_is_integer(const struct lk_row_id *id, int64_t *ret_number) {
    char again[24];
    long long number;

    errno = 0;
    number = strtoll(id->bytes, NULL, 10);
    (void)snprintf(again, sizeof again, "%lld", number);
    if (errno != 0 || strcmp(again, id->bytes) != 0) {
        return false;
    }
    *ret_number = number;
    return true;
}

/* ---- rows that cannot be items ---- */

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
