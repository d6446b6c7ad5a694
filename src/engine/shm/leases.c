/* SPDX-License-Identifier: Apache-2.0 */
/* Asks, renewals and releases of this process's own permits. */
#include <stdlib.h>
#include <string.h>

#include "engine/reply.h"
#include "engine/shm/shm.h"

/* ---- what this process holds ----------------------------------------------------------------- */

/* R3: an owner has at most one request for a path. Returns where it hangs, or the list's end. */
static struct lk_shm_lease **find(struct lk_shm_engine *shm, struct lk_slice owner,
                                  const struct lk_path *path) {
    struct lk_shm_lease **lease = &shm->leases;

    while (*lease != NULL
           && ((*lease)->owner_size != owner.size || (*lease)->path_size != path->size
               || memcmp((*lease)->owner, owner.bytes, owner.size) != 0
               || memcmp((*lease)->path, path->bytes, path->size) != 0)) {
        lease = &(*lease)->next;
    }
    return lease;
}

/* A permit lives as long as its process: its deadline is as far away as one can be. */
static void describe(struct lk_shm_engine *shm, const struct lk_shm_lease *lease,
                     lk_result *result) {
    uint32_t in_use = lease->permit.ordinal;

    (void)lk_canal_count(shm->canal, lease->path, lease->path_size, &in_use);
    result->ticket = lease->token;
    result->token = lease->token;
    result->ttl_ms = LK_TTL_MAX_MS;
    result->expires_in_ms = LK_TTL_MAX_MS;
    result->in_use = in_use;
}

/* ---- asking ---------------------------------------------------------------------------------- */

static lk_outcome check(const struct lk_ask *ask, lk_result *result) {
    if (ask->part_count != 1) {
        return lk_result_fail(result, LK_UNSUPPORTED,
                              "a store of shm: takes one part at a time, without a batch");
    }
    if (ask->parts[0].path.size > LK_CANAL_KEY_BYTES_MAX) {
        return lk_result_fail(result, LK_UNSUPPORTED, "a path in shm: has at most %d bytes",
                              LK_CANAL_KEY_BYTES_MAX);
    }
    if (ask->until_us != 0) {
        return lk_result_fail(result, LK_UNSUPPORTED,
                              "a store of shm: knows no deadlines: a lease ends with its process");
    }
    return LK_OK;
}

/* R9: another limit is never stronger, and applies from now on; units stay what they are. */
static lk_outcome ask_again(struct lk_shm_engine *shm, struct lk_shm_lease *lease,
                            const struct lk_part *part, lk_result *result) {
    if (part->units != lease->units) {
        return lk_result_fail(result, LK_UNSUPPORTED,
                              "a store of shm: cannot change the units of a lease");
    }
    lease->limit = part->limit;
    describe(shm, lease, result);
    return result->outcome = LK_GRANTED;
}

static lk_outcome refuse(struct lk_shm_engine *shm, const struct lk_ask *ask,
                         lk_canal_status status, lk_result *result) {
    switch (status) {
    case LK_CANAL_FULL:
        if (!lk_shm_name_holders(shm, &ask->parts[0].path, ask->blockers_max, result)) {
            return lk_result_fail(result, LK_INTERNAL, "no memory for the answer");
        }
        result->expires_in_ms = ask->style == LK_TRY ? -1 : 0; /* it stands in no line */
        return result->outcome = ask->style == LK_TRY ? LK_BUSY : LK_WAITING;
    case LK_CANAL_NO_ROOM:
        return lk_result_fail(result, LK_FULL,
                              "the region has no room for one more key, holder or permit");
    case LK_CANAL_LEFT:
        return lk_result_fail(result, LK_INTERNAL, "the store was opened before a fork()");
    case LK_CANAL_INVALID:
        return lk_result_fail(result, LK_UNSUPPORTED,
                              "a store of shm: counts up to %d units of a path",
                              LK_CANAL_COUNT_MAX);
    default:
        return lk_result_fail(result, LK_UNAVAILABLE, "the region: %s",
                              lk_canal_status_name(status));
    }
}

/* Owner and note, one behind the other, as listings find them. */
static lk_canal_status join(struct lk_shm_engine *shm, const struct lk_ask *ask,
                            lk_canal_holder **ret_holder) {
    char label[LK_CANAL_LABEL_BYTES_MAX + 1];
    size_t size = ask->owner.size;

    memcpy(label, ask->owner.bytes, size);
    if (ask->note_given && ask->note.size > 0) {
        label[size++] = '\n';
        memcpy(label + size, ask->note.bytes, ask->note.size);
        size += ask->note.size;
    }
    label[size] = '\0';
    return lk_canal_join(shm->canal, LK_CANAL_PROCESS, label, ret_holder);
}

