/* SPDX-License-Identifier: Apache-2.0 */
/* The last bytes of a stream, in a ring. */
#include "cli/work/tail.h"

#include <stdint.h>
#include <string.h>

#include "model/utf8.h"

void lk_pool_tail_add(struct lk_pool_tail *tail, const char *bytes, size_t size) {
    if (size > sizeof tail->bytes) {
        bytes += size - sizeof tail->bytes;
        size = sizeof tail->bytes;
        tail->is_cut = true;
    }
    for (size_t i = 0; i < size; i++) {
        if (tail->size < sizeof tail->bytes) {
            tail->bytes[tail->size++] = bytes[i];
        } else {
            tail->bytes[tail->begin] = bytes[i];
            tail->begin = (tail->begin + 1) % sizeof tail->bytes;
            tail->is_cut = true;
        }
    }
}

static bool is_line_end(char byte) {
    return byte == '\n' || byte == '\r';
}

/* Where the first whole line begins; else the first whole character. */
static size_t beginning_of(const char *bytes, size_t size) {
    const char *end = memchr(bytes, '\n', size);
    size_t at = 0;

    if (end != NULL && end + 1 < bytes + size) {
        return (size_t)(end + 1 - bytes);
    }
    while (at < size && ((unsigned char)bytes[at] & 0xC0) == 0x80) {
        at++;
    }
    return at;
}

size_t lk_pool_tail_text(const struct lk_pool_tail *tail, char text[LK_POOL_TAIL_MAX + 1]) {
    char bytes[LK_POOL_TAIL_MAX];
    size_t newest = tail->size - tail->begin;
    size_t size = tail->size;
    size_t used = 0;

    memcpy(bytes, tail->bytes + tail->begin, newest);
    memcpy(bytes + newest, tail->bytes, tail->begin);
    while (size > 0 && is_line_end(bytes[size - 1])) {
        size--;
    }
    for (size_t at = tail->is_cut ? beginning_of(bytes, size) : 0; at < size;) {
        uint32_t character = 0;
        size_t length = lk_utf8_decode(bytes + at, size - at, &character);

        if (length == 0 || character == 0) {
            text[used++] = '?';
            at++;
        } else {
            memcpy(text + used, bytes + at, length);
            used += length;
            at += length;
        }
    }
    text[used] = '\0';
    return used;
}
