/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regions, owners and their permits (region.h).
 *
 * A region is freed in two steps. `users` are its handle and the permits held; the last one closes
 * it. `references` are its handle and its owners; the last one frees the memory. An owner without
 * permits stays until its process ends: a process that acquires again needs no new monitor.
 */
#include "region.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "table.h"

enum {
    SHARDS_MAX = 64,
    STRIPES = 64, /* a power of two */
    LINE_BYTES = 64,
    CHECKS_MAX = 256, /* for dead processes, on a scheduler: 0.3 us each */
};

/* A holder, which one thread at a time may use. */
struct shard {
    _Alignas(LINE_BYTES) pthread_mutex_t mutex;
    lk_canal_holder *holder; /* NULL: closed */
};

struct stripe {
    _Alignas(LINE_BYTES) pthread_mutex_t mutex;
    struct table owners;
};

struct region {
    lk_canal *canal;
    _Atomic uint64_t users;
    _Atomic uint64_t references;
    _Atomic bool is_crowded; /* the last acquire found no room for an entry */
    _Atomic bool is_closed;
    uint32_t shard_count;
    struct shard shards[SHARDS_MAX];
    struct stripe stripes[STRIPES];
};

/* An Erlang process that has acquired in a region. A resource object: the runtime calls
 * owner_is_down() when its process ends. Its stripe's table has a reference. */
struct owner {
    struct link link; /* of the stripe */
    struct region *region;
    ErlNifPid process;
    struct table permits;
    struct permit *spare; /* for the next acquire; may be NULL */
};

struct permit {
    struct link link; /* of the owner */
    lk_canal_permit held;
    uint32_t shard;
    uint32_t key_size;
    char key[LK_CANAL_KEY_BYTES_MAX];
};

static ErlNifResourceType *owner_type;

/* ---- the parts of a region ------------------------------------------------------------------- */

static void lock(pthread_mutex_t *mutex) {
    (void)pthread_mutex_lock(mutex);
}

static void unlock(pthread_mutex_t *mutex) {
    (void)pthread_mutex_unlock(mutex);
}

static uint32_t process_hash(const ErlNifPid *process) {
    return (uint32_t)enif_hash(ERL_NIF_INTERNAL_HASH, process->pid, 0);
}

/* Owners with one hash are in one stripe: its table uses the other bits. */
static struct stripe *stripe_of(struct region *region, uint32_t hash) {
    return &region->stripes[hash >> 24 & (STRIPES - 1)];
}

/* Each scheduler has a holder of its own. Dirty ones share them. */
static uint32_t shard_of_thread(const struct region *region) {
    static _Atomic uint32_t schedulers;
    static _Atomic uint32_t others;
    static _Thread_local uint32_t number;

    if (number == 0) {
        number = 1
                 + atomic_fetch_add(
                     enif_thread_type() == ERL_NIF_THR_NORMAL_SCHEDULER ? &schedulers : &others, 1);
    }
    return number % region->shard_count;
}

static void drop_users(struct region *region, uint64_t count) {
    if (atomic_fetch_sub(&region->users, count) == count) {
        lk_canal_close(region->canal);
    }
}

static void drop_reference(struct region *region) {
    if (atomic_fetch_sub(&region->references, 1) != 1) {
        return;
    }
    for (uint32_t i = 0; i < SHARDS_MAX; i++) {
        (void)pthread_mutex_destroy(&region->shards[i].mutex);
    }
    for (uint32_t i = 0; i < STRIPES; i++) {
        (void)pthread_mutex_destroy(&region->stripes[i].mutex);
        table_end(&region->stripes[i].owners);
    }
    free(region);
}

/* ---- opening and closing --------------------------------------------------------------------- */

/* At least one holder, and one for each scheduler if the region has room for them. */
static lk_canal_status join(struct region *region, const char *label) {
    ErlNifSysInfo info;
    uint32_t wanted;

    enif_system_info(&info, sizeof info);
    wanted = info.scheduler_threads < 1            ? 1
             : info.scheduler_threads < SHARDS_MAX ? (uint32_t)info.scheduler_threads
                                                   : SHARDS_MAX;
    while (region->shard_count < wanted) {
        lk_canal_status status = lk_canal_join(region->canal, LK_CANAL_PROCESS, label,
                                               &region->shards[region->shard_count].holder);

        if (status == LK_CANAL_NO_ROOM && region->shard_count > 0) {
            break;
        }
        if (status != LK_CANAL_OK) {
            return status;
        }
        region->shard_count++;
    }
    return LK_CANAL_OK;
}

