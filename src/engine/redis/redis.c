/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `redis:`, and its table of operations. */
#include "engine/redis/redis.h"

#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/random.h"
#include "engine/redis/operations.h"
#include "engine/redis/store.h"

static lk_outcome set_up(struct lk_redis *store, const struct lk_redis_target *target,
                         const struct lk_patience *patience, lk_error *error) {
    lk_outcome outcome = lk_redis_topology_init(&store->topology, target, error);

    if (outcome != LK_OK) {
        return outcome;
    }
    (void)snprintf(store->name, sizeof store->name, "lk:e:%016" PRIx64 "%016" PRIx64,
                   lk_random_draw(), lk_random_draw());
    if (!lk_redis_subscriber_init(&store->subscriber, &store->topology, store->name)) {
        lk_redis_topology_done(&store->topology);
        return lk_error_set(error, LK_INTERNAL, "the system has no more of what threads need");
    }
    outcome = lk_redis_topology_discover(&store->topology, patience, error);
    if (outcome != LK_OK) {
        lk_redis_subscriber_done(&store->subscriber);
        lk_redis_topology_done(&store->topology);
    }
    return outcome;
}

static lk_outcome open_by_url(struct lk_slice rest, const struct lk_patience *patience,
                              struct lk_engine **ret_engine, lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);
    struct lk_redis_target *target = calloc(1, sizeof *target);
    struct lk_redis *store = calloc(1, sizeof *store);
    lk_outcome outcome = lk_hiredis_load(error);

    if (target == NULL || store == NULL) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    if (outcome == LK_OK) {
        outcome = lk_redis_target_parse(rest, target, error);
        if (outcome == LK_OK) {
            store->engine.ops = &lk_engine_redis;
            outcome = set_up(store, target, &contact, error);
        }
    }
    free(target);
    if (outcome != LK_OK) {
        free(store);
        return outcome;
    }
    lk_patience_note_reached(patience);
    *ret_engine = &store->engine;
    return LK_OK;
}

static void close_engine(struct lk_engine *engine) {
    struct lk_redis *store = lk_redis_of(engine);

    lk_redis_subscriber_done(&store->subscriber);
    lk_redis_topology_done(&store->topology);
    free(store);
}

/* In a cluster, the slot. Without one, a single server decides everything. */
static unsigned node_of(struct lk_engine *engine, struct lk_slice root) {
    return lk_redis_of(engine)->topology.is_cluster ? lk_redis_slot_of(root) : 0;
}

static void tell_status(struct lk_engine *engine, struct lk_engine_status *status) {
    struct lk_redis *store = lk_redis_of(engine);

    status->interruptions = atomic_load(&store->topology.interruptions);
    status->is_read_only = atomic_load(&store->lacks_replicas);
    if (store->topology.is_cluster) {
        status->capabilities &= ~(unsigned)LK_CAN_ROOTS;
    }
}

void lk_redis_shift_clock(struct lk_engine *engine, int64_t by_us) {
    lk_redis_of(engine)->shift_us += by_us;
}

int64_t lk_redis_last_now_us(const struct lk_engine *engine) {
    return ((const struct lk_redis *)engine)->last_now_us;
}

static const struct lk_batch_ops batches = {
    .decide_many = lk_redis_decide_many,
    .parked = lk_redis_parked,
    .queues = lk_redis_queues,
};

static const char *const file_options[] = {"password-file", NULL};
static const struct lk_url_files files = {.options = file_options};

const struct lk_engine_ops lk_engine_redis = {
    .files = &files,
    .scheme = "redis",
    .is_remote = true,
    .title = "a Redis server or cluster",
    .capabilities =
        LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST,
    .open = open_by_url,
    .close = close_engine,
    .status = tell_status,
    .node_of = node_of,
    .may_have_forgotten = lk_redis_may_have_forgotten,
    .decide = lk_redis_decide,
    .await = lk_redis_await,
    .list = lk_redis_list,
    .show = lk_redis_show,
    .audit = lk_redis_audit,
    .value_get = lk_redis_value_get,
    .items = lk_redis_items,
    .stats = lk_redis_stats,
    .examine = lk_redis_examine,
    .batches = &batches,
};

static lk_outcome refuse_tls(struct lk_slice rest, const struct lk_patience *patience,
                             struct lk_engine **ret_engine, lk_error *error) {
    (void)rest;
    (void)patience;
    (void)ret_engine;
    return lk_error_set(error, LK_UNSUPPORTED,
                        "rediss: needs TLS, which the Redis client library of this build lacks: "
                        "use redis: through a tunnel (stunnel) or on a socket");
}

const struct lk_engine_ops lk_engine_rediss = {
    .scheme = "rediss",
    .title = "Redis over TLS: not in this build",
    .is_stub = true,
    .open = refuse_tls,
};
