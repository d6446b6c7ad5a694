/* SPDX-License-Identifier: Apache-2.0 */
/* Growing runs of bytes. */
#include "base/buffer.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 256 };

void lk_buffer_done(struct lk_buffer *buffer) {
    free(buffer->bytes);
    *buffer = (struct lk_buffer){.max = buffer->max};
}

/* Doubles the capacity until `size` bytes fit. */
static bool grow(struct lk_buffer *buffer, size_t size) {
    size_t capacity = buffer->capacity != 0 ? buffer->capacity : CAPACITY_MIN;
    char *bytes;

    while (capacity < size) {
        capacity = capacity <= SIZE_MAX / 2 ? capacity * 2 : size;
    }
    bytes = realloc(buffer->bytes, capacity);
    if (bytes == NULL) {
        return false;
    }
    buffer->bytes = bytes;
    buffer->capacity = capacity;
    return true;
}

char *lk_buffer_make_room(struct lk_buffer *buffer, size_t size) {
    size_t bound = buffer->max != 0 ? buffer->max : SIZE_MAX;

    if (buffer->failed || size > bound - buffer->size
        || (buffer->size + size > buffer->capacity && !grow(buffer, buffer->size + size))) {
        buffer->failed = true;
        return NULL;
    }
    return buffer->bytes + buffer->size;
}

void lk_buffer_add(struct lk_buffer *buffer, const void *bytes, size_t size) {
    char *room = size != 0 ? lk_buffer_reserve(buffer, size) : NULL;

    if (room != NULL) {
        memcpy(room, bytes, size);
        buffer->size += size;
    }
}

void lk_buffer_add_slice(struct lk_buffer *buffer, struct lk_slice slice) {
    lk_buffer_add(buffer, slice.bytes, slice.size);
}

void lk_buffer_add_text(struct lk_buffer *buffer, const char *text) {
    lk_buffer_add(buffer, text, strlen(text));
}

/* From the last digit to the first, two at a time: divisions are what it costs. */
size_t lk_number_write(char *text, int64_t number) {
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233"
        "34353637383940414243444546474849505152535455565758596061626364656667"
        "6869707172737475767778798081828384858687888990919293949596979899";
    char digits[LK_NUMBER_BYTES_MAX];
    size_t at = sizeof digits;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    while (rest >= 10) {
        at -= 2;
        memcpy(digits + at, pairs + rest % 100 * 2, 2);
        rest /= 100;
    }
    if (rest != 0 || at == sizeof digits) {
        digits[--at] = (char)('0' + rest);
    }
    if (number < 0) {
        digits[--at] = '-';
    }
    memcpy(text, digits + at, sizeof digits - at);
    return sizeof digits - at;
}

void lk_buffer_add_number(struct lk_buffer *buffer, int64_t number) {
    char text[LK_NUMBER_BYTES_MAX];

    lk_buffer_add(buffer, text, lk_number_write(text, number));
}

void lk_buffer_insert(struct lk_buffer *buffer, size_t at, const void *bytes, size_t size) {
    if (size != 0 && lk_buffer_reserve(buffer, size) != NULL) {
        memmove(buffer->bytes + at + size, buffer->bytes + at, buffer->size - at);
        memcpy(buffer->bytes + at, bytes, size);
        buffer->size += size;
    }
}

void lk_buffer_consume(struct lk_buffer *buffer, size_t size) {
    if (size != 0) {
        buffer->size -= size;
        memmove(buffer->bytes, buffer->bytes + size, buffer->size);
    }
}

void lk_buffer_cut(struct lk_buffer *buffer, size_t size) {
    buffer->size = size;
}
