/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What lk top has of the store: a snapshot, and the tree of its paths.
 *
 * The requests of the store at one moment, with the blockers of the waiting ones and the queues
 * that have items. The explanations are read root by root right after the listing, and the queues
 * behind them, so they can be slightly newer than it.
 */
#ifndef LK_CLI_TOP_LISTING_H
#define LK_CLI_TOP_LISTING_H

#include <stdbool.h>

#include "cli/print/wait_graph.h"
#include "lockkeeper/lockkeeper.h"

/* ---- a snapshot ------------------------------------------------------------------------------ */

/* For how many roots the blockers are read: those with the longest waits. */
enum { LK_SNAPSHOT_ROOTS_MAX = 32 };

struct lk_snapshot {
    lk_listing *listing;
    lk_listing *explanations[LK_SNAPSHOT_ROOTS_MAX];
    size_t explanation_count;
    struct lk_wait_graph *waits;
    lk_queue_list *queues; /* NULL: the store keeps none, or they were not read */
    bool has_read_queues;
    size_t held_count, waiting_count; /* requests, not parts */
    int64_t longest_wait_ms;
    int64_t oldest_ready_ms; /* of the items of all queues (R16); -1: none is ready */
};

/*
 * Reads all at or below `prefix` (NULL: everything) but the queues. `path` (NULL or empty: none) is
 * the selected path: its root is explained in any case. LK_OK with *ret_snapshot, or an error.
 */
lk_outcome lk_snapshot_read(lk_store *store, const char *prefix, const char *path,
                            struct lk_snapshot **ret_snapshot, lk_error *error);

/*
 * Adds the queues at or below `prefix` to a snapshot without them. That costs the more the more
 * queues have had items (R16), so it need not be done each time. LK_OK, or an error.
 */
lk_outcome lk_snapshot_read_queues(lk_store *store, const char *prefix,
                                   struct lk_snapshot *snapshot, lk_error *error);

/* Moves the queues of an earlier snapshot (NULL: none) into one that was read without them. */
void lk_snapshot_inherit(struct lk_snapshot *snapshot, struct lk_snapshot *earlier);

void lk_snapshot_free(struct lk_snapshot *snapshot); /* accepts NULL */

/* ---- the tree of paths ----------------------------------------------------------------------- */

/*
 * A listing as a tree of paths, in a chosen order, with the queues that have items. A segment that
 * has neither requests nor items, and only one child, is drawn together with that child
 * (`mydatabase/mytest`). Borrows the entries of the listing, and the queues.
 */

/* By what neighbours in the tree are ordered; the path decides between equals. */
enum lk_tree_order {
    LK_ORDER_PATH,
    LK_ORDER_AGE,     /* the oldest request or ready item at or below it, oldest first */
    LK_ORDER_LEFT,    /* the least time left, least first */
    LK_ORDER_WAITERS, /* how many wait at or below it, most first */
    LK_ORDER_COUNT
};

#define LK_TREE_NONE SIZE_MAX

struct lk_tree_node {
    const char *path;
    size_t path_size;
    size_t name_at; /* where in the path its own part of the name begins */
    size_t parent, first_child, next;
    const lk_entry **entries; /* at exactly this path: holders first, then the queue */
    size_t entry_count;
    const lk_queue_info *queue;       /* of this path; NULL: it has no items */
    size_t held_count, waiting_count; /* at or below it */
    int64_t age_ms, left_ms;
};

struct lk_tree {
    struct lk_tree_node *nodes; /* the first one is above all roots and has no path */
    size_t count;
    size_t capacity;
    const lk_entry **entries;
    size_t entry_count;
    const lk_queue_info **queues;
    size_t queue_count;
};

/*
 * Makes a tree of those entries whose path, owner or note contains `filter`, and of those queues
 * whose path does (NULL or empty: all; letters of ASCII match in both cases). False when memory is
 * exhausted: there is no tree.
 */
bool lk_tree_make(const struct lk_snapshot *snapshot, const char *filter, enum lk_tree_order order,
                  struct lk_tree *ret_tree);
void lk_tree_done(struct lk_tree *tree);

/* "path", "age", "time left", "waiters". */
const char *lk_tree_order_name(enum lk_tree_order order);

#endif
