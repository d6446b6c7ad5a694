/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which roots have waiting requests: how many, and since when the oldest one waits. A request
 * counts once, at the root of its first part at the time when it was queued.
 *
 * Each change takes O(log n) for n such roots, and needs memory only while requests wait. Without
 * memory a request is left out: monitoring never makes a decision fail. The worst roots are read
 * from two heaps, so reading them takes a number of steps that does not depend on n.
 */
#ifndef LK_SERVER_CORE_CONTENTION_H
#define LK_SERVER_CORE_CONTENTION_H

#include "model/model.h"

enum {
    LK_CONTENDED_MAX = 10, /* roots read from each heap */
    LK_CONTENDED_ROWS_MAX = 2 * LK_CONTENDED_MAX,
};

enum lk_contention_order {
    LK_CONTENTION_MOST,   /* the most waiting requests first */
    LK_CONTENTION_OLDEST, /* the longest wait first */
    LK_CONTENTION_ORDERS
};

/* A waiting request, in the list of its root: those that have waited longest first. */
struct lk_contender {
    lk_ref request;
    uint32_t root; /* as all that follow, an index; 0: none. Unused: the next unused one */
    uint32_t previous;
    uint32_t next;
    uint64_t ticket;
    int64_t since_us; /* on the now_us axis */
};

struct lk_contended_root {
    lk_root_ref root; /* unused: the next unused one */
    uint32_t first;
    uint32_t last;
    uint32_t count;
    uint32_t at[LK_CONTENTION_ORDERS]; /* places in the heaps */
};

/* Items of one size, of which those from 1 to `used` are or were in use. */
struct lk_contention_items {
    void *items;
    uint32_t used;
    uint32_t capacity;
    uint32_t unused; /* the first of those that are not in use any more; 0: none */
};

/* By number: the index of what has that number; 0: none. */
struct lk_contention_index {
    uint32_t *at;
    size_t capacity;
};

/* Zeroed it is empty. */
struct lk_contention {
    struct lk_contention_items contenders;
    struct lk_contention_items roots;
    struct lk_contention_index by_request;
    struct lk_contention_index by_root;
    uint32_t *heaps[LK_CONTENTION_ORDERS]; /* of roots, from 1 on */
    uint32_t heap_capacity;
    uint32_t root_count;
    uint64_t count; /* of the waiting requests */
};

/* The request waits since `since_us`. Later ones wait since then or later. */
void lk_contention_add(struct lk_contention *contention, const struct lk_model *model,
                       lk_ref request, int64_t since_us);

/*
 * It waits no more: returns since when it waited, or LK_NEVER if it did not wait (or was left out).
 */
int64_t lk_contention_remove(struct lk_contention *contention, lk_ref request);

/* It was converted: with a new ticket it waits since `now_us`, behind the others (R9). */
void lk_contention_convert(struct lk_contention *contention, const struct lk_model *model,
                           lk_ref request, int64_t now_us);

/* Frees everything: nothing waits any more. */
void lk_contention_clear(struct lk_contention *contention);

/* Memory in use. */
uint64_t lk_contention_bytes(const struct lk_contention *contention);

/* Where requests wait. */
struct lk_contended {
    lk_root_ref root;
    uint64_t count;
    int64_t since_us; /* of the one that waits longest */
};

/* The LK_CONTENDED_MAX roots with the most waiting requests and those with the longest waits, each
 * once; and all others together. */
struct lk_contention_top {
    struct lk_contended rows[LK_CONTENDED_ROWS_MAX];
    size_t row_count;
    struct lk_contended rest; /* count 0: there are no others */
    size_t steps;             /* how many entries of the heaps were read */
};

void lk_contention_read(const struct lk_contention *contention, struct lk_contention_top *ret_top);

#endif