static struct region *region_make(lk_canal *canal) {
    struct region *region =
        aligned_alloc(LINE_BYTES, sizeof *region); /* enif_alloc() aligns to 8 */

    if (region == NULL) {
        return NULL;
    }
    memset(region, 0, sizeof *region);
    region->canal = canal;
    atomic_init(&region->users, 1);
    atomic_init(&region->references, 1);
    for (uint32_t i = 0; i < SHARDS_MAX; i++) {
        (void)pthread_mutex_init(&region->shards[i].mutex, NULL);
    }
    for (uint32_t i = 0; i < STRIPES; i++) {
        (void)pthread_mutex_init(&region->stripes[i].mutex, NULL);
    }
    return region;
}

int region_open(const char *name, const char *label, const lk_canal_options *options,
                struct region **ret_region, char *ret_text) {
    lk_canal *canal = NULL;
    struct region *region;
    int status = (int)lk_canal_open(name, options, &canal, ret_text);

    if (status != LK_CANAL_OK) {
        return status;
    }
    region = region_make(canal);
    if (region == NULL) {
        lk_canal_close(canal);
        (void)snprintf(ret_text, LK_CANAL_TEXT_MAX, "no memory for a region");
        return REGION_NO_MEMORY;
    }
    status = (int)join(region, label);
    if (status != LK_CANAL_OK) {
        (void)snprintf(ret_text, LK_CANAL_TEXT_MAX, "no holder could join the region: %s",
                       lk_canal_status_name((lk_canal_status)status));
        region_end(region);
        return status;
    }
    *ret_region = region;
    return LK_CANAL_OK;
}

void region_close(struct region *region) {
    atomic_store(&region->is_closed, true);
    for (uint32_t i = 0; i < region->shard_count; i++) {
        lk_canal_holder *holder;

        lock(&region->shards[i].mutex);
        holder = region->shards[i].holder;
        region->shards[i].holder = NULL;
        unlock(&region->shards[i].mutex);
        lk_canal_leave(holder); /* no thread uses it, so no thread waits for this */
    }
}

void region_end(struct region *region) {
    drop_users(region, 1);
    drop_reference(region);
}

/* ---- owners ---------------------------------------------------------------------------------- */

static struct owner *find_owner(const struct stripe *stripe, uint32_t hash,
                                const ErlNifPid *process) {
    struct link *link = table_first(&stripe->owners, hash);

    while (link != NULL) {
        struct owner *owner = (struct owner *)(void *)link;

        if (link->hash == hash && enif_compare_pids(&owner->process, process) == 0) {
            return owner;
        }
        link = link->next;
    }
    return NULL;
}

/* With the stripe locked: owner_is_down() waits for it, and finds the owner in the table. */
static int make_owner(struct region *region, struct stripe *stripe, ErlNifEnv *env, uint32_t hash,
                      const ErlNifPid *process, struct owner **ret_owner) {
    struct owner *owner;

    if (!table_reserve(&stripe->owners)) {
        return REGION_NO_MEMORY;
    }
    owner = enif_alloc_resource(owner_type, sizeof *owner);
    if (owner == NULL) {
        return REGION_NO_MEMORY;
    }
    memset(owner, 0, sizeof *owner);
    owner->link.hash = hash;
    owner->region = region;
    owner->process = *process;
    atomic_fetch_add(&region->references, 1);
    if (enif_monitor_process(env, owner, process, NULL) != 0) {
        enif_release_resource(owner);
        return REGION_NO_PROCESS; /* killed while it ran on a dirty scheduler */
    }
    table_insert(&stripe->owners, &owner->link);
    *ret_owner = owner;
    return LK_CANAL_OK;
}

static void free_owner(ErlNifEnv *env, void *object) {
    struct owner *owner = object;

    (void)env;
    table_end(&owner->permits);
    enif_free(owner->spare);
    drop_reference(owner->region);
}

/* Gives back a permit. LK_CANAL_OK; REGION_CLOSED; an outcome. */
static int give_back(struct region *region, const struct permit *permit) {
    struct shard *shard = &region->shards[permit->shard];
    int status = REGION_CLOSED;

    lock(&shard->mutex);
    if (shard->holder != NULL) {
        status = (int)lk_canal_release(shard->holder, &permit->held);
    }
    unlock(&shard->mutex);
    return status;
}

