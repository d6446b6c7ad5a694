/* SPDX-License-Identifier: Apache-2.0 */
/* Servers, slots and idle connections. */
#include "engine/redis/fleet.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"

/* ---- slots ----------------------------------------------------------------------------------- */

/* CRC16 of the Redis Cluster specification (XMODEM), bit by bit: roots are short. */
unsigned lk_redis_slot_of(struct lk_slice root) {
    unsigned sum = 0;

    for (size_t i = 0; i < root.size; i++) {
        sum ^= (unsigned)(unsigned char)root.bytes[i] << 8;
        for (int bit = 0; bit < 8; bit++) {
            sum = (sum & 0x8000) != 0 ? (sum << 1) ^ 0x1021 : sum << 1;
        }
    }
    return (sum & 0xffff) % LK_REDIS_SLOTS;
}

/* ---- nodes; the mutex is held ---------------------------------------------------------------- */

static int find_node(struct lk_redis_fleet *fleet, const struct lk_redis_address *address) {
    for (int i = 0; i < fleet->node_count; i++) {
        if (fleet->nodes[i].address.port == address->port
            && strcmp(fleet->nodes[i].address.host, address->host) == 0) {
            return i;
        }
    }
    if (fleet->node_count == LK_REDIS_NODES_MAX) {
        return LK_REDIS_NO_NODE;
    }
    fleet->nodes[fleet->node_count].address = *address;
    return fleet->node_count++;
}

/* A node that names no host means the one that was asked. */
static int find_named_node(struct lk_redis_fleet *fleet, const char *host, size_t host_size,
                           int port, int asked) {
    struct lk_redis_address address = {.port = port};

    if (host_size == 0) {
        address = fleet->nodes[asked].address;
        address.port = port;
    } else if (host_size > LK_REDIS_HOST_BYTES_MAX) {
        return LK_REDIS_NO_NODE;
    } else {
        memcpy(address.host, host, host_size);
    }
    return port > 0 && port <= UINT16_MAX ? find_node(fleet, &address) : LK_REDIS_NO_NODE;
}

lk_outcome lk_redis_fleet_init(struct lk_redis_fleet *fleet, const struct lk_redis_place *place,
                               lk_error *error) {
    fleet->place = *place;
    fleet->is_stale = true;
    for (size_t i = 0; i < LK_REDIS_SLOTS; i++) {
        fleet->slots[i] = LK_REDIS_NO_NODE;
    }
    for (size_t i = 0; i < place->seed_count; i++) {
        (void)find_node(fleet, &place->seeds[i]);
    }
    return pthread_mutex_init(&fleet->mutex, NULL) == 0
               ? LK_OK
               : lk_error_set(error, LK_INTERNAL, "the system has no more mutexes");
}

void lk_redis_fleet_done(struct lk_redis_fleet *fleet) {
    for (int i = 0; i < fleet->node_count; i++) {
        while (fleet->nodes[i].idle != NULL) {
            struct lk_redis_link *link = fleet->nodes[i].idle;
            fleet->nodes[i].idle = link->next;
            lk_redis_link_close(link);
        }
    }
    (void)pthread_mutex_destroy(&fleet->mutex);
}

/* ---- connections ----------------------------------------------------------------------------- */

static struct lk_redis_link *take_idle(struct lk_redis_fleet *fleet, int node) {
    struct lk_redis_link *link;

    pthread_mutex_lock(&fleet->mutex);
    link = fleet->nodes[node].idle;
    if (link != NULL) {
        fleet->nodes[node].idle = link->next;
        fleet->nodes[node].idle_count--;
    }
    pthread_mutex_unlock(&fleet->mutex);
    return link;
}

lk_outcome lk_redis_fleet_take_node(struct lk_redis_fleet *fleet, int node,
                                    const struct lk_patience *patience,
                                    struct lk_redis_link **ret_link, lk_error *error) {
    struct lk_redis_link *link = take_idle(fleet, node);
    struct lk_redis_address address;
    lk_outcome outcome;

    if (link != NULL) {
        *ret_link = link;
        return LK_OK;
    }
    pthread_mutex_lock(&fleet->mutex);
    address = fleet->nodes[node].address;
    pthread_mutex_unlock(&fleet->mutex);
    outcome = lk_redis_link_open(&fleet->place, &address, patience, &link, error);
    pthread_mutex_lock(&fleet->mutex);
    fleet->nodes[node].failures = outcome == LK_OK ? 0 : fleet->nodes[node].failures + 1;
    pthread_mutex_unlock(&fleet->mutex);
    if (outcome == LK_OK) {
        link->node = node;
        *ret_link = link;
    }
    return outcome;
}

