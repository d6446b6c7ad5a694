/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who waits for whom (R20), from what listings of lk_show() say: each waiting request with the
 * requests in its way, those with what is in theirs, down to the holders.
 *
 * Only the nearest are named: what is in the way of somebody who is in the way himself is found
 * one step further down and not told twice. So a queue is a chain and not a thicket. Listings
 * taken at different moments may contradict each other; nothing here relies on there being no
 * cycle. Everything is borrowed from the listings, which have to live as long.
 */
#ifndef LK_CLI_WAITS_H
#define LK_CLI_WAITS_H

#include <stdbool.h>
#include <stdio.h>

#include "lockkeeper/lockkeeper.h"

enum {
    LK_CHAIN_LINKS_MAX = 64, /* lines of one chain */
    LK_CHAIN_DEPTH_MAX = 8,  /* how far down it is followed */
    LK_WAITS_NEAREST_MAX = 64,
};

struct lk_waits;

/* NULL when memory is exhausted. */
struct lk_waits *lk_waits_new(const lk_listing *const *listings, size_t count);
void lk_waits_free(struct lk_waits *waits); /* accepts NULL */

/* The waiting request of this ticket and owner, as lk_show() listed it; NULL: it is in none. */
const lk_entry *lk_waits_find(const struct lk_waits *waits, uint64_t ticket, const char *owner);

/*
 * The path of a request that waits itself, is in somebody's way and is in no listing: where to
 * look next to see further down. `index` counts those that there are; NULL: no more.
 */
const char *lk_waits_unknown(const struct lk_waits *waits, size_t index);

/*
 * The nearest requests in the way, at most `max` of them. Returns how many there are;
 * *ret_unnamed is how many more the store did not name.
 */
size_t lk_waits_nearest(struct lk_waits *waits, uint64_t ticket, const char *owner, size_t max,
                        const lk_blocker_info **ret_nearest, size_t *ret_unnamed);

/* One line of a chain. */
struct lk_chain_link {
    const lk_blocker_info *blocker; /* NULL: so many that are not named */
    size_t unnamed;
    unsigned depth; /* 0: in the way of the request itself */
    bool is_last;   /* of those with the same one above them */
    bool is_again;  /* what is below it has been drawn further up */
};

struct lk_chain {
    struct lk_chain_link links[LK_CHAIN_LINKS_MAX];
    size_t count;
};

/* Everything in the way of a waiting request, each followed by what is in its way. */
void lk_chain_make(struct lk_waits *waits, uint64_t ticket, const char *owner,
                   struct lk_chain *ret_chain);

/*
 * Writes one link as text with its branches and no line end: `|- ana holds db/t1, 50s left
 * (nightly)`; with lines of the line-drawing characters of UTF-8 if `drawn`.
 */
void lk_chain_write(FILE *out, const struct lk_chain *chain, size_t index, bool drawn);

#endif
