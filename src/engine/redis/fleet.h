/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a store: one, or the nodes of a cluster with their slots, found out from the
 * servers themselves; and the idle connections to each of them. Thread-safe.
 */
#ifndef LK_ENGINE_REDIS_FLEET_H
#define LK_ENGINE_REDIS_FLEET_H

#include <pthread.h>

#include "engine/redis/link.h"

enum {
    LK_REDIS_SLOTS = 16384,
    LK_REDIS_NODES_MAX = 1024,
    LK_REDIS_IDLE_MAX = 16, /* connections kept for each node */
    LK_REDIS_NO_NODE = -1,
};

struct lk_redis_fleet {
    struct lk_redis_place place;
    pthread_mutex_t mutex; /* guards all that follows */
    struct {
        struct lk_redis_address address;
        struct lk_redis_link *idle;
        int idle_count;
        unsigned failures; /* in a row: a node that fails is asked last */
    } nodes[LK_REDIS_NODES_MAX];
    int node_count; /* the seeds come first */
    int16_t slots[LK_REDIS_SLOTS];
    int current; /* of a store without a cluster: the seed that answers */
    bool is_cluster;
    bool is_stale; /* the slots are to be asked for again */
};

/* LK_OK; LK_INTERNAL. End with lk_redis_fleet_done(). */
lk_outcome lk_redis_fleet_init(struct lk_redis_fleet *fleet, const struct lk_redis_place *place,
                               lk_error *error);
void lk_redis_fleet_done(struct lk_redis_fleet *fleet);

/* Connects to any seed and finds out what it belongs to. */
lk_outcome lk_redis_fleet_discover(struct lk_redis_fleet *fleet, const struct lk_patience *patience,
                                   lk_error *error);

/* The slot of the keys of this root, as CLUSTER KEYSLOT has it. */
unsigned lk_redis_slot_of(struct lk_slice root);

/* The node that has the slot, or any (slot LK_REDIS_SLOTS). */
lk_outcome lk_redis_fleet_node_of(struct lk_redis_fleet *fleet, unsigned slot,
                                  const struct lk_patience *patience, int *ret_node,
                                  lk_error *error);

/* A connection to the node that has the slot, or any (slot LK_REDIS_SLOTS). */
lk_outcome lk_redis_fleet_take(struct lk_redis_fleet *fleet, unsigned slot,
                               const struct lk_patience *patience, struct lk_redis_link **ret_link,
                               lk_error *error);

/* A connection to this very node. */
lk_outcome lk_redis_fleet_take_node(struct lk_redis_fleet *fleet, int node,
                                    const struct lk_patience *patience,
                                    struct lk_redis_link **ret_link, lk_error *error);

/* Gives back one that is sound, or closes one that is not. */
void lk_redis_fleet_give(struct lk_redis_fleet *fleet, struct lk_redis_link *link);
void lk_redis_fleet_drop(struct lk_redis_fleet *fleet, struct lk_redis_link *link);

/* What was said by "MOVED SLOT HOST:PORT" or "ASK ...": the node, or LK_REDIS_NO_NODE. */
int lk_redis_fleet_redirect(struct lk_redis_fleet *fleet, const char *words,
                            const struct lk_redis_link *link, bool for_good);

/* Something is not as it was: another seed, or the slots anew. */
void lk_redis_fleet_doubt(struct lk_redis_fleet *fleet);

/* The masters, each once, into `nodes`; how many. */
int lk_redis_fleet_masters(struct lk_redis_fleet *fleet, int nodes[LK_REDIS_NODES_MAX]);

#endif
