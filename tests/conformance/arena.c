/* SPDX-License-Identifier: Apache-2.0 */
/* An arena of single allocations: simple, and leak checkers see into it. */
#include "arena.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arena_block {
    struct arena_block *older;
    _Alignas(max_align_t) char bytes[];
};

void *arena_take(struct arena *arena, size_t size) {
    struct arena_block *block = calloc(1, sizeof *block + size);
    if (block == NULL) {
        fputs("conformance: out of memory\n", stderr);
        abort();
    }
    block->older = arena->newest;
    arena->newest = block;
    return block->bytes;
}

char *arena_copy(struct arena *arena, const char *bytes, size_t size) {
    char *copy = arena_take(arena, size + 1);
    memcpy(copy, bytes, size);
    return copy;
}

void arena_free(struct arena *arena) {
    while (arena->newest != NULL) {
        struct arena_block *block = arena->newest;
        arena->newest = block->older;
        free(block);
    }
}
