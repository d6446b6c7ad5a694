/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests of the store at one moment, with the blockers of the waiting ones. The explanations
 * are read root by root right after the listing, so they can be slightly newer than it.
 */
#ifndef LK_CLI_TOP_SNAPSHOT_H
#define LK_CLI_TOP_SNAPSHOT_H

#include "cli/print/wait_graph.h"
#include "lockkeeper/lockkeeper.h"

/* For how many roots the blockers are read: those with the longest waits. */
enum { LK_SNAPSHOT_ROOTS_MAX = 32 };

struct lk_snapshot {
    lk_listing *listing;
    lk_listing *explanations[LK_SNAPSHOT_ROOTS_MAX];
    size_t explanation_count;
    struct lk_wait_graph *waits;
    size_t held_count, waiting_count; /* requests, not parts */
    int64_t longest_wait_ms;
};

/*
 * Reads all at or below `prefix` (NULL: everything). `path` (NULL or empty: none) is the selected
 * path: its root is explained in any case. LK_OK with *ret_snapshot, or an error.
 */
lk_outcome lk_snapshot_read(lk_store *store, const char *prefix, const char *path,
                            struct lk_snapshot **ret_snapshot, lk_error *error);

void lk_snapshot_free(struct lk_snapshot *snapshot); /* accepts NULL */

#endif
