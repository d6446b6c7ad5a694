/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A few names out of a store, for a shell that completes a word. Each call is one or two
 * exchanges with the store, which read a bounded number of rows, and answers no names where there
 * are too many to read, or where the store cannot be asked: there is nothing to report.
 */
#ifndef LK_CLIENT_NAMES_H
#define LK_CLIENT_NAMES_H

#include <stddef.h>

#include "lockkeeper/work.h"

enum { LK_NAMES_MAX = 1000 };

struct lk_names {
    char **texts; /* at most LK_NAMES_MAX; may be NULL where there are none */
    size_t count;
};

/* Queues (R16) in the order of the bytes of their paths, the first of them greater than `behind`
 * (empty: of all). The caller ends what all of these return with lk_names_done(). */
struct lk_names lk_names_queues(lk_store *store, const char *behind);

/* Paths that keep values (R15), the same: at or below `prefix`, a path, or NULL. */
struct lk_names lk_names_values(lk_store *store, const char *prefix, const char *behind);

/* Which items of a queue. */
enum lk_names_of_items {
    LK_NAMES_CLAIMED,
    LK_NAMES_PARKED,
    LK_NAMES_NOT_CLAIMED,
    LK_NAMES_ANY,
};

/* The ids of items, the oldest first. Of a queue with very many items only those that are parked
 * are known. */
struct lk_names lk_names_items(lk_store *store, const char *queue, enum lk_names_of_items which);

void lk_names_done(struct lk_names *names);

#endif
