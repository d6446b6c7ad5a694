/* SPDX-License-Identifier: Apache-2.0 */
/* Arrays in the binary format. */
#include "server/store/postgresql/arrays.h"

#include <limits.h>
#include <stdlib.h>

enum { HEADER_BYTES = 20, CAPACITY_FIRST = 256 };

void lk_array_put32(char *ret_bytes, uint32_t value) {
    for (int i = 0; i < 4; i++) {
        ret_bytes[i] = (char)(unsigned char)(value >> (24 - 8 * i));
    }
}

static void put64(char *ret_bytes, uint64_t value) {
    lk_array_put32(ret_bytes, (uint32_t)(value >> 32));
    lk_array_put32(ret_bytes + 4, (uint32_t)value);
}

int64_t lk_array_get64(const char *bytes) {
    uint64_t value = 0;

    for (int i = 0; i < 8; i++) {
        value = value << 8 | (unsigned char)bytes[i];
    }
    return (int64_t)value;
}

void lk_array_done(struct lk_array *array) {
    free(array->bytes);
    *array = (struct lk_array){.bytes = NULL};
}

void lk_array_clear(struct lk_array *array) {
    array->size = 0;
    array->count = 0;
    array->has_failed = false;
}

/* Room for so many bytes more, which become part of the array. NULL: memory is exhausted. */
static char *take(struct lk_array *array, size_t size) {
    size_t capacity = array->capacity > 0 ? array->capacity : CAPACITY_FIRST;
    char *bytes;

    while (capacity < array->size + size) {
        capacity *= 2;
    }
    if (capacity != array->capacity) {
        bytes = realloc(array->bytes, capacity);
        if (bytes == NULL) {
            array->has_failed = true;
            return NULL;
        }
        array->bytes = bytes;
        array->capacity = capacity;
    }
    bytes = array->bytes + array->size;
    array->size += size;
    return bytes;
}

/* The same for one element, whose size comes first. */
static char *take_element(struct lk_array *array, size_t size) {
    char *bytes = array->size == 0 ? take(array, HEADER_BYTES) : array->bytes;

    if (bytes == NULL || array->has_failed || (bytes = take(array, size + 4)) == NULL) {
        return NULL;
    }
    lk_array_put32(bytes, (uint32_t)size);
    array->count++;
    return bytes + 4;
}

void lk_array_add_bigint(struct lk_array *array, int64_t value) {
    char *bytes = take_element(array, sizeof value);

    if (bytes != NULL) {
        put64(bytes, (uint64_t)value);
    }
}

void lk_array_add_boolean(struct lk_array *array, bool value) {
    char *bytes = take_element(array, 1);

    if (bytes != NULL) {
        bytes[0] = value ? 1 : 0;
    }
}

void lk_array_add_bytes(struct lk_array *array, struct lk_slice bytes) {
    char *room = take_element(array, bytes.size);

    if (room != NULL && bytes.size > 0) {
        memcpy(room, bytes.bytes, bytes.size);
    }
}

bool lk_array_close(struct lk_array *array, enum lk_array_kind kind) {
    static const uint32_t element_types[] = {[LK_ARRAY_BIGINT] = 20,
                                             [LK_ARRAY_BOOLEAN] = 16,
                                             [LK_ARRAY_TEXT] = 25,
                                             [LK_ARRAY_BYTEA] = 17};

    if (array->has_failed || array->count == 0 || array->size > INT_MAX) {
        return false;
    }
    lk_array_put32(array->bytes, 1);     /* dimensions */
    lk_array_put32(array->bytes + 4, 0); /* no NULL in it */
    lk_array_put32(array->bytes + 8, element_types[kind]);
    lk_array_put32(array->bytes + 12, array->count);
    lk_array_put32(array->bytes + 16, 1); /* the first index */
    return true;
}
