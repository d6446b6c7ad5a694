/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loading the rows of a closure, for closure.c. Each row is loaded into the model once. A row adds
 * the paths and owners that it makes necessary, until lk_closure_follow() finds no more of them.
 * S1 to S7 are those of closure.c. Functions return SQLite's codes.
 */
#ifndef LK_ENGINE_SQLITE_CLOSURE_FETCH_H
#define LK_ENGINE_SQLITE_CLOSURE_FETCH_H

#include "engine/sqlite/closure.h"

static inline struct lk_slice lk_closure_fetch_slice(const struct lk_path *path) {
    return (struct lk_slice){path->bytes, path->size};
}

/* Adds a key to a set; *ret_is_new is false, too, when memory is exhausted. */
int lk_closure_fetch_once(struct lk_set *set, struct lk_slice key, bool *ret_is_new);

/* Whether a part of the request is at exactly this path. */
bool lk_closure_fetch_has_part_at(const struct lk_record *record, const struct lk_path *path);

int lk_closure_fetch_draw(struct lk_closure *closure, const struct lk_path *path);  /* S5 */
int lk_closure_fetch_value(struct lk_closure *closure, const struct lk_path *path); /* S6 */
int lk_closure_fetch_values(struct lk_closure *closure, const struct lk_part *parts, size_t count);
int lk_closure_fetch_queue(struct lk_closure *closure, const struct lk_path *queue); /* S7 */

/* S7: the item at this path. SQLITE_EMPTY: there is none. */
int lk_closure_fetch_item(struct lk_closure *closure, const struct lk_path *path);

/* The same, of the item whose row is in the store's room, and which is known to be new. */
int lk_closure_fetch_row(struct lk_closure *closure);

/* An lk_sql_visit: one request, and what follows from it; `context` is the closure. */
int lk_closure_fetch_request(void *context, uint64_t id);

/* The requests at the path and above it. */
int lk_closure_fetch_above(struct lk_closure *closure, struct lk_slice path);

/* Adds a path to expand; adds an owner whose waiting requests are to be loaded. */
int lk_closure_fetch_path(struct lk_closure *closure, const struct lk_path *path);
int lk_closure_fetch_owner(struct lk_closure *closure, struct lk_slice owner);

#endif
