/* SPDX-License-Identifier: Apache-2.0 */
/* The reference's predicates: which request is in another's way. Nothing here changes a request. */
#include <stdlib.h>

#include "inside.h"

void *grown(void *old, size_t count, size_t size) {
    void *memory = realloc(old, (count + 1) * size);

    if (memory == NULL) {
        abort();
    }
    return memory;
}

/* ---- R5, R6: paths and parts ---- */

/* Every segment of `outer` begins `inner`. */
bool contains(const struct lk_path *outer, const struct lk_path *inner) {
    if (outer->depth > inner->depth) {
        return false;
    }
    for (unsigned i = 0; i < outer->depth; i++) {
        if (!lk_slice_equal(lk_path_segment(outer, i), lk_path_segment(inner, i))) {
            return false;
        }
    }
    return true;
}

bool is_same_path(const struct lk_path *a, const struct lk_path *b) {
    return contains(a, b) && contains(b, a);
}

/* R5 */
static bool are_related(const struct lk_path *a, const struct lk_path *b) {
    return contains(a, b) || contains(b, a);
}

const struct lk_part *part_at(const struct lk_reference_request *request,
                              const struct lk_path *path) {
    for (size_t i = 0; i < request->part_count; i++) {
        if (is_same_path(&request->parts[i].path, path)) {
            return &request->parts[i];
        }
    }
    return NULL;
}

/* R3: the same owner and the same set of paths. */
bool is_same_request(const struct lk_reference_request *request, struct lk_slice owner,
                     const struct lk_part *parts, size_t part_count) {
    if (!lk_slice_equal(request->owner, owner) || request->part_count != part_count) {
        return false;
    }
    for (size_t i = 0; i < part_count; i++) {
        if (part_at(request, &parts[i].path) == NULL) {
            return false;
        }
    }
    return true;
}

/* R9: some part goes from shared to exclusive, or stays shared and its units grow. */
bool is_stronger(const struct lk_reference_request *request, const struct lk_part *parts,
                 size_t part_count) {
    for (size_t i = 0; i < part_count; i++) {
        const struct lk_part *now = part_at(request, &parts[i].path);
        if (now->mode == LK_SHARED
            && (parts[i].mode == LK_EXCLUSIVE || parts[i].units > now->units)) {
            return true;
        }
    }
    return false;
}

/* R6, with R8: requests of one owner do not conflict. */
bool do_conflict(const struct lk_reference_request *a, const struct lk_reference_request *b) {
    if (lk_slice_equal(a->owner, b->owner)) {
        return false;
    }
    for (size_t i = 0; i < a->part_count; i++) {
        for (size_t j = 0; j < b->part_count; j++) {
            if (are_related(&a->parts[i].path, &b->parts[j].path)
                && (a->parts[i].mode == LK_EXCLUSIVE || b->parts[j].mode == LK_EXCLUSIVE)) {
                return true;
            }
        }
    }
    return false;
}

/* ---- R7, R8: grants ---- */

static bool is_held(const struct lk_reference_request *request) {
    return request->state == LK_STATE_HELD;
}

static bool is_ahead(const struct lk_reference_request *other,
                     const struct lk_reference_request *claim) {
    return other->state == LK_STATE_WAITING && other->ticket < claim->ticket;
}

/* R7a for one other request. */
static bool holds_against(const struct lk_reference_request *other,
                          const struct lk_reference_request *claim) {
    return is_held(other) && do_conflict(other, claim);
}

/* R7b for one other request. */
static bool is_ahead_against(const struct lk_reference_request *other,
                             const struct lk_reference_request *claim) {
    return is_ahead(other, claim) && do_conflict(other, claim);
}

/* R7c: what one other request counts against a limit at exactly this path. */
static uint64_t units_counted(const struct lk_reference_request *other,
                              const struct lk_reference_request *claim,
                              const struct lk_path *path) {
    const struct lk_part *part = part_at(other, path);

    if (other->arrival == claim->arrival || part == NULL
        || !(is_held(other) || is_ahead(other, claim))) {
        return 0;
    }
    return part->mode == LK_EXCLUSIVE ? 0 : part->units;
}

