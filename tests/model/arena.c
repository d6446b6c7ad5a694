/* SPDX-License-Identifier: Apache-2.0 */
/* The arena only grows, until it is brought back: what the model frees is not used again. */
#include "arena.h"

#include <stdlib.h>
#include <string.h>

/* In front of each block. */
union block {
    size_t size;
    max_align_t aligned;
};

static void *resize(void *context, void *old, size_t size) {
    struct arena *arena = context;
    size_t room = (size + sizeof(union block) - 1) / sizeof(union block) * sizeof(union block);
    union block *block;

    if (size == 0) {
        return NULL;
    }
    if (arena->used + sizeof *block + room > ARENA_BYTES) {
        abort();
    }
    block = (union block *)(void *)(arena->bytes + arena->used);
    arena->used += sizeof *block + room;
    block->size = size;
    if (old != NULL) {
        size_t old_size = ((union block *)old - 1)->size;
        memcpy(block + 1, old, old_size < size ? old_size : size);
    }
    return block + 1;
}

struct arena *arena_new(void) {
    struct arena *arena = malloc(sizeof *arena);

    if (arena == NULL) {
        abort();
    }
    arena->allocator = (struct lk_allocator){.resize = resize, .context = arena};
    arena->used = 0;
    return arena;
}

void arena_free(struct arena *arena) {
    free(arena);
}

void arena_clear(struct arena *arena) {
    arena->used = 0;
}

void arena_keep(const struct arena *arena, struct arena_copy *copy) {
    unsigned char *bytes = realloc(copy->bytes, arena->used + 1);

    if (bytes == NULL) {
        abort();
    }
    memcpy(bytes, arena->bytes, arena->used);
    copy->bytes = bytes;
    copy->used = arena->used;
}

void arena_bring_back(struct arena *arena, const struct arena_copy *copy) {
    memcpy(arena->bytes, copy->bytes, copy->used);
    arena->used = copy->used;
}
