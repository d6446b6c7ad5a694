/* SPDX-License-Identifier: Apache-2.0 */
/* What "grab" counts of its own requests since the start, by owner and by path; bounded. */
#ifndef LK_SERVER_HTTP_GRAB_STATS_H
#define LK_SERVER_HTTP_GRAB_STATS_H

#include "form/writer.h"
#include "model/path.h"

enum {
    LK_GRAB_NAMES_MAX = 1024, /* of a table; more are in the total only */
    LK_GRAB_SLOTS = 2 * LK_GRAB_NAMES_MAX,
};

struct lk_grab_count {
    char *name; /* owned; NULL: the slot is free */
    uint64_t count;
};

struct lk_grab_counts {
    struct lk_grab_count slots[LK_GRAB_SLOTS]; /* by hash */
    size_t used;
};

struct lk_grab_stats {
    uint64_t hash_seed;
    uint64_t total;
    size_t longest;         /* queue, in groups */
    char *longest_resource; /* ... and its path; owned; NULL: there was none */
    char *longest_owner;    /* ... and the owner that made it so long; owned */
    struct lk_grab_counts by_owner;
    struct lk_grab_counts by_lock;
};

/* A new request stands in the queue of `path` and in those above it: at positions[0] in that of the
 * root, and so on. Without memory a name is not counted. */
void lk_grab_stats_add(struct lk_grab_stats *stats, const char *owner, const struct lk_path *path,
                       const size_t *positions);

/* Writes the fields that follow the uptime, into an open map. */
void lk_grab_stats_write(const struct lk_grab_stats *stats, struct lk_form_writer *writer);
void lk_grab_stats_done(struct lk_grab_stats *stats);

/*
 * Text as the name of a field of JSON, which writers take as it is. Valid until the next one;
 * `scratch` is the caller's to free.
 */
const char *lk_grab_name(struct lk_buffer *scratch, struct lk_slice text);

#endif
