/* SPDX-License-Identifier: Apache-2.0 */
/* Finds roots by the names of their keys, with SCAN on every master. */
#include "engine/redis/roots.h"

#include <stdio.h>

#include "base/error.h"
#include "engine/redis/call.h"

static lk_outcome visit_keys(const struct lk_redis_walk *walk, const redisReply *keys,
                             lk_error *error) {
    size_t suffix = strlen(walk->suffix);
    lk_outcome outcome = LK_OK;

    for (size_t i = 0; i < keys->elements && outcome == LK_OK; i++) {
        struct lk_slice key = lk_redis_text_at(keys, i);
        char text[LK_SEGMENT_BYTES_MAX + 1];
        struct lk_path root;

        if (key.size > suffix
            && lk_redis_prefix_read((struct lk_slice){key.bytes, key.size - suffix}, text)
            && lk_path_parse(lk_slice_of(text), &root, NULL) == LK_OK) {
            outcome = walk->visit(walk->context, &root, error);
        }
    }
    return outcome;
}

/* One step of SCAN on a node; updates the cursor. */
static lk_outcome scan_step(const struct lk_redis_walk *walk, int node, char cursor[24],
                            lk_error *error) {
    char pattern[16];
    const char *const words[] = {"SCAN", cursor, "MATCH", pattern, "COUNT", "1000"};
    struct lk_redis_link *link;
    redisReply *reply = NULL;
    lk_outcome outcome =
        lk_redis_topology_take_node(&walk->store->topology, node, walk->patience, &link, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    (void)snprintf(pattern, sizeof pattern, "{*}*%s", walk->suffix);
    outcome = lk_redis_exchange_text(link, words, 6, walk->patience, &reply, error);
    if (outcome != LK_OK) {
        lk_redis_topology_drop(&walk->store->topology, link);
        return outcome;
    }
    lk_redis_topology_give(&walk->store->topology, link);
    if (reply->type != REDIS_REPLY_ARRAY || lk_redis_text_at(reply, 0).size >= 24) {
        outcome = lk_error_set(error, LK_UNAVAILABLE, "the Redis server says: %.200s",
                               reply->str != NULL ? reply->str : "something strange");
    } else {
        struct lk_slice next = lk_redis_text_at(reply, 0);

        memcpy(cursor, next.bytes != NULL ? next.bytes : "0", next.size > 0 ? next.size : 1);
        cursor[next.size > 0 ? next.size : 1] = '\0';
        outcome = visit_keys(walk, lk_redis_array_at(reply, 1), error);
    }
    freeReplyObject(reply);
    return outcome;
}

lk_outcome lk_redis_walk_roots(const struct lk_redis_walk *walk, lk_error *error) {
    int nodes[LK_REDIS_NODES_MAX];
    lk_outcome outcome = lk_redis_topology_discover(&walk->store->topology, walk->patience, error);
    int count = lk_redis_topology_masters(&walk->store->topology, nodes);

    for (int i = 0; i < count && outcome == LK_OK; i++) {
        char cursor[24] = "0";

        do {
            outcome = scan_step(walk, nodes[i], cursor, error);
        } while (outcome == LK_OK && strcmp(cursor, "0") != 0);
    }
    return outcome;
}
