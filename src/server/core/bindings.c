/* SPDX-License-Identifier: Apache-2.0 */
/* Bindings of live requests to the sessions and blocked calls that depend on them, by reference. */
#include <stdlib.h>

#include "server/core/core_internal.h"

bool lk_bindings_reserve(struct lk_core *core) {
    size_t needed = (size_t)lk_model_greatest_ref(core->model) + 1;

    if (core->spare_binding == NULL) {
        core->spare_binding = malloc(sizeof *core->spare_binding);
    }
    if (needed > core->binding_capacity) {
        size_t capacity = core->binding_capacity == 0 ? 256 : core->binding_capacity;
        struct lk_binding **bindings;

        while (capacity < needed) {
            capacity *= 2;
        }
        bindings = realloc(core->bindings, capacity * sizeof(*bindings));
        if (bindings == NULL) {
            return false;
        }
        memset(bindings + core->binding_capacity, 0,
               (capacity - core->binding_capacity) * sizeof(*bindings));
        core->bindings = bindings;
        core->binding_capacity = capacity;
    }
    return core->spare_binding != NULL;
}

struct lk_binding *lk_binding_find(const struct lk_core *core, lk_ref request) {
    return request < core->binding_capacity ? core->bindings[request] : NULL;
}

struct lk_binding *lk_binding_make(struct lk_core *core, lk_ref request) {
    struct lk_binding *binding = lk_binding_find(core, request);

    if (binding != NULL) {
        return binding;
    }
    assert(core->spare_binding != NULL && request < core->binding_capacity);
    binding = core->spare_binding;
    core->spare_binding = NULL;
    *binding =
        (struct lk_binding){.request = request, .id = lk_model_request_id(core->model, request)};
    lk_link_init(&binding->in_session);
    lk_link_init(&binding->blocked);
    core->bindings[request] = binding;
    return binding;
}

void lk_binding_bind(struct lk_core *core, struct lk_binding *binding, struct lk_session *session) {
    lk_binding_unbind(core, binding);
    binding->session = session;
    lk_link_append(&session->bindings, &binding->in_session);
    core->stats.bound++;
}

void lk_binding_unbind(struct lk_core *core, struct lk_binding *binding) {
    if (binding->session != NULL) {
        binding->session = NULL;
        lk_link_remove(&binding->in_session);
        core->stats.bound--;
    }
}

void lk_bindings_describe(void *context, lk_ref request, struct lk_row *row) {
    const struct lk_binding *binding = lk_binding_find(context, request);

    row->request.bound = binding != NULL && binding->session != NULL;
}

void lk_binding_set_ttl(struct lk_command *command) {
    if (command->kind == LK_COMMAND_ASK && command->ask.ttl_ms == 0 && command->ask.until_us == 0) {
        command->ask.ttl_ms = LK_TTL_MAX_MS;
    } else if (command->kind == LK_COMMAND_TAKE && command->take.ttl_ms == 0) {
        command->take.ttl_ms = LK_TTL_MAX_MS;
    }
}

void lk_binding_drop(struct lk_core *core, struct lk_binding *binding) {
    if (binding->session != NULL || !lk_link_is_alone(&binding->blocked)) {
        return;
    }
    if (binding->request != 0) {
        core->bindings[binding->request] = NULL;
    }
    free(binding);
}

static void forget(struct lk_core *core, struct lk_binding *binding) {
    lk_binding_unbind(core, binding);
    lk_binding_drop(core, binding);
}

struct lk_target lk_core_target(struct lk_core *core, lk_ref request,
                                char ret_owner[LK_IDENTITY_BYTES_MAX]) {
    struct lk_record *record = &core->record;

    lk_model_record(core->model, request, record);
    memcpy(ret_owner, record->owner.bytes, record->owner.size);
    return (struct lk_target){
        .owner = {ret_owner, record->owner.size},
        .parts = record->parts,
        .part_count = record->part_count,
    };
}

bool lk_core_name_holder(struct lk_core *core, struct lk_command *command,
                         char ret_owner[LK_IDENTITY_BYTES_MAX]) {
    struct lk_target *target =
        command->kind == LK_COMMAND_RENEW ? &command->renew.target : &command->release.target;
    lk_ref lease = 0;

    if (target->part_count > 0) {
        lease = lk_model_holder(core->model, &target->parts[0].path, target->token);
    }
    if (lease != 0) {
        lk_model_record_head(core->model, lease, &core->record);
        memcpy(ret_owner, core->record.owner.bytes, core->record.owner.size);
        target->owner = (struct lk_slice){ret_owner, core->record.owner.size};
    }
    return target->owner.size > 0;
}

