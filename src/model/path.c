/* SPDX-License-Identifier: Apache-2.0 */
/* Paths (R1, R5): parsed in one pass, segment by segment; everything else compares bytes. */
#include "model/path.h"

#include <assert.h>

#include "base/error.h"
#include "model/sentences.h"
#include "model/utf8.h"

static const char white_space[] = LK_TEXT_PATH_SPACE;

static lk_outcome refuse(lk_error *error, size_t at, const char *rule) {
    return lk_error_set(error, LK_INVALID, LK_TEXT_PATH, rule, at + 1,
                        rule == white_space ? LK_TEXT_PATH_SPACE_ADVICE : "");
}

/* Why a character is not allowed in a segment; NULL if it is allowed. */
static const char *objection(uint32_t character) {
    switch (character) {
    case '?':
        return LK_TEXT_PATH_QUESTION;
    case '{':
    case '}':
        return LK_TEXT_PATH_BRACES;
    default:
        break;
    }
    if (lk_character_is_space(character)) {
        return white_space;
    }
    return lk_character_is_control(character) ? LK_TEXT_PATH_CONTROL : NULL;
}

/* Most characters: ASCII that is allowed in a segment. */
static bool is_plain(char character) {
    unsigned char byte = (unsigned char)character;

    return byte > ' ' && byte < 0x7F && byte != '/' && byte != '?' && byte != '{' && byte != '}';
}

/* Scans one segment from `start`; on LK_OK *ret_end is the offset of its slash or of the end. */
static lk_outcome scan_segment(struct lk_slice text, size_t start, size_t offset, size_t *ret_end,
                               lk_error *error) {
    size_t at = start;

    for (;;) {
        uint32_t character;
        while (at < text.size && is_plain(text.bytes[at])) {
            at++;
        }
        if (at == text.size || text.bytes[at] == '/') {
            break;
        }
        size_t length = lk_utf8_decode(text.bytes + at, text.size - at, &character);
        const char *rule = length == 0 ? "a path is UTF-8" : objection(character);
        if (rule != NULL) {
            return refuse(error, offset + at, rule);
        }
        at += length;
    }
    if (at == start) {
        return refuse(error, offset + at, LK_TEXT_SEGMENT_EMPTY);
    }
    if (at - start > LK_SEGMENT_BYTES_MAX) {
        return refuse(error, offset + start, LK_TEXT_SEGMENT_LONG);
    }
    if (text.bytes[start] == '.'
        && (at - start == 1 || (at - start == 2 && text.bytes[start + 1] == '.'))) {
        return refuse(error, offset + start, LK_TEXT_SEGMENT_DOTS);
    }
    *ret_end = at;
    return LK_OK;
}

lk_outcome lk_path_parse(struct lk_slice text, struct lk_path *ret_path, lk_error *error) {
    struct lk_path path = {.depth = 0};
    size_t offset = 0; /* of `text` in what the caller passed, for the place in messages */

    if (text.size > 0 && text.bytes[0] == '/') {
        text.bytes++;
        text.size--;
        offset = 1;
    }
    if (text.size > 0 && text.bytes[text.size - 1] == '/') {
        text.size--;
    }
    if (text.size == 0) {
        return refuse(error, offset, LK_TEXT_PATH_EMPTY);
    }
    if (text.size > LK_PATH_BYTES_MAX) {
        return refuse(error, offset + LK_PATH_BYTES_MAX, LK_TEXT_PATH_LONG);
    }
    for (size_t start = 0; start <= text.size;) {
        size_t end = 0;
        if (path.depth == LK_PATH_DEPTH_MAX) {
            return refuse(error, offset + start, LK_TEXT_PATH_DEEP);
        }
        if (scan_segment(text, start, offset, &end, error) != LK_OK) {
            return LK_INVALID;
        }
        path.ends[path.depth++] = (uint16_t)end;
        start = end + 1;
    }
    path.bytes = text.bytes;
    path.size = (uint16_t)text.size;
    *ret_path = path;
    return lk_error_clear(error, LK_OK);
}

lk_outcome lk_item_path_make(const struct lk_path *queue, struct lk_slice id,
                             struct lk_item_path *ret_path, lk_error *error) {
    lk_error cause = {.text = LK_TEXT_ITEM_ID};

    if (id.size >= 1 && id.size <= LK_SEGMENT_BYTES_MAX && memchr(id.bytes, '/', id.size) == NULL) {
        memcpy(ret_path->bytes, queue->bytes, queue->size);
        ret_path->bytes[queue->size] = '/';
        memcpy(ret_path->bytes + queue->size + 1, id.bytes, id.size);
        if (lk_path_parse((struct lk_slice){ret_path->bytes, queue->size + 1u + id.size},
                          &ret_path->path, &cause)
            == LK_OK) {
            return LK_OK;
        }
    }
    return lk_error_set(error, LK_INVALID, LK_TEXT_ITEM_PATH, cause.text);
}

void lk_path_split(const struct lk_path *item, struct lk_path *ret_queue, struct lk_slice *ret_id) {
    assert(item->depth >= 2);
    *ret_id = lk_path_segment(item, item->depth - 1u);
    *ret_queue = *item;
    ret_queue->depth--;
    ret_queue->size = item->ends[item->depth - 2];
}

struct lk_slice lk_path_segment(const struct lk_path *path, unsigned index) {
    size_t start;

    assert(index < path->depth);
    start = index == 0 ? 0 : (size_t)path->ends[index - 1] + 1;
    return (struct lk_slice){.bytes = path->bytes + start, .size = path->ends[index] - start};
}

struct lk_slice lk_path_root(const struct lk_path *path) {
    return lk_path_segment(path, 0);
}

bool lk_path_equal(const struct lk_path *a, const struct lk_path *b) {
    return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

bool lk_path_contains(const struct lk_path *outer, const struct lk_path *inner) {
    return outer->size <= inner->size && memcmp(outer->bytes, inner->bytes, outer->size) == 0
           && (outer->size == inner->size || inner->bytes[outer->size] == '/');
}

bool lk_path_related(const struct lk_path *a, const struct lk_path *b) {
    return lk_path_contains(a, b) || lk_path_contains(b, a);
}

int lk_path_compare(const struct lk_path *a, const struct lk_path *b) {
    return lk_slice_compare((struct lk_slice){a->bytes, a->size},
                            (struct lk_slice){b->bytes, b->size});
}
