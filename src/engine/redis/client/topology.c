/* SPDX-License-Identifier: Apache-2.0 */
/* Servers, slots and idle connections. */
#include "engine/redis/client/topology.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "engine/redis/client/keys.h"

/* ---- slots ----------------------------------------------------------------------------------- */

/* CRC16 of the Redis Cluster specification (XMODEM), bit by bit: roots are short. */
unsigned lk_redis_slot_of(struct lk_slice root) {
    struct lk_redis_prefix prefix;
    struct lk_slice tag;
    unsigned sum = 0;

    lk_redis_prefix_make(root, &prefix);
    tag = lk_redis_prefix_tag(&prefix);
    for (size_t i = 0; i < tag.size; i++) {
        sum ^= (unsigned)(unsigned char)tag.bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum & 0x8000) != 0 ? (sum << 1) ^ 0x1021 : sum << 1;
        }
    }
    return (sum & 0xffff) % LK_REDIS_SLOTS;
}

/* ---- nodes; the mutex is held ---------------------------------------------------------------- */

static int find_node(struct lk_redis_topology *topology, const struct lk_redis_address *address) {
    for (int i = 0; i < topology->node_count; i++) {
        if (topology->nodes[i].address.port == address->port
            && strcmp(topology->nodes[i].address.host, address->host) == 0) {
            return i;
        }
    }
    if (topology->node_count == LK_REDIS_NODES_MAX) {
        return LK_REDIS_NO_NODE;
    }
    topology->nodes[topology->node_count].address = *address;
    return topology->node_count++;
}

/* A node without a host name is the one that was queried. */
static int find_named_node(struct lk_redis_topology *topology, const char *host, size_t host_size,
                           int port, int asked) {
    struct lk_redis_address address = {.port = port};

    if (host_size == 0) {
        address = topology->nodes[asked].address;
        address.port = port;
    } else if (host_size > LK_REDIS_HOST_BYTES_MAX) {
        return LK_REDIS_NO_NODE;
    } else {
        memcpy(address.host, host, host_size);
    }
    return port > 0 && port <= UINT16_MAX ? find_node(topology, &address) : LK_REDIS_NO_NODE;
}

lk_outcome lk_redis_topology_init(struct lk_redis_topology *topology,
                                  const struct lk_redis_target *target, lk_error *error) {
    topology->target = *target;
    topology->is_stale = true;
    for (size_t i = 0; i < LK_REDIS_SLOTS; i++) {
        topology->slots[i] = LK_REDIS_NO_NODE;
    }
    for (size_t i = 0; i < target->seed_count; i++) {
        (void)find_node(topology, &target->seeds[i]);
    }
    return pthread_mutex_init(&topology->mutex, NULL) == 0
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
}

void lk_redis_topology_done(struct lk_redis_topology *topology) {
    for (int i = 0; i < topology->node_count; i++) {
        while (topology->nodes[i].idle != NULL) {
            struct lk_redis_link *link = topology->nodes[i].idle;
            topology->nodes[i].idle = link->next;
            lk_redis_link_close(link);
        }
    }
    (void)pthread_mutex_destroy(&topology->mutex);
}

/*
 * Marks the node's slots stale. In a cluster only calls to these slots query the topology again,
 * and ask other nodes first, so calls to healthy nodes do not wait for one that hangs.
 */
static void mark_in_doubt(struct lk_redis_topology *topology, int node) {
    atomic_fetch_add(&topology->interruptions, 1);
    topology->nodes[node].failures++;
    if (topology->is_cluster) {
        topology->nodes[node].is_in_doubt = true;
    } else {
        topology->is_stale = true;
    }
}

