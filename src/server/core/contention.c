/* SPDX-License-Identifier: Apache-2.0 */
/* Where requests wait: a list of waiting requests for each root, and two heaps of the roots. */
#include "server/core/contention.h"

#include <stdlib.h>

enum { CAPACITY_MIN = 64, FRONTIER_MAX = LK_CONTENDED_ROWS_MAX + 2 };

static struct lk_contender *contender_at(const struct lk_contention *contention, uint32_t index) {
    return (struct lk_contender *)contention->contenders.items + index;
}

static struct lk_contended_root *root_at(const struct lk_contention *contention, uint32_t index) {
    return (struct lk_contended_root *)contention->roots.items + index;
}

static int64_t oldest_of(const struct lk_contention *contention, uint32_t root) {
    return contender_at(contention, root_at(contention, root)->first)->since_us;
}

/* ---- memory ---------------------------------------------------------------------------------- */

/* Room for one more item, which begins at index 1. false: memory is exhausted. */
static bool reserve_item(struct lk_contention_items *items, size_t size) {
    uint32_t capacity = items->capacity == 0 ? CAPACITY_MIN : items->capacity * 2;
    void *grown;

    if (items->unused != 0 || items->used + 1 < items->capacity) {
        return true;
    }
    grown = reallocarray(items->items, capacity, size);
    if (grown == NULL) {
        return false;
    }
    items->items = grown;
    items->capacity = capacity;
    return true;
}

static bool reserve_number(struct lk_contention_index *index, size_t number) {
    size_t capacity = index->capacity == 0 ? CAPACITY_MIN : index->capacity;
    uint32_t *at;

    if (number < index->capacity) {
        return true;
    }
    while (capacity <= number) {
        capacity *= 2;
    }
    at = reallocarray(index->at, capacity, sizeof *at);
    if (at == NULL) {
        return false;
    }
    memset(at + index->capacity, 0, (capacity - index->capacity) * sizeof *at);
    index->at = at;
    index->capacity = capacity;
    return true;
}

static bool reserve_heaps(struct lk_contention *contention) {
    uint32_t capacity =
        contention->heap_capacity == 0 ? CAPACITY_MIN : contention->heap_capacity * 2;

    if (contention->root_count + 1 < contention->heap_capacity) {
        return true;
    }
    for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
        uint32_t *heap = reallocarray(contention->heaps[order], capacity, sizeof *heap);
        if (heap == NULL) {
            return false;
        }
        contention->heaps[order] = heap;
    }
    contention->heap_capacity = capacity;
    return true;
}

static uint32_t number_at(const struct lk_contention_index *index, size_t number) {
    return number < index->capacity ? index->at[number] : 0;
}

void lk_contention_clear(struct lk_contention *contention) {
    free(contention->contenders.items);
    free(contention->roots.items);
    free(contention->by_request.at);
    free(contention->by_root.at);
    for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
        free(contention->heaps[order]);
    }
    *contention = (struct lk_contention){.count = 0};
}

uint64_t lk_contention_bytes(const struct lk_contention *contention) {
    return contention->contenders.capacity * sizeof(struct lk_contender)
           + contention->roots.capacity * sizeof(struct lk_contended_root)
           + (contention->by_request.capacity + contention->by_root.capacity) * sizeof(uint32_t)
           + (uint64_t)contention->heap_capacity * LK_CONTENTION_ORDERS * sizeof(uint32_t);
}

/* ---- heaps ----------------------------------------------------------------------------------- */

static bool precedes(const struct lk_contention *contention, int order, uint32_t a, uint32_t b) {
    return order == LK_CONTENTION_MOST
               ? root_at(contention, a)->count > root_at(contention, b)->count
               : oldest_of(contention, a) < oldest_of(contention, b);
}

static void place(struct lk_contention *contention, int order, uint32_t root, uint32_t at) {
    contention->heaps[order][at] = root;
    root_at(contention, root)->at[order] = at;
}

static void sift_up(struct lk_contention *contention, int order, uint32_t root) {
    uint32_t *heap = contention->heaps[order];
    uint32_t at = root_at(contention, root)->at[order];

    while (at > 1 && precedes(contention, order, root, heap[at / 2])) {
        place(contention, order, heap[at / 2], at);
        at /= 2;
    }
    place(contention, order, root, at);
}

