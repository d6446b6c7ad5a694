/* SPDX-License-Identifier: Apache-2.0 */
/* Connections: their names, and what ends with them. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "command/rights.h"
#include "server/core/core_internal.h"

static const char owner_prefix[] = "conn:"; /* of the owners that are connections */

static void init(struct lk_session *session) {
    lk_link_init(&session->all);
    lk_link_init(&session->bindings);
    lk_link_init(&session->blocked);
    lk_link_init(&session->undurable);
}

void lk_sessions_init(struct lk_core *core) {
    lk_link_init(&core->sessions);
    lk_link_init(&core->following);
    lk_link_init(&core->holders);
    LIST_INIT(&core->event_log.watchers);
    lk_link_init(&core->undurable);
    init(&core->orphans);
    core->next_session = 1;
}

lk_outcome lk_core_session_open(struct lk_core *core, const struct lk_session_ops *ops, void *peer,
                                struct lk_session **ret_session, lk_error *error) {
    struct lk_session *session;
    int size;

    if (core->is_stopping) {
        return lk_error_set(error, LK_UNAVAILABLE, "the service is stopping");
    }
    if (core->stats.sessions >= core->config.sessions_max) {
        return lk_error_set(error, LK_FULL, "the service has %u connections, and no room for more",
                            core->config.sessions_max);
    }
    session = calloc(1, sizeof *session);
    if (session == NULL) {
        return lk_error_set(error, LK_INTERNAL, "memory is exhausted");
    }
    init(session);
    session->ops = ops;
    session->peer = peer;
    session->number = core->next_session++;
    size = snprintf(session->owner_text, sizeof session->owner_text, "%s%s.%" PRIu64, owner_prefix,
                    core->epoch, session->number);
    session->owner = (struct lk_slice){session->owner_text, (size_t)size};
    lk_link_append(&core->sessions, &session->all);
    core->stats.sessions++;
    *ret_session = session;
    return LK_OK;
}

void lk_core_session_close(struct lk_core *core, struct lk_session *session,
                           const struct lk_times *times) {
    core->times = *times;
    lk_core_await_no_more(core, session);
    lk_link_remove(&session->undurable);
    lk_link_remove(&session->all);
    while (!lk_link_is_alone(&session->blocked)) {
        struct lk_blocked *blocked =
            LK_LINK_ITEM(session->blocked.next, struct lk_blocked, in_session);
        lk_blocked_cancel(core, blocked, blocked->ends_withdrawn);
    }
    lk_bindings_end_session(core, session);
    core->stats.sessions--;
    lk_hash_table_done(&session->blocked_by_tag);
    free(session);
    lk_core_serve_waiters(core);
}

uint64_t lk_session_number(const struct lk_session *session) {
    return session->number;
}

struct lk_slice lk_session_owner(const struct lk_session *session) {
    return session->owner;
}

bool lk_core_check_connection_owner(struct lk_core *core, struct lk_session *session,
                                    const struct lk_call *call) {
    struct lk_slice owner = lk_call_owner(call);
    size_t size = sizeof owner_prefix - 1;

    if (owner.size < size || memcmp(owner.bytes, owner_prefix, size) != 0
        || lk_slice_equal(owner, session->owner)) {
        return true;
    }
    lk_core_refuse(core, session, call->tag, LK_DENIED,
                   "R18: an owner that begins with conn: is a connection, and only that "
                   "connection may use it");
    return false;
}

void lk_core_cancel(struct lk_core *core, struct lk_session *session, uint64_t tag,
                    const struct lk_times *times) {
    struct lk_blocked *blocked = lk_blocked_find(session, tag);

    core->times = *times;
    if (blocked != NULL) {
        lk_blocked_cancel(core, blocked, true);
    }
    lk_core_serve_waiters(core);
}
