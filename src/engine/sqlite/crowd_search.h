/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Searches in a crowd: what is in the way of parts, loaded up to a bound, for crowd.c, which has
 * the arguments; and what decides about a waiting request.
 */
#ifndef LK_ENGINE_SQLITE_CROWD_SEARCH_H
#define LK_ENGINE_SQLITE_CROWD_SEARCH_H

#include "engine/sqlite/closure_fetch.h"
#include "sql/lines.h"

/* The end of the prefix of a path behind the one that ends at `end`; 0 begins. */
size_t lk_crowd_next_end(struct lk_slice path, size_t end);

/* The part with this path; NULL: there is none. */
const struct lk_part *lk_crowd_find_part(const struct lk_part *parts, size_t count,
                                         const struct lk_path *path);

/* R3: whether the request has exactly these paths; *ret_is_same: and the same parts. */
bool lk_crowd_has_paths(const struct lk_record *record, const struct lk_part *parts, size_t count,
                        bool *ret_is_same);

/* A search for conflicting parts (R7a, R7b), up to `left` requests. */
struct lk_crowd_search {
    struct lk_closure *closure;
    struct lk_sql_obstacles wanted;
    size_t left;
    size_t found; /* rows */
    bool loads;   /* them */
};

/* For leases that are in the way of an owner's request. */
struct lk_crowd_search lk_crowd_search_held(struct lk_closure *closure, struct lk_slice owner,
                                            size_t max);

/* At the paths of these parts, above and below them. */
int lk_crowd_search_parts(struct lk_crowd_search *search, const struct lk_part *parts,
                          size_t count);

/*
 * R7c: whether the units held at the part's path, and of those that wait there with a turn before
 * `turn`, leave no room within its limit. Then so many of them are loaded that the model sees it
 * too, and at least `min` requests, if there are so many.
 */
int lk_crowd_find_shortage(struct lk_closure *closure, const struct lk_part *part, uint64_t turn,
                           size_t min, bool *ret_is_short);

/* All that is counted there with these turns. */
int lk_crowd_load_counted(struct lk_closure *closure, struct lk_slice path,
                          struct lk_sql_turns turns);

/* What is held at exactly the path; below it, if the path ends in a slash: each once. */
int lk_crowd_load_held(struct lk_closure *closure, struct lk_slice path);

/* All that waits at the path, above and below it with one of these turns. */
int lk_crowd_load_waiting_around(struct lk_closure *closure, struct lk_slice path,
                                 struct lk_sql_turns turns);

/* Loads what decides about a waiting request that lk_crowd_load() has led to; a reference of the
 * model. */
int lk_crowd_check(struct lk_closure *closure, lk_ref request);

#endif
