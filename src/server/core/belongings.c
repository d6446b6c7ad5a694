/* SPDX-License-Identifier: Apache-2.0 */
/*
 * With users: which calls are allowed, and to which user each request belongs. An owner belongs to
 * a user while it has a live request; then all its requests belong to that user, or to none if they
 * are older than the users.
 */
#include <stdlib.h>

#include "base/error.h"
#include "command/permit.h"
#include "server/core/core_internal.h"

bool lk_core_permit(struct lk_core *core, struct lk_session *session, struct lk_call *call) {
    lk_error error;

    if (core->config.users == NULL) {
        return true;
    }
    if (lk_call_permit(call, &error) != LK_OK) {
        lk_core_refuse(core, session, call->tag, LK_DENIED, error.text);
        return false;
    }
    if (lk_call_is(call, LK_COMMAND_BREAK)) {
        call->command.broken.by = lk_slice_of(call->user->name);
    }
    return true;
}

/* ---- owners ---------------------------------------------------------------------------------- */

static const struct lk_user *user_of(const struct lk_core *core, lk_ref request) {
    return request < core->request_user_capacity ? core->request_users[request] : NULL;
}

struct search {
    const struct lk_core *core;
    const struct lk_user *user;
};

static bool visit_user(void *context, lk_ref request) {
    struct search *search = context;

    search->user = user_of(search->core, request);
    return search->user == NULL;
}

/* NULL: the owner has no live request that belongs to a user. */
static const struct lk_user *user_of_owner(const struct lk_core *core, struct lk_slice owner) {
    struct search search = {.core = core};

    lk_model_each_of_owner(core->model, owner, visit_user, &search);
    return search.user;
}

bool lk_core_may_use_owner(struct lk_core *core, const struct lk_user *user,
                           struct lk_slice owner) {
    const struct lk_user *found =
        core->config.users != NULL && owner.size > 0 ? user_of_owner(core, owner) : NULL;

    return found == NULL || found == user;
}

bool lk_core_check_owner(struct lk_core *core, struct lk_session *session,
                         const struct lk_call *call) {
    struct lk_slice owner = lk_call_owner(call);

    if (lk_core_may_use_owner(core, call->user, owner)) {
        return true;
    }
    if (!lk_core_apply_deadlines(core)) { /* what it has may have expired */
        lk_core_refuse_unwritten(core, session, call->tag);
        return false;
    }
    if (lk_core_may_use_owner(core, call->user, owner)) {
        return true;
    }
    lk_core_refuse(core, session, call->tag, LK_DENIED, "the owner belongs to another user");
    return false;
}

/* ---- requests -------------------------------------------------------------------------------- */

bool lk_belongings_reserve(struct lk_core *core) {
    size_t needed = (size_t)lk_model_greatest_ref(core->model) + 1;
    size_t capacity = core->request_user_capacity == 0 ? 256 : core->request_user_capacity;
    const struct lk_user **users;

    if (core->config.users == NULL || needed <= core->request_user_capacity) {
        return true;
    }
    while (capacity < needed) {
        capacity *= 2;
    }
    users = realloc(core->request_users, capacity * sizeof(*users));
    if (users == NULL) {
        return false;
    }
    memset(users + core->request_user_capacity, 0,
           (capacity - core->request_user_capacity) * sizeof(*users));
    core->request_users = users;
    core->request_user_capacity = capacity;
    return true;
}

struct adding {
    struct lk_core *core;
    const struct lk_user *user;
};

static bool add(void *context, lk_ref request) {
    const struct adding *adding = context;
    struct lk_core *core = adding->core;

    if (request < core->request_user_capacity && core->request_users[request] == NULL) {
        core->request_users[request] = adding->user;
        if (!core->config.is_ephemeral) {
            lk_collect_request(&core->collection, core->model, request);
        }
    }
    return true;
}

void lk_belongings_add(struct lk_core *core, const struct lk_user *user, lk_ref request) {
    struct adding adding = {.core = core, .user = user};
    char owner[LK_OWNER_BYTES_MAX];
    size_t size;

    if (core->config.users == NULL || user_of(core, request) != NULL) {
        return;
    }
    lk_model_record_head(core->model, request, &core->record);
    size = core->record.owner.size;
    memcpy(owner, core->record.owner.bytes, size);
    if (user_of_owner(core, (struct lk_slice){owner, size}) != NULL) {
        (void)add(&adding, request);
    } else {
        lk_model_each_of_owner(core->model, (struct lk_slice){owner, size}, add, &adding);
    }
}

void lk_belongings_on_change(struct lk_core *core, const struct lk_change *change) {
    bool is_end = change->kind == LK_CHANGE_RELEASED || change->kind == LK_CHANGE_WITHDRAWN
                  || change->kind == LK_CHANGE_PERISHED || change->kind == LK_CHANGE_BROKEN;

    if (is_end && change->request < core->request_user_capacity) {
        core->request_users[change->request] = NULL;
    }
}

struct lk_slice lk_belongings_user(const struct lk_core *core, lk_ref request) {
    const struct lk_user *user = user_of(core, request);

    return lk_slice_of(user != NULL ? user->name : NULL);
}

/* ---- loading --------------------------------------------------------------------------------- */

void lk_belongings_clear(struct lk_core *core) {
    free(core->request_users);
    core->request_users = NULL;
    core->request_user_capacity = 0;
}

struct restoring {
    struct lk_core *core;
    const struct lk_core_snapshot *snapshot;
    bool has_memory;
};

static int compare_ids(const void *a, const void *b) {
    uint64_t first = ((const struct lk_core_belonging *)a)->id;
    uint64_t second = ((const struct lk_core_belonging *)b)->id;

    return (first > second) - (first < second);
}

static bool restore_one(void *context, lk_ref request) {
    struct restoring *restoring = context;
    struct lk_core *core = restoring->core;
    const struct lk_core_belonging key = {.id = lk_model_request_id(core->model, request)};
    const struct lk_core_belonging *found =
        bsearch(&key, restoring->snapshot->belongings, restoring->snapshot->belonging_count,
                sizeof key, compare_ids);
    const struct lk_user *user;

    if (found == NULL) {
        return true;
    }
    user = lk_users_make(core->config.users, lk_slice_of(found->user));
    if (user != NULL && request < core->request_user_capacity) {
        core->request_users[request] = user;
    }
    restoring->has_memory = user != NULL;
    return restoring->has_memory;
}

bool lk_belongings_restore(struct lk_core *core, struct lk_core_snapshot *snapshot) {
    struct restoring restoring = {.core = core, .snapshot = snapshot, .has_memory = true};

    if (core->config.users == NULL) {
        return true;
    }
    if (!lk_belongings_reserve(core)) {
        return false;
    }
    if (snapshot->belonging_count > 0) {
        lk_model_each(core->model, restore_one, &restoring);
    }
    return restoring.has_memory;
}