/* Fills a lease with a permit. Nothing of it is left unless LK_CANAL_OK. */
static lk_canal_status acquire(struct lk_shm_engine *shm, const struct lk_ask *ask,
                               struct lk_shm_lease *lease) {
    const struct lk_part *part = &ask->parts[0];
    lk_canal_status status = join(shm, ask, &lease->holder);

    if (status != LK_CANAL_OK) {
        return status;
    }
    status = lk_canal_acquire_units(lease->holder, part->path.bytes, part->path.size, part->limit,
                                    part->units, &lease->permit);
    if (status != LK_CANAL_OK) {
        lk_canal_leave(lease->holder);
        return status;
    }
    /* R4: drawn after the grant, so after every draw for who held before. */
    lease->token = lk_canal_draw(shm->canal);
    (void)lk_canal_mark(lease->holder, &lease->permit, lease->token);
    return LK_CANAL_OK;
}

static lk_outcome ask_anew(struct lk_shm_engine *shm, const struct lk_ask *ask,
                           struct lk_shm_lease **at, lk_result *result) {
    const struct lk_part *part = &ask->parts[0];
    struct lk_shm_lease *lease = calloc(1, sizeof *lease);
    lk_canal_status status;

    if (lease == NULL) {
        return lk_result_fail(result, LK_INTERNAL, "no memory for a lease");
    }
    status = acquire(shm, ask, lease);
    if (status != LK_CANAL_OK) {
        free(lease);
        return refuse(shm, ask, status, result);
    }
    lease->limit = part->limit;
    lease->units = part->units;
    lease->owner_size = ask->owner.size;
    lease->path_size = part->path.size;
    memcpy(lease->owner, ask->owner.bytes, ask->owner.size);
    memcpy(lease->path, part->path.bytes, part->path.size);
    *at = lease;
    describe(shm, lease, result);
    result->created = true;
    return result->outcome = LK_GRANTED;
}

lk_outcome lk_shm_ask(struct lk_engine *engine, const struct lk_ask *ask,
                      const struct lk_patience *patience, lk_result *result,
                      struct lk_stand *ret_stand) {
    struct lk_shm_engine *shm = lk_shm_of(engine);
    lk_outcome outcome = check(ask, result);
    struct lk_shm_lease **at;

    (void)patience;
    (void)ret_stand;
    if (outcome != LK_OK) {
        return outcome;
    }
    (void)pthread_mutex_lock(&shm->mutex);
    at = find(shm, ask->owner, &ask->parts[0].path);
    outcome =
        *at != NULL ? ask_again(shm, *at, &ask->parts[0], result) : ask_anew(shm, ask, at, result);
    (void)pthread_mutex_unlock(&shm->mutex);
    return outcome;
}

/* ---- afterwards ------------------------------------------------------------------------------ */

/* Where the lease that is meant hangs; NULL: there is none. */
static struct lk_shm_lease **find_target(struct lk_shm_engine *shm,
                                         const struct lk_target *target) {
    struct lk_shm_lease **at = find(shm, target->owner, &target->parts[0].path);

    if (target->part_count != 1 || *at == NULL
        || (target->token != 0 && target->token != (*at)->token)) {
        return NULL;
    }
    return at;
}

static lk_outcome lost(lk_result *result) {
    return lk_result_fail(
        result, LK_LOST, "this process holds no such lease; of a store of shm: each holds its own");
}

lk_outcome lk_shm_renew(struct lk_engine *engine, const struct lk_renew *renew,
                        const struct lk_patience *patience, lk_result *result) {
    struct lk_shm_engine *shm = lk_shm_of(engine);
    struct lk_shm_lease **at;

    (void)patience;
    (void)pthread_mutex_lock(&shm->mutex);
    at = find_target(shm, &renew->target);
    if (at != NULL) {
        describe(shm, *at, result);
    }
    (void)pthread_mutex_unlock(&shm->mutex);
    return at != NULL ? LK_OK : lost(result);
}

lk_outcome lk_shm_release(struct lk_engine *engine, const struct lk_release *release,
                          const struct lk_patience *patience, lk_result *result) {
    struct lk_shm_engine *shm = lk_shm_of(engine);
    struct lk_shm_lease **at;

    (void)patience;
    (void)pthread_mutex_lock(&shm->mutex);
    at = find_target(shm, &release->target);
    if (at != NULL) {
        struct lk_shm_lease *lease = *at;

        *at = lease->next;
        lk_canal_leave(lease->holder);
        free(lease);
    }
    (void)pthread_mutex_unlock(&shm->mutex);
    return at != NULL ? LK_OK : lost(result);
}
