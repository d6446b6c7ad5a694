/* SPDX-License-Identifier: Apache-2.0 */
/* Short strings of up to 255 bytes: up to 11 in place, longer ones behind a pointer. */
#ifndef LK_MODEL_NAME_H
#define LK_MODEL_NAME_H

#include <stdint.h>

#include "base/allocator.h"
#include "base/slice.h"

enum { LK_NAME_INLINE_MAX = 11, LK_NAME_POINTER_AT = 3 };

struct lk_name {
    uint8_t size;
    char bytes[LK_NAME_INLINE_MAX]; /* or, from LK_NAME_POINTER_AT, the pointer */
};

/* Copies `text` (at most 255 bytes). false: memory is exhausted. */
bool lk_name_set(struct lk_name *name, const struct lk_allocator *allocator, struct lk_slice text);
void lk_name_done(struct lk_name *name, const struct lk_allocator *allocator);

static inline struct lk_slice lk_name_text(const struct lk_name *name) {
    const char *far_bytes;

    if (name->size <= LK_NAME_INLINE_MAX) {
        return (struct lk_slice){.bytes = name->bytes, .size = name->size};
    }
    memcpy(&far_bytes, name->bytes + LK_NAME_POINTER_AT, sizeof far_bytes);
    return (struct lk_slice){.bytes = far_bytes, .size = name->size};
}

#endif
