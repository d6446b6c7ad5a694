/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which batch an answer depends on. In a store that several services share (is_fenced), every
 * answer depends on a batch that is closed after it was decided, because only the commit of that
 * batch proves that no other service has led in between; and batches are written for that alone,
 * to keep the lease of the one that leads.
 */
#include <stdio.h>

#include "server/core/core_internal.h"

uint64_t lk_core_depends_on(struct lk_core *core) {
    if (core->config.is_ephemeral || core->model == NULL) {
        return 0;
    }
    if (core->config.is_fenced) {
        core->collection.is_wanted = true;
    }
    return lk_collection_is_empty(&core->collection) ? core->writing : core->collecting;
}

void lk_core_hold_back(struct lk_core *core, struct lk_session *session, uint64_t batch) {
    if (batch != 0) {
        lk_core_await_no_more(core, session);
        session->last_batch = batch;
        if (lk_link_is_alone(&session->undurable)) {
            lk_link_append(&core->undurable, &session->undurable);
        }
    }
}

/* ---- another one leads ----------------------------------------------------------------------- */

void lk_core_follow(struct lk_core *core, const char *leader) {
    (void)snprintf(core->leader, sizeof core->leader, "%s", leader != NULL ? leader : "");
    if (core->config.is_fenced) {
        lk_event_log_end_watchers(core);
    }
}

bool lk_core_leads(const struct lk_core *core) {
    return !core->config.is_fenced || core->model != NULL;
}

const char *lk_core_leader(const struct lk_core *core) {
    return core->model == NULL && core->leader[0] != '\0' ? core->leader : NULL;
}

void lk_core_resign(struct lk_core *core) {
    lk_core_drop_model(core, "the service is stopping");
}

/* ---- the lease of the one that leads --------------------------------------------------------- */

static bool renews(const struct lk_core *core) {
    return core->config.is_fenced && core->config.renew_us > 0 && core->model != NULL;
}

int64_t lk_fence_due(const struct lk_core *core) {
    return renews(core) ? core->renew_due_us : LK_NEVER;
}

void lk_fence_tick(struct lk_core *core) {
    if (lk_fence_due(core) <= core->times.now_us) {
        core->collection.is_wanted = true;
        core->renew_due_us = core->times.now_us + core->config.renew_us;
    }
}

void lk_fence_taken(struct lk_core *core) {
    core->renew_due_us = core->times.now_us + core->config.renew_us;
}

void lk_fence_restore(struct lk_core *core, const struct lk_core_snapshot *snapshot) {
    core->leader[0] = '\0';
    core->renew_due_us = core->times.now_us; /* the load may have taken long */
    if (snapshot->is_foreign) {
        lk_bindings_forget(core);
    }
}

/* ---- sessions that the last durable batch has answered: many call again at once -------------- */

void lk_core_await(struct lk_core *core, struct lk_session *session, uint64_t batch) {
    session->answered_batch = batch;
    core->awaited++;
}

void lk_core_await_no_more(struct lk_core *core, struct lk_session *session) {
    if (session->answered_batch != 0 && session->answered_batch == core->answered_batch) {
        core->awaited--;
    }
    session->answered_batch = 0;
}

size_t lk_core_awaited(const struct lk_core *core) {
    return core->awaited;
}
