/* SPDX-License-Identifier: Apache-2.0 */
/* Decisions: asks, renewals and releases of this process's own permits. */
#include <stdlib.h>
#include <string.h>

#include "engine/reply/reply.h"
#include "engine/shm/shm.h"

/* ---- what this process holds ----------------------------------------------------------------- */

/* R3: an owner has at most one request for a path. Returns the link to it, or the list's end. */
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

/* A permit lives as long as its process, so its deadline is the furthest one. Renewals only check
 * whether the region still exists. */
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

static lk_outcome check(const struct lk_ask *ask, struct lk_decision *decision) {
    if (ask->part_count != 1) {
        return lk_decision_fail(decision, LK_UNSUPPORTED,
                                "a store of shm: takes one part at a time, without a batch");
    }
    if (ask->parts[0].path.size > LK_CANAL_KEY_BYTES_MAX) {
        return lk_decision_fail(decision, LK_UNSUPPORTED, "a path in shm: has at most %d bytes",
                                LK_CANAL_KEY_BYTES_MAX);
    }
    if (ask->until_us != 0) {
        return lk_decision_fail(
            decision, LK_UNSUPPORTED,
            "a store of shm: knows no deadlines: a lease ends with its process");
    }
    return LK_OK;
}

/* R9: another limit is never stronger, and applies from now on; units stay what they are. */
static lk_outcome ask_again(struct lk_shm_engine *shm, struct lk_shm_lease *lease,
                            const struct lk_part *part, struct lk_decision *decision) {
    if (part->units != lease->units) {
        return lk_decision_fail(decision, LK_UNSUPPORTED,
                                "a store of shm: cannot change the units of a lease");
    }
    lease->limit = part->limit;
    describe(shm, lease, &decision->result);
    return decision->error.outcome = LK_GRANTED;
}

static lk_outcome refuse(struct lk_shm_engine *shm, const struct lk_ask *ask,
                         lk_canal_status status, struct lk_decision *decision) {
    switch (status) {
    case LK_CANAL_FULL:
        if (!lk_shm_name_holders(shm, &ask->parts[0].path, ask->blockers_max, &decision->result)) {
            return lk_decision_fail(decision, LK_INTERNAL, "no memory for the answer");
        }
        decision->result.expires_in_ms =
            ask->style == LK_TRY ? -1 : 0; /* it has no place in a queue */
        return decision->error.outcome = ask->style == LK_TRY ? LK_BUSY : LK_WAITING;
    case LK_CANAL_NO_ROOM:
        return lk_decision_fail(decision, LK_FULL,
                                "the region has no room for one more key, holder or permit");
    case LK_CANAL_LEFT:
        return lk_decision_fail(decision, LK_INTERNAL, "the store was opened before a fork()");
    case LK_CANAL_GONE:
        return lk_decision_fail(
            decision, LK_UNAVAILABLE,
            "the region's file was removed or replaced: what this process holds "
            "there must end before it takes anything new");
    case LK_CANAL_INVALID:
        return lk_decision_fail(decision, LK_UNSUPPORTED,
                                "a store of shm: counts up to %d units of a path",
                                LK_CANAL_COUNT_MAX);
    default:
        return lk_decision_fail(decision, LK_UNAVAILABLE, "the region: %s",
                                lk_canal_status_name(status));
    }
}

/* Joins the region as a holder, labelled with owner and note for listings. */
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
    /* R4: drawn after the grant, so after every draw of earlier holders. */
    lease->token = lk_canal_draw(shm->canal);
    (void)lk_canal_mark(lease->holder, &lease->permit, lease->token);
    return LK_CANAL_OK;
}

static lk_outcome ask_anew(struct lk_shm_engine *shm, const struct lk_ask *ask,
                           struct lk_shm_lease **at, struct lk_decision *decision) {
    const struct lk_part *part = &ask->parts[0];
    struct lk_shm_lease *lease = calloc(1, sizeof *lease);
    lk_canal_status status;

    if (lease == NULL) {
        return lk_decision_fail(decision, LK_INTERNAL, "no memory for a lease");
    }
    status = acquire(shm, ask, lease);
    if (status != LK_CANAL_OK) {
        free(lease);
        return refuse(shm, ask, status, decision);
    }
    lease->limit = part->limit;
    lease->units = part->units;
    lease->owner_size = ask->owner.size;
    lease->path_size = part->path.size;
    memcpy(lease->owner, ask->owner.bytes, ask->owner.size);
    memcpy(lease->path, part->path.bytes, part->path.size);
    *at = lease;
    describe(shm, lease, &decision->result);
    decision->result.created = true;
    return decision->error.outcome = LK_GRANTED;
}

