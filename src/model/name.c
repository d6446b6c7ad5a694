/* SPDX-License-Identifier: Apache-2.0 */
/* Short strings. */
#include "model/name.h"

#include <assert.h>

_Static_assert(LK_NAME_POINTER_AT + sizeof(char *) <= LK_NAME_INLINE_MAX, "the pointer fits");

bool lk_name_set(struct lk_name *name, const struct lk_allocator *allocator, struct lk_slice text) {
    char *far_bytes;

    assert(text.size <= UINT8_MAX);
    if (text.size <= LK_NAME_INLINE_MAX) {
        if (text.size > 0) {
            memcpy(name->bytes, text.bytes, text.size);
        }
        name->size = (uint8_t)text.size;
        return true;
    }
    far_bytes = allocator->resize(allocator->context, NULL, text.size);
    if (far_bytes == NULL) {
        return false;
    }
    memcpy(far_bytes, text.bytes, text.size);
    memcpy(name->bytes + LK_NAME_POINTER_AT, &far_bytes, sizeof far_bytes);
    name->size = (uint8_t)text.size;
    return true;
}

void lk_name_done(struct lk_name *name, const struct lk_allocator *allocator) {
    if (name->size > LK_NAME_INLINE_MAX) {
        char *far_bytes;
        memcpy(&far_bytes, name->bytes + LK_NAME_POINTER_AT, sizeof far_bytes);
        allocator->resize(allocator->context, far_bytes, 0);
    }
    name->size = 0;
}