static uint64_t units_taken(const struct lk_reference *reference,
                            const struct lk_reference_request *claim, const struct lk_path *path) {
    uint64_t taken = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        taken += units_counted(&reference->requests[i], claim, path);
    }
    return taken;
}

static bool part_has_room(const struct lk_reference *reference,
                          const struct lk_reference_request *claim, const struct lk_part *part) {
    return part->limit == 0
           || units_taken(reference, claim, &part->path) + part->units <= part->limit;
}

bool conflicts_with_a_lease(const struct lk_reference *reference,
                            const struct lk_reference_request *claim) {
    for (size_t i = 0; i < reference->request_count; i++) {
        if (holds_against(&reference->requests[i], claim)) {
            return true;
        }
    }
    return false;
}

bool conflicts_with_one_ahead(const struct lk_reference *reference,
                              const struct lk_reference_request *claim) {
    for (size_t i = 0; i < reference->request_count; i++) {
        if (is_ahead_against(&reference->requests[i], claim)) {
            return true;
        }
    }
    return false;
}

bool has_room(const struct lk_reference *reference, const struct lk_reference_request *claim) {
    for (size_t i = 0; i < claim->part_count; i++) {
        if (!part_has_room(reference, claim, &claim->parts[i])) {
            return false;
        }
    }
    return true;
}

/* R8: an exclusive lease covers all below it, a shared one without limit what is like itself. */
static bool covers(const struct lk_part *held, const struct lk_part *asked) {
    if (!contains(&held->path, &asked->path)) {
        return false;
    }
    return held->mode == LK_EXCLUSIVE
           || (held->limit == 0 && asked->mode == LK_SHARED && asked->limit == 0);
}

static bool part_is_covered(const struct lk_reference *reference,
                            const struct lk_reference_request *claim, const struct lk_part *part) {
    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *lease = &reference->requests[i];
        if (!is_held(lease) || lease->revoked || lease->is_claim
            || !lk_slice_equal(lease->owner, claim->owner)) {
            continue; /* R12: what is revoked covers nothing new; R16: nor does a claim */
        }
        for (size_t j = 0; j < lease->part_count; j++) {
            if (covers(&lease->parts[j], part)) {
                return true;
            }
        }
    }
    return false;
}

bool is_covered(const struct lk_reference *reference, const struct lk_reference_request *claim) {
    if (claim->is_claim) {
        return false; /* R16: R8 does not apply to the claim of an item */
    }
    for (size_t i = 0; i < claim->part_count; i++) {
        if (!part_is_covered(reference, claim, &claim->parts[i])) {
            return false;
        }
    }
    return true;
}

bool may_be_granted(const struct lk_reference *reference,
                    const struct lk_reference_request *claim) {
    if (!has_room(reference, claim)) {
        return false; /* R7c, and R8: a limit is checked all the same */
    }
    return is_covered(reference, claim)
           || (!conflicts_with_a_lease(reference, claim)
               && !conflicts_with_one_ahead(reference, claim));
}

/* ---- R20: what is in the way ---- */

static bool is_in_the_way(const struct lk_reference *reference,
                          const struct lk_reference_request *other,
                          const struct lk_reference_request *claim) {
    if (!is_covered(reference, claim)
        && (holds_against(other, claim) || is_ahead_against(other, claim))) {
        return true;
    }
    for (size_t i = 0; i < claim->part_count; i++) {
        const struct lk_part *part = &claim->parts[i];
        if (!part_has_room(reference, claim, part)
            && units_counted(other, claim, &part->path) > 0) {
            return true;
        }
    }
    return false;
}

static int compare_blockers(const void *left, const void *right) {
    const struct lk_reference_request *a = left;
    const struct lk_reference_request *b = right;

    if (is_held(a) != is_held(b)) {
        return is_held(a) ? -1 : 1;
    }
    if (a->ticket != b->ticket) {
        return a->ticket < b->ticket ? -1 : 1;
    }
    return a->arrival < b->arrival ? -1 : a->arrival > b->arrival;
}

