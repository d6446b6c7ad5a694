/* SPDX-License-Identifier: Apache-2.0 */
/* A borrowed run of bytes: never owned, not terminated, valid as long as its source says. */
#ifndef LK_BASE_SLICE_H
#define LK_BASE_SLICE_H

#include <stdbool.h>
#include <stddef.h>
#include <string.h>

struct lk_slice {
    const char *bytes; /* may be NULL when size is 0 */
    size_t size;
};

/* The bytes of a C string; NULL gives the empty slice. */
static inline struct lk_slice lk_slice_of(const char *text) {
    return (struct lk_slice){.bytes = text, .size = text != NULL ? strlen(text) : 0};
}

static inline bool lk_slice_equal(struct lk_slice a, struct lk_slice b) {
    return a.size == b.size && (a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
}

/* Byte order, a prefix first: negative, 0 or positive. */
static inline int lk_slice_compare(struct lk_slice a, struct lk_slice b) {
    size_t common = a.size < b.size ? a.size : b.size;
    int order = common > 0 ? memcmp(a.bytes, b.bytes, common) : 0;

    return order != 0 ? order : (a.size > b.size) - (a.size < b.size);
}

#endif
