/* SPDX-License-Identifier: Apache-2.0 */
/* The arena of a batch takes chunks of one size, and one of its own for a larger piece. */
#include "server/core/batch.h"

#include <stdalign.h>
#include <stdlib.h>

enum { CHUNK_BYTES = 64 * 1024 };

struct lk_arena_chunk {
    struct lk_arena_chunk *next;
    size_t capacity;
    alignas(max_align_t) unsigned char bytes[];
};

static struct lk_arena_chunk *chunk_new(size_t capacity) {
    struct lk_arena_chunk *chunk = malloc(sizeof *chunk + capacity);

    if (chunk != NULL) {
        chunk->capacity = capacity;
        chunk->next = NULL;
    }
    return chunk;
}

void *lk_arena_take(struct lk_arena *arena, size_t size) {
    size_t rounded =
        (size + alignof(max_align_t) - 1) / alignof(max_align_t) * alignof(max_align_t);
    struct lk_arena_chunk *chunk = arena->chunks;

    if (chunk == NULL || chunk->capacity - arena->used < rounded) {
        chunk = chunk_new(rounded > CHUNK_BYTES ? rounded : CHUNK_BYTES);
        if (chunk == NULL) {
            return NULL;
        }
        chunk->next = arena->chunks;
        arena->chunks = chunk;
        arena->used = 0;
    }
    arena->used += rounded;
    arena->bytes += rounded;
    return chunk->bytes + (arena->used - rounded);
}

bool lk_arena_copy(struct lk_arena *arena, struct lk_slice bytes, struct lk_slice *ret_copy) {
    char *copy = lk_arena_take(arena, bytes.size > 0 ? bytes.size : 1);

    if (copy == NULL) {
        return false;
    }
    if (bytes.size > 0) {
        memcpy(copy, bytes.bytes, bytes.size);
    }
    *ret_copy = (struct lk_slice){copy, bytes.size};
    return true;
}

void lk_arena_reset(struct lk_arena *arena) {
    struct lk_arena_chunk *kept = NULL;

    while (arena->chunks != NULL) {
        struct lk_arena_chunk *chunk = arena->chunks;
        arena->chunks = chunk->next;
        if (kept == NULL && chunk->capacity == CHUNK_BYTES) {
            kept = chunk;
        } else {
            free(chunk);
        }
    }
    if (kept != NULL) {
        kept->next = NULL;
    }
    arena->chunks = kept;
    arena->used = 0;
    arena->bytes = 0;
}

void lk_arena_done(struct lk_arena *arena) {
    lk_arena_reset(arena);
    free(arena->chunks);
    arena->chunks = NULL;
}