static void sift_down(struct lk_contention *contention, int order, uint32_t root) {
    uint32_t *heap = contention->heaps[order];
    uint32_t at = root_at(contention, root)->at[order];

    for (;;) {
        uint32_t child = at * 2;

        if (child < contention->root_count
            && precedes(contention, order, heap[child + 1], heap[child])) {
            child++;
        }
        if (child > contention->root_count || !precedes(contention, order, heap[child], root)) {
            break;
        }
        place(contention, order, heap[child], at);
        at = child;
    }
    place(contention, order, root, at);
}

/* The root's list has changed. */
static void restore_heaps(struct lk_contention *contention, uint32_t root) {
    for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
        sift_up(contention, order, root);
        sift_down(contention, order, root);
    }
}

/* ---- roots ----------------------------------------------------------------------------------- */

/* The root of this number, made without a waiting request if it is not there. Room is reserved. */
static uint32_t root_of(struct lk_contention *contention, lk_root_ref number) {
    struct lk_contention_items *roots = &contention->roots;
    uint32_t root = number_at(&contention->by_root, number);

    if (root != 0) {
        return root;
    }
    root = roots->unused;
    if (root != 0) {
        roots->unused = root_at(contention, root)->root;
    } else {
        root = ++roots->used;
    }
    *root_at(contention, root) = (struct lk_contended_root){.root = number};
    contention->by_root.at[number] = root;
    return root;
}

static void leave_heaps(struct lk_contention *contention, uint32_t root) {
    uint32_t last_at = contention->root_count--;

    for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
        uint32_t at = root_at(contention, root)->at[order];
        uint32_t last = contention->heaps[order][last_at];

        if (last != root) {
            place(contention, order, last, at);
            sift_up(contention, order, last);
            sift_down(contention, order, last);
        }
    }
}

/* ---- waiting requests ------------------------------------------------------------------------ */

static void append(struct lk_contention *contention, uint32_t index) {
    uint32_t root = contender_at(contention, index)->root;
    struct lk_contended_root *of = root_at(contention, root);

    contender_at(contention, index)->previous = of->last;
    contender_at(contention, index)->next = 0;
    if (of->last != 0) {
        contender_at(contention, of->last)->next = index;
    } else {
        of->first = index;
    }
    of->last = index;
    if (of->count++ == 0) {
        contention->root_count++;
        for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
            of->at[order] = contention->root_count;
        }
    }
    restore_heaps(contention, root);
}

static void take_out(struct lk_contention *contention, uint32_t index) {
    const struct lk_contender *contender = contender_at(contention, index);
    uint32_t root = contender->root;
    struct lk_contended_root *of = root_at(contention, root);

    if (of->count == 1) { /* while its list still has the key of the heaps */
        leave_heaps(contention, root);
    }
    if (contender->previous != 0) {
        contender_at(contention, contender->previous)->next = contender->next;
    } else {
        of->first = contender->next;
    }
    if (contender->next != 0) {
        contender_at(contention, contender->next)->previous = contender->previous;
    } else {
        of->last = contender->previous;
    }
    if (--of->count > 0) {
        restore_heaps(contention, root);
    }
}

void lk_contention_add(struct lk_contention *contention, const struct lk_model *model,
                       lk_ref request, int64_t since_us) {
    struct lk_contention_items *contenders = &contention->contenders;
    lk_root_ref number = lk_model_root(model, request);
    uint32_t index;

    if (!reserve_item(contenders, sizeof(struct lk_contender))
        || !reserve_item(&contention->roots, sizeof(struct lk_contended_root))
        || !reserve_heaps(contention) || !reserve_number(&contention->by_request, request)
        || !reserve_number(&contention->by_root, number)
        || contention->by_request.at[request] != 0) {
        return;
    }
    index = contenders->unused;
    if (index != 0) {
        contenders->unused = contender_at(contention, index)->root;
    } else {
        index = ++contenders->used;
    }
    *contender_at(contention, index) = (struct lk_contender){
        .request = request,
        .root = root_of(contention, number),
        .ticket = lk_model_standing(model, request).ticket,
        .since_us = since_us,
    };
    contention->by_request.at[request] = index;
    contention->count++;
    append(contention, index);
}

