/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Leases that are kept alive: lk_acquire() and the handle it gives.
 *
 * Whatever can fail for want of memory or threads is made before the store is asked, so that a
 * granted lease always has its handle.
 */
#include "client/lease.h"

#include <stdlib.h>

#include "base/clock.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "client/answer.h"
#include "client/batch.h"
#include "client/keepalive.h"
#include "client/renewal.h"
#include "client/wait.h"
#include "engine/reply/reply.h"

void lk_lease_discard(lk_lease *lease) {
    if (lease->tie != NULL) {
        lease->tie_ops->close(lease->tie);
    }
    free(lease->parts);
    free(lease->tokens);
    free(lease->text);
    free(lease);
}

lk_lease *lk_lease_new(const char *owner, size_t part_count, size_t path_bytes) {
    size_t owner_size = strlen(owner);
    lk_lease *lease = calloc(1, sizeof *lease);

    if (lease == NULL) {
        return NULL;
    }
    lease->text = malloc(owner_size + 1 + path_bytes);
    lease->parts = calloc(part_count, sizeof *lease->parts);
    lease->tokens = calloc(part_count, sizeof *lease->tokens);
    if (lease->text == NULL || lease->parts == NULL || lease->tokens == NULL) {
        lk_lease_discard(lease);
        return NULL;
    }
    lease->owner = lease->text;
    memcpy(lease->owner, owner, owner_size + 1);
    lease->target = (struct lk_target){
        .owner = {.bytes = lease->owner, .size = owner_size},
        .parts = lease->parts,
        .part_count = part_count,
    };
    return lease;
}

void lk_lease_begin(lk_lease *lease, lk_store *store, const struct lk_grant *grant) {
    char *next = lease->text + lease->target.owner.size + 1;

    for (size_t i = 0; i < lease->target.part_count; i++) {
        const struct lk_path *path = &grant->parts[i].path;

        lease->parts[i] = grant->parts[i];
        memcpy(next, path->bytes, path->size);
        lease->parts[i].path.bytes = next;
        next += path->size;
    }
    lease->keepalive = store->keepalive;
    lease->can_put = (lk_store_capabilities(store) & LK_CAN_VALUES) != 0;
    lease->target.token = grant->token;
    if (grant->tokens != NULL) {
        memcpy(lease->tokens, grant->tokens, lease->target.part_count * sizeof *lease->tokens);
        lease->target.tokens = lease->tokens;
    }
    lease->ttl_ms = grant->ttl_ms;
    lease->is_fixed = grant->is_fixed;
    lk_safe_until_make(&lease->safe_until,
                       lk_renewal_end_us(lease, grant->sent_us, grant->expires_in_ms));
    lease->renew_at_us = grant->sent_us + grant->ttl_ms * 1000 / 3;
    /* From now on, as a grant after a wait may be younger than the ask. */
    lease->stay_until_us =
        grant->at_least_ms != 0 ? lk_clock_now_us() + grant->at_least_ms * 1000 : 0;
    lk_keepalive_ref(lease->keepalive);
    lk_keepalive_add(lease->keepalive, lease);
}

/* ---- acquiring ------------------------------------------------------------------------------- */

static lk_lease *lease_for(const lk_store *store, const struct lk_checked *checked) {
    size_t path_bytes = 0;
    lk_lease *lease;

    for (size_t i = 0; i < checked->part_count; i++) {
        path_bytes += checked->parts[i].path.size;
    }
    lease = lk_lease_new(checked->owner, checked->part_count, path_bytes);
    if (lease != NULL && checked->request.bound) {
        lease->tie_ops = store->engine->ops->ties;
        lease->tie = lease->tie_ops->open();
        if (lease->tie == NULL) {
            lk_lease_discard(lease);
            return NULL;
        }
    }
    return lease;
}

