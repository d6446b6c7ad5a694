/* SPDX-License-Identifier: Apache-2.0 */
/* What `lk doctor` reports about the servers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/text.h"
#include "engine/redis/operations.h"
#include "engine/redis/store.h"
#include "engine/reply/reply.h"

enum { REPORT_BYTES_MAX = 2048, FIELD_BYTES_MAX = 64 };

struct examination {
    struct lk_redis *store;
    const struct lk_patience *patience;
    struct lk_text text;
    struct lk_text warnings;
    int64_t round_trip_us;
    int64_t clock_offset_us;
};

static void check_memory(struct examination *e, const redisReply *info, const char *whose) {
    char value[FIELD_BYTES_MAX];
    char maximum[FIELD_BYTES_MAX];

    lk_redis_field_read(info->str, "maxmemory_policy:", value, sizeof value);
    lk_redis_field_read(info->str, "maxmemory:", maximum, sizeof maximum);
    lk_text_format(&e->text, "eviction of %s: %s\n", whose, value);
    if (value[0] != '\0' && strcmp(value, "noeviction") != 0) {
        lk_text_format(&e->warnings,
                       "%s may drop locks and items of queues when its memory is full "
                       "(maxmemory-policy %s%s): use noeviction\n",
                       whose, value,
                       strcmp(maximum, "0") == 0 ? "; maxmemory is not set, so not now" : "");
    }
}

static void check_persistence(struct examination *e, const redisReply *info, const char *whose) {
    char appends[FIELD_BYTES_MAX];

    lk_redis_field_read(info->str, "aof_enabled:", appends, sizeof appends);
    lk_text_format(&e->text, "append-only file of %s: %s\n", whose,
                   strcmp(appends, "1") == 0 ? "yes" : "no");
    if (strcmp(appends, "1") != 0) {
        lk_text_format(&e->warnings,
                       "%s keeps no append-only file: after a crash of the server, grants since "
                       "the last snapshot are forgotten\n",
                       whose);
    }
}

static void check_replication(struct examination *e, const redisReply *info, const char *whose) {
    char replicas[FIELD_BYTES_MAX];

    lk_redis_field_read(info->str, "connected_slaves:", replicas, sizeof replicas);
    lk_text_format(&e->text, "replicas of %s: %s\n", whose, replicas);
    if (strtol(replicas, NULL, 10) < e->store->topology.target.replicas) {
        lk_text_format(&e->warnings, "%s has fewer replicas than ?replicas=%d asks for\n", whose,
                       e->store->topology.target.replicas);
    }
}

static void check_tls(struct examination *e, const struct lk_redis_link *link, const char *whose) {
    char suffix[LK_REDIS_ADDRESS_TEXT_BYTES + sizeof " of "];

    (void)snprintf(suffix, sizeof suffix, " of %s", whose);
    lk_tls_client_report(link->tls, whose, suffix, &e->text, &e->warnings);
}

/* Reads the server's clock, and measures how long that takes. */
static lk_outcome check_clock(struct examination *e, struct lk_redis_link *link, lk_error *error) {
    static const char *const words[] = {"TIME"};
    int64_t sent_us = lk_clock_now_us();
    int64_t wall_us = lk_clock_wall_us();
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, words, 1, e->patience, &reply, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    e->round_trip_us = lk_clock_now_us() - sent_us;
    if (reply->type == REDIS_REPLY_ARRAY && reply->elements == 2 && reply->element[0]->str != NULL
        && reply->element[1]->str != NULL) {
        int64_t theirs_us = strtoll(reply->element[0]->str, NULL, 10) * 1000000
                            + strtoll(reply->element[1]->str, NULL, 10);
        e->clock_offset_us = theirs_us - (wall_us + e->round_trip_us / 2);
    }
    freeReplyObject(reply);
    return LK_OK;
}

static lk_outcome check_info(struct examination *e, struct lk_redis_link *link, const char *section,
                             const char *whose,
                             void (*check)(struct examination *, const redisReply *, const char *),
                             lk_error *error) {
    const char *const words[] = {"INFO", section};
    redisReply *reply = NULL;
    lk_outcome outcome = lk_redis_exchange_text(link, words, 2, e->patience, &reply, error);

    if (outcome == LK_OK) {
        check(e, reply, whose);
        freeReplyObject(reply);
    }
    return outcome;
}

static lk_outcome check_node(struct examination *e, int node, lk_error *error) {
    struct lk_redis_topology *topology = &e->store->topology;
    char whose[LK_REDIS_ADDRESS_TEXT_BYTES];
    struct lk_redis_link *link;
    lk_outcome outcome = lk_redis_topology_take_node(topology, node, e->patience, &link, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_redis_address_write(&topology->nodes[node].address, whose);
    check_tls(e, link, whose);
    outcome = check_info(e, link, "memory", whose, check_memory, error);
    if (outcome == LK_OK) {
        outcome = check_info(e, link, "persistence", whose, check_persistence, error);
    }
    if (outcome == LK_OK) {
        outcome = check_info(e, link, "replication", whose, check_replication, error);
    }
    if (outcome == LK_OK) {
        outcome = check_clock(e, link, error);
    }
    if (outcome == LK_OK) {
        lk_redis_topology_give(topology, link);
    } else {
        lk_redis_topology_drop(topology, link);
    }
    return outcome;
}

static lk_outcome check_all(struct examination *e, lk_error *error) {
    int nodes[LK_REDIS_NODES_MAX];
    lk_outcome outcome = lk_redis_topology_discover(&e->store->topology, e->patience, error);
    int count = lk_redis_topology_masters(&e->store->topology, nodes);

    if (outcome != LK_OK) {
        return outcome;
    }
    lk_text_format(&e->text, "servers: %d%s\n", count,
                   e->store->topology.is_cluster ? " masters of a cluster" : "");
    for (int i = 0; i < count && i < 8 && outcome == LK_OK; i++) {
        outcome = check_node(e, nodes[i], error);
    }
    if (e->store->topology.target.replicas == 0) {
        lk_text_format(&e->warnings, "Redis replicates asynchronously: a fail-over may forget a "
                                     "grant, and then two hold; fencing tokens still tell them "
                                     "apart (?replicas=N waits for N replicas)\n");
    }
    return outcome;
}

lk_outcome lk_redis_examine(struct lk_engine *engine, const struct lk_patience *patience,
                            lk_report **ret_report, lk_error *error) {
    char text[REPORT_BYTES_MAX];
    char warnings[REPORT_BYTES_MAX];
    struct examination e = {.store = lk_redis_of(engine),
                            .patience = patience,
                            .text = lk_text_in(text, sizeof text),
                            .warnings = lk_text_in(warnings, sizeof warnings)};
    lk_report *report;
    lk_outcome outcome = check_all(&e, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    report = lk_report_make(text, warnings);
    if (report == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for the report");
    }
    report->round_trip_us = e.round_trip_us;
    report->clock_offset_us = e.clock_offset_us;
    *ret_report = report;
    return LK_OK;
}
