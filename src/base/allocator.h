/* SPDX-License-Identifier: Apache-2.0 */
/* Where memory comes from. Replaceable, so that tests can make any allocation fail. */
#ifndef LK_BASE_ALLOCATOR_H
#define LK_BASE_ALLOCATOR_H

#include <stddef.h>

struct lk_allocator {
    /*
     * realloc() with a context: old NULL allocates, size 0 frees and returns NULL. Returns NULL
     * when memory is exhausted, `old` untouched.
     */
    void *(*resize)(void *context, void *old, size_t size);
    void *context;
};

/* The C library's. */
extern const struct lk_allocator lk_allocator_libc;

#endif
