/* SPDX-License-Identifier: Apache-2.0 */
/* The reference from outside: its life, its list, and what must hold of that at rest. */
#include "reference.h"

#include <stdlib.h>

#include "inside.h"

struct lk_reference_request *find_arrival(const struct lk_reference *reference, uint64_t arrival) {
    for (size_t i = 0; i < reference->request_count; i++) {
        if (reference->requests[i].arrival == arrival) {
            return &reference->requests[i];
        }
    }
    return NULL;
}

struct lk_reference *lk_reference_new(const struct lk_quotas *quotas, size_t ended_max,
                                      size_t idle_queues_max) {
    struct lk_reference *reference = grown(NULL, 0, sizeof *reference);

    *reference = (struct lk_reference){.ended_max = ended_max, .idle_queues_max = idle_queues_max};
    if (quotas != NULL) {
        reference->quotas = *quotas;
    }
    reference->texts = grown(NULL, 0, sizeof *reference->texts);
    *reference->texts = (struct texts){.references = 1};
    return reference;
}

static void let_go_of_texts(struct texts *texts) {
    if (--texts->references == 0) {
        for (size_t i = 0; i < texts->count; i++) {
            free(texts->at[i]);
        }
        free(texts->at);
        free(texts);
    }
}

void lk_reference_free(struct lk_reference *reference) {
    if (reference != NULL) {
        let_go_of_texts(reference->texts);
        free(reference->values);
        free(reference->items);
        free(reference->queues);
        free(reference->requests);
        free(reference->roots);
        free(reference->ended);
        free(reference->blockers);
        free(reference->edges);
        free(reference);
    }
}

static void *copied(const void *from, size_t count, size_t size) {
    void *copy = grown(NULL, count, size);

    if (count > 0) {
        memcpy(copy, from, count * size);
    }
    return copy;
}

struct lk_reference *lk_reference_copy(const struct lk_reference *reference) {
    struct lk_reference *copy = copied(reference, 1, sizeof *reference);

    copy->requests =
        copied(reference->requests, reference->request_count, sizeof *reference->requests);
    copy->roots = copied(reference->roots, reference->root_count, sizeof *reference->roots);
    copy->ended = copied(reference->ended, reference->ended_count, sizeof *reference->ended);
    copy->values = copied(reference->values, reference->value_count, sizeof *reference->values);
    copy->items = copied(reference->items, reference->item_count, sizeof *reference->items);
    copy->queues = copied(reference->queues, reference->queue_count, sizeof *reference->queues);
    copy->texts->references++;
    copy->answer = (struct lk_reference_answer){.outcome = LK_OK};
    copy->blockers = NULL;
    copy->blocker_count = 0;
    copy->edges = NULL;
    copy->edge_count = 0;
    return copy;
}

int64_t lk_reference_next_deadline(const struct lk_reference *reference) {
    int64_t next_us = LK_NEVER;

    for (size_t i = 0; i < reference->request_count; i++) {
        if (reference->requests[i].deadline_us < next_us) {
            next_us = reference->requests[i].deadline_us;
        }
    }
    return next_us;
}

const struct lk_reference_request *lk_reference_live(const struct lk_reference *reference,
                                                     size_t *ret_count) {
    *ret_count = reference->request_count;
    return reference->requests;
}

const struct lk_reference_value *lk_reference_values(const struct lk_reference *reference,
                                                     size_t *ret_count) {
    *ret_count = reference->value_count;
    return reference->values;
}

const struct lk_reference_item *lk_reference_items(const struct lk_reference *reference,
                                                   size_t *ret_count) {
    *ret_count = reference->item_count;
    return reference->items;
}

const struct lk_reference_queue *lk_reference_queues(const struct lk_reference *reference,
                                                     size_t *ret_count) {
    *ret_count = reference->queue_count;
    return reference->queues;
}

bool lk_reference_is_due(const struct lk_reference *reference,
                         const struct lk_reference_item *item) {
    return item->state == LK_ITEM_READY
           || (item->state == LK_ITEM_DELAYED && item->due_us <= reference->now_us);
}

const struct lk_reference_request *lk_reference_blockers(struct lk_reference *reference,
                                                         uint64_t arrival, size_t *ret_count) {
    list_blockers(reference, find_arrival(reference, arrival));
    *ret_count = reference->blocker_count;
    return reference->blockers;
}

uint64_t lk_reference_units_held(const struct lk_reference *reference, const struct lk_path *path) {
    uint64_t units = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *request = &reference->requests[i];
        const struct lk_part *part = part_at(request, path);
        if (request->state == LK_STATE_HELD && part != NULL && part->mode == LK_SHARED) {
            units += part->units;
        }
    }
    return units;
}

static const char *check_pair(const struct lk_reference_request *a,
                              const struct lk_reference_request *b) {
    if (!a->is_claim && !b->is_claim && is_same_request(a, b->owner, b->parts, b->part_count)) {
        return "R3: one owner has two live requests for the same paths";
    }
    if (a->state == LK_STATE_HELD && b->state == LK_STATE_HELD && do_conflict(a, b)) {
        return "R6: conflicting leases of two owners";
    }
    return NULL;
}

/* R16: the item of this claim names it. */
static bool has_item(const struct lk_reference *reference,
                     const struct lk_reference_request *claim) {
    for (size_t i = 0; i < reference->item_count; i++) {
        const struct lk_reference_item *item = &reference->items[i];
        if (lk_item_is_claimed(item->state) && item->claim == claim->arrival) {
            return is_same_path(&item->path, &claim->parts[0].path);
        }
    }
    return false;
}

static const char *check_items(const struct lk_reference *reference) {
    for (size_t i = 0; i < reference->item_count; i++) {
        const struct lk_reference_item *item = &reference->items[i];
        if (lk_item_is_claimed(item->state) && find_arrival(reference, item->claim) == NULL) {
            return "R16: a claimed item has no claim";
        }
        if (i > 0 && reference->items[i - 1].sequence >= item->sequence
            && lk_slice_equal(lk_path_root(&reference->items[i - 1].queue),
                              lk_path_root(&item->queue))) {
            return "R4: items are not in the order of their sequence";
        }
    }
    return NULL;
}

const char *lk_reference_check(const struct lk_reference *reference) {
    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *request = &reference->requests[i];
        if (request->deadline_us <= reference->now_us) {
            return "R11: a request lives past its deadline";
        }
        if (request->state == LK_STATE_WAITING && may_be_granted(reference, request)) {
            return "R7: a request waits that may be granted";
        }
        if (request->is_claim
            && (request->state != LK_STATE_HELD || !has_item(reference, request))) {
            return "R16: a claim that waits, or is of no item";
        }
        for (size_t j = 0; j < i; j++) {
            const char *wrong = check_pair(&reference->requests[j], request);
            if (wrong != NULL) {
                return wrong;
            }
        }
    }
    return check_items(reference);
}
