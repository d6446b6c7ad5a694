/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is given back all at once: what is read from one scenario file lives in one. */
#ifndef CONFORMANCE_ARENA_H
#define CONFORMANCE_ARENA_H

#include <stddef.h>

struct arena_block;

struct arena {
    struct arena_block *newest; /* NULL: empty */
};

/* Zeroed memory; ends the program when there is none, for a test cannot go on without it. */
void *arena_take(struct arena *arena, size_t size);

char *arena_copy(struct arena *arena, const char *bytes, size_t size);

void arena_free(struct arena *arena);

#endif
