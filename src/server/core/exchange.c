/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the core and a store exchange. The arena of a batch takes chunks of one size, and one of its
 * own for a larger piece.
 */
#include "server/core/exchange.h"

#include <stdalign.h>
#include <stdlib.h>

#include "engine/reply/reply.h"

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

/* ---- snapshots ------------------------------------------------------------------------------- */

struct lk_core_snapshot *lk_core_snapshot_new(const struct lk_model_config *config) {
    struct lk_core_snapshot *snapshot = calloc(1, sizeof *snapshot);

    if (snapshot == NULL) {
        return NULL;
    }
    snapshot->model = lk_model_new(config);
    snapshot->audit = lk_audit_new();
    if (snapshot->model == NULL || snapshot->audit == NULL) {
        lk_core_snapshot_free(snapshot);
        return NULL;
    }
    return snapshot;
}

void lk_core_snapshot_free(struct lk_core_snapshot *snapshot) {
    if (snapshot == NULL) {
        return;
    }
    lk_model_free(snapshot->model);
    lk_audit_free(snapshot->audit);
    free(snapshot->bound);
    lk_event_ring_drop_oldest(&snapshot->event_log.ring, 0, 0);
    free(snapshot);
}

static uint64_t bound_over(uint64_t configured, uint64_t kept) {
    return configured != 0 ? configured : kept;
}

struct lk_quotas lk_quotas_over(const struct lk_quotas *configured, const struct lk_quotas *kept) {
    return (struct lk_quotas){
        .live_max = bound_over(configured->live_max, kept->live_max),
        .live_per_owner_max = bound_over(configured->live_per_owner_max, kept->live_per_owner_max),
        .live_per_root_max = bound_over(configured->live_per_root_max, kept->live_per_root_max),
        .waiters_per_path_max =
            bound_over(configured->waiters_per_path_max, kept->waiters_per_path_max),
    };
}

bool lk_core_snapshot_add_bound(struct lk_core_snapshot *snapshot, uint64_t id) {
    if (snapshot->bound_count == snapshot->bound_capacity) {
        size_t capacity = snapshot->bound_capacity == 0 ? 64 : snapshot->bound_capacity * 2;
        uint64_t *bound = realloc(snapshot->bound, capacity * sizeof *bound);
        if (bound == NULL) {
            return false;
        }
        snapshot->bound = bound;
        snapshot->bound_capacity = capacity;
    }
    snapshot->bound[snapshot->bound_count++] = id;
    return true;
}
