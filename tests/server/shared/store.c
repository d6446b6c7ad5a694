/* SPDX-License-Identifier: Apache-2.0 */
/* The store that the services share: each request is one step, however long it was on its way. */
#include "world.h"

/* Whether another service may lead now. */
static bool is_free_for(const struct world *world, const struct request *request) {
    const struct store *store = &world->store;
    bool is_its_own = store->leader == request->service && store->leader_life == request->life;

    return store->epoch == 0 || store->is_free || is_its_own
           || store->renewed_us + FAILOVER_US <= world->now_us;
}

static void look(struct world *world, struct request *request) {
    request->epoch = world->store.epoch;
    request->outcome = is_free_for(world, request) ? LK_OK : LK_BUSY;
}

/* Begins the epoch after the one that was seen, unless another service has. */
static void claim(struct world *world, struct request *request) {
    struct store *store = &world->store;
    bool is_seen = store->epoch == request->epoch && is_free_for(world, request);

    if (!is_seen && world->flaw != TAKES_BLINDLY) {
        request->outcome = LK_BUSY;
        return;
    }
    store->epoch = ++request->epoch;
    store->leader = request->service;
    store->leader_life = request->life;
    store->renewed_us = world->now_us;
    store->is_free = false;
    world->takeovers++;
    request->outcome = LK_OK;
    world_say(world, "s%d leads under epoch %d", request->service, (int)store->epoch);
}

static void load(struct world *world, struct request *request) {
    const struct lk_model_config config = {.hash_seed = 1};
    const struct lk_times times = service_times(world, request->service);
    struct store *store = &world->store;
    lk_error error;

    if (store->epoch != request->epoch) {
        request->outcome = LK_LOST;
        return;
    }
    store->renewed_us = world->now_us;
    request->outcome =
        store->rows->ops->load(store->rows, &config, &times, &request->snapshot, &error);
    if (request->outcome != LK_OK) {
        world_fail(world, "the rows cannot be loaded: %s", error.text);
    }
}

static void write(struct world *world, struct request *request) {
    struct store *store = &world->store;
    lk_error error;

    if (store->epoch != request->epoch && world->flaw != WRITES_UNCHECKED) {
        request->outcome = LK_LOST;
        world->replaced++;
    } else {
        store->renewed_us = store->epoch == request->epoch ? world->now_us : store->renewed_us;
        request->outcome = store->rows->ops->write(store->rows, request->batch, &error);
        if (request->outcome != LK_OK && world->flaw == SOUND) {
            world_fail(world, "the rows cannot be written: %s", error.text);
        }
    }
}

void store_take(struct world *world, struct request *request) {
    switch (request->job) {
    case JOB_LOOK:
        look(world, request);
        break;
    case JOB_CLAIM:
        claim(world, request);
        break;
    case JOB_LOAD:
        load(world, request);
        break;
    case JOB_WRITE:
        write(world, request);
        break;
    case JOB_RESIGN:
        world->store.is_free = world->store.is_free || world->store.epoch == request->epoch;
        break;
    case JOB_NONE:
        break;
    }
}
