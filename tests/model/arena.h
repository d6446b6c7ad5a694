/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An arena that a model lives in as a whole: every byte of its state is in the arena's first
 * `used` bytes, so the state can be kept and brought back by copying those. (The model has no copy
 * operation, and needs none.)
 */
#ifndef LK_TESTS_MODEL_ARENA_H
#define LK_TESTS_MODEL_ARENA_H

#include "base/allocator.h"

enum { ARENA_BYTES = 1 << 20 };

struct arena {
    struct lk_allocator allocator; /* for the model */
    size_t used;
    _Alignas(max_align_t) unsigned char bytes[ARENA_BYTES];
};

struct arena *arena_new(void);
void arena_free(struct arena *arena);
void arena_clear(struct arena *arena);

struct arena_copy {
    size_t used;
    unsigned char *bytes;
};

/* Keeps the state in *copy, which starts as zeros and ends with free(copy->bytes). */
void arena_keep(const struct arena *arena, struct arena_copy *copy);
void arena_bring_back(struct arena *arena, const struct arena_copy *copy);

#endif
