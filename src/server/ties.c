/* SPDX-License-Identifier: Apache-2.0 */
/* Live requests that somebody connected cares about, found by reference. */
#include <stdlib.h>

#include "server/inside.h"

bool lk_ties_reserve(struct lk_core *core) {
    size_t needed = (size_t)lk_model_greatest_ref(core->model) + 1;

    if (core->spare_tie == NULL) {
        core->spare_tie = malloc(sizeof *core->spare_tie);
    }
    if (needed > core->tie_capacity) {
        size_t capacity = core->tie_capacity == 0 ? 256 : core->tie_capacity;
        struct lk_tie **ties;

        while (capacity < needed) {
            capacity *= 2;
        }
        ties = realloc(core->ties, capacity * sizeof(*ties));
        if (ties == NULL) {
            return false;
        }
        memset(ties + core->tie_capacity, 0, (capacity - core->tie_capacity) * sizeof(*ties));
        core->ties = ties;
        core->tie_capacity = capacity;
    }
    return core->spare_tie != NULL;
}

struct lk_tie *lk_tie_find(const struct lk_core *core, lk_ref request) {
    return request < core->tie_capacity ? core->ties[request] : NULL;
}

struct lk_tie *lk_tie_make(struct lk_core *core, lk_ref request) {
    struct lk_tie *tie = lk_tie_find(core, request);

    if (tie != NULL) {
        return tie;
    }
    assert(core->spare_tie != NULL && request < core->tie_capacity);
    tie = core->spare_tie;
    core->spare_tie = NULL;
    *tie = (struct lk_tie){.request = request, .id = lk_model_request_id(core->model, request)};
    lk_link_init(&tie->in_session);
    lk_link_init(&tie->blocked);
    core->ties[request] = tie;
    return tie;
}

void lk_tie_bind(struct lk_core *core, struct lk_tie *tie, struct lk_session *session) {
    lk_tie_unbind(core, tie);
    tie->session = session;
    lk_link_append(&session->ties, &tie->in_session);
    core->stats.bound++;
}

void lk_tie_unbind(struct lk_core *core, struct lk_tie *tie) {
    if (tie->session != NULL) {
        tie->session = NULL;
        lk_link_remove(&tie->in_session);
        core->stats.bound--;
    }
}

void lk_tie_drop(struct lk_core *core, struct lk_tie *tie) {
    if (tie->session != NULL || !lk_link_is_alone(&tie->blocked)) {
        return;
    }
    if (tie->request != 0) {
        core->ties[tie->request] = NULL;
    }
    free(tie);
}

static void forget(struct lk_core *core, struct lk_tie *tie) {
    lk_tie_unbind(core, tie);
    lk_tie_drop(core, tie);
}

void lk_ties_leave(struct lk_core *core, struct lk_session *session) {
    while (!lk_link_is_alone(&session->ties)) {
        struct lk_tie *tie = LK_LINK_ITEM(session->ties.next, struct lk_tie, in_session);
        struct lk_record *record = &core->record;
        struct lk_event event = {.kind = LK_EVENT_LEAVE};
        char owner[LK_OWNER_BYTES_MAX];

        if (core->model == NULL) { /* its row will be found bound to nobody */
            forget(core, tie);
            continue;
        }
        lk_model_record(core->model, tie->request, record);
        memcpy(owner, record->owner.bytes, record->owner.size);
        event.leave = (struct lk_leave){
            .target = {.owner = {owner, record->owner.size},
                       .parts = record->parts,
                       .part_count = record->part_count},
            .is_claim = record->is_claim,
        };
        (void)lk_core_step(core, &event);
        /* Where memory was exhausted it lives on, until its deadline. */
        if (session->ties.next == &tie->in_session) {
            forget(core, tie);
        }
    }
}

/* ---- without a model ------------------------------------------------------------------------- */

void lk_ties_suspend(struct lk_core *core) {
    for (size_t i = 0; i < core->tie_capacity; i++) {
        if (core->ties[i] != NULL) {
            core->ties[i]->request = 0;
            core->ties[i] = NULL;
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
    resuming->has_memory = lk_ties_reserve(core);
    if (resuming->has_memory) {
        lk_tie_bind(core, lk_tie_make(core, request), &core->orphans);
    }
    return resuming->has_memory;
}

/* The ids that sessions still have, with their old ties. */
struct held_tie {
    uint64_t id; /* first: compared by compare_ids() */
    struct lk_tie *tie;
};

/* Gives the old ties' sessions what was found of their requests; drops the old ties. */
static void hand_back(struct lk_core *core, struct held_tie *held, size_t count) {
    struct lk_link *at = core->orphans.ties.next;

    while (at != &core->orphans.ties) {
        struct lk_tie *tie = LK_LINK_ITEM(at, struct lk_tie, in_session);
        struct held_tie *found =
            count > 0 ? bsearch(&tie->id, held, count, sizeof *held, compare_ids) : NULL;
        at = at->next;
        if (found != NULL) {
            lk_tie_bind(core, tie, found->tie->session);
        }
    }
    for (size_t i = 0; i < count; i++) {
        forget(core, held[i].tie);
    }
}

static struct held_tie *list_held(struct lk_core *core, size_t *ret_count) {
    struct held_tie *held = malloc((core->stats.bound + 1) * sizeof *held);
    size_t count = 0;

    for (struct lk_link *at = core->sessions.next; held != NULL && at != &core->sessions;
         at = at->next) {
        struct lk_session *session = LK_LINK_ITEM(at, struct lk_session, all);
        for (struct lk_link *in = session->ties.next; in != &session->ties; in = in->next) {
            struct lk_tie *tie = LK_LINK_ITEM(in, struct lk_tie, in_session);
            held[count++] = (struct held_tie){.id = tie->id, .tie = tie};
        }
    }
    if (held != NULL) {
        qsort(held, count, sizeof *held, compare_ids);
        *ret_count = count;
    }
    return held;
}

bool lk_ties_resume(struct lk_core *core, uint64_t *bound, size_t count) {
    struct resuming resuming = {.core = core, .bound = bound, .count = count, .has_memory = true};
    size_t held_count = 0;
    struct held_tie *held = list_held(core, &held_count);

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