/* A restarted server, or another one at its address, may not know what the former knew. */
static void meet(struct lk_redis_topology *topology, int node, const char *boot) {
    char *former = topology->nodes[node].boot;

    if (former[0] != '\0' && strcmp(former, boot) != 0) {
        atomic_fetch_add(&topology->interruptions, 1);
    }
    (void)snprintf(former, sizeof topology->nodes[node].boot, "%s", boot);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct lk_redis_link *take_idle(struct lk_redis_topology *topology, int node) {
    struct lk_redis_link *link;

    pthread_mutex_lock(&topology->mutex);
    link = topology->nodes[node].idle;
    if (link != NULL) {
        topology->nodes[node].idle = link->next;
        topology->nodes[node].idle_count--;
    }
    pthread_mutex_unlock(&topology->mutex);
    return link;
}

lk_outcome lk_redis_topology_take_node(struct lk_redis_topology *topology, int node,
                                       const struct lk_patience *patience,
                                       struct lk_redis_link **ret_link, lk_error *error) {
    struct lk_redis_link *link = take_idle(topology, node);
    struct lk_redis_address address;
    lk_outcome outcome;
    lk_error cause = {.text = ""};

    if (link != NULL) {
        *ret_link = link;
        return LK_OK;
    }
    pthread_mutex_lock(&topology->mutex);
    address = topology->nodes[node].address;
    pthread_mutex_unlock(&topology->mutex);
    outcome = lk_redis_link_open(&topology->target, &address, patience, &link, &cause);
    pthread_mutex_lock(&topology->mutex);
    if (outcome == LK_OK) {
        topology->nodes[node].failures = 0;
        topology->is_known = true;
        meet(topology, node, link->boot);
    } else {
        mark_in_doubt(topology, node);
        /* What is of no use, where a server was, answers in its place while it is away. */
        if (outcome == LK_UNSUPPORTED && topology->is_known) {
            outcome = LK_UNAVAILABLE;
        }
    }
    pthread_mutex_unlock(&topology->mutex);
    if (outcome != LK_OK) {
        return lk_error_set(error, outcome, "%s", cause.text);
    }
    link->node = node;
    *ret_link = link;
    return LK_OK;
}

void lk_redis_topology_give(struct lk_redis_topology *topology, struct lk_redis_link *link) {
    if (link->has_answer_to_come) {
        lk_redis_topology_drop(topology, link);
        return;
    }
    pthread_mutex_lock(&topology->mutex);
    if (topology->nodes[link->node].idle_count < LK_REDIS_IDLE_MAX) {
        link->next = topology->nodes[link->node].idle;
        topology->nodes[link->node].idle = link;
        topology->nodes[link->node].idle_count++;
        link = NULL;
    }
    pthread_mutex_unlock(&topology->mutex);
    lk_redis_link_close(link);
}

void lk_redis_topology_drop(struct lk_redis_topology *topology, struct lk_redis_link *link) {
    struct lk_redis_link *idle;

    /* Connections opened earlier would fail as well. */
    pthread_mutex_lock(&topology->mutex);
    idle = topology->nodes[link->node].idle;
    topology->nodes[link->node].idle = NULL;
    topology->nodes[link->node].idle_count = 0;
    if (topology->is_cluster) {
        mark_in_doubt(topology, link->node);
    }
    topology->is_stale = topology->is_stale || !topology->is_cluster;
    atomic_fetch_add(&topology->interruptions, 1);
    pthread_mutex_unlock(&topology->mutex);
    while (idle != NULL) {
        struct lk_redis_link *next = idle->next;
        lk_redis_link_close(idle);
        idle = next;
    }
    lk_redis_link_close(link);
}

/* ---- discovery ------------------------------------------------------------------------------- */

/* Reads one range of CLUSTER SLOTS: first, last, and its master as host, port. */
static void take_range(struct lk_redis_topology *topology, const redisReply *range, int asked) {
    const redisReply *master = range->elements >= 3 ? range->element[2] : NULL;
    int node;

    if (master == NULL || range->element[0]->type != REDIS_REPLY_INTEGER
        || range->element[1]->type != REDIS_REPLY_INTEGER || master->type != REDIS_REPLY_ARRAY
        || master->elements < 2 || master->element[1]->type != REDIS_REPLY_INTEGER) {
        return;
    }
    node = find_named_node(topology, master->element[0]->str,
                           master->element[0]->str != NULL ? (size_t)master->element[0]->len : 0,
                           (int)master->element[1]->integer, asked);
    for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++) {
        if (slot >= 0 && slot < LK_REDIS_SLOTS) {
            topology->slots[slot] = (int16_t)node;
        }
    }
}

