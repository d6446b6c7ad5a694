/* SPDX-License-Identifier: Apache-2.0 */
/* The heap of deadlines: a four-ary heap in two parallel arrays. */
#include "model/state.h"

enum { CHILDREN = 4, CAPACITY_FIRST = 32 };

void lk_deadlines_init(struct lk_deadlines *heap, const struct lk_allocator *allocator) {
    *heap = (struct lk_deadlines){.allocator = allocator};
}

void lk_deadlines_done(struct lk_deadlines *heap) {
    heap->allocator->resize(heap->allocator->context, heap->keys, 0);
    heap->allocator->resize(heap->allocator->context, heap->ids, 0);
    heap->keys = NULL;
    heap->ids = NULL;
}

bool lk_deadlines_reserve(struct lk_deadlines *heap, uint32_t count) {
    uint32_t wanted = heap->capacity == 0 ? CAPACITY_FIRST : heap->capacity;
    void *grown;

    while (wanted - heap->count < count) {
        wanted += wanted / 2;
    }
    if (wanted == heap->capacity) {
        return true;
    }
    grown =
        heap->allocator->resize(heap->allocator->context, heap->keys, wanted * sizeof *heap->keys);
    if (grown == NULL) {
        return false;
    }
    heap->keys = grown; /* a larger array than `capacity` says does no harm if the next one fails */
    grown =
        heap->allocator->resize(heap->allocator->context, heap->ids, wanted * sizeof *heap->ids);
    if (grown == NULL) {
        return false;
    }
    heap->ids = grown;
    heap->capacity = wanted;
    return true;
}

uint64_t lk_deadlines_bytes(const struct lk_deadlines *heap) {
    return (uint64_t)heap->count * (sizeof *heap->keys + sizeof *heap->ids);
}

static void put(struct lk_model *model, uint32_t at, int64_t key, lk_id id) {
    model->deadlines.keys[at] = key;
    model->deadlines.ids[at] = id;
    lk_request_at(model, id)->deadline_at = at;
}

/*
 * Whether (key, id) perishes before the entry at `at`: earlier, or at the same instant and ahead in
 * the queue.
 */
static bool goes_before(const struct lk_model *model, int64_t key, lk_id id, uint32_t at) {
    const struct lk_deadlines *heap = &model->deadlines;

    if (key != heap->keys[at]) {
        return key < heap->keys[at];
    }
    return lk_request_at(model, id)->ticket < lk_request_at(model, heap->ids[at])->ticket;
}

static uint32_t sift_up(struct lk_model *model, uint32_t at, int64_t key, lk_id id) {
    const struct lk_deadlines *heap = &model->deadlines;

    while (at > 0) {
        uint32_t parent = (at - 1) / CHILDREN;
        if (!goes_before(model, key, id, parent)) {
            break;
        }
        put(model, at, heap->keys[parent], heap->ids[parent]);
        at = parent;
    }
    return at;
}

/* The child of `at` that perishes first; 0 if it has none. */
static uint32_t first_child(const struct lk_model *model, uint32_t at) {
    const struct lk_deadlines *heap = &model->deadlines;
    uint32_t first = at * CHILDREN + 1;
    uint32_t end = first + CHILDREN < heap->count ? first + CHILDREN : heap->count;

    if (first >= heap->count) {
        return 0;
    }
    for (uint32_t child = first + 1; child < end; child++) {
        if (goes_before(model, heap->keys[child], heap->ids[child], first)) {
            first = child;
        }
    }
    return first;
}

static uint32_t sift_down(struct lk_model *model, uint32_t at, int64_t key, lk_id id) {
    const struct lk_deadlines *heap = &model->deadlines;

    for (;;) {
        uint32_t child = first_child(model, at);
        if (child == 0 || goes_before(model, key, id, child)) {
            return at;
        }
        put(model, at, heap->keys[child], heap->ids[child]);
        at = child;
    }
}

/* Puts (key, id) at its position; the hole is at `at`. */
static void put_in_order(struct lk_model *model, uint32_t at, int64_t key, lk_id id) {
    uint32_t up = sift_up(model, at, key, id);
    put(model, up != at ? up : sift_down(model, at, key, id), key, id);
}

void lk_deadlines_add(struct lk_model *model, lk_id request, int64_t at_us) {
    struct lk_deadlines *heap = &model->deadlines;
    uint32_t hole = heap->count++;

    assert(heap->count <= heap->capacity);
    put(model, sift_up(model, hole, at_us, request), at_us, request);
}

void lk_deadlines_move(struct lk_model *model, lk_id request, int64_t at_us) {
    uint32_t at = lk_request_at(model, request)->deadline_at;

    assert(at < model->deadlines.count && model->deadlines.ids[at] == request);
    put_in_order(model, at, at_us, request);
}

void lk_deadlines_remove(struct lk_model *model, lk_id request) {
    struct lk_deadlines *heap = &model->deadlines;
    uint32_t at = lk_request_at(model, request)->deadline_at;
    uint32_t last;

    assert(at < heap->count && heap->ids[at] == request);
    last = --heap->count;
    if (at != last) {
        put_in_order(model, at, heap->keys[last], heap->ids[last]);
    }
}

lk_id lk_deadlines_first(const struct lk_deadlines *heap) {
    return heap->count == 0 ? 0 : heap->ids[0];
}

/* Recursion is no deeper than the heap. */
static uint32_t count_due(const struct lk_deadlines *heap, uint32_t at, int64_t now_us) {
    uint32_t due = 1;

    if (at >= heap->count || heap->keys[at] > now_us) {
        return 0;
    }
    for (uint32_t child = 1; child <= CHILDREN; child++) {
        due += count_due(heap, at * CHILDREN + child, now_us);
    }
    return due;
}

uint32_t lk_deadlines_due(const struct lk_deadlines *heap, int64_t now_us) {
    return count_due(heap, 0, now_us);
}
