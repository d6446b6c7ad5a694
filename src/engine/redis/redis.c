/* SPDX-License-Identifier: Apache-2.0 */
/* Opening and closing `redis:` and `rediss:`, and their tables of operations. */
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

/* Reads the URL, and of rediss: the files that it names. */
static lk_outcome read_url(struct lk_slice rest, bool has_tls, struct lk_redis *store,
                           struct lk_redis_target *ret_target, lk_error *error) {
    struct lk_tls_paths *paths = has_tls ? calloc(1, sizeof *paths) : NULL;
    lk_outcome outcome;

    if (has_tls && paths == NULL) {
        return lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    outcome = lk_redis_target_parse(rest, ret_target, paths, error);
    if (outcome == LK_OK && has_tls) {
        outcome = lk_tls_paths_open(paths, &store->tls, error);
        ret_target->tls = store->tls;
    }
    free(paths);
    return outcome;
}

static lk_outcome open_by_url(const struct lk_engine_ops *ops, struct lk_slice rest,
                              const struct lk_patience *patience, struct lk_engine **ret_engine,
                              lk_error *error) {
    const struct lk_patience contact = lk_patience_for_contact(patience);
    struct lk_redis_target *target = calloc(1, sizeof *target);
    struct lk_redis *store = calloc(1, sizeof *store);
    lk_outcome outcome = lk_hiredis_load(error);

    if (target == NULL || store == NULL) {
        outcome = lk_error_set(error, LK_INTERNAL, "no memory for a store");
    }
    if (outcome == LK_OK) {
        outcome = read_url(rest, ops == &lk_engine_rediss, store, target, error);
    }
    if (outcome == LK_OK) {
        store->engine.ops = ops;
        outcome = set_up(store, target, &contact, error);
    }
    free(target);
    if (outcome != LK_OK) {
        if (store != NULL) {
            lk_tls_context_free(store->tls);
        }
        free(store);
        return outcome;
    }
    lk_patience_note_reached(patience);
    *ret_engine = &store->engine;
    return LK_OK;
}

static lk_outcome open_plain(struct lk_slice rest, const struct lk_patience *patience,
                             struct lk_engine **ret_engine, lk_error *error) {
    return open_by_url(&lk_engine_redis, rest, patience, ret_engine, error);
}

static lk_outcome open_over_tls(struct lk_slice rest, const struct lk_patience *patience,
                                struct lk_engine **ret_engine, lk_error *error) {
    return open_by_url(&lk_engine_rediss, rest, patience, ret_engine, error);
}

static void close_engine(struct lk_engine *engine) {
    struct lk_redis *store = lk_redis_of(engine);

    lk_redis_subscriber_done(&store->subscriber);
    lk_redis_topology_done(&store->topology);
    lk_tls_context_free(store->tls);
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

#define REDIS_CAPABILITIES                                                                         \
    (LK_CAN_QUEUE | LK_CAN_ROOTS | LK_CAN_DEADLOCK | LK_CAN_EXCLUSIVE | LK_CAN_PERSIST)

/* The schemes differ only in how they are opened. */
#define REDIS_OPERATIONS                                                                           \
    .is_remote = true, .capabilities = REDIS_CAPABILITIES, .close = close_engine,                  \
    .status = tell_status, .node_of = node_of, .may_have_forgotten = lk_redis_may_have_forgotten,  \
    .decide = lk_redis_decide, .await = lk_redis_await, .list = lk_redis_list,                     \
    .show = lk_redis_show, .audit = lk_redis_audit, .value_get = lk_redis_value_get,               \
    .items = lk_redis_items, .stats = lk_redis_stats, .examine = lk_redis_examine,                 \
    .batches = &batches

static const char *const file_options[] = {"password-file", NULL};
static const char *const tls_file_options[] = {"password-file", "ca", "cert", "key", NULL};
static const struct lk_url_files files = {.options = file_options};
static const struct lk_url_files tls_files = {.options = tls_file_options};

const struct lk_engine_ops lk_engine_redis = {
    .files = &files,
    .scheme = "redis",
    .title = "a Redis server or cluster",
    .open = open_plain,
    REDIS_OPERATIONS,
};

const struct lk_engine_ops lk_engine_rediss = {
    .files = &tls_files,
    .scheme = "rediss",
    .title = "a Redis server or cluster, over TLS",
    .open = open_over_tls,
    REDIS_OPERATIONS,
};