void lk_redis_fleet_give(struct lk_redis_fleet *fleet, struct lk_redis_link *link) {
    pthread_mutex_lock(&fleet->mutex);
    if (fleet->nodes[link->node].idle_count < LK_REDIS_IDLE_MAX) {
        link->next = fleet->nodes[link->node].idle;
        fleet->nodes[link->node].idle = link;
        fleet->nodes[link->node].idle_count++;
        link = NULL;
    }
    pthread_mutex_unlock(&fleet->mutex);
    lk_redis_link_close(link);
}

void lk_redis_fleet_drop(struct lk_redis_fleet *fleet, struct lk_redis_link *link) {
    struct lk_redis_link *idle;

    /* Those that were made before will fail as well. */
    pthread_mutex_lock(&fleet->mutex);
    idle = fleet->nodes[link->node].idle;
    fleet->nodes[link->node].idle = NULL;
    fleet->nodes[link->node].idle_count = 0;
    fleet->is_stale = true;
    pthread_mutex_unlock(&fleet->mutex);
    while (idle != NULL) {
        struct lk_redis_link *next = idle->next;
        lk_redis_link_close(idle);
        idle = next;
    }
    lk_redis_link_close(link);
}

/* ---- finding out ----------------------------------------------------------------------------- */

/* One range of CLUSTER SLOTS: first, last, and its master as host, port. */
static void take_range(struct lk_redis_fleet *fleet, const redisReply *range, int asked) {
    const redisReply *master = range->elements >= 3 ? range->element[2] : NULL;
    int node;

    if (master == NULL || range->element[0]->type != REDIS_REPLY_INTEGER
        || range->element[1]->type != REDIS_REPLY_INTEGER || master->type != REDIS_REPLY_ARRAY
        || master->elements < 2 || master->element[1]->type != REDIS_REPLY_INTEGER) {
        return;
    }
    node = find_named_node(fleet, master->element[0]->str,
                           master->element[0]->str != NULL ? (size_t)master->element[0]->len : 0,
                           (int)master->element[1]->integer, asked);
    for (long long slot = range->element[0]->integer; slot <= range->element[1]->integer; slot++) {
        if (slot >= 0 && slot < LK_REDIS_SLOTS) {
            fleet->slots[slot] = (int16_t)node;
        }
    }
}

static lk_outcome ask_slots(struct lk_redis_fleet *fleet, struct lk_redis_link *link,
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
        pthread_mutex_lock(&fleet->mutex);
        for (size_t i = 0; i < reply->elements; i++) {
            if (reply->element[i]->type == REDIS_REPLY_ARRAY) {
                take_range(fleet, reply->element[i], link->node);
            }
        }
        pthread_mutex_unlock(&fleet->mutex);
    }
    freeReplyObject(reply);
    return outcome;
}

