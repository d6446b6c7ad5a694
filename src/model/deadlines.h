/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The deadlines of requests (R11): a heap with the earliest one on top.
 *
 * Four children a node, and keys beside the ids, so that a sift touches few cache lines. Renewals
 * set late deadlines, for which sifts are short.
 */
#ifndef LK_MODEL_DEADLINES_H
#define LK_MODEL_DEADLINES_H

#include "model/pool.h"

struct lk_deadlines {
    const struct lk_allocator *allocator;
    int64_t *keys;
    lk_id *ids;
    uint32_t count;
    uint32_t capacity;
};

struct lk_model;

void lk_deadlines_init(struct lk_deadlines *heap, const struct lk_allocator *allocator);
void lk_deadlines_done(struct lk_deadlines *heap);
bool lk_deadlines_reserve(struct lk_deadlines *heap, uint32_t count);
uint64_t lk_deadlines_bytes(const struct lk_deadlines *heap);

/* These keep `deadline_at` of struct lk_model_request, the index in the heap, up to date. */
void lk_deadlines_add(struct lk_model *model, lk_id request, int64_t at_us);
void lk_deadlines_move(struct lk_model *model, lk_id request, int64_t at_us);
void lk_deadlines_remove(struct lk_model *model, lk_id request);

/* The request that perishes first, 0 if none lives. */
lk_id lk_deadlines_first(const struct lk_deadlines *heap);

/* How many deadlines have been reached by now. O(as many). */
uint32_t lk_deadlines_due(const struct lk_deadlines *heap, int64_t now_us);

#endif
