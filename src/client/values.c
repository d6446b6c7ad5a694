/* SPDX-License-Identifier: Apache-2.0 */
/* Reading and writing values (R15); values in a grant or a release are in calls.c. */
#include "base/error.h"
#include "client/answer.h"
#include "client/checked.h"
#include "client/wait.h"

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