/* Holders first, then by ticket. */
void list_blockers(struct lk_reference *reference, const struct lk_reference_request *claim) {
    size_t count = 0;

    for (size_t i = 0; i < reference->request_count; i++) {
        if (is_in_the_way(reference, &reference->requests[i], claim)) {
            reference->blockers = grown(reference->blockers, count, sizeof *reference->blockers);
            reference->blockers[count++] = reference->requests[i];
        }
    }
    if (count > 1) {
        qsort(reference->blockers, count, sizeof *reference->blockers, compare_blockers);
    }
    reference->blocker_count = count;
}

/* ---- R13: cycles of owners ---- */

/* `other` must end before `waiter` can be granted. */
static bool must_end(const struct lk_reference *reference, const struct lk_reference_request *other,
                     const struct lk_reference_request *waiter) {
    if (!is_covered(reference, waiter)
        && (holds_against(other, waiter) || is_ahead_against(other, waiter))) {
        return true;
    }
    for (size_t i = 0; i < waiter->part_count; i++) {
        const struct lk_part *part = &waiter->parts[i];
        uint64_t units = units_counted(other, waiter, &part->path);
        if (part->limit != 0 && units > 0 && units + part->units > part->limit) {
            return true; /* the limit cannot be met while it lives */
        }
    }
    return false;
}

static void draw_edges(struct lk_reference *reference) {
    reference->edge_count = 0;
    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *waiter = &reference->requests[i];
        if (waiter->state != LK_STATE_WAITING) {
            continue;
        }
        for (size_t j = 0; j < reference->request_count; j++) {
            const struct lk_reference_request *other = &reference->requests[j];
            if (j != i && must_end(reference, other, waiter)) {
                reference->edges =
                    grown(reference->edges, reference->edge_count, sizeof *reference->edges);
                reference->edges[reference->edge_count++] =
                    (struct edge){.from = waiter->owner, .to = other->owner};
            }
        }
    }
}

static bool is_among(struct lk_slice owner, const struct lk_slice *owners, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (lk_slice_equal(owners[i], owner)) {
            return true;
        }
    }
    return false;
}

/* Whether `from` waits for `to`, directly or through others, or is it. */
static bool reaches(const struct lk_reference *reference, struct lk_slice from,
                    struct lk_slice to) {
    struct lk_slice *reached = grown(NULL, reference->edge_count + 1, sizeof *reached);
    size_t count = 0;
    bool found;

    reached[count++] = from;
    for (size_t i = 0; i < count; i++) {
        for (size_t e = 0; e < reference->edge_count; e++) {
            const struct edge *edge = &reference->edges[e];
            if (lk_slice_equal(edge->from, reached[i]) && !is_among(edge->to, reached, count)) {
                reached[count++] = edge->to;
            }
        }
    }
    found = is_among(to, reached, count);
    free(reached);
    return found;
}

bool closes_a_cycle(struct lk_reference *reference, const struct lk_reference_request *request) {
    draw_edges(reference);
    for (size_t i = 0; i < reference->request_count; i++) {
        const struct lk_reference_request *other = &reference->requests[i];
        if (other->arrival == request->arrival) {
            continue;
        }
        if (request->state == LK_STATE_WAITING && must_end(reference, other, request)
            && reaches(reference, other->owner, request->owner)) {
            return true; /* it waits for an owner that waits for its own */
        }
        if (request->state == LK_STATE_HELD && other->state == LK_STATE_WAITING
            && must_end(reference, request, other)
            && reaches(reference, request->owner, other->owner)) {
            return true; /* it holds up one for whom its owner waits */
        }
    }
    return false;
}

bool lk_reference_is_cycle(const struct lk_reference *reference, const struct lk_slice *owners,
                           size_t count) {
    for (size_t i = 0; i < count; i++) {
        bool found = false;
        for (size_t e = 0; e < reference->edge_count; e++) {
            found = found
                    || (lk_slice_equal(reference->edges[e].from, owners[i])
                        && lk_slice_equal(reference->edges[e].to, owners[(i + 1) % count]));
        }
        if (!found) {
            return false;
        }
    }
    return count > 0;
}