void lk_bindings_end_session(struct lk_core *core, struct lk_session *session) {
    while (!lk_link_is_alone(&session->bindings)) {
        struct lk_binding *binding =
            LK_LINK_ITEM(session->bindings.next, struct lk_binding, in_session);
        struct lk_command command = {.kind = LK_COMMAND_LEAVE};
        char owner[LK_IDENTITY_BYTES_MAX];

        if (core->model == NULL) { /* the load finds its row bound to no session */
            forget(core, binding);
            continue;
        }
        command.leave.target = lk_core_target(core, binding->request, owner);
        command.leave.is_claim = core->record.is_claim;
        (void)lk_core_step(core, &command);
        /* When memory is exhausted, the request lives on until its deadline. */
        if (session->bindings.next == &binding->in_session) {
            forget(core, binding);
        }
    }
}

/* ---- without a model ------------------------------------------------------------------------- */

void lk_bindings_suspend(struct lk_core *core) {
    for (size_t i = 0; i < core->binding_capacity; i++) {
        if (core->bindings[i] != NULL) {
            core->bindings[i]->request = 0;
            core->bindings[i] = NULL;
        }
    }
}

void lk_bindings_forget(struct lk_core *core) {
    for (struct lk_link *at = core->sessions.next; at != &core->sessions; at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, all);

        while (!lk_link_is_alone(&session->bindings)) {
            forget(core, LK_LINK_ITEM(session->bindings.next, struct lk_binding, in_session));
        }
    }
}

static int compare_ids(const void *a, const void *b) {
    uint64_t first = *(const uint64_t *)a;
    uint64_t second = *(const uint64_t *)b;

    return (first > second) - (first < second);
}

struct resuming {
    struct lk_core *core;
    const uint64_t *bound; /* ids, sorted */
    size_t count;
    bool has_memory;
};

static bool resume_one(void *context, lk_ref request) {
    struct resuming *resuming = context;
    struct lk_core *core = resuming->core;
    uint64_t id = lk_model_request_id(core->model, request);

    if (bsearch(&id, resuming->bound, resuming->count, sizeof id, compare_ids) == NULL) {
        return true;
    }
    resuming->has_memory = lk_bindings_reserve(core);
    if (resuming->has_memory) {
        lk_binding_bind(core, lk_binding_make(core, request), &core->orphans);
    }
    return resuming->has_memory;
}

/* The ids of the requests that sessions are still bound to, with their old bindings. */
struct held_binding {
    uint64_t id; /* first: compared by compare_ids() */
    struct lk_binding *binding;
};

/*
 * Moves each reloaded request back to the session of its old binding, and frees the old bindings.
 */
static void hand_back(struct lk_core *core, struct held_binding *held, size_t count) {
    struct lk_link *at = core->orphans.bindings.next;

    while (at != &core->orphans.bindings) {
        struct lk_binding *binding = LK_LINK_ITEM(at, struct lk_binding, in_session);
        struct held_binding *found =
            count > 0 ? bsearch(&binding->id, held, count, sizeof *held, compare_ids) : NULL;
        at = at->next;
        if (found != NULL) {
            lk_binding_bind(core, binding, found->binding->session);
        }
    }
    for (size_t i = 0; i < count; i++) {
        forget(core, held[i].binding);
    }
}

static struct held_binding *list_held(struct lk_core *core, size_t *ret_count) {
    struct held_binding *held = malloc((core->stats.bound + 1) * sizeof *held);
    size_t count = 0;

    for (struct lk_link *at = core->sessions.next; held != NULL && at != &core->sessions;
         at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, all);
        for (struct lk_link *in = session->bindings.next; in != &session->bindings; in = in->next) {
            struct lk_binding *binding = LK_LINK_ITEM(in, struct lk_binding, in_session);
            held[count++] = (struct held_binding){.id = binding->id, .binding = binding};
        }
    }
    if (held != NULL) {
        qsort(held, count, sizeof *held, compare_ids);
        *ret_count = count;
    }
    return held;
}

bool lk_bindings_resume(struct lk_core *core, uint64_t *bound, size_t count) {
    struct resuming resuming = {.core = core, .bound = bound, .count = count, .has_memory = true};
    size_t held_count = 0;
    struct held_binding *held = list_held(core, &held_count);

    if (held == NULL) {
        return false;
    }
    if (count > 0) {
        qsort(bound, count, sizeof *bound, compare_ids);
        lk_model_each(core->model, resume_one, &resuming);
    }
    if (resuming.has_memory) {
        hand_back(core, held, held_count);
    }
    free(held);
    return resuming.has_memory;
}