static void owner_is_down(ErlNifEnv *env, void *object, ErlNifPid *process,
                          ErlNifMonitor *monitor) {
    struct owner *owner = object;
    struct region *region = owner->region;
    struct stripe *stripe = stripe_of(region, owner->link.hash);
    struct link *link;
    uint64_t count;
    uint32_t cursor = 0;

    (void)env;
    (void)process;
    (void)monitor;
    lock(&stripe->mutex);
    table_remove(&stripe->owners, &owner->link);
    count = owner->permits.count;
    unlock(&stripe->mutex);
    /* Nothing finds the owner any more. */
    while ((link = table_take_any(&owner->permits, &cursor)) != NULL) {
        struct permit *permit = (struct permit *)(void *)link;

        (void)give_back(region, permit);
        enif_free(permit);
    }
    if (count > 0) {
        drop_users(region, count);
    }
    enif_release_resource(owner);
}

bool region_types_open(ErlNifEnv *env) {
    /* The name has the layout's version: a library with another layout does not take over objects
     * of this one. */
    const ErlNifResourceTypeInit calls = {.dtor = free_owner, .down = owner_is_down, .members = 3};
    ErlNifResourceType *type = enif_init_resource_type(
        env, "lockkeeper_canal_owner_1", &calls, ERL_NIF_RT_CREATE | ERL_NIF_RT_TAKEOVER, NULL);

    if (type != NULL) {
        owner_type = type;
    }
    return type != NULL;
}

/* ---- permits --------------------------------------------------------------------------------- */

static struct permit *find_permit(const struct owner *owner, const struct ask *ask) {
    struct link *link = table_first(&owner->permits, ask->key_hash);

    while (link != NULL) {
        struct permit *permit = (struct permit *)(void *)link;

        if (link->hash == ask->key_hash && permit->key_size == ask->key_size
            && memcmp(permit->key, ask->key, ask->key_size) == 0) {
            return permit;
        }
        link = link->next;
    }
    return NULL;
}

static uint32_t limit_of(const struct ask *ask) {
    uint64_t limit = (uint64_t)ask->max_per * ask->resources;

    return limit < LK_CANAL_COUNT_MAX ? (uint32_t)limit : LK_CANAL_COUNT_MAX;
}

static bool is_full(struct region *region, const struct ask *ask) {
    uint32_t count;

    return lk_canal_count(region->canal, ask->key, ask->key_size, &count) == LK_CANAL_OK
           && count >= limit_of(ask);
}

static int acquire_by(struct region *region, uint32_t index, const struct ask *ask,
                      struct permit *permit) {
    struct shard *shard = &region->shards[index];
    int status = REGION_CLOSED;

    lock(&shard->mutex);
    if (shard->holder != NULL) {
        status = (int)lk_canal_acquire(shard->holder, ask->key, ask->key_size, ask->max_per,
                                       ask->resources, &permit->held);
    }
    unlock(&shard->mutex);
    permit->shard = index;
    return status;
}

/* Holders reserve entries 64 at a time: where one finds no room, another one may have some. */
static int acquire_by_any(struct region *region, const struct ask *ask, bool is_slow,
                          struct permit *permit) {
    uint32_t own = shard_of_thread(region);
    int status = acquire_by(region, own, ask, permit);

    for (uint32_t i = 1; is_slow && status == LK_CANAL_NO_ROOM && i < region->shard_count; i++) {
        status = acquire_by(region, (own + i) % region->shard_count, ask, permit);
    }
    return status;
}

static struct permit *take_spare(struct owner *owner) {
    struct permit *permit = owner->spare;

    owner->spare = NULL;
    return permit != NULL ? permit : enif_alloc(sizeof *permit);
}

static void give_spare(struct owner *owner, struct permit *permit) {
    enif_free(owner->spare);
    owner->spare = permit;
}

/* With the stripe locked. Memory first: what is acquired can be recorded. */
static int acquire_for(struct owner *owner, const struct ask *ask, bool is_slow,
                       uint32_t *ret_ordinal) {
    struct region *region = owner->region;
    struct permit *permit = table_reserve(&owner->permits) ? take_spare(owner) : NULL;
    int status;

    if (permit == NULL) {
        return REGION_NO_MEMORY;
    }
    status = acquire_by_any(region, ask, is_slow, permit);
    if (status != LK_CANAL_OK) {
        give_spare(owner, permit);
        return status;
    }
    permit->link.hash = ask->key_hash;
    permit->key_size = (uint32_t)ask->key_size;
    memcpy(permit->key, ask->key, ask->key_size);
    table_insert(&owner->permits, &permit->link);
    atomic_fetch_add_explicit(&region->users, 1, memory_order_relaxed); /* there is a handle */
    *ret_ordinal = permit->held.ordinal;
    return LK_CANAL_OK;
}

