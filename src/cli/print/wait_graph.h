/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The graph of waiting requests (R20), from listings of lk_show(): each waiting request with its
 * blockers, these with their blockers, down to the holders.
 *
 * Only the nearest blockers are listed: a request that also blocks another blocker is found one
 * step further down and not listed twice. So a queue is shown as a chain. Listings taken at
 * different moments may contradict each other, so the graph may have a cycle. Everything is
 * borrowed from the listings, which must outlive the graph.
 */
#ifndef LK_CLI_PRINT_WAIT_GRAPH_H
#define LK_CLI_PRINT_WAIT_GRAPH_H

#include <stdbool.h>
#include <stdio.h>

#include "lockkeeper/lockkeeper.h"

enum {
    LK_CHAIN_LINKS_MAX = 64, /* lines of one chain */
    LK_CHAIN_DEPTH_MAX = 8,  /* how far down it is followed */
    LK_WAIT_GRAPH_NEAREST_MAX = 64,
};

struct lk_wait_graph;

/* NULL when memory is exhausted. */
struct lk_wait_graph *lk_wait_graph_new(const lk_listing *const *listings, size_t count);
void lk_wait_graph_free(struct lk_wait_graph *waits); /* accepts NULL */

/* The waiting request of this ticket and owner, as lk_show() listed it; NULL: it is in none. */
const lk_entry *lk_wait_graph_find(const struct lk_wait_graph *waits, uint64_t ticket,
                                   const char *owner);

/*
 * The path of a blocker that is waiting and is in no listing: the path to list next. `index` counts
 * these blockers; NULL: no more.
 */
const char *lk_wait_graph_unknown(const struct lk_wait_graph *waits, size_t index);

/*
 * The nearest blockers, at most `max` of them. Returns how many there are;
 * *ret_unnamed is how many more the store did not name.
 */
size_t lk_wait_graph_nearest(struct lk_wait_graph *waits, uint64_t ticket, const char *owner,
                             size_t max, const lk_blocker_info **ret_nearest, size_t *ret_unnamed);

/* One line of a chain. */
struct lk_chain_link {
    const lk_blocker_info *blocker; /* NULL: so many that are not named */
    size_t unnamed;
    unsigned depth; /* 0: blocks the request itself */
    bool is_last;   /* of those with the same one above them */
    bool is_again;  /* what is below it has been drawn further up */
};

struct lk_chain {
    struct lk_chain_link links[LK_CHAIN_LINKS_MAX];
    size_t count;
};

/* All blockers of a waiting request, each followed by its own blockers. */
void lk_chain_make(struct lk_wait_graph *waits, uint64_t ticket, const char *owner,
                   struct lk_chain *ret_chain);

/*
 * Writes one link as text with its branches and no line end: `|- ana holds db/t1, 50s left
 * (nightly)`; with lines of the line-drawing characters of UTF-8 if `drawn`.
 */
void lk_chain_write(FILE *out, const struct lk_chain *chain, size_t index, bool drawn);

#endif
