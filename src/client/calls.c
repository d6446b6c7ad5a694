/* SPDX-License-Identifier: Apache-2.0 */
/* The calls about one request: ask, renew, release. Each is checked, made, and answered. */
#include "base/error.h"
#include "client/answer.h"
#include "client/batch.h"
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
    named = lk_answer_new(&checked);
    if (named == NULL) {
        (void)no_memory(&cause);
        return lk_answer_refuse(&cause, ret_result, error);
    }
    (void)lk_wait_ask(store, &checked, &decision, &sent_us);
    return lk_answer_give(named, &decision, ret_result, error);
}

/* Checks a request that names an existing one, and makes the result for its answer. */
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

/* A renewal or a release. Fills in its target, and the ttl of a renewal. */
static lk_outcome decide(lk_store *store, const lk_request *request, uint64_t token,
                         struct lk_command *command, lk_result **ret_result, lk_error *error) {
    struct lk_checked checked;
    struct lk_decision decision;
    lk_result *named = NULL;
    lk_error cause;

    if (prepare(store, request, &checked, &named, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    const struct lk_target target = {
        .owner = lk_slice_of(checked.owner),
        .parts = checked.parts,
        .part_count = checked.part_count,
        .token = token,
    };
    const struct lk_patience patience = {.until_us =
                                             lk_wait_patience_until(checked.request.patience_ms)};

    if (command->kind == LK_COMMAND_RENEW) {
        command->renew = (struct lk_renew){.target = target, .ttl_ms = checked.request.ttl_ms};
    } else {
        command->release.target = target;
    }
    (void)lk_batch_decide(store->engine, command, &patience, &decision);
    return lk_answer_give(named, &decision, ret_result, error);
}

lk_outcome lk_renew(lk_store *store, const lk_request *request, uint64_t token,
                    lk_result **ret_result, lk_error *error) {
    struct lk_command command = {.kind = LK_COMMAND_RENEW};

    return decide(store, request, token, &command, ret_result, error);
}

lk_outcome lk_release(lk_store *store, const lk_request *request, uint64_t token,
                      lk_result **ret_result, lk_error *error) {
    struct lk_command command = {.kind = LK_COMMAND_RELEASE};

    return decide(store, request, token, &command, ret_result, error);
}

lk_outcome lk_release_put(lk_store *store, const lk_request *request, uint64_t token,
                          const void *value, size_t value_size, lk_result **ret_result,
                          lk_error *error) {
    struct lk_command command = {
        .kind = LK_COMMAND_RELEASE,
        .release = {.puts = true, .put = {.bytes = value, .size = value_size}}};
    lk_error cause;

    if (lk_store_check_can(store, LK_CAN_VALUES, &cause) != LK_OK
        || lk_checked_value(value, value_size, &cause) != LK_OK) {
        return lk_answer_refuse(&cause, ret_result, error);
    }
    return decide(store, request, token, &command, ret_result, error);
}
