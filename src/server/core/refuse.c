/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is refused before the model sees it: new requests while the core drains, when what lives is
 * served to its end, and values and items beyond the bound on their total size.
 */
#include "server/core/core_internal.h"

/* ---- draining -------------------------------------------------------------------------------- */

void lk_core_drain(struct lk_core *core) {
    core->is_draining = true;
}

bool lk_core_is_draining(const struct lk_core *core) {
    return core->is_draining;
}

/* Whether the ask is for a request that lives. The step would expire an overdue one first. */
static bool is_repeated(struct lk_core *core, const struct lk_ask *ask) {
    return lk_model_find(core->model, ask->owner, ask->parts, ask->part_count) != 0;
}

bool lk_core_refuses_new(struct lk_core *core, struct lk_session *session,
                         const struct lk_call *call) {
    if (!core->is_draining
        || (!lk_call_is(call, LK_COMMAND_ASK) && !lk_call_is(call, LK_COMMAND_TAKE))) {
        return false;
    }
    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse_unwritten(core, session, call->tag);
        return true;
    }
    if (lk_call_is(call, LK_COMMAND_ASK) && is_repeated(core, &call->command.ask)) {
        return false;
    }
    lk_core_refuse(core, session, call->tag, LK_UNAVAILABLE,
                   "the service was told to end once all locks are released, and takes no new "
                   "requests; ask again");
    return true;
}

/* ---- the room for values and items ----------------------------------------------------------- */

/* The bytes that a release stores, with the room of each value beyond the first; as below. */
static int64_t bytes_of_puts(const struct lk_release *release) {
    int64_t bytes = 0;

    for (size_t i = 0; i < release->put_count; i++) {
        bytes += (int64_t)release->puts[i].bytes.size + (i > 0 ? LK_KEPT_COST_BYTES : 0);
    }
    return release->put_count > 0 ? bytes : LK_NEVER;
}

/* The bytes that a command stores; LK_NEVER: it stores none. */
static int64_t bytes_of(const struct lk_command *command) {
    switch (command->kind) {
    case LK_COMMAND_PUT:
        return command->put.deletes ? LK_NEVER : (int64_t)command->put.bytes.size;
    case LK_COMMAND_PUSH:
        return (int64_t)command->push.value.size;
    case LK_COMMAND_RELEASE:
        return bytes_of_puts(&command->release);
    default:
        return LK_NEVER;
    }
}

bool lk_core_has_room(const struct lk_core *core, const struct lk_command *command) {
    int64_t bytes = bytes_of(command);

    return bytes == LK_NEVER
           || lk_model_kept_bytes(core->model) + (uint64_t)bytes + LK_KEPT_COST_BYTES
                  <= core->config.value_bytes_max;
}