static lk_outcome ask_slots(struct lk_redis_topology *topology, struct lk_redis_link *link,
                            const struct lk_patience *patience, lk_error *error) {
    static const char *const words[] = {"CLUSTER", "SLOTS"};
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, words, 2, patience, &reply, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (reply->type != REDIS_REPLY_ARRAY) {
        outcome = lk_error_set(error, LK_UNAVAILABLE, "the cluster does not tell its slots");
    } else {
        pthread_mutex_lock(&topology->mutex);
        for (size_t i = 0; i < reply->elements; i++) {
            if (reply->element[i]->type == REDIS_REPLY_ARRAY) {
                take_range(topology, reply->element[i], link->node);
            }
        }
        pthread_mutex_unlock(&topology->mutex);
    }
    freeReplyObject(reply);
    return outcome;
}

/* Queries one node. */
static lk_outcome discover_by(struct lk_redis_topology *topology, int node,
                              const struct lk_patience *patience, lk_error *error) {
    struct lk_redis_link *link;
    lk_outcome outcome = lk_redis_topology_take_node(topology, node, patience, &link, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (link->is_cluster && topology->target.database != 0) {
        outcome = lk_error_set(error, LK_UNSUPPORTED, "a Redis Cluster has no databases but 0");
    } else if (link->is_cluster) {
        outcome = ask_slots(topology, link, patience, error);
    }
    if (outcome == LK_OK) {
        pthread_mutex_lock(&topology->mutex);
        topology->is_cluster = link->is_cluster;
        topology->current = node;
        topology->is_stale = false;
        for (int i = 0; i < topology->node_count; i++) {
            topology->nodes[i].is_in_doubt = false;
        }
        pthread_mutex_unlock(&topology->mutex);
        lk_redis_topology_give(topology, link);
    } else {
        lk_redis_topology_drop(topology, link);
    }
    return outcome;
}

/* The node with the fewest failures, of those not yet tried. */
static int choose_node(struct lk_redis_topology *topology, const bool *is_tried) {
    int best = LK_REDIS_NO_NODE;

    pthread_mutex_lock(&topology->mutex);
    for (int i = 0; i < topology->node_count; i++) {
        int at = (topology->current + i) % topology->node_count;
        if (!is_tried[at]
            && (best == LK_REDIS_NO_NODE
                || topology->nodes[at].failures < topology->nodes[best].failures)) {
            best = at;
        }
    }
    pthread_mutex_unlock(&topology->mutex);
    return best;
}

lk_outcome lk_redis_topology_discover(struct lk_redis_topology *topology,
                                      const struct lk_patience *patience, lk_error *error) {
    bool is_tried[LK_REDIS_NODES_MAX] = {false};
    lk_outcome outcome = LK_UNAVAILABLE;
    int node;

    while ((node = choose_node(topology, is_tried)) != LK_REDIS_NO_NODE) {
        struct lk_patience share = *patience;

        is_tried[node] = true;
        if (choose_node(topology, is_tried) != LK_REDIS_NO_NODE) {
            int64_t now_us = lk_clock_now_us();

            share.until_us = now_us + (patience->until_us - now_us) / 2; /* leaves time to try
                                                                            another node */
        }
        outcome = discover_by(topology, node, &share, error);
        if (outcome != LK_UNAVAILABLE) {
            return outcome;
        }
    }
    return outcome;
}

/* ---- choosing -------------------------------------------------------------------------------- */

/* The mutex is held. */
static int node_at(const struct lk_redis_topology *topology, unsigned slot) {
    return topology->is_cluster && slot < LK_REDIS_SLOTS ? topology->slots[slot]
                                                         : topology->current;
}

/* Whether the node that has the slot is known, without a query. The mutex is held. */
static bool is_known_at(const struct lk_redis_topology *topology, unsigned slot) {
    int node = node_at(topology, slot);

    return !topology->is_stale && node != LK_REDIS_NO_NODE && !topology->nodes[node].is_in_doubt;
}

lk_outcome lk_redis_topology_node_of(struct lk_redis_topology *topology, unsigned slot,
                                     const struct lk_patience *patience, int *ret_node,
                                     lk_error *error) {
    bool is_known;
    int node;

    pthread_mutex_lock(&topology->mutex);
    is_known = is_known_at(topology, slot);
    pthread_mutex_unlock(&topology->mutex);
    if (!is_known) {
        lk_outcome outcome = lk_redis_topology_discover(topology, patience, error);

        if (outcome != LK_OK) {
            return outcome;
        }
    }
    pthread_mutex_lock(&topology->mutex);
    node = node_at(topology, slot);
    if (node == LK_REDIS_NO_NODE) {
        topology->is_stale = true;
    }
    pthread_mutex_unlock(&topology->mutex);
    if (node == LK_REDIS_NO_NODE) {
        return lk_error_set(error, LK_UNAVAILABLE, "no node of the cluster has the slot %u", slot);
    }
    *ret_node = node;
    return LK_OK;
}

lk_outcome lk_redis_topology_take(struct lk_redis_topology *topology, unsigned slot,
                                  const struct lk_patience *patience,
                                  struct lk_redis_link **ret_link, lk_error *error) {
    int node = LK_REDIS_NO_NODE;
    lk_outcome outcome = lk_redis_topology_node_of(topology, slot, patience, &node, error);

    return outcome == LK_OK ? lk_redis_topology_take_node(topology, node, patience, ret_link, error)
                            : outcome;
}

int lk_redis_topology_redirect(struct lk_redis_topology *topology, const char *words,
                               const struct lk_redis_link *link, bool for_good) {
    char *end = NULL;
    const char *slot_text = strchr(words, ' ');
    long slot = slot_text != NULL ? strtol(slot_text, &end, 10) : -1;
    const char *host = end != NULL && *end == ' ' ? end + 1 : NULL;
    const char *colon = host != NULL ? strrchr(host, ':') : NULL;
    int node;

    if (slot < 0 || slot >= LK_REDIS_SLOTS || colon == NULL) {
        return LK_REDIS_NO_NODE;
    }
    pthread_mutex_lock(&topology->mutex);
    node = find_named_node(topology, host, (size_t)(colon - host), (int)strtol(colon + 1, NULL, 10),
                           link->node);
    if (for_good && node != LK_REDIS_NO_NODE) {
        topology->slots[slot] = (int16_t)node;
    }
    pthread_mutex_unlock(&topology->mutex);
    return node;
}

void lk_redis_topology_mark_stale(struct lk_redis_topology *topology, int node) {
    pthread_mutex_lock(&topology->mutex);
    mark_in_doubt(topology, node);
    pthread_mutex_unlock(&topology->mutex);
}

int lk_redis_topology_masters(struct lk_redis_topology *topology, int nodes[LK_REDIS_NODES_MAX]) {
    bool is_there[LK_REDIS_NODES_MAX] = {false};
    int count = 0;

    pthread_mutex_lock(&topology->mutex);
    if (!topology->is_cluster) {
        is_there[topology->current] = true;
    }
    for (size_t i = 0; topology->is_cluster && i < LK_REDIS_SLOTS; i++) {
        if (topology->slots[i] != LK_REDIS_NO_NODE) {
            is_there[topology->slots[i]] = true;
        }
    }
    for (int i = 0; i < topology->node_count; i++) {
        if (is_there[i]) {
            nodes[count++] = i;
        }
    }
    pthread_mutex_unlock(&topology->mutex);
    return count;
}
