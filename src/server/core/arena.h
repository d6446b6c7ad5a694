/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is taken piece by piece and freed all at once. */
#ifndef LK_SERVER_CORE_ARENA_H
#define LK_SERVER_CORE_ARENA_H

#include <stddef.h>

#include "base/slice.h"

struct lk_arena_chunk;

struct lk_arena {
    struct lk_arena_chunk *chunks; /* the one in use first */
    size_t used;                   /* bytes of that chunk */
    size_t bytes;                  /* bytes taken in all */
};

/* `size` bytes, aligned for anything, not cleared. NULL: memory is exhausted. */
void *lk_arena_take(struct lk_arena *arena, size_t size);

/* A copy of the bytes in the arena. false: memory is exhausted. */
bool lk_arena_copy(struct lk_arena *arena, struct lk_slice bytes, struct lk_slice *ret_copy);

/* Frees everything. One chunk is kept for the next use. */
void lk_arena_reset(struct lk_arena *arena);
void lk_arena_done(struct lk_arena *arena);

#endif
