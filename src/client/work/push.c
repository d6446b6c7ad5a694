/* SPDX-License-Identifier: Apache-2.0 */
/* Pushes as commands: what a caller names, checked. */
#include "client/work/push.h"

#include "base/error.h"

static lk_outcome parse_needs(const lk_push_request *request, struct lk_part needs[LK_NEEDS_MAX],
                              lk_error *error) {
    lk_outcome outcome = LK_OK;

    if (request->need_count > LK_NEEDS_MAX || (request->need_count > 0 && request->needs == NULL)) {
        return lk_error_set(error, LK_INVALID, LK_TEXT_NEEDS, LK_NEEDS_MAX, request->need_count);
    }
    for (size_t i = 0; outcome == LK_OK && i < request->need_count; i++) {
        outcome = lk_part_parse(lk_slice_of(request->needs[i]), NULL, &needs[i], error);
    }
    return outcome;
}

/* The queue, of a store that is capable of what is asked for. */
static lk_outcome check_queue(const lk_store *store, const lk_push_request *request,
                              struct lk_path *ret_queue, lk_error *error) {
    lk_outcome outcome = lk_checked_path(store, LK_CAN_WORK, request->queue, ret_queue, error);

    return outcome == LK_OK && request->priority != 0
               ? lk_store_check_can(store, LK_CAN_BATCHES, error)
               : outcome;
}

lk_outcome lk_push_command(const lk_store *store, const lk_push_request *request,
                           struct lk_part *needs, struct lk_command *ret_command, lk_error *error) {
    struct lk_push *push = &ret_command->push;
    struct lk_item_path item;
    lk_push_request known;
    lk_outcome outcome = lk_checked_copy(&known, sizeof known, request, error);

    *ret_command = (struct lk_command){.kind = LK_COMMAND_PUSH};
    if (outcome == LK_OK) {
        outcome = check_queue(store, &known, &push->queue, error);
    }
    if (outcome == LK_OK) {
        outcome = lk_checked_value(known.value, known.value_size, error);
    }
    if (outcome == LK_OK) {
        outcome = parse_needs(&known, needs, error);
    }
    if (outcome != LK_OK) {
        return outcome;
    }
    push->id = lk_slice_of(known.id);
    push->value = (struct lk_slice){.bytes = known.value, .size = known.value_size};
    push->delay_ms = known.delay_ms;
    push->needs = needs;
    push->need_count = known.need_count;
    push->priority = known.priority;
    return lk_push_check(push, &item, error);
}
