/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The servers of a store: one, or the nodes of a cluster with their slots, as the servers report
 * them; and the idle connections to each of them. Thread-safe.
 */
#ifndef LK_ENGINE_REDIS_CLIENT_TOPOLOGY_H
#define LK_ENGINE_REDIS_CLIENT_TOPOLOGY_H

#include <pthread.h>

#include "engine/redis/client/link.h"

enum {
    LK_REDIS_SLOTS = 16384,
    LK_REDIS_NODES_MAX = 1024,
    LK_REDIS_IDLE_MAX = 16, /* connections kept for each node */
    LK_REDIS_NO_NODE = -1,
};

struct lk_redis_topology {
    struct lk_redis_target target;
    pthread_mutex_t mutex; /* guards all that follows */
    struct {
        struct lk_redis_address address;
        struct lk_redis_link *idle;
        int idle_count;
        unsigned failures;                  /* in a row: a node that fails is queried last */
        char boot[LK_REDIS_BOOT_BYTES + 1]; /* of the last server there; "": none */
        bool is_in_doubt;                   /* in a cluster: its slots are to be queried again */
    } nodes[LK_REDIS_NODES_MAX];
    _Atomic uint64_t interruptions; /* broken connections, and other servers at a node's address */
    int node_count;                 /* the seeds come first */
    int16_t slots[LK_REDIS_SLOTS];
    int current; /* without a cluster: the seed that answers */
    bool is_cluster;
    bool is_known; /* a server has let the client in */
    bool is_stale; /* the whole topology is to be queried again */
};

/* LK_OK; LK_INTERNAL. End with lk_redis_topology_done(). */
lk_outcome lk_redis_topology_init(struct lk_redis_topology *topology,
                                  const struct lk_redis_target *target, lk_error *error);
void lk_redis_topology_done(struct lk_redis_topology *topology);

/* Connects to any seed and discovers its cluster, if it has one. */
lk_outcome lk_redis_topology_discover(struct lk_redis_topology *topology,
                                      const struct lk_patience *patience, lk_error *error);

/* The slot of the keys of this root, as computed by CLUSTER KEYSLOT. */
unsigned lk_redis_slot_of(struct lk_slice root);

/* The node that has the slot, or any (slot LK_REDIS_SLOTS). */
lk_outcome lk_redis_topology_node_of(struct lk_redis_topology *topology, unsigned slot,
                                     const struct lk_patience *patience, int *ret_node,
                                     lk_error *error);

/* A connection to the node that has the slot, or any (slot LK_REDIS_SLOTS). */
lk_outcome lk_redis_topology_take(struct lk_redis_topology *topology, unsigned slot,
                                  const struct lk_patience *patience,
                                  struct lk_redis_link **ret_link, lk_error *error);

/* A connection to this node. */
lk_outcome lk_redis_topology_take_node(struct lk_redis_topology *topology, int node,
                                       const struct lk_patience *patience,
                                       struct lk_redis_link **ret_link, lk_error *error);

/* Keeps a usable link as idle, or closes it. */
void lk_redis_topology_give(struct lk_redis_topology *topology, struct lk_redis_link *link);
void lk_redis_topology_drop(struct lk_redis_topology *topology, struct lk_redis_link *link);

/* The node named by "MOVED SLOT HOST:PORT" or "ASK ...", or LK_REDIS_NO_NODE. */
int lk_redis_topology_redirect(struct lk_redis_topology *topology, const char *words,
                               const struct lk_redis_link *link, bool for_good);

/* Marks the topology at this node stale: the next call queries another seed, or the slots. */
void lk_redis_topology_mark_stale(struct lk_redis_topology *topology, int node);

/* Writes the masters, each once, into `nodes`; returns how many. */
int lk_redis_topology_masters(struct lk_redis_topology *topology, int nodes[LK_REDIS_NODES_MAX]);

#endif
