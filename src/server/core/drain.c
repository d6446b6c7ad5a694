/* SPDX-License-Identifier: Apache-2.0 */
/* Draining: what lives is served to its end, and nothing new is taken. */
#include "server/core/core_internal.h"

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
