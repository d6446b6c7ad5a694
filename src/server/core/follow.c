/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls about events (R21) and breaks (R12), which may block until there are any, and about bounds
 * (R22).
 */
#include "base/error.h"
#include "engine/reply/reply.h"
#include "server/core/core_internal.h"

/* ---- events ---------------------------------------------------------------------------------- */

static void answer_events(struct lk_core *core, struct lk_session *session, uint64_t tag,
                          struct lk_event_page *page) {
    const struct lk_answer answer = {.outcome = LK_OK, .text = ""};
    struct lk_reply reply = {.answer = &answer, .page = page};

    if (page == NULL) {
        lk_core_refuse(core, session, tag, LK_INTERNAL, "memory is exhausted");
        return;
    }
    lk_core_reply(core, session, tag, &reply);
    lk_event_page_free(page);
}

static void block(struct lk_core *core, struct lk_session *session, const struct lk_call *call,
                  uint64_t after) {
    const struct lk_selection *selection = &call->selection;
    struct lk_blocked *blocked;

    if (!lk_blocked_reserve(core, session, call)) {
        return;
    }
    blocked = lk_blocked_new(core, session, call);
    blocked->is_following = true;
    blocked->query = (struct lk_event_query){.after = after, .max = selection->count};
    blocked->looked = after;
    if (selection->has_path) {
        memcpy(blocked->text, selection->path.bytes, selection->path.size);
        blocked->prefix = selection->path;
        blocked->prefix.bytes = blocked->text;
        blocked->query.prefix = &blocked->prefix;
    }
    lk_event_log_follow(core, true);
    lk_link_append(&core->following, &blocked->in_waiters);
    lk_timer_set(core, &blocked->timer, blocked->until_us);
}

void lk_core_events(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    const struct lk_selection *selection = &call->selection;
    const struct lk_event_query query = {
        .after = selection->after != 0 ? selection->after : LK_EVENTS_FROM_NOW,
        .prefix = selection->has_path ? &selection->path : NULL,
        .max = selection->count,
    };
    struct lk_event_page *page;

    lk_event_log_follow(core, false);
    if (!lk_core_apply_deadlines(core)) {
        lk_core_refuse(core, session, call->tag, LK_UNAVAILABLE,
                       "the service's store could not be written; ask again");
        return;
    }
    page = lk_event_log_ask(core, &query);
    if (page != NULL && page->count == 0 && !page->has_more && call->wait_ms > 0) {
        uint64_t after = page->last;
        lk_event_page_free(page);
        block(core, session, call, after);
    } else {
        answer_events(core, session, call->tag, page);
    }
}

void lk_follower_answer(struct lk_core *core, struct lk_blocked *blocked) {
    struct lk_event_page *page = lk_event_log_ask(core, &blocked->query);
    struct lk_session *session = blocked->session;
    uint64_t tag = blocked->tag;

    lk_blocked_free(core, blocked);
    answer_events(core, session, tag, page);
}

void lk_followers_drain(struct lk_core *core) {
    struct lk_link *at = core->following.next;

    while (at != &core->following) {
        struct lk_blocked *blocked = LK_LINK_ITEM(at, struct lk_blocked, in_waiters);

        at = at->next;
        if (lk_event_log_has(core, &blocked->query, &blocked->looked)) {
            lk_follower_answer(core, blocked);
        }
    }
}

/* ---- breaks ---------------------------------------------------------------------------------- */

static void answer_revoked(struct lk_core *core, struct lk_session *session, uint64_t tag) {
    const struct lk_answer answer = {.outcome = LK_OK, .text = ""};

    lk_core_answer(core, session, tag, &answer);
}

void lk_core_revoked(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    uint64_t last = core->audit_first + core->audit->count - 1;
    struct lk_blocked *blocked;

    if (call->wait_ms == 0 || call->selection.after != last) {
        answer_revoked(core, session, call->tag);
        return;
    }
    if (lk_blocked_reserve(core, session, call)) {
        blocked = lk_blocked_new(core, session, call);
        lk_link_append(&core->holders, &blocked->in_waiters);
        lk_timer_set(core, &blocked->timer, blocked->until_us);
    }
}

void lk_break_waiter_answer(struct lk_core *core, struct lk_blocked *blocked) {
    struct lk_session *session = blocked->session;
    uint64_t tag = blocked->tag;

    lk_blocked_free(core, blocked);
    answer_revoked(core, session, tag);
}

