/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about one request: ask, renew, release. Each is checked, made, and answered. */
#include "base/error.h"
#include "keeper/answer.h"
#include "keeper/batch.h"
#include "keeper/wait.h"

static lk_outcome no_memory(lk_error *error) {
    return lk_error_set(error, LK_INTERNAL, "no memory for a result");
}

lk_outcome lk_ask(lk_store *store, const lk_request *request, lk_result **ret_result,
                  lk_error *error) {
    struct lk_checked checked;
    lk_result answer = {.outcome = LK_OK};
    lk_result *named = NULL;
    int64_t sent_us;
    lk_error cause;

    if (lk_store_check(store, &cause) != LK_OK
        || lk_checked_ask(store, request, &checked, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    named = lk_answer_new(&checked);
    if (named == NULL) {
        (void)no_memory(&cause);
        return lk_answer_refuse(&cause, ret_result, error);
    }
    (void)lk_wait_ask(store, &checked, &answer, &sent_us);
    return lk_answer_give(named, &answer, ret_result, error);
}

/* Checks a request that names something that is there, and makes the result that will name it. */
static lk_outcome prepare(const lk_store *store, const lk_request *request,
                          struct lk_checked *checked, lk_result **ret_named, lk_error *cause) {
    lk_outcome outcome = lk_store_check(store, cause);

    if (outcome == LK_OK) {
        outcome = lk_checked_target(request, checked, cause);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_outlives(store, &checked->request, cause);
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

lk_outcome lk_renew(lk_store *store, const lk_request *request, uint64_t token,
                    lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    lk_result answer = {.outcome = LK_OK, .expires_in_ms = -1};
    lk_result *named = NULL;
    lk_error cause;

    if (prepare(store, request, &checked, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    const struct lk_renew renew = {.target = target_of(&checked, token),
                                   .ttl_ms = checked.request.ttl_ms};
    const struct lk_patience patience = {.until_us =
                                             lk_wait_patience_until(checked.request.patience_ms)};

    answer.outcome = lk_batch_renew(store->engine, &renew, &patience, &answer);
    return lk_answer_give(named, &answer, ret_result, error);
}

/* Releases, and with `put` writes it to the first part's path in the same exchange. */
static lk_outcome release(lk_store *store, const lk_request *request, uint64_t token,
                          const struct lk_slice *put, lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    lk_result answer = {.outcome = LK_OK, .expires_in_ms = -1};
    lk_result *named = NULL;
    lk_error cause;

    if (prepare(store, request, &checked, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    const struct lk_release release = {
        .target = target_of(&checked, token),
        .puts = put != NULL,
        .put = put != NULL ? *put : (struct lk_slice){NULL, 0},
    };
    const struct lk_patience patience = {.until_us =
                                             lk_wait_patience_until(checked.request.patience_ms)};

    answer.outcome = lk_batch_release(store->engine, &release, &patience, &answer);
    return lk_answer_give(named, &answer, ret_result, error);
}

lk_outcome lk_release(lk_store *store, const lk_request *request, uint64_t token,
                      lk_result **ret_result, lk_error *error) {
    return release(store, request, token, NULL, ret_result, error);
}

lk_outcome lk_release_put(lk_store *store, const lk_request *request, uint64_t token,
                          const void *value, size_t value_size, lk_result **ret_result,
                          lk_error *error) {
    const struct lk_slice put = {.bytes = value, .size = value_size};
    lk_error cause;

    if (lk_store_check_can(store, LK_CAN_VALUES, &cause) != LK_OK
        || lk_checked_value(value, value_size, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    return release(store, request, token, &put, ret_result, error);
}
