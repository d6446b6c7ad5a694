/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Pages of requests and items: a number of them in order, after a cursor. A page begins at its
 * cursor and takes steps in proportion to its size:
 *
 *   all requests, items of a queue   O(page + log n)
 *   requests by their path           a few times the lesser of two: the paths and requests below
 *                                    it, or the requests of the whole model between the cursor and
 *                                    the first one below it; and up to LK_PAGE_WALK_STEPS more
 */
#ifndef LK_MODEL_PAGE_H
#define LK_MODEL_PAGE_H

#include "model/model.h"

enum { LK_PAGE_WALK_STEPS = 8192 };

/* Which requests. */
enum lk_page_kind {
    LK_PAGE_BELOW,   /* with a part at or below the path */
    LK_PAGE_RELATED, /* with a part related to it (R5) */
};

struct lk_page_row {
    struct lk_standing standing;
    uint32_t ref; /* a request or an item */
};

/* The first four are the caller's; the rest is the answer. */
struct lk_page {
    struct lk_page_row *rows; /* in their order */
    size_t max;               /* at least 1 */
    struct lk_standing behind;
    uint64_t walk_steps; /* the first bound of a walk; 0: LK_PAGE_WALK_STEPS */
    size_t count;
    bool has_more;              /* there may be more behind `reached` */
    struct lk_standing reached; /* nothing up to here was left out */
    uint64_t steps;             /* nodes, parts, requests and items read */
};

void lk_model_page(const struct lk_model *model, struct lk_page *page);

/*
 * The same by path. `is_whole`: only a complete answer is useful. The walk is then not cut short,
 * and ends as soon as there is more than there is room for.
 */
void lk_model_page_at(const struct lk_model *model, const struct lk_path *path,
                      enum lk_page_kind kind, bool is_whole, struct lk_page *page);

/* Items of a queue, the oldest first. A standing's ticket is the item's sequence. */
void lk_model_page_items(const struct lk_model *model, const struct lk_path *queue,
                         struct lk_page *page);

#endif
