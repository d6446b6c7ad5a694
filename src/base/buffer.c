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

char *lk_buffer_reserve(struct lk_buffer *buffer, size_t size) {
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

size_t lk_number_write(char *text, int64_t number) {
    char digits[LK_NUMBER_BYTES_MAX];
    size_t count = 0;
    size_t size = 0;
    uint64_t rest = number < 0 ? -(uint64_t)number : (uint64_t)number;

    do {
        digits[count++] = (char)('0' + rest % 10);
        rest /= 10;
    } while (rest != 0);
    if (number < 0) {
        text[size++] = '-';
    }
    while (count > 0) {
        text[size++] = digits[--count];
    }
    return size;
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
