/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where claims wait: the paths at which claims wait for work (R16), as a tree: a node exists
 * exactly while a waiting queue is at it or below it. So what is related to a path (R5) is found by
 * a look at each of its ancestors, and a walk below it that meets nothing else: no other waiting
 * queue is visited.
 *
 * The claims themselves, and when they are tried, are in claim_waiters.c.
 */
#ifndef LK_SERVER_CORE_CLAIM_WAITERS_H
#define LK_SERVER_CORE_CLAIM_WAITERS_H

#include "base/hash.h"
#include "model/command.h"
#include "model/path.h"
#include "server/core/lists.h"

/* A node of the tree; a waiting queue if it has a number. */
struct lk_waiting_queue {
    struct lk_timer timer; /* first: when the next delayed item is due */
    struct lk_hash_entry by_path;
    struct lk_waiting_queue *parent; /* NULL: of a root */
    struct lk_link children;         /* ring */
    struct lk_link in_parent;
    struct lk_path path;
    uint64_t number;               /* later ones have greater numbers; 0: it only leads to others */
    struct lk_link blocked;        /* ring of the claims that wait here */
    struct lk_waiting_queue *next; /* in the list of ready ones, or of those that were found */
    bool is_ready;
    struct lk_link in_waking; /* alone: it does not wake at every end */
    char text[];
};

struct lk_waiting_queues {
    struct lk_hash_table by_path;
    uint64_t hash_seed;
    uint64_t last_number;
    struct lk_link waking; /* ring of those that wake at the end of every lock: an item of theirs
                            * needs locks that may be anywhere */
    size_t count;
    uint64_t visited; /* nodes looked at, ever */
};

void lk_waiting_queues_init(struct lk_waiting_queues *queues, uint64_t hash_seed);
void lk_waiting_queues_done(struct lk_waiting_queues *queues); /* there are none any more */

/* The waiting queue of exactly this path. NULL: there is none. */
struct lk_waiting_queue *lk_waiting_queue_find(struct lk_waiting_queues *queues,
                                               const struct lk_path *path);

/* A new one, where there is none. NULL: memory is exhausted, and nothing was made. */
struct lk_waiting_queue *lk_waiting_queue_make(struct lk_waiting_queues *queues,
                                               const struct lk_path *path);

/* Ends a waiting queue that has neither a claim nor a timer. */
void lk_waiting_queue_free(struct lk_waiting_queues *queues, struct lk_waiting_queue *queue);

/*
 * Those that are not ready, linked by `next`, the newest first: of the paths related to this one
 * (R5), and of those that wake at every end.
 */
struct lk_waiting_queue *lk_waiting_queues_related(struct lk_waiting_queues *queues,
                                                   const struct lk_path *path);
struct lk_waiting_queue *lk_waiting_queues_waking(struct lk_waiting_queues *queues);

#endif