int64_t lk_contention_remove(struct lk_contention *contention, lk_ref request) {
    uint32_t index = number_at(&contention->by_request, request);
    struct lk_contender *contender;
    struct lk_contended_root *of;
    uint32_t root;

    if (index == 0) {
        return LK_NEVER;
    }
    contender = contender_at(contention, index);
    root = contender->root;
    of = root_at(contention, root);
    take_out(contention, index);
    contention->by_request.at[request] = 0;
    contention->count--;
    contender->root = contention->contenders.unused;
    contention->contenders.unused = index;
    if (of->count == 0) {
        contention->by_root.at[of->root] = 0;
        of->root = contention->roots.unused;
        contention->roots.unused = root;
    }
    return contender->since_us;
}

void lk_contention_convert(struct lk_contention *contention, const struct lk_model *model,
                           lk_ref request, int64_t now_us) {
    uint32_t index = number_at(&contention->by_request, request);
    uint64_t ticket = lk_model_standing(model, request).ticket;

    if (index == 0 || contender_at(contention, index)->ticket == ticket) {
        return;
    }
    take_out(contention, index);
    contender_at(contention, index)->ticket = ticket;
    contender_at(contention, index)->since_us = now_us;
    append(contention, index);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A walk over a heap in its order. What may be next stands in `frontier`. */
struct walk {
    const struct lk_contention *contention;
    int order;
    uint32_t frontier[FRONTIER_MAX]; /* places in the heap */
    size_t count;
    size_t steps;
};

static void reach(struct walk *walk, uint32_t at) {
    if (at <= walk->contention->root_count && walk->count < FRONTIER_MAX) {
        walk->frontier[walk->count++] = at;
    }
}

/* The next root; 0: there are no more. */
static uint32_t next(struct walk *walk) {
    const uint32_t *heap = walk->contention->heaps[walk->order];
    size_t best = 0;
    uint32_t at;

    if (walk->count == 0) {
        return 0;
    }
    for (size_t i = 1; i < walk->count; i++) {
        if (precedes(walk->contention, walk->order, heap[walk->frontier[i]],
                     heap[walk->frontier[best]])) {
            best = i;
        }
    }
    walk->steps += walk->count;
    at = walk->frontier[best];
    walk->frontier[best] = walk->frontier[--walk->count];
    reach(walk, at * 2);
    reach(walk, at * 2 + 1);
    return heap[at];
}

static bool has_row(const struct lk_contention_top *top, lk_root_ref root) {
    for (size_t i = 0; i < top->row_count; i++) {
        if (top->rows[i].root == root) {
            return true;
        }
    }
    return false;
}

static struct lk_contended row_of(const struct lk_contention *contention, uint32_t root) {
    const struct lk_contended_root *of = root_at(contention, root);

    return (struct lk_contended){
        .root = of->root, .count = of->count, .since_us = oldest_of(contention, root)};
}

static void add_rows(const struct lk_contention *contention, int order,
                     struct lk_contention_top *top) {
    struct walk walk = {.contention = contention, .order = order};

    reach(&walk, 1);
    for (size_t i = 0; i < LK_CONTENDED_MAX; i++) {
        uint32_t root = next(&walk);
        if (root == 0) {
            break;
        }
        if (!has_row(top, root_at(contention, root)->root)) {
            top->rows[top->row_count++] = row_of(contention, root);
        }
    }
    top->steps += walk.steps;
}

/* The longest wait at a root without a row: one of the first roots, as there are few rows. */
static int64_t oldest_of_rest(const struct lk_contention *contention,
                              struct lk_contention_top *top) {
    struct walk walk = {.contention = contention, .order = LK_CONTENTION_OLDEST};
    uint32_t root;

    reach(&walk, 1);
    do {
        root = next(&walk);
    } while (root != 0 && has_row(top, root_at(contention, root)->root));
    top->steps += walk.steps;
    return root != 0 ? oldest_of(contention, root) : LK_NEVER;
}

void lk_contention_read(const struct lk_contention *contention, struct lk_contention_top *ret_top) {
    *ret_top = (struct lk_contention_top){.rest.count = contention->count};
    for (int order = 0; order < LK_CONTENTION_ORDERS; order++) {
        add_rows(contention, order, ret_top);
    }
    for (size_t i = 0; i < ret_top->row_count; i++) {
        ret_top->rest.count -= ret_top->rows[i].count;
    }
    ret_top->rest.since_us = oldest_of_rest(contention, ret_top);
}