void lk_break_waiters_drain(struct lk_core *core) {
    while (core->has_broken && !lk_link_is_alone(&core->holders)) {
        lk_break_waiter_answer(core,
                               LK_LINK_ITEM(core->holders.next, struct lk_blocked, in_waiters));
    }
    core->has_broken = false;
}

/* ---- bounds ---------------------------------------------------------------------------------- */

/* Whether the call would change a bound that was configured when the service started. */
static bool is_fixed(uint64_t fixed, uint64_t limit) {
    return fixed != 0 && limit != LK_LIMIT_AS_IS && limit != fixed;
}

static const char *fixed_bound(const struct lk_quotas *fixed, const lk_limits *limits) {
    return is_fixed(fixed->live_max, limits->live)                           ? "live"
           : is_fixed(fixed->live_per_owner_max, limits->live_per_owner)     ? "live-per-owner"
           : is_fixed(fixed->live_per_root_max, limits->live_per_root)       ? "live-per-root"
           : is_fixed(fixed->waiters_per_path_max, limits->waiters_per_path) ? "waiters-per-path"
                                                                             : NULL;
}

static bool changes_any(const lk_limits *limits) {
    return limits->live != LK_LIMIT_AS_IS || limits->live_per_owner != LK_LIMIT_AS_IS
           || limits->live_per_root != LK_LIMIT_AS_IS || limits->waiters_per_path != LK_LIMIT_AS_IS
           || limits->events != LK_LIMIT_AS_IS;
}

void lk_core_apply_quotas(struct lk_core *core) {
    const struct lk_quotas quotas = lk_quotas_over(&core->config.quotas, &core->quotas);

    lk_model_set_quotas(core->model, &quotas);
}

void lk_core_bound(struct lk_core *core, const struct lk_core_bounds *bounds) {
    struct lk_core_config *config = &core->config;

    config->quotas = bounds->quotas;
    config->value_bytes_max =
        bounds->value_bytes_max != 0 ? bounds->value_bytes_max : LK_CORE_VALUE_BYTES_MAX_DEFAULT;
    config->event_bytes_max =
        bounds->event_bytes_max != 0 ? bounds->event_bytes_max : LK_CORE_EVENT_BYTES_MAX_DEFAULT;
    config->sessions_max =
        bounds->sessions_max != 0 ? bounds->sessions_max : LK_CORE_SESSIONS_MAX_DEFAULT;
    if (core->model != NULL) {
        lk_core_apply_quotas(core);
    }
}

static void set_limits(struct lk_core *core, const lk_limits *limits) {
    lk_limits_into_quotas(limits, &core->quotas);
    lk_core_apply_quotas(core);
    if (limits->events != LK_LIMIT_AS_IS) {
        lk_event_log_bound(core, (size_t)limits->events);
    }
    if (!core->config.is_ephemeral) {
        lk_collect_limits(&core->collection, &core->quotas, core->event_log.kept_max);
    }
}

void lk_core_limits(struct lk_core *core, struct lk_session *session, const struct lk_call *call) {
    const struct lk_answer answer = {.outcome = LK_OK, .text = ""};
    const char *fixed = fixed_bound(&core->config.quotas, &call->limits);
    lk_limits limits = {.size = sizeof limits};
    struct lk_reply reply = {.answer = &answer, .limits = &limits};
    struct lk_quotas quotas;
    lk_error error;

    if (fixed != NULL) {
        (void)lk_error_set(&error, LK_DENIED,
                           "R22: the service was started with a bound of its own: --bound %s",
                           fixed);
        lk_core_refuse(core, session, call->tag, LK_DENIED, error.text);
        return;
    }
    if (changes_any(&call->limits)) {
        set_limits(core, &call->limits);
        if (!core->config.is_ephemeral && core->collection.is_incomplete) {
            lk_core_drop_model(core, "memory is exhausted");
            lk_core_refuse(core, session, call->tag, LK_UNAVAILABLE,
                           "the service's store could not be written; ask again");
            return;
        }
    }
    quotas = lk_quotas_over(&core->config.quotas, &core->quotas);
    lk_limits_from_quotas(&quotas, core->event_log.kept_max, &limits);
    lk_core_reply(core, session, call->tag, &reply);
}