/* Asks one node. */
static lk_outcome discover_by(struct lk_redis_fleet *fleet, int node,
                              const struct lk_patience *patience, lk_error *error) {
    struct lk_redis_link *link;
    lk_outcome outcome = lk_redis_fleet_take_node(fleet, node, patience, &link, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    if (link->is_cluster && fleet->place.database != 0) {
        outcome = lk_error_set(error, LK_UNSUPPORTED, "a Redis Cluster has no databases but 0");
    } else if (link->is_cluster) {
        outcome = ask_slots(fleet, link, patience, error);
    }
    if (outcome == LK_OK) {
        pthread_mutex_lock(&fleet->mutex);
        fleet->is_cluster = link->is_cluster;
        fleet->current = node;
        fleet->is_stale = false;
        pthread_mutex_unlock(&fleet->mutex);
        lk_redis_fleet_give(fleet, link);
    } else {
        lk_redis_fleet_drop(fleet, link);
    }
    return outcome;
}

/* The node, of those not yet tried, that has failed least. */
static int choose_node(struct lk_redis_fleet *fleet, const bool *is_tried) {
    int best = LK_REDIS_NO_NODE;

    pthread_mutex_lock(&fleet->mutex);
    for (int i = 0; i < fleet->node_count; i++) {
        int at = (fleet->current + i) % fleet->node_count;
        if (!is_tried[at]
            && (best == LK_REDIS_NO_NODE
                || fleet->nodes[at].failures < fleet->nodes[best].failures)) {
            best = at;
        }
    }
    pthread_mutex_unlock(&fleet->mutex);
    return best;
}

lk_outcome lk_redis_fleet_discover(struct lk_redis_fleet *fleet, const struct lk_patience *patience,
                                   lk_error *error) {
    bool is_tried[LK_REDIS_NODES_MAX] = {false};
    lk_outcome outcome = LK_UNAVAILABLE;
    int node;

    while ((node = choose_node(fleet, is_tried)) != LK_REDIS_NO_NODE) {
        is_tried[node] = true;
        outcome = discover_by(fleet, node, patience, error);
        if (outcome != LK_UNAVAILABLE) {
            return outcome;
        }
    }
    return outcome;
}

/* ---- choosing -------------------------------------------------------------------------------- */

lk_outcome lk_redis_fleet_node_of(struct lk_redis_fleet *fleet, unsigned slot,
                                  const struct lk_patience *patience, int *ret_node,
                                  lk_error *error) {
    bool is_stale;
    int node;

    pthread_mutex_lock(&fleet->mutex);
    is_stale = fleet->is_stale;
    pthread_mutex_unlock(&fleet->mutex);
    if (is_stale) {
        lk_outcome outcome = lk_redis_fleet_discover(fleet, patience, error);

        if (outcome != LK_OK) {
            return outcome;
        }
    }
    pthread_mutex_lock(&fleet->mutex);
    node = fleet->is_cluster && slot < LK_REDIS_SLOTS ? fleet->slots[slot] : fleet->current;
    if (node == LK_REDIS_NO_NODE) {
        fleet->is_stale = true;
    }
    pthread_mutex_unlock(&fleet->mutex);
    if (node == LK_REDIS_NO_NODE) {
        return lk_error_set(error, LK_UNAVAILABLE, "no node of the cluster has the slot %u", slot);
    }
    *ret_node = node;
    return LK_OK;
}

lk_outcome lk_redis_fleet_take(struct lk_redis_fleet *fleet, unsigned slot,
                               const struct lk_patience *patience, struct lk_redis_link **ret_link,
                               lk_error *error) {
    int node = LK_REDIS_NO_NODE;
    lk_outcome outcome = lk_redis_fleet_node_of(fleet, slot, patience, &node, error);

    return outcome == LK_OK ? lk_redis_fleet_take_node(fleet, node, patience, ret_link, error)
                            : outcome;
}

int lk_redis_fleet_redirect(struct lk_redis_fleet *fleet, const char *words,
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
    pthread_mutex_lock(&fleet->mutex);
    node = find_named_node(fleet, host, (size_t)(colon - host), (int)strtol(colon + 1, NULL, 10),
                           link->node);
    if (for_good && node != LK_REDIS_NO_NODE) {
        fleet->slots[slot] = (int16_t)node;
    }
    pthread_mutex_unlock(&fleet->mutex);
    return node;
}

void lk_redis_fleet_doubt(struct lk_redis_fleet *fleet) {
    pthread_mutex_lock(&fleet->mutex);
    fleet->is_stale = true;
    if (!fleet->is_cluster) {
        fleet->nodes[fleet->current].failures++;
    }
    pthread_mutex_unlock(&fleet->mutex);
}

int lk_redis_fleet_masters(struct lk_redis_fleet *fleet, int nodes[LK_REDIS_NODES_MAX]) {
    bool is_there[LK_REDIS_NODES_MAX] = {false};
    int count = 0;

    pthread_mutex_lock(&fleet->mutex);
    if (!fleet->is_cluster) {
        is_there[fleet->current] = true;
    }
    for (size_t i = 0; fleet->is_cluster && i < LK_REDIS_SLOTS; i++) {
        if (fleet->slots[i] != LK_REDIS_NO_NODE) {
            is_there[fleet->slots[i]] = true;
        }
    }
    for (int i = 0; i < fleet->node_count; i++) {
        if (is_there[i]) {
            nodes[count++] = i;
        }
    }
    pthread_mutex_unlock(&fleet->mutex);
    return count;
}