static int acquire(struct region *region, ErlNifEnv *env, const struct ask *ask, bool is_slow,
                   uint32_t *ret_ordinal) {
    uint32_t hash = process_hash(&ask->process);
    struct stripe *stripe = stripe_of(region, hash);
    struct owner *owner;
    int status = LK_CANAL_OK;

    lock(&stripe->mutex);
    owner = find_owner(stripe, hash, &ask->process);
    if (owner == NULL) {
        status = make_owner(region, stripe, env, hash, &ask->process, &owner);
    }
    if (status == LK_CANAL_OK) {
        status = acquire_for(owner, ask, is_slow, ret_ordinal);
    }
    unlock(&stripe->mutex);
    if (status == LK_CANAL_OK ? is_slow : status == LK_CANAL_NO_ROOM) {
        atomic_store_explicit(&region->is_crowded, status != LK_CANAL_OK, memory_order_relaxed);
    }
    return status;
}

/*
 * What lk_canal_acquire() does of a key that is full, in its order, but without the lock of a
 * holder: it checks the name, looks for dead holders, and reads the count again. LK_CANAL_FULL;
 * LK_CANAL_GONE; REGION_CLOSED; REGION_SLOW; LK_CANAL_OK: there may be room.
 */
static int check_full(struct region *region, const struct ask *ask, bool is_slow) {
    if (atomic_load(&region->is_closed)) {
        return REGION_CLOSED;
    }
    if (lk_canal_is_gone(region->canal)) {
        return LK_CANAL_GONE;
    }
    if (lk_canal_may_have_dead(region->canal, CHECKS_MAX)) {
        if (!is_slow) {
            return REGION_SLOW;
        }
        (void)lk_canal_look(region->canal);
    }
    return is_full(region, ask) ? LK_CANAL_FULL : LK_CANAL_OK;
}

int region_acquire(struct region *region, ErlNifEnv *env, const struct ask *ask,
                   uint32_t *ret_ordinal) {
    int status = LK_CANAL_OK;

    if (atomic_load_explicit(&region->is_crowded, memory_order_relaxed)) {
        return REGION_SLOW;
    }
    if (is_full(region, ask)) {
        status = check_full(region, ask, false);
    }
    if (status == LK_CANAL_OK) {
        status = acquire(region, env, ask, false, ret_ordinal);
    }
    return status == LK_CANAL_NO_ROOM ? REGION_SLOW : status;
}

int region_acquire_slowly(struct region *region, ErlNifEnv *env, const struct ask *ask,
                          uint32_t *ret_ordinal) {
    int status = check_full(region, ask, true);

    return status == LK_CANAL_OK ? acquire(region, env, ask, true, ret_ordinal) : status;
}

int region_release(struct region *region, const struct ask *ask) {
    uint32_t hash = process_hash(&ask->process);
    struct stripe *stripe = stripe_of(region, hash);
    struct permit *permit = NULL;
    struct owner *owner;
    int status = LK_CANAL_NOT_HELD;

    lock(&stripe->mutex);
    owner = find_owner(stripe, hash, &ask->process);
    if (owner != NULL) {
        permit = find_permit(owner, ask);
    }
    if (permit != NULL) {
        status = give_back(region, permit);
        table_remove(&owner->permits, &permit->link);
        give_spare(owner, permit);
    }
    unlock(&stripe->mutex);
    if (permit != NULL) {
        drop_users(region, 1);
    }
    return status;
}

/* ---- looking --------------------------------------------------------------------------------- */

int region_count(struct region *region, const struct ask *ask, uint32_t *ret_count) {
    return atomic_load(&region->is_closed)
               ? REGION_CLOSED
               : (int)lk_canal_count(region->canal, ask->key, ask->key_size, ret_count);
}

int region_measure(struct region *region, lk_canal_figures *ret_figures) {
    return atomic_load(&region->is_closed) ? REGION_CLOSED
                                           : (int)lk_canal_measure(region->canal, ret_figures);
}
