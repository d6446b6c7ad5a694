/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The calls about one request: ask, renew, release; and those about values (R15). Each is checked,
 * made, and answered.
 */
#include <stdio.h>

#include "base/error.h"
#include "client/answer.h"
#include "client/batch.h"
#include "client/checked.h"
#include "client/wait.h"

static lk_outcome no_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "no memory for a result");
}

lk_outcome lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                  lk_error *error) {
    struct lk_checked checked;
    struct lk_decision decision;
    lk_result *named = NULL;
    int64_t sent_us;
    lk_error cause;

    if (lk_store_check(store, &cause) != LK_OK
        || lk_checked_ask(store, request, &checked, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    if (checked.request.at_least_ms != 0) {
        (void)lk_error_set(&cause, LK_INVALID,
                           "a lease without keep-alive has no least time: it ends at its deadline");
        return lk_answer_refuse(&cause, ret_result, error);
    }
    named = lk_answer_new(&checked);
    if (named == NULL) {
        (void)no_memory(&cause);
        return lk_answer_refuse(&cause, ret_result, error);
    }
    (void)lk_wait_ask(store, &checked, NULL, &decision, &sent_us);
    return lk_answer_give(named, &decision, ret_result, error);
}

static struct lk_patience patience_of(const struct lk_checked *checked) {
    return (struct lk_patience){.until_us = lk_wait_patience_until(checked->request.patience_ms)};
}

/* Whether this is the lease's part at the path. */
static bool is_held_there(const lk_entry *entry, const struct lk_path *path, uint64_t token) {
    return entry->held && entry->token == token
           && lk_slice_equal(lk_slice_of(entry->path), (struct lk_slice){path->bytes, path->size});
}

/*
 * Looks up the lease that has this token at the first part's path, and makes its owner that of
 * `checked` (R12). Reads only what lives at or below that path. The lease may end before the call
 * that is made for that owner: the call names the token, too. LK_OK; LK_LOST: there is no such
 * lease; LK_INVALID: token is 0; or an outcome of the engine's list().
 */
static lk_outcome find_holder(const lk_store *store, uint64_t token,
                              const struct lk_patience *patience, struct lk_checked *checked,
                              lk_error *error) {
    const struct lk_path *path = &checked->parts[0].path;
    lk_listing *listing;
    lk_outcome outcome;

    if (token == 0) {
        return lk_error_set(error, LK_INVALID, "R12: an owner or a token must be named");
    }
    outcome = store->engine->ops->list(store->engine, path, patience, &listing, error);
    if (outcome != LK_OK) {
        return outcome;
    }
    outcome =
        lk_error_set(error, LK_LOST, "no lease at %.*s has this token: it has ended, or never was",
                     (int)path->size, path->bytes);
    for (size_t i = 0; i < listing->count && outcome == LK_LOST; i++) {
        const lk_entry *entry = &listing->entries[i];

        if (is_held_there(entry, path, token)) {
            outcome = lk_checked_owner(entry->owner, error);
            (void)snprintf(checked->owner, sizeof checked->owner, "%s", entry->owner);
        }
    }
    lk_listing_free(listing);
    return outcome;
}

/*
 * Checks a request that names an existing one, by its owner or by its token, and makes the result
 * for its answer.
 */
static lk_outcome prepare(const lk_store *store, const lk_request *request, uint64_t token,
                          struct lk_checked *checked, lk_result **ret_named, lk_error *cause) {
    lk_outcome outcome = lk_store_check(store, cause);

    if (outcome == LK_OK) {
        outcome = lk_checked_target(request, checked, cause);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_outlives(store, &checked->request, cause);
    }
    if (outcome == LK_OK && checked->request.owner == NULL) {
        const struct lk_patience patience = patience_of(checked);

        outcome = find_holder(store, token, &patience, checked, cause);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    *ret_named = lk_answer_new(checked);
    return *ret_named != NULL ? LK_OK : no_memory(cause);
}

static struct lk_target target_of(const struct lk_checked *checked, uint64_t token) {
    return (struct lk_target){
        .owner = lk_slice_of(checked->owner),
        .parts = checked->parts,
        .part_count = checked->part_count,
        .token = token,
    };
}

/* Decides the command, and answers by what was prepared for it. */
static lk_outcome decide(lk_store *store, const struct lk_checked *checked, lk_result *named,
                         const struct lk_command *command, lk_result **ret_result,
                         lk_error *error) {
    const struct lk_patience patience = patience_of(checked);
    struct lk_decision decision;

    (void)lk_batch_decide(store->engine, command, &patience, &decision);
    return lk_answer_give(named, &decision, ret_result, error);
}

lk_outcome lk_renew(lk_store *store, const lk_request *request, uint64_t token,
                    lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    lk_result *named = NULL;
    lk_error cause;

    if (prepare(store, request, token, &checked, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    const struct lk_command command = {
        .kind = LK_COMMAND_RENEW,
        .renew = {.target = target_of(&checked, token), .ttl_ms = checked.request.ttl_ms}};

    return decide(store, &checked, named, &command, ret_result, error);
}

/* The values have been checked, but not yet whose they are. */
static lk_outcome release(lk_store *store, const lk_request *request, uint64_t token,
                          const lk_part_put *puts, size_t put_count, lk_result **ret_result,
                          lk_error *error) {
    struct lk_release_put sorted[LK_PARTS_MAX];
    struct lk_checked checked;
    lk_result *named = NULL;
    lk_error cause;

    if (prepare(store, request, token, &checked, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    if (lk_checked_puts(checked.parts, checked.part_count, puts, put_count, sorted, &cause)
        != LK_OK) {
        lk_result_free(named);
        return lk_answer_refuse(&cause, ret_result, error);
    }
    const struct lk_command command = {
        .kind = LK_COMMAND_RELEASE,
        .release = {.target = target_of(&checked, token), .puts = sorted, .put_count = put_count}};

    return decide(store, &checked, named, &command, ret_result, error);
}

lk_outcome lk_release(lk_store *store, const lk_request *request, uint64_t token,
                      lk_result **ret_result, lk_error *error) {
    return release(store, request, token, NULL, 0, ret_result, error);
}

lk_outcome lk_release_put_all(lk_store *store, const lk_request *request, uint64_t token,
                              const lk_part_put *puts, size_t put_count, lk_result **ret_result,
                              lk_error *error) {
    lk_error cause;

    if (lk_store_check_can(store, LK_CAN_VALUES, &cause) != LK_OK
        || lk_checked_put_values(puts, put_count, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    return release(store, request, token, puts, put_count, ret_result, error);
}

lk_outcome lk_release_put(lk_store *store, const lk_request *request, uint64_t token,
                          const void *value, size_t value_size, lk_result **ret_result,
                          lk_error *error) {
    const lk_part_put put = {.value = value, .value_size = value_size};

    return lk_release_put_all(store, request, token, &put, 1, ret_result, error);
}

/* ---- values (R15) ---------------------------------------------------------------------------- */

/* Values in a grant or a release go with those calls. */

enum { PAGE_MAX = 1000 }; /* as the header says */

lk_outcome lk_value_get(lk_store *store, const char *path, lk_value **ret_value, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_path parsed;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_VALUES, path, &parsed, error);

    return outcome == LK_OK
               ? store->engine->ops->value_get(store->engine, &parsed, &patience, ret_value, error)
               : outcome;
}

lk_outcome lk_values(lk_store *store, const char *prefix, const char *behind,
                     lk_value_list **ret_list, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_value_query query = {.behind = lk_slice_of(behind), .max = PAGE_MAX};
    struct lk_path path;
    lk_outcome outcome =
        lk_checked_prefix(store, LK_CAN_LIST_VALUES, prefix, &path, &query.prefix, error);

    if (outcome == LK_OK && behind != NULL) {
        outcome = lk_checked_text("the path behind which a list goes on", behind, 0,
                                  LK_PATH_BYTES_MAX, error);
    }
    return outcome == LK_OK
               ? store->engine->ops->values(store->engine, &query, &patience, ret_list, error)
               : outcome;
}

lk_outcome lk_value_put(lk_store *store, const char *path, const char *owner, uint64_t token,
                        const void *bytes, size_t size, lk_error *error) {
    const struct lk_patience patience = {.until_us = lk_wait_patience_until(0)};
    struct lk_command command = {
        .kind = LK_COMMAND_PUT,
        .put = {.owner = lk_slice_of(owner),
                .token = token,
                .deletes = bytes == NULL,
                .bytes = {.bytes = bytes, .size = size}},
    };
    struct lk_decision decision;
    lk_outcome outcome = lk_checked_path(store, LK_CAN_VALUES, path, &command.put.path, error);

    if (outcome == LK_OK) {
        outcome = lk_checked_value(bytes, size, error);
    }
    if (outcome == LK_OK && owner != NULL) {
        outcome = lk_checked_owner(owner, error);
    } else if (outcome == LK_OK && token != 0) {
        outcome = lk_error_set(error, LK_INVALID, "R15: a token needs its owner");
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    (void)store->engine->ops->decide(store->engine, &command, &patience, &decision);
    return lk_answer_end(&decision, error);
}