/*
 * The region's file may have been removed or replaced: processes that open its name then count in
 * another region. This process follows them if it holds nothing; otherwise it takes nothing more.
 */
static lk_outcome follow_name(struct lk_shm_engine *shm, const struct lk_ask *ask,
                              struct lk_decision *decision) {
    struct lk_error error;
    lk_outcome outcome;

    if (!lk_canal_is_gone(shm->canal)) {
        return LK_OK;
    }
    if (shm->leases != NULL) {
        return refuse(shm, ask, LK_CANAL_GONE, decision);
    }
    outcome = lk_shm_open_again(shm, &error);
    return outcome == LK_OK ? LK_OK : lk_decision_fail(decision, outcome, "%s", error.text);
}

static lk_outcome ask_for(struct lk_shm_engine *shm, const struct lk_ask *ask,
                          struct lk_decision *decision) {
    lk_outcome outcome = check(ask, decision);
    struct lk_shm_lease **at;

    if (outcome == LK_OK) {
        outcome = follow_name(shm, ask, decision);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    at = find(shm, ask->owner, &ask->parts[0].path);
    return *at != NULL ? ask_again(shm, *at, &ask->parts[0], decision)
                       : ask_anew(shm, ask, at, decision);
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

static lk_outcome lost(struct lk_decision *decision) {
    return lk_decision_fail(
        decision, LK_LOST,
        "this process holds no such lease; of a store of shm: each holds its own");
}

static lk_outcome gone(struct lk_decision *decision) {
    return lk_decision_fail(decision, LK_LOST,
                            "the region's file was removed or replaced: processes that came later "
                            "do not count this lease");
}

static lk_outcome renew(struct lk_shm_engine *shm, const struct lk_renew *renew,
                        struct lk_decision *decision) {
    struct lk_shm_lease **at = find_target(shm, &renew->target);

    if (at == NULL) {
        return lost(decision);
    }
    if (lk_canal_is_gone(shm->canal)) {
        return gone(decision);
    }
    describe(shm, *at, &decision->result);
    return LK_OK;
}

static lk_outcome release(struct lk_shm_engine *shm, const struct lk_release *release,
                          struct lk_decision *decision) {
    struct lk_shm_lease **at = find_target(shm, &release->target);
    struct lk_shm_lease *lease;
    lk_outcome outcome;

    if (at == NULL) {
        return lost(decision);
    }
    lease = *at;
    outcome = lk_canal_is_gone(shm->canal) ? gone(decision) : LK_OK;
    *at = lease->next;
    lk_canal_leave(lease->holder);
    free(lease);
    return outcome;
}

/* ---- any command ----------------------------------------------------------------------------- */

static lk_outcome decide(struct lk_shm_engine *shm, const struct lk_command *command,
                         struct lk_decision *decision) {
    switch (command->kind) {
    case LK_COMMAND_ASK:
        return ask_for(shm, &command->ask, decision);
    case LK_COMMAND_RENEW:
        return renew(shm, &command->renew, decision);
    case LK_COMMAND_RELEASE:
        return release(shm, &command->release, decision);
    case LK_COMMAND_BREAK:
    case LK_COMMAND_TICK:
    case LK_COMMAND_PUT:
    case LK_COMMAND_PUSH:
    case LK_COMMAND_TAKE:
    case LK_COMMAND_FINISH:
    case LK_COMMAND_UNPARK:
    case LK_COMMAND_DROP:
    case LK_COMMAND_LEAVE:
        break; /* what this engine cannot is not asked for */
    }
    return lk_decision_refuse(decision);
}

lk_outcome lk_shm_decide(struct lk_engine *engine, const struct lk_command *command,
                         const struct lk_patience *patience, struct lk_decision *ret_decision) {
    struct lk_shm_engine *shm = lk_shm_of(engine);
    lk_outcome outcome;

    (void)patience; /* nothing here is waited for */
    lk_decision_begin(ret_decision, command);
    (void)pthread_mutex_lock(&shm->mutex);
    outcome = decide(shm, command, ret_decision);
    (void)pthread_mutex_unlock(&shm->mutex);
    return outcome;
}
