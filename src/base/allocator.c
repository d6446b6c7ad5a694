/* SPDX-License-Identifier: Apache-2.0 */
/* The C library's allocator, behind the one function that everything allocates through. */
#include "base/allocator.h"

#include <stdlib.h>

static void *resize_by_libc(void *context, void *old, size_t size) {
    (void)context;
    if (size == 0) {
        free(old);
        return NULL;
    }
    return realloc(old, size);
}

const struct lk_allocator lk_allocator_libc = {.resize = resize_by_libc, .context = NULL};