/* Everything that lk_acquire() needs before it asks. On failure nothing is left allocated. */
static lk_outcome prepare(lk_store *store, const lk_request *request, struct lk_checked *checked,
                          lk_lease **ret_lease, lk_result **ret_named, lk_error *cause) {
    lk_lease *lease;
    lk_result *named;
    lk_outcome outcome = lk_store_check(store, cause);

    if (outcome == LK_OK) {
        outcome = lk_checked_ask(store, request, checked, cause);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    if (!lk_keepalive_start(store->keepalive, checked->request.bound)) {
        return lk_error_set(cause, LK_INTERNAL, "cannot start the thread that keeps leases alive");
    }
    lease = lease_for(store, checked);
    named = lease != NULL ? lk_answer_new(checked) : NULL;
    if (named == NULL) {
        if (lease != NULL) {
            lk_lease_discard(lease);
        }
        return lk_error_set(cause, LK_INTERNAL, "no memory for a lease");
    }
    *ret_lease = lease;
    *ret_named = named;
    return LK_OK;
}

/*
 * The lease is renewed every third of this. A lease that is bound to its process has the furthest
 * deadline possible; the ttl of the request is then how often the client checks that it is held.
 * One that is bound to a connection is checked so that a silent peer is noticed in time.
 */
static int64_t ttl_to_renew_by(const lk_store *store, const struct lk_checked *checked,
                               const lk_result *granted) {
    if (checked->request.bound) {
        return lk_min(granted->fixed ? granted->expires_in_ms : granted->ttl_ms,
                      LK_BOUND_PROMISE_MS);
    }
    if ((lk_store_capabilities(store) & LK_BINDS_TO_PROCESS) == 0) {
        return granted->ttl_ms;
    }
    return lk_min(granted->ttl_ms, checked->request.ttl_ms);
}

lk_outcome lk_acquire(lk_store *store, const lk_request *request, lk_lease **ret_lease,
                      lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    struct lk_decision decision;
    lk_result *named = NULL;
    lk_lease *lease = NULL;
    int64_t sent_us;
    lk_error cause;

    if (prepare(store, request, &checked, &lease, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    if (lk_wait_ask(store, &checked, lease->tie, &decision, &sent_us) == LK_GRANTED) {
        const lk_result *granted = &decision.result;
        const struct lk_grant grant = {
            .parts = checked.parts,
            .token = granted->token,
            .tokens = granted->tokens,
            .ttl_ms = ttl_to_renew_by(store, &checked, granted),
            .sent_us = sent_us,
            .expires_in_ms = granted->expires_in_ms,
            .is_fixed = granted->fixed && !checked.request.bound,
            .at_least_ms = checked.request.at_least_ms,
        };

        lk_lease_begin(lease, store, &grant);
        *ret_lease = lease;
    } else {
        lk_lease_discard(lease);
    }
    return lk_answer_give(named, &decision, ret_result, error);
}

/* ---- the end --------------------------------------------------------------------------------- */

/* Frees the lease; the keep-alive no longer uses it. */
static void end(lk_lease *lease) {
    struct lk_keepalive *keepalive = lease->keepalive;

    /* In a child of fork() the keep-alive and its mutex are the parent's. */
    if (lk_keepalive_is_mine(keepalive)) {
        lk_keepalive_unref(keepalive);
    }
    lk_lease_discard(lease);
}

static lk_outcome decide_end(lk_lease *lease, const struct lk_command *command, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_engine *engine = lk_keepalive_begin_call(lease->keepalive);
    struct lk_decision decision;

    if (engine == NULL) {
        return lk_error_set(error, LK_UNAVAILABLE,
                            "the store is closed: the lease ends at its deadline");
    }
    (void)lk_batch_decide(engine, command, &patience, &decision);
    lk_keepalive_end_call(lease->keepalive);
    return lk_answer_end(&decision, error);
}

int64_t lk_lease_stay_ms(const lk_lease *lease) {
    int64_t left_us = lease->stay_until_us != 0 ? lease->stay_until_us - lk_clock_now_us() : 0;

    return left_us > 0 ? lk_max((left_us + 999) / 1000, LK_TTL_MIN_MS) : 0;
}

/*
 * The last renewal of a lease that has to stay, in place of its release. One that is revoked (R12)
 * cannot be renewed, but released.
 */
static lk_outcome release_in_store(lk_lease *lease, const struct lk_release_put *puts,
                                   size_t put_count, lk_error *error) {
    const struct lk_command release = {
        .kind = LK_COMMAND_RELEASE,
        .release = {.target = lease->target, .puts = puts, .put_count = put_count},
    };
    const struct lk_command last_renewal = {
        .kind = LK_COMMAND_RENEW,
        .renew = {.target = lease->target, .ttl_ms = lk_lease_stay_ms(lease)},
    };
    lk_outcome outcome =
        last_renewal.renew.ttl_ms > 0 ? decide_end(lease, &last_renewal, error) : LK_LOST;

    return outcome == LK_LOST ? decide_end(lease, &release, error) : outcome;
}

/* Of the values that a release writes, so that its repetition is known to be one. */
static uint64_t hash_of_puts(const struct lk_release_put *puts, size_t put_count) {
    uint64_t hash = put_count;

    for (size_t i = 0; i < put_count; i++) {
        hash = lk_hash_bytes(lk_hash_number(hash, puts[i].part), puts[i].bytes);
    }
    return hash;
}

/*
 * The store has not said that the lease has ended, but it may have. The handle stays for another
 * release. Nothing renews the lease any more, and one that is bound ends with its connection.
 */
static void leave_open(lk_lease *lease) {
    lk_safe_until_break(&lease->safe_until);
    if (lease->tie != NULL) {
        lease->tie_ops->close(lease->tie);
        lease->tie = NULL;
    }
}

static lk_outcome release_lease(lk_lease *lease, const struct lk_release_put *puts,
                                size_t put_count, lk_error *error) {
    uint64_t puts_hash = hash_of_puts(puts, put_count);
    bool is_repetition = lease->is_release_sent;
    lk_outcome outcome;

    if (!lk_keepalive_is_mine(lease->keepalive)) {
        return lk_error_set(error, LK_INTERNAL, "the lease is the parent's: fork() ended it here");
    }
    /* The store would answer such a repetition as the first release, which has written others. */
    if (put_count > 0 && is_repetition && puts_hash != lease->puts_hash) {
        return lk_error_set(error, LK_INVALID,
                            "R3: a release of this lease has been sent with other values, or with "
                            "none: only that can be repeated");
    }
    lk_keepalive_remove(lease->keepalive, lease);
    lease->puts_hash = is_repetition ? lease->puts_hash : puts_hash;
    lease->is_release_sent = true;
    outcome = release_in_store(lease, puts, put_count, error);
    if (outcome == LK_OK || outcome == LK_LOST) {
        end(lease);
    } else if (!is_repetition && (outcome == LK_INVALID || outcome == LK_UNSUPPORTED)) {
        lease->is_release_sent = false; /* nothing is done */
        lk_keepalive_add(lease->keepalive, lease);
    } else {
        leave_open(lease);
    }
    return outcome;
}

lk_outcome lk_lease_release(lk_lease *lease, lk_error *error) {
    return release_lease(lease, NULL, 0, error);
}

lk_outcome lk_lease_release_now(lk_lease *lease, lk_error *error) {
    lease->stay_until_us = 0;
    return release_lease(lease, NULL, 0, error);
}

/* R15: only an exclusive lease writes the values of its paths. */
static lk_outcome check_modes(const lk_lease *lease, const struct lk_release_put *puts,
                              size_t put_count, lk_error *error) {
    for (size_t i = 0; i < put_count; i++) {
        const struct lk_part *part = &lease->parts[puts[i].part];

        if (part->mode != LK_EXCLUSIVE) {
            return lk_error_set(error, LK_INVALID,
                                "R15: only an exclusive lease writes the value of %.*s",
                                (int)part->path.size, part->path.bytes);
        }
    }
    return LK_OK;
}

lk_outcome lk_lease_release_put_all(lk_lease *lease, const lk_part_put *puts, size_t put_count,
                                    lk_error *error) {
    struct lk_release_put sorted[LK_PARTS_MAX];

    if (!lease->can_put) {
        return lk_error_set(error, LK_UNSUPPORTED, "the lease's store cannot keep values");
    }
    if (lease->stay_until_us != 0) {
        return lk_error_set(error, LK_INVALID,
                            "R15: only what ends a lease writes its values, and this one has a "
                            "least time: write them before, while it is held");
    }
    if (lk_checked_put_values(puts, put_count, error) != LK_OK
        || lk_checked_puts(lease->parts, lease->target.part_count, puts, put_count, sorted, error)
               != LK_OK
        || check_modes(lease, sorted, put_count, error) != LK_OK) {
        return LK_INVALID;
    }
    return release_lease(lease, sorted, put_count, error);
}

lk_outcome lk_lease_release_put(lk_lease *lease, const void *value, size_t value_size,
                                lk_error *error) {
    const lk_part_put put = {.value = value, .value_size = value_size};

    return lk_lease_release_put_all(lease, &put, 1, error);
}

void lk_lease_abandon(lk_lease *lease) {
    if (lease == NULL) {
        return;
    }
    if (lk_keepalive_is_mine(lease->keepalive)) {
        lk_keepalive_remove(lease->keepalive, lease);
    }
    end(lease);
}

lk_outcome lk_lease_release_now_for_good(lk_lease *lease, lk_error *error) {
    lease->stay_until_us = 0;
    return lk_lease_release_for_good(lease, error);
}

void lk_lease_retire(lk_lease *lease) {
    lk_keepalive_remove(lease->keepalive, lease);
    lease->is_release_sent = true; /* it is not watched again either */
}

lk_outcome lk_lease_release_for_good(lk_lease *lease, lk_error *error) {
    lk_outcome outcome = lk_lease_release(lease, error);

    if (outcome != LK_OK && outcome != LK_LOST) {
        lk_lease_abandon(lease);
    }
    return outcome;
}

void lk_lease_release_later(lk_lease *lease, lk_store *store) {
    const struct lk_leftover leftover = {
        .owner = lease->target.owner,
        .parts = lease->parts,
        .part_count = lease->target.part_count,
        .token = lease->target.token,
        .ttl_ms = lease->is_fixed ? LK_TTL_MAX_MS : lease->ttl_ms,
        .close_until_us = lk_clock_now_us() + LK_LEFTOVER_CLOSE_US,
    };

    lk_keepalive_remove(lease->keepalive, lease);
    if (lease->tie == NULL) { /* one that is bound ends with its connection */
        lk_leftovers_add(&store->leftovers, &leftover);
    }
    end(lease);
}

int lk_lease_connection(const lk_lease *lease) {
    return lease->tie != NULL ? lease->tie_ops->descriptor(lease->tie) : -1;
}

/* ---- the state of a lease -------------------------------------------------------------------- */

uint64_t lk_lease_token(const lk_lease *lease) {
    return lease->target.token;
}

const char *lk_lease_owner(const lk_lease *lease) {
    return lease->owner;
}

bool lk_lease_is_lost(const lk_lease *lease) {
    /* Recording that the deadline has passed changes nothing that a caller can observe. */
    struct lk_safe_until *safe_until = (struct lk_safe_until *)&lease->safe_until;

    /* A child of fork() has no threads that renew it. */
    return lk_safe_until_is_over(safe_until) || !lk_keepalive_is_mine(lease->keepalive);
}

int64_t lk_lease_remaining_ms(const lk_lease *lease) {
    int64_t until_us = lk_safe_until_until_us(&lease->safe_until);
    int64_t left_us = until_us != LK_SAFE_UNTIL_OVER ? until_us - lk_clock_now_us() : 0;

    return left_us > 0 && !lk_lease_is_lost(lease) ? left_us / 1000 : 0;
}

void lk_lease_on_lost(lk_lease *lease, void (*callback)(void *context, lk_lease *lease),
                      void *context) {
    if (lk_keepalive_is_mine(lease->keepalive) && !lease->is_release_sent) {
        lk_keepalive_watch(lease->keepalive, lease, callback, context);
    }
}
